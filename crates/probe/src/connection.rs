//! A connection on a tokio socket, for load generators and other programs with many concurrent connections.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::{Decoder, Response};

/// Maximum size of a body that is read completely.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes read at a time.
const READ_BYTES: usize = 16 * 1024;

/// A connection.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    decoder: Decoder,
}

impl Connection {
    /// Connects to `host:port`.
    pub async fn open(authority: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(authority).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, decoder: Decoder::default() })
    }

    /// Sends small pieces immediately (the default), or delays them until earlier ones have arrived.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.stream.set_nodelay(nodelay)
    }

    /// Sends bytes unchanged: a request, or a part of one.
    pub async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// Reads the head of the next response, `100 Continue` included. `method` is that of the request.
    pub async fn read_head(&mut self, method: &str) -> io::Result<Response> {
        loop {
            if let Some(response) = self.decoder.head(method)? {
                return Ok(response);
            }
            if self.fill().await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Appends the next bytes of the body to `out`; `false` at the end of the body.
    pub async fn read_body(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        let before = out.len();
        loop {
            if self.decoder.body(out)? {
                return Ok(out.len() > before);
            }
            if out.len() > before {
                return Ok(true);
            }
            if self.fill().await? == 0 {
                self.decoder.end()?;
            }
        }
    }

    /// Sends a request and reads the whole response.
    pub async fn exchange(&mut self, method: &str, request: &[u8]) -> io::Result<Response> {
        self.send(request).await?;
        let mut response = self.read_head(method).await?;
        while response.status < 200 {
            response = self.read_head(method).await?;
        }
        let mut body = Vec::new();
        while self.read_body(&mut body).await? {
            if body.len() > BODY_BYTES_MAX {
                return Err(crate::response::malformed("the response is too large"));
            }
        }
        response.body = body;
        Ok(response)
    }

    async fn fill(&mut self) -> io::Result<usize> {
        let input = self.decoder.input();
        input.reserve(READ_BYTES);
        self.stream.read_buf(input).await
    }
}
