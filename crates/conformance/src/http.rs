//! Requests and responses as sent on the wire, and the interface between the runner and its transport.

use std::io;

use lazuli_probe::blocking::Client;

pub(crate) use lazuli_probe::header;

/// A request, complete except for its framing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptRequest {
    /// The verb.
    pub method: String,
    /// The target as it appears on the request line.
    pub target: String,
    /// The headers in order, with the letter case in which they are sent.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// A response without its framing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranscriptResponse {
    /// The status.
    pub status: u16,
    /// The reason phrase.
    pub reason: String,
    /// The headers in order, with the letter case in which they arrived.
    pub headers: Vec<(String, String)>,
    /// The body, no longer chunked.
    pub body: Vec<u8>,
    /// Did the server request the body with `100 Continue`? `None` if the transport does not report it.
    pub continued: Option<bool>,
}

/// Sends a request to a server and returns its response: through a socket, or by calling the server's code in a
/// test.
pub trait Transport {
    /// Does one exchange.
    fn exchange(&mut self, request: &TranscriptRequest) -> io::Result<TranscriptResponse>;
}

/// A server on the network.
impl Transport for Client {
    fn exchange(&mut self, request: &TranscriptRequest) -> io::Result<TranscriptResponse> {
        let TranscriptRequest { method, target, headers, body } = request.clone();
        let headers = headers.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let request = lazuli_probe::Request { method: method.into(), target, headers, body };
        let response = Client::exchange(self, &request)?;
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Ok(TranscriptResponse {
            status: response.status,
            reason: response.reason().to_owned(),
            headers: response.headers().map(owned).collect(),
            continued: response.continued,
            body: response.body,
        })
    }
}
