//! One connection of the load generator: sends prepared bytes, reads answers.

use std::io;

use lazuli_server::http::{Chunked, Progress};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Largest answer that is read.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A connection.
pub struct Connection {
    stream: TcpStream,
    input: Vec<u8>,
}

/// An answer.
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Status line and header fields.
    pub head: String,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    /// The value of a header field.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (given, value) = line.split_once(':')?;
            given.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl Connection {
    /// Connects.
    pub async fn open(authority: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(authority).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, input: Vec::new() })
    }

    /// Sends a request and reads its answer.
    pub async fn exchange(&mut self, request: &[u8]) -> io::Result<Answer> {
        self.stream.write_all(request).await?;
        let end = self.read_head().await?;
        let head = String::from_utf8_lossy(&self.input[..end]).into_owned();
        self.input.drain(..end);
        let status = head.split(' ').nth(1).and_then(|text| text.parse().ok()).ok_or_else(malformed)?;
        let mut answer = Answer { status, head, body: Vec::new() };
        answer.body = if answer.field("transfer-encoding").is_some_and(|coding| coding.contains("chunked")) {
            self.read_chunked().await?
        } else {
            let length = answer.field("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
            self.read_length(length).await?
        };
        Ok(answer)
    }

    async fn read_head(&mut self) -> io::Result<usize> {
        loop {
            if let Some(at) = self.input.windows(4).position(|window| window == b"\r\n\r\n") {
                return Ok(at + 4);
            }
            self.fill().await?;
        }
    }

    async fn read_length(&mut self, length: usize) -> io::Result<Vec<u8>> {
        while self.input.len() < length {
            self.fill().await?;
        }
        Ok(self.input.drain(..length).collect())
    }

    async fn read_chunked(&mut self) -> io::Result<Vec<u8>> {
        let mut chunked = Chunked::new(ANSWER_BYTES_MAX);
        loop {
            let (used, progress) = chunked.feed(&self.input).map_err(|_| malformed())?;
            self.input.drain(..used);
            if progress == Progress::Done {
                return Ok(chunked.into_body());
            }
            self.fill().await?;
        }
    }

    async fn fill(&mut self) -> io::Result<()> {
        self.input.reserve(16 * 1024);
        if self.stream.read_buf(&mut self.input).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}

fn malformed() -> io::Error {
    io::Error::other("the answer is not HTTP")
}
