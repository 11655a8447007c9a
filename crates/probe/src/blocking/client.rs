//! A client of one server on TCP or TLS. It connects when needed and keeps one connection as long as the server
//! keeps it open.
//!
//! A response that arrives before the request is complete must be seen, regardless of the rest of the request;
//! and a connection is never used again after an error.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;

use super::tls::{self, ExtraRoots, Session};
use super::{Connection, dial};
use crate::{Request, Response};

/// Maximum time for which a server may stay silent.
const SILENCE_TIME_MAX: Duration = Duration::from_secs(60);
/// Maximum time for a response to `Expect: 100-continue` before the body is sent anyway.
const CONTINUE_TIME_MAX: Duration = Duration::from_secs(2);
/// Requests larger than this are written by a separate thread if possible, so that an early rejection is seen.
const EAGER_BYTES_MAX: usize = 64 * 1024;

/// A client of one server.
#[derive(Debug)]
pub struct Client {
    authority: String,
    tls: Option<Tls>,
    connection: Option<Connection<Stream>>,
}

/// How a server proves who it is.
#[derive(Debug)]
struct Tls {
    name: String,
    extra: ExtraRoots,
    /// Created when it is first needed: reading the machine's certificates takes a while.
    config: Option<Arc<ClientConfig>>,
}

/// A stream to the server.
#[derive(Debug)]
enum Stream {
    Plain(TcpStream),
    Tls(Box<Session>),
}

impl Client {
    /// A client of the server at `host:port`.
    pub fn plain(authority: impl Into<String>) -> Self {
        Self { authority: authority.into(), tls: None, connection: None }
    }

    /// A client of the server at `host:port` with TLS. Its certificate must be valid for `name`.
    pub fn tls(authority: impl Into<String>, name: impl Into<String>, extra: ExtraRoots) -> Self {
        let tls = Tls { name: name.into(), extra, config: None };
        Self { authority: authority.into(), tls: Some(tls), connection: None }
    }

    /// Sends a request and reads the whole response.
    pub fn exchange(&mut self, request: &Request) -> io::Result<Response> {
        let (mut connection, is_old) = match self.connection.take() {
            Some(connection) => (connection, true),
            None => (self.connect()?, false),
        };
        let (response, is_reusable) = match exchange_on(&mut connection, request) {
            // The server may have closed an idle connection just as we wrote to it.
            Err(error) if is_old && error.kind() == io::ErrorKind::UnexpectedEof => {
                connection = self.connect()?;
                exchange_on(&mut connection, request)?
            }
            other => other?,
        };
        if is_reusable {
            self.connection = Some(connection);
        }
        Ok(response)
    }

    fn connect(&mut self) -> io::Result<Connection<Stream>> {
        let Some(tls) = &mut self.tls else {
            return Ok(Connection::on(Stream::Plain(dial(&self.authority, SILENCE_TIME_MAX)?)));
        };
        let config = match &tls.config {
            Some(config) => Arc::clone(config),
            None => Arc::clone(tls.config.insert(Arc::new(tls::config(&tls.extra)?))),
        };
        let socket = dial(&self.authority, SILENCE_TIME_MAX)?;
        Ok(Connection::on(Stream::Tls(Box::new(Session::open(socket, &tls.name, config)?))))
    }
}

/// Does one exchange on a connection, and returns whether it can be used again.
fn exchange_on(connection: &mut Connection<Stream>, request: &Request) -> io::Result<(Response, bool)> {
    if request.header("Expect").is_some() {
        return expect_continue(connection, request);
    }
    let message = request.bytes();
    if message.len() > EAGER_BYTES_MAX
        && let Some(writer) = connection.stream.second_writer()?
    {
        return read_while_writing(connection, request, writer, &message);
    }
    let written = connection.send(&message);
    match (connection.response(&request.method), written) {
        (Ok(response), written) => Ok((response, connection.is_reusable() && written.is_ok())),
        (Err(_), Err(error)) => Err(lost(error)),
        (Err(error), Ok(())) => Err(error),
    }
}

fn read_while_writing(
    connection: &mut Connection<Stream>,
    request: &Request,
    mut writer: TcpStream,
    message: &[u8],
) -> io::Result<(Response, bool)> {
    std::thread::scope(|scope| {
        let writing = scope.spawn(move || writer.write_all(message).is_ok());
        let response = connection.response(&request.method);
        // If the server responds without reading the rest, the writer would block forever: close the socket.
        let must_close = response.is_err() || !writing.is_finished();
        if must_close {
            connection.stream.socket().shutdown(Shutdown::Both).ok();
        }
        let is_complete = writing.join().unwrap_or(false);
        let is_reusable = connection.is_reusable() && is_complete && !must_close;
        response.map(|response| (response, is_reusable))
    })
}

/// A connection that broke while it was written to counts as closed.
fn lost(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => io::ErrorKind::UnexpectedEof.into(),
        _ => error,
    }
}

fn expect_continue(connection: &mut Connection<Stream>, request: &Request) -> io::Result<(Response, bool)> {
    connection.send(request.head_bytes())?;
    connection.stream.socket().set_read_timeout(Some(CONTINUE_TIME_MAX))?;
    let has_response = connection.wait()?;
    connection.stream.socket().set_read_timeout(Some(SILENCE_TIME_MAX))?;
    if has_response {
        let early = connection.read_head(&request.method)?;
        if early.status != 100 {
            let response = connection.complete(early)?;
            // The server would treat everything that follows on this connection as the body.
            return Ok((Response { continued: Some(false), ..response }, false));
        }
    }
    connection.send(request.body_bytes())?;
    let response = connection.response(&request.method)?;
    Ok((Response { continued: Some(has_response), ..response }, connection.is_reusable()))
}

impl Stream {
    /// The underlying socket, whose timeouts apply to the stream.
    fn socket(&self) -> &TcpStream {
        match self {
            Stream::Plain(socket) => socket,
            Stream::Tls(session) => session.socket(),
        }
    }

    /// A second handle for writing while the first one is read; `None` if reading and writing share state.
    fn second_writer(&self) -> io::Result<Option<TcpStream>> {
        match self {
            Stream::Plain(socket) => socket.try_clone().map(Some),
            Stream::Tls(_) => Ok(None),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.read(buffer),
            Stream::Tls(session) => session.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.write(buffer),
            Stream::Tls(session) => session.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(socket) => socket.flush(),
            Stream::Tls(session) => session.flush(),
        }
    }
}
