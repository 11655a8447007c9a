//! Decodes responses from bytes. It does no I/O: a connection fills the buffer and calls it again.

use std::io;

use crate::Response;
use crate::response::malformed;

/// Maximum size of the head of a response.
const HEAD_BYTES_MAX: usize = 256 * 1024;
/// Maximum length of a chunk-size line.
const LINE_BYTES_MAX: usize = 4 * 1024;

/// The way in which the end of the current body is determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    /// It has ended.
    Done,
    /// After this many bytes.
    Length(u64),
    /// After this many bytes comes the end of a chunk.
    Chunk(u64),
    /// A chunk-size line comes next.
    ChunkLine,
    /// Lines after the last chunk, up to an empty one.
    Trailer,
    /// The body ends when the connection is closed.
    Close,
}

/// Decodes the responses of one connection.
#[derive(Debug)]
pub struct Decoder {
    input: Vec<u8>,
    framing: Framing,
    is_reusable: bool,
}

impl Default for Decoder {
    fn default() -> Self {
        Self { input: Vec::new(), framing: Framing::Done, is_reusable: true }
    }
}

impl Decoder {
    /// The buffer to which received bytes are appended.
    pub fn input(&mut self) -> &mut Vec<u8> {
        &mut self.input
    }

    /// Can another request be sent after the body has been read?
    pub fn is_reusable(&self) -> bool {
        self.is_reusable
    }

    /// Takes the head of the next response; `None` until all of it has arrived. `method` is that of the request: a
    /// response to HEAD has no body.
    pub fn head(&mut self, method: &str) -> io::Result<Option<Response>> {
        let Some(end) = memchr::memmem::find(&self.input, b"\r\n\r\n") else {
            return if self.input.len() > HEAD_BYTES_MAX {
                Err(malformed("the head is too large"))
            } else {
                Ok(None)
            };
        };
        let head = String::from_utf8_lossy(&self.input[..end + 4]).into_owned();
        self.input.drain(..end + 4);
        let response = Response::from_head(head)?;
        self.framing = framing(method, &response)?;
        self.is_reusable = self.framing != Framing::Close && !response.closes();
        Ok(Some(response))
    }

    /// Moves bytes of the body that have arrived to `out`; `true` if the body is complete.
    pub fn body(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        loop {
            match self.framing {
                Framing::Done => return Ok(true),
                Framing::Close => {
                    out.append(&mut self.input);
                    return Ok(false);
                }
                Framing::Length(left) => {
                    let left = left - self.take(left, out);
                    self.framing = if left == 0 { Framing::Done } else { Framing::Length(left) };
                    if left > 0 {
                        return Ok(false);
                    }
                }
                Framing::Chunk(left) => {
                    let left = left - self.take(left, out);
                    self.framing = Framing::Chunk(left);
                    if left > 0 || self.input.len() < 2 {
                        return Ok(false);
                    }
                    if !self.input.starts_with(b"\r\n") {
                        return Err(malformed("a chunk does not end where it says"));
                    }
                    self.input.drain(..2);
                    self.framing = Framing::ChunkLine;
                }
                Framing::ChunkLine | Framing::Trailer => {
                    let Some(line) = self.line()? else { return Ok(false) };
                    self.framing = match self.framing {
                        Framing::Trailer if line.is_empty() => Framing::Done,
                        Framing::Trailer => Framing::Trailer,
                        _ => chunk(&line)?,
                    };
                }
            }
        }
    }

    /// Handles a closed connection: it ends a body without a length; otherwise it is an error.
    pub fn end(&mut self) -> io::Result<()> {
        if self.framing != Framing::Close {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.framing = Framing::Done;
        Ok(())
    }

    fn take(&mut self, left: u64, out: &mut Vec<u8>) -> u64 {
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(self.input.len());
        out.extend(self.input.drain(..length));
        length as u64
    }

    fn line(&mut self) -> io::Result<Option<String>> {
        let Some(end) = self.input.iter().position(|byte| *byte == b'\n') else {
            return if self.input.len() > LINE_BYTES_MAX {
                Err(malformed("a line is too long"))
            } else {
                Ok(None)
            };
        };
        let line = String::from_utf8_lossy(&self.input[..end]).trim_end_matches('\r').to_owned();
        self.input.drain(..=end);
        Ok(Some(line))
    }
}

fn framing(method: &str, response: &Response) -> io::Result<Framing> {
    if method == "HEAD" || matches!(response.status, 100..200 | 204 | 304) {
        return Ok(Framing::Done);
    }
    if response.header("Transfer-Encoding").is_some_and(|value| value.contains("chunked")) {
        return Ok(Framing::ChunkLine);
    }
    match response.header("Content-Length").map(str::parse) {
        Some(Ok(0)) => Ok(Framing::Done),
        Some(Ok(length)) => Ok(Framing::Length(length)),
        Some(Err(_)) => Err(malformed("Content-Length is not a number")),
        None => Ok(Framing::Close),
    }
}

fn chunk(line: &str) -> io::Result<Framing> {
    let size = line.split(';').next().unwrap_or_default().trim();
    match u64::from_str_radix(size, 16) {
        Ok(0) => Ok(Framing::Trailer),
        Ok(size) => Ok(Framing::Chunk(size)),
        Err(_) => Err(malformed("not the size of a chunk")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds a response in pieces of this size; returns status, body, and whether the connection can be used again.
    fn decode(method: &str, text: &str, piece: usize) -> io::Result<(u16, String, bool)> {
        let mut decoder = Decoder::default();
        let (mut head, mut body, mut is_done) = (None, Vec::new(), false);
        for bytes in text.as_bytes().chunks(piece) {
            decoder.input().extend_from_slice(bytes);
            if head.is_none() {
                head = decoder.head(method)?;
            }
            if head.is_some() && !is_done {
                is_done = decoder.body(&mut body)?;
            }
        }
        if !is_done {
            decoder.end()?;
        }
        Ok((head.unwrap().status, String::from_utf8(body).unwrap(), decoder.is_reusable()))
    }

    #[test]
    fn bodies_end_as_their_heads_say() {
        for (method, text, status, body, reusable) in [
            ("GET", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", 200, "abc", true),
            ("GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, "", true),
            ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", 200, "", true),
            ("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n", 304, "", true),
            ("GET", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx", 200, "x", false),
            ("GET", "HTTP/1.1 200 OK\r\n\r\nabc", 200, "abc", false),
            (
                "GET",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\nB\r\n0123456789a\r\n0\r\nX: 1\r\n\r\n",
                200,
                "abc0123456789a",
                true,
            ),
        ] {
            for piece in [1, 2, 3, 7, 1000] {
                let decoded = decode(method, text, piece).unwrap();
                assert_eq!(decoded, (status, body.to_owned(), reusable), "{text} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn broken_responses_are_errors() {
        for (text, kind) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", io::ErrorKind::UnexpectedEof),
            ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nab", io::ErrorKind::InvalidData),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcde", io::ErrorKind::InvalidData),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n", io::ErrorKind::InvalidData),
            ("SSH-2.0\r\n\r\n", io::ErrorKind::InvalidData),
        ] {
            assert_eq!(decode("GET", text, 1000).unwrap_err().kind(), kind, "{text}");
        }
    }

    #[test]
    fn responses_may_follow_each_other() {
        let mut decoder = Decoder::default();
        decoder.input().extend_from_slice(
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP",
        );
        let mut body = Vec::new();
        assert_eq!(decoder.head("PUT").unwrap().unwrap().status, 100);
        assert!(decoder.body(&mut body).unwrap());
        assert_eq!(decoder.head("PUT").unwrap().unwrap().status, 200);
        assert!(decoder.body(&mut body).unwrap());
        assert_eq!((body.as_slice(), decoder.input().as_slice()), (&b"x"[..], &b"HTTP"[..]));
    }
}
