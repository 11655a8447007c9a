//! A small HTTP/1.1 client on a plain socket.
//!
//! Ours because it must see header names in the case in which they were sent, must be able to send what a proper client
//! would not, and must see an answer that comes before the request is complete. One connection is kept as long as the
//! server keeps it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use crate::http::{Request, Response, Transport, header};

/// How long a server may take to accept a connection.
const CONNECT_SECONDS_MAX: u64 = 10;
/// How long a server may stay silent.
const SILENCE_SECONDS_MAX: u64 = 60;
/// How long a server may think about `Expect: 100-continue` before the body is sent anyway.
const CONTINUE_SECONDS_MAX: u64 = 2;
/// The largest head of an answer.
const HEAD_BYTES_MAX: u64 = 256 * 1024;
/// The largest body of an answer.
const BODY_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Bodies above this are written by a thread of their own, so that an early refusal is seen while they are.
const EAGER_BODY_BYTES_MAX: usize = 64 * 1024;

/// A server at an address.
#[derive(Debug)]
pub struct Tcp {
    authority: String,
    connection: Option<BufReader<TcpStream>>,
}

impl Tcp {
    /// A server at `host:port`; connects when it is first needed.
    pub fn new(authority: impl Into<String>) -> Self {
        Self { authority: authority.into(), connection: None }
    }

    fn connect(&self) -> io::Result<BufReader<TcpStream>> {
        let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in self.authority.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, Duration::from_secs(CONNECT_SECONDS_MAX)) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    stream.set_read_timeout(Some(Duration::from_secs(SILENCE_SECONDS_MAX)))?;
                    stream.set_write_timeout(Some(Duration::from_secs(SILENCE_SECONDS_MAX)))?;
                    return Ok(BufReader::new(stream));
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }
}

impl Transport for Tcp {
    fn exchange(&mut self, request: &Request) -> io::Result<Response> {
        let (mut connection, is_old) = match self.connection.take() {
            Some(connection) => (connection, true),
            None => (self.connect()?, false),
        };
        let first = exchange_on(&mut connection, request);
        let (response, keep) = match first {
            // The server may have closed an idle connection just as we wrote to it.
            Err(error) if is_old && error.kind() == io::ErrorKind::UnexpectedEof => {
                connection = self.connect()?;
                exchange_on(&mut connection, request)?
            }
            other => other?,
        };
        if keep {
            self.connection = Some(connection);
        }
        Ok(response)
    }
}

/// Does one exchange on a connection, and tells whether it can be used again.
fn exchange_on(connection: &mut BufReader<TcpStream>, request: &Request) -> io::Result<(Response, bool)> {
    let head = head_bytes(request);
    let body = body_bytes(request);
    if header(&request.headers, "Expect").is_some() {
        return expect_continue(connection, request, &head, &body);
    }
    if body.len() <= EAGER_BODY_BYTES_MAX {
        let written = connection.get_mut().write_all(&[head, body].concat());
        return answer(connection, request).map_err(|error| written.err().map_or(error, lost));
    }
    let mut writer = connection.get_ref().try_clone()?;
    std::thread::scope(|scope| {
        let writing =
            scope.spawn(move || writer.write_all(&head).and_then(|()| writer.write_all(&body)).is_ok());
        let answered = answer(connection, request);
        // A server that answers without reading on lets the writer wait for ever: let go of it.
        let let_go = answered.is_err() || !writing.is_finished();
        if let_go {
            connection.get_ref().shutdown(std::net::Shutdown::Both).ok();
        }
        let complete = writing.join().unwrap_or(false);
        answered.map(|(response, keep)| (response, keep && complete && !let_go))
    })
}

/// A connection that broke while it was written to counts as closed.
fn lost(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => io::ErrorKind::UnexpectedEof.into(),
        _ => error,
    }
}

fn expect_continue(
    connection: &mut BufReader<TcpStream>,
    request: &Request,
    head: &[u8],
    body: &[u8],
) -> io::Result<(Response, bool)> {
    connection.get_mut().write_all(head)?;
    connection.get_ref().set_read_timeout(Some(Duration::from_secs(CONTINUE_SECONDS_MAX)))?;
    let early = match connection.fill_buf() {
        Ok(_) => Some(read_head(connection)?),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => None,
        Err(error) => return Err(error),
    };
    connection.get_ref().set_read_timeout(Some(Duration::from_secs(SILENCE_SECONDS_MAX)))?;
    match early {
        Some(response) if response.status != 100 => {
            let (mut response, _) = complete(connection, request, response)?;
            response.continued = Some(false);
            // What follows on this connection would be taken for the body.
            Ok((response, false))
        }
        asked => {
            connection.get_mut().write_all(body)?;
            let (mut response, keep) = answer(connection, request)?;
            response.continued = Some(asked.is_some());
            Ok((response, keep))
        }
    }
}

fn head_bytes(request: &Request) -> Vec<u8> {
    let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.target);
    for (name, value) in &request.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    head.into_bytes()
}

fn body_bytes(request: &Request) -> Vec<u8> {
    let chunked = header(&request.headers, "Transfer-Encoding").is_some_and(|value| value == "chunked");
    if !chunked {
        return request.body.clone();
    }
    const CHUNK_BYTES: usize = 1000;
    let mut out = Vec::new();
    for chunk in request.body.chunks(CHUNK_BYTES) {
        out.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"0\r\n\r\n");
    out
}

/// Reads the final answer; what comes before it is passed over.
fn answer(connection: &mut BufReader<TcpStream>, request: &Request) -> io::Result<(Response, bool)> {
    loop {
        let response = read_head(connection)?;
        if response.status >= 200 {
            return complete(connection, request, response);
        }
    }
}

fn complete(
    connection: &mut BufReader<TcpStream>,
    request: &Request,
    mut response: Response,
) -> io::Result<(Response, bool)> {
    let (body, framed) = read_body(connection, request, &response)?;
    response.body = body;
    let close = header(&response.headers, "Connection").is_some_and(|v| v.eq_ignore_ascii_case("close"));
    Ok((response, framed && !close))
}

fn read_head(reader: &mut impl BufRead) -> io::Result<Response> {
    let mut reader = reader.take(HEAD_BYTES_MAX);
    let status_line = read_line(&mut reader)?;
    let mut words = status_line.splitn(3, ' ');
    let version = words.next().unwrap_or_default();
    let status = words.next().and_then(|word| word.parse().ok());
    let (true, Some(status)) = (version.starts_with("HTTP/1."), status) else {
        return Err(malformed(&format!("not a status line: {status_line}")));
    };
    let mut response =
        Response { status, reason: words.next().unwrap_or_default().to_owned(), ..Response::default() };
    loop {
        let line = read_line(&mut reader)?;
        if line.is_empty() {
            return Ok(response);
        }
        let (name, value) =
            line.split_once(':').ok_or_else(|| malformed(&format!("not a header: {line}")))?;
        response.headers.push((name.to_owned(), value.trim().to_owned()));
    }
}

fn read_line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    reader.read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

/// The body, and whether its end was marked.
fn read_body(
    reader: &mut impl BufRead,
    request: &Request,
    response: &Response,
) -> io::Result<(Vec<u8>, bool)> {
    if request.method == "HEAD" || matches!(response.status, 204 | 304) {
        return Ok((Vec::new(), true));
    }
    if header(&response.headers, "Transfer-Encoding").is_some_and(|value| value.contains("chunked")) {
        return Ok((read_chunks(reader)?, true));
    }
    let mut body = Vec::new();
    match header(&response.headers, "Content-Length") {
        Some(length) => {
            let length: u64 = length.parse().map_err(|_| malformed("Content-Length is not a number"))?;
            read_exactly(reader, length, &mut body)?;
            Ok((body, true))
        }
        None => {
            reader.take(BODY_BYTES_MAX).read_to_end(&mut body)?;
            Ok((body, false))
        }
    }
}

fn read_chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = read_line(reader)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).map_err(|_| malformed("not the size of a chunk"))?;
        read_exactly(reader, size, &mut body)?;
        if size == 0 {
            while !read_line(reader)?.is_empty() {}
            return Ok(body);
        }
        if !read_line(reader)?.is_empty() {
            return Err(malformed("a chunk does not end where it says"));
        }
    }
}

fn read_exactly(reader: &mut impl BufRead, length: u64, body: &mut Vec<u8>) -> io::Result<()> {
    if body.len() as u64 + length > BODY_BYTES_MAX {
        return Err(malformed("the answer is too large"));
    }
    let read = reader.take(length).read_to_end(body)?;
    if (read as u64) < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

fn malformed(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.to_owned())
}

#[cfg(test)]
mod tests;
