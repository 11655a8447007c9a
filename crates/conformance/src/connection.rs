//! Exchanges on a connection, plain or not.
//!
//! An answer that comes before the request is complete must be seen, whatever becomes of the rest of the request; and a
//! connection on which anything went wrong is never used again.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::time::Duration;

use crate::http::{Request, Response, header};
use crate::message::{answer, body_bytes, complete, head_bytes, read_head};

/// How long a server may take to accept a connection.
const CONNECT_SECONDS_MAX: u64 = 10;
/// How long a server may stay silent.
const SILENCE_SECONDS_MAX: u64 = 60;
/// How long a server may think about `Expect: 100-continue` before the body is sent anyway.
const CONTINUE_SECONDS_MAX: u64 = 2;
/// Requests above this are written by a thread of their own where that can be, so that an early refusal is seen while
/// they are.
const EAGER_BYTES_MAX: usize = 64 * 1024;

/// A stream to a server.
pub(crate) trait Stream: Read + Write {
    /// The socket below, whose timeouts hold for the stream.
    fn socket(&self) -> &TcpStream;

    /// A second handle that can be written to while the first is read; `None` where reading and writing share state.
    fn second_writer(&self) -> io::Result<Option<TcpStream>>;
}

impl Stream for TcpStream {
    fn socket(&self) -> &TcpStream {
        self
    }

    fn second_writer(&self) -> io::Result<Option<TcpStream>> {
        self.try_clone().map(Some)
    }
}

/// A socket to `host:port`, its timeouts set.
pub(crate) fn dial(authority: &str) -> io::Result<TcpStream> {
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in authority.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, Duration::from_secs(CONNECT_SECONDS_MAX)) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(Duration::from_secs(SILENCE_SECONDS_MAX)))?;
                stream.set_write_timeout(Some(Duration::from_secs(SILENCE_SECONDS_MAX)))?;
                return Ok(stream);
            }
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// Does one exchange on the connection that was kept, or on a new one, and keeps it as long as the server does.
pub(crate) fn exchange<S: Stream>(
    kept: &mut Option<BufReader<S>>,
    connect: impl Fn() -> io::Result<S>,
    request: &Request,
) -> io::Result<Response> {
    let (mut connection, is_old) = match kept.take() {
        Some(connection) => (connection, true),
        None => (BufReader::new(connect()?), false),
    };
    let first = exchange_on(&mut connection, request);
    let (response, keep) = match first {
        // The server may have closed an idle connection just as we wrote to it.
        Err(error) if is_old && error.kind() == io::ErrorKind::UnexpectedEof => {
            connection = BufReader::new(connect()?);
            exchange_on(&mut connection, request)?
        }
        other => other?,
    };
    if keep {
        *kept = Some(connection);
    }
    Ok(response)
}

/// Does one exchange on a connection, and tells whether it can be used again.
fn exchange_on<S: Stream>(connection: &mut BufReader<S>, request: &Request) -> io::Result<(Response, bool)> {
    let head = head_bytes(request);
    let body = body_bytes(request);
    if header(&request.headers, "Expect").is_some() {
        return expect_continue(connection, request, &head, &body);
    }
    let message = [head, body].concat();
    if message.len() > EAGER_BYTES_MAX
        && let Some(writer) = connection.get_ref().second_writer()?
    {
        return read_while_writing(connection, request, writer, &message);
    }
    let written = send(connection, &message);
    match (answer(connection, request), written) {
        (Ok((response, keep)), written) => Ok((response, keep && written.is_ok())),
        (Err(_), Err(error)) => Err(lost(error)),
        (Err(error), Ok(())) => Err(error),
    }
}

fn read_while_writing<S: Stream>(
    connection: &mut BufReader<S>,
    request: &Request,
    mut writer: TcpStream,
    message: &[u8],
) -> io::Result<(Response, bool)> {
    std::thread::scope(|scope| {
        let writing = scope.spawn(move || writer.write_all(message).is_ok());
        let answered = answer(connection, request);
        // A server that answers without reading on lets the writer wait for ever: let go of it.
        let let_go = answered.is_err() || !writing.is_finished();
        if let_go {
            connection.get_ref().socket().shutdown(Shutdown::Both).ok();
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

fn expect_continue<S: Stream>(
    connection: &mut BufReader<S>,
    request: &Request,
    head: &[u8],
    body: &[u8],
) -> io::Result<(Response, bool)> {
    send(connection, head)?;
    let socket = connection.get_ref().socket();
    socket.set_read_timeout(Some(Duration::from_secs(CONTINUE_SECONDS_MAX)))?;
    let early = match connection.fill_buf() {
        Ok(_) => Some(read_head(connection)?),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => None,
        Err(error) => return Err(error),
    };
    let socket = connection.get_ref().socket();
    socket.set_read_timeout(Some(Duration::from_secs(SILENCE_SECONDS_MAX)))?;
    match early {
        Some(response) if response.status != 100 => {
            let (mut response, _) = complete(connection, request, response)?;
            response.continued = Some(false);
            // What follows on this connection would be taken for the body.
            Ok((response, false))
        }
        asked => {
            send(connection, body)?;
            let (mut response, keep) = answer(connection, request)?;
            response.continued = Some(asked.is_some());
            Ok((response, keep))
        }
    }
}

fn send<S: Stream>(connection: &mut BufReader<S>, bytes: &[u8]) -> io::Result<()> {
    connection.get_mut().write_all(bytes).and_then(|()| connection.get_mut().flush())
}
