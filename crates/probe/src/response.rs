//! A response as it arrived. The head is kept as one string, since a load generator rarely examines it.

use std::io;

use memchr::memchr;

/// A response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// Status line and headers, as they arrived.
    pub head: String,
    /// The body, no longer chunked.
    pub body: Vec<u8>,
    /// Did the server request the body with `100 Continue`? `None` if the request did not wait for that.
    pub continued: Option<bool>,
}

impl Response {
    /// Parses a head: status line, headers, empty line.
    pub fn from_head(head: String) -> io::Result<Self> {
        let status = status_of(&head)?;
        Ok(Self { status, head, ..Self::default() })
    }

    /// The reason phrase.
    pub fn reason(&self) -> &str {
        lines(&self.head).next().and_then(|line| line.splitn(3, ' ').nth(2)).unwrap_or_default()
    }

    /// The headers in order, names in the case in which they arrived.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        lines(&self.head)
            .skip(1)
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name, value.trim()))
    }

    /// The value of a header, with its name in any letter case.
    pub fn header(&self, name: &str) -> Option<&str> {
        lines(&self.head).skip(1).find_map(|line| {
            let (given, rest) = line.split_at_checked(name.len())?;
            rest.strip_prefix(':').filter(|_| given.eq_ignore_ascii_case(name)).map(str::trim)
        })
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Does the server close the connection?
    pub fn closes(&self) -> bool {
        self.header("Connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }
}

/// Parses the status line, and checks that every other line is a header.
fn status_of(head: &str) -> io::Result<u16> {
    let mut lines = lines(head);
    let line = lines.next().unwrap_or_default();
    let mut words = line.split(' ');
    let is_http = words.next().is_some_and(|version| version.starts_with("HTTP/1."));
    let status = words.next().and_then(|word| word.parse().ok()).filter(|_| is_http);
    let status = status.ok_or_else(|| malformed(&format!("not a status line: {line}")))?;
    match lines.find(|line| !line.is_empty() && memchr(b':', line.as_bytes()).is_none()) {
        Some(line) => Err(malformed(&format!("not a header: {line}"))),
        None => Ok(status),
    }
}

/// The lines of a head. `str::lines` takes several times as long, and a load generator shares its cores with the server that
/// it measures.
fn lines(head: &str) -> impl Iterator<Item = &str> {
    let mut rest = head;
    std::iter::from_fn(move || {
        let end = memchr(b'\n', rest.as_bytes())?;
        let line = &rest[..end];
        rest = &rest[end + 1..];
        Some(line.strip_suffix('\r').unwrap_or(line))
    })
}

pub(crate) fn malformed(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_on_demand() {
        let head = "HTTP/1.1 404 Not Found\r\nETag: \"a:b\"\r\nX: \r\nConnection: Close\r\n\r\n";
        let response = Response::from_head(head.to_owned()).unwrap();
        assert_eq!((response.status, response.reason()), (404, "Not Found"));
        assert_eq!(response.headers().collect::<Vec<_>>()[..2], [("ETag", "\"a:b\""), ("X", "")]);
        assert_eq!(response.header("etag"), Some("\"a:b\""));
        assert!(response.closes());
        for bad in ["", "HTTP/2 200 OK\r\n", "HTTP/1.1 OK\r\n", "200", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n"]
        {
            assert!(Response::from_head(bad.to_owned()).is_err(), "{bad}");
        }
    }
}
