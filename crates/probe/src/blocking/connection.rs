//! One connection on any stream. It sends bytes and decodes the responses.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use crate::response::malformed;
use crate::{Decoder, Request, Response};

/// Maximum time for a server to accept a connection.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);
/// Maximum size of a body that is read completely.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes read at a time.
const READ_BYTES: usize = 64 * 1024;

/// A connection.
#[derive(Debug)]
pub struct Connection<S = TcpStream> {
    /// The stream that it reads from and writes to.
    pub stream: S,
    decoder: Decoder,
}

/// A socket to `host:port`. The server may stop sending or reading for at most `timeout`.
pub fn dial(authority: &str, timeout: Duration) -> io::Result<TcpStream> {
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
    for address in authority.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT_TIME_MAX) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(timeout))?;
                stream.set_write_timeout(Some(timeout))?;
                return Ok(stream);
            }
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

impl Connection {
    /// Connects to `host:port`; see [`dial`].
    pub fn open(authority: &str, timeout: Duration) -> io::Result<Self> {
        dial(authority, timeout).map(Self::on)
    }
}

impl<S: Read + Write> Connection<S> {
    /// A connection on a connected stream.
    pub fn on(stream: S) -> Self {
        Self { stream, decoder: Decoder::default() }
    }

    /// Sends bytes unchanged: a request, or a part of one.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref())?;
        self.stream.flush()
    }

    /// Sends a request and reads the whole response.
    pub fn exchange(&mut self, request: &Request) -> io::Result<Response> {
        self.send(request.bytes())?;
        self.response(&request.method)
    }

    /// Reads the final response with its whole body. `method` is the method of the request.
    pub fn response(&mut self, method: &str) -> io::Result<Response> {
        loop {
            let response = self.read_head(method)?;
            if response.status >= 200 {
                return self.complete(response);
            }
        }
    }

    /// Reads the head of the next response, `100 Continue` included.
    pub fn read_head(&mut self, method: &str) -> io::Result<Response> {
        loop {
            if let Some(response) = self.decoder.head(method)? {
                return Ok(response);
            }
            if self.fill()? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Appends the next bytes of the body to `out`; `false` at the end of the body.
    pub fn read_body(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        let before = out.len();
        loop {
            if self.decoder.body(out)? {
                return Ok(out.len() > before);
            }
            if out.len() > before {
                return Ok(true);
            }
            if self.fill()? == 0 {
                self.decoder.end()?;
            }
        }
    }

    /// Reads the body that follows a head.
    pub fn complete(&mut self, mut response: Response) -> io::Result<Response> {
        let mut body = Vec::new();
        while self.read_body(&mut body)? {
            if body.len() > BODY_BYTES_MAX {
                return Err(malformed("the response is too large"));
            }
        }
        response.body = body;
        Ok(response)
    }

    /// Can another request be sent on this connection after the last response?
    pub fn is_reusable(&self) -> bool {
        self.decoder.is_reusable()
    }

    /// Waits until bytes have arrived; `false` if the timeout of the stream expired first.
    pub fn wait(&mut self) -> io::Result<bool> {
        if !self.decoder.input().is_empty() {
            return Ok(true);
        }
        match self.fill() {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Reads everything that the server sends until it closes the connection.
    pub fn rest(&mut self) -> io::Result<Vec<u8>> {
        let mut rest = std::mem::take(self.decoder.input());
        self.stream.read_to_end(&mut rest)?;
        Ok(rest)
    }

    fn fill(&mut self) -> io::Result<usize> {
        let input = self.decoder.input();
        let start = input.len();
        input.resize(start + READ_BYTES, 0);
        let read = self.stream.read(&mut input[start..]);
        input.truncate(start + *read.as_ref().unwrap_or(&0));
        read
    }
}
