//! Responses as bytes: head and body in one buffer where the body is small, so that one system call sends both.

use std::borrow::Cow;

use lazuli_protocol::Response;
use memchr::memchr2;

/// Bodies up to this size are copied after their head; larger ones are sent without copying, in the same system
/// call. With a usual head, the copied bytes fit into the buffer that an idle connection keeps.
pub const BODY_BYTES_COPIED_MAX: usize = 2 * 1024;

/// Length that most heads do not exceed.
const HEAD_BYTES_USUAL: usize = 1024;

/// The state of the connection that the headers announce.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// The connection is closed after this response.
    pub close: bool,
    /// The connection stays open, and the response says so: without the header, an HTTP/1.0 client assumes that
    /// it closes.
    pub says_keep_alive: bool,
    /// The response to HEAD: the body is not sent.
    pub without_body: bool,
}

/// Appends the head of a response.
pub fn head(out: &mut Vec<u8>, response: &Response, ending: Ending) {
    out.reserve(HEAD_BYTES_USUAL);
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(itoa::Buffer::new().format(response.status).as_bytes());
    out.push(b' ');
    out.extend_from_slice(reason(response.status).as_bytes());
    out.extend_from_slice(b"\r\n");
    for (name, value) in &response.fields {
        match value {
            // A constant never contains a line break.
            Cow::Borrowed(value) => field(out, name, value.as_bytes()),
            Cow::Owned(value) => field(out, name, &one_line(value)),
        }
    }
    // A 304 has no body, and no length that a client could mistake for that of a body.
    if response.status != 304 {
        let length = response.content_length.unwrap_or(response.body.len() as u64);
        field(out, "Content-Length", itoa::Buffer::new().format(length).as_bytes());
    }
    if ending.close {
        field(out, "Connection", b"close");
    } else if ending.says_keep_alive {
        field(out, "Connection", b"keep-alive");
    }
    out.extend_from_slice(b"\r\n");
}

/// Length of the body of a response to this method, streamed or not.
pub fn body_bytes(method: &str, response: &Response) -> u64 {
    let is_empty = method == "HEAD" || response.status == 304;
    if is_empty { 0 } else { response.content_length.unwrap_or(response.body.len() as u64) }
}

fn field(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// A value must never start a new line, wherever it comes from.
fn one_line(value: &str) -> Cow<'_, [u8]> {
    if memchr2(b'\r', b'\n', value.as_bytes()).is_none() {
        return value.as_bytes().into();
    }
    value.bytes().map(|b| if b == b'\r' || b == b'\n' { b' ' } else { b }).collect()
}

/// The reason phrase of a status.
pub fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        206 => "Partial Content",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Request Entity Too Large",
        415 => "Unsupported Media Type",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        _ => "Unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_case_and_values_their_line() {
        let response = Response::new(204)
            .with("ETag", "a\r\nEvil: yes".to_owned())
            .with("x-ms-continuation-NextRowKey", "b");
        let mut out = Vec::new();
        head(&mut out, &response, Ending { close: true, ..Ending::default() });
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "HTTP/1.1 204 No Content\r\nETag: a  Evil: yes\r\nx-ms-continuation-NextRowKey: b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
    }
}
