//! Requests and answers as they are on the wire, and the seam between the runner and whatever carries them.

use std::io;

/// A request, complete but for its framing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The verb.
    pub method: String,
    /// The target as it goes on the request line.
    pub target: String,
    /// The headers in order, names in the case in which they go out.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// An answer, its framing taken off.
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

/// Something that carries a request to a server and its answer back: a socket, or the server's own code in a test.
pub trait Transport {
    /// Does one exchange.
    fn exchange(&mut self, request: &Request) -> io::Result<Response>;
}

/// The value of a header, whatever the case of its name.
pub(crate) fn header<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers.iter().find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}
