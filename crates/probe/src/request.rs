//! A request as bytes. Nothing is checked, since tests send invalid requests.

use std::borrow::Cow;

/// Bytes in each chunk of a chunked body.
const CHUNK_BYTES: usize = 1000;

/// A header: its name in the case in which it is sent, and its value.
pub type Header = (Cow<'static, str>, Cow<'static, str>);

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The HTTP verb.
    pub method: Cow<'static, str>,
    /// The target of the request line.
    pub target: String,
    /// The headers in order.
    pub headers: Vec<Header>,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    /// A request without headers or body.
    pub fn new(method: impl Into<Cow<'static, str>>, target: impl Into<String>) -> Self {
        Self { method: method.into(), target: target.into(), headers: Vec::new(), body: Vec::new() }
    }

    /// Adds a header.
    #[must_use]
    pub fn with(mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Cow<'static, str>>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sets a JSON body.
    #[must_use]
    pub fn json(self, body: impl Into<Vec<u8>>) -> Self {
        self.body(body).with("Content-Type", "application/json")
    }

    /// The value of a header, with its name in any letter case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }

    /// Announces the length of the body, unless a header already specifies the framing. A GET or HEAD without a
    /// body needs none.
    pub fn announce_length(&mut self) {
        let is_said = self.header("Content-Length").is_some() || self.header("Transfer-Encoding").is_some();
        let needs_none = self.body.is_empty() && matches!(&*self.method, "GET" | "HEAD");
        if !is_said && !needs_none {
            self.headers.push(("Content-Length".into(), self.body.len().to_string().into()));
        }
    }

    /// The request line and the headers.
    pub fn head_bytes(&self) -> Vec<u8> {
        let length = self.headers.iter().map(|(name, value)| name.len() + value.len() + 4).sum::<usize>();
        let mut head = Vec::with_capacity(self.method.len() + self.target.len() + length + 14);
        for part in [&self.method, " ", &self.target, " HTTP/1.1\r\n"] {
            head.extend_from_slice(part.as_bytes());
        }
        for (name, value) in &self.headers {
            for part in [name, ": ", value, "\r\n"] {
                head.extend_from_slice(part.as_bytes());
            }
        }
        head.extend_from_slice(b"\r\n");
        head
    }

    /// The body, in chunks if the headers say so.
    pub fn body_bytes(&self) -> Cow<'_, [u8]> {
        if self.header("Transfer-Encoding") != Some("chunked") {
            return Cow::Borrowed(&self.body);
        }
        let mut out = Vec::with_capacity(self.body.len() + 64);
        for chunk in self.body.chunks(CHUNK_BYTES) {
            out.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            out.extend_from_slice(chunk);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"0\r\n\r\n");
        Cow::Owned(out)
    }

    /// The whole request.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.head_bytes();
        bytes.extend_from_slice(&self.body_bytes());
        bytes
    }
}

/// The value of a header in a list, with its name in any letter case.
pub fn header<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers.iter().find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_written_as_they_are() {
        let mut request = Request::new("PUT", "/a b?c").with("X-Own", "1").with("x-own", "2").body("abc");
        request.announce_length();
        let expected = "PUT /a b?c HTTP/1.1\r\nX-Own: 1\r\nx-own: 2\r\nContent-Length: 3\r\n\r\nabc";
        assert_eq!(String::from_utf8(request.bytes()).unwrap(), expected);
        assert_eq!(request.header("x-OWN"), Some("1"));
    }

    #[test]
    fn bodies_are_chunked_on_demand() {
        let request = Request::new("PUT", "/").with("Transfer-Encoding", "chunked").body(vec![b'x'; 1001]);
        let body = request.body_bytes();
        assert!(body.starts_with(b"3e8\r\nx") && body.ends_with(b"x\r\n1\r\nx\r\n0\r\n\r\n"));
    }

    #[test]
    fn only_bodies_need_a_length() {
        let length = |method: &'static str, body: &str| {
            let mut request = Request::new(method, "/").body(body);
            request.announce_length();
            request.header("content-length").map(str::to_owned)
        };
        assert_eq!(length("GET", ""), None);
        assert_eq!(length("DELETE", "").as_deref(), Some("0"));
        assert_eq!(length("GET", "x").as_deref(), Some("1"));
    }
}
