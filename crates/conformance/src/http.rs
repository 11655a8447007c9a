//! Requests and answers as they are on the wire, and the seam between the runner and whatever carries them.

use std::io;

use lazuli_probe::blocking::Client;

pub(crate) use lazuli_probe::header;

/// A request, complete but for its framing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The verb.
    pub method: String,
    /// The target as it appears on the request line.
    pub target: String,
    /// The headers in order, names in the case in which they go out.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// A response, its framing taken off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The words behind the status.
    pub reason: String,
    /// The headers in order, names in the case in which they came.
    pub headers: Vec<(String, String)>,
    /// The body, no longer chunked.
    pub body: Vec<u8>,
    /// Was the body of the request asked for with `100 Continue`? `None` where the transport cannot tell.
    pub continued: Option<bool>,
}

/// Something that carries a request to a server and its response back: a socket, or the server's own code in a test.
pub trait Transport {
    /// Does one exchange.
    fn exchange(&mut self, request: &Request) -> io::Result<Response>;
}

/// A server on the network.
impl Transport for Client {
    fn exchange(&mut self, request: &Request) -> io::Result<Response> {
        let Request { method, target, headers, body } = request.clone();
        let headers = headers.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let request = lazuli_probe::Request { method: method.into(), target, headers, body };
        let response = Client::exchange(self, &request)?;
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Ok(Response {
            status: response.status,
            reason: response.reason().to_owned(),
            headers: response.headers().map(owned).collect(),
            continued: response.continued,
            body: response.body,
        })
    }
}
