//! One connection: requests one after the other, each within its bounds, until either side closes.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use lazuli_model::error::Origin;
use lazuli_model::{ErrorCode, Failure};
use lazuli_protocol::Response;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, timeout_at};

use super::body::{CHUNK_BYTES, Left, SocketBody};
use super::budget::{Budget, Claim};
use super::handler::{Handler, Peer, Reply, ResponseContent};
use super::head::{HeadError, RequestHead, find_head_end};
use super::idle::{Idle, Interruption, within};
use super::progress::Deadline;
use super::read::poll_read_ahead;
use super::write::{self, BODY_BYTES_COPIED_MAX, Ending};
use crate::Limits;
use crate::metrics::{Counted, Traffic};

/// Bytes read at a time. An idle connection holds two buffers of this size, no more.
pub const READ_BYTES: usize = 4 * 1024;
/// An unread body up to this size is read and dropped, so that the connection can be used again.
const DRAIN_BYTES_MAX: u64 = 64 * 1024;
/// Maximum bytes that are read and dropped before a connection is closed, so that the client sees the response.
const LINGER_BYTES_MAX: usize = 16 * 1024 * 1024;
const LINGER_TIME_MAX: Duration = Duration::from_secs(5);

/// The state that connections share.
#[derive(Clone)]
pub struct Shared {
    /// Bounds.
    pub limits: Limits,
    /// The memory for large heads and bodies of requests.
    pub(super) requests: Budget,
    /// The memory for large responses being sent.
    responses: Budget,
    /// Permits for connections.
    pub(crate) connections: Arc<Semaphore>,
    /// Becomes true when the server should stop.
    stop: watch::Receiver<bool>,
    /// The traffic through them.
    pub traffic: Arc<Traffic>,
}

impl Shared {
    /// The state that connections share.
    pub fn new(limits: Limits, stop: watch::Receiver<bool>) -> Self {
        let budget = || Budget::new(limits.bodies_bytes_max);
        let connections = Arc::new(Semaphore::new(limits.connections_max));
        Self { limits, requests: budget(), responses: budget(), connections, stop, traffic: Arc::default() }
    }
}

/// Serves a connection until it ends.
pub async fn serve<S, H>(stream: S, peer: Peer, handler: &H, shared: Shared)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
    H: Handler,
{
    let stream = Counted::new(stream, shared.traffic.clone());
    let mut connection = Connection { stream, input: BytesMut::new(), output: Vec::new() };
    let mut timeout = shared.limits.head_time_max;
    let mut idle = Idle::new(&shared.stop, Instant::now() + timeout);
    while let Ok(bytes) = connection.read_head(&mut idle, &shared, timeout).await {
        let (bytes, _claim) = match bytes {
            Ok(head) => head,
            Err(code) => return connection.reject(handler, code, peer, &shared.limits).await,
        };
        let again = match RequestHead::parse(&bytes, shared.limits.fields_max) {
            Ok(head) => connection.exchange(&head, peer, handler, &shared, &mut idle).await,
            Err(error) => return connection.reject(handler, rejection(error), peer, &shared.limits).await,
        };
        if !again {
            return;
        }
        timeout = shared.limits.idle_time_max;
    }
}

/// Sends a response to a client that is not served, and closes the connection.
pub async fn turn_away<S, H>(stream: S, peer: Peer, handler: &H, code: ErrorCode, limits: &Limits)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
    H: Handler,
{
    let mut connection = Connection { stream, input: BytesMut::new(), output: Vec::new() };
    connection.reject(handler, code, peer, limits).await;
}

fn rejection(error: HeadError) -> ErrorCode {
    match error {
        HeadError::Malformed => ErrorCode::InvalidInput,
        HeadError::TooManyFields => ErrorCode::RequestHeaderTooLarge,
        HeadError::UnknownCoding => ErrorCode::NotImplemented,
        HeadError::UnknownExpectation => ErrorCode::ExpectationFailed,
    }
}

/// A connection between requests.
pub struct Connection<S> {
    /// The socket.
    pub stream: S,
    /// Bytes that were read but not yet used.
    pub input: BytesMut,
    /// Reused for all responses.
    output: Vec<u8>,
}

/// The connection is no longer usable.
struct Gone;

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Connection<S> {
    /// Reads the next head. `Err(Gone)` if no head will come; an error code if it is rejected.
    async fn read_head(
        &mut self,
        idle: &mut Idle,
        shared: &Shared,
        timeout: Duration,
    ) -> Result<Result<(Bytes, Option<Claim>), ErrorCode>, Gone> {
        let limits = &shared.limits;
        let mut deadline = Instant::now() + timeout;
        let mut waiting = true;
        let mut searched = 0;
        let mut claim = None;
        loop {
            self.skip_empty_lines();
            if self.input.first().is_some_and(|&byte| byte != b'\r' && !byte.is_ascii_graphic()) {
                // No method starts with this byte, but a TLS ClientHello does. Its sender would wait until the
                // deadline.
                return Ok(Err(ErrorCode::InvalidInput));
            }
            if let Some(end) = find_head_end(&self.input, searched) {
                if end > limits.head_bytes_max {
                    return Ok(Err(ErrorCode::RequestHeaderTooLarge));
                }
                return Ok(Ok((self.input.split_to(end).freeze(), claim)));
            }
            searched = self.input.len();
            // The deadline of a head runs from its first byte; empty lines do not count.
            if waiting && searched > 0 {
                deadline = Instant::now() + limits.head_time_max;
                waiting = false;
            }
            if searched >= limits.head_bytes_max {
                return Ok(Err(ErrorCode::RequestHeaderTooLarge));
            }
            if searched > Limits::BODY_BYTES_FREE && claim.is_none() {
                // The buffer doubles as it grows.
                claim = shared.requests.claim(2 * limits.head_bytes_max);
                if claim.is_none() {
                    return Ok(Err(ErrorCode::ServerBusy));
                }
            }
            if waiting {
                if idle.is_stopping() {
                    return Err(Gone);
                }
                self.shrink();
            }
            let read = poll_fn(|context| match poll_read_ahead(&mut self.stream, &mut self.input, context) {
                Poll::Ready(read) => Poll::Ready(Ok(read)),
                Poll::Pending => idle.poll(context, deadline, !waiting).map(Err),
            });
            match read.await {
                Ok(Ok(0) | Err(_)) | Err(Interruption::Stop) => return Err(Gone),
                Ok(Ok(_)) => {}
                Err(Interruption::Timeout) if waiting => return Err(Gone),
                Err(Interruption::Timeout) => return Ok(Err(ErrorCode::RequestTimeout)),
            }
        }
    }

    /// Frees the buffer space of a large request or response.
    fn shrink(&mut self) {
        // A buffer shows its full capacity only after the parts split from it are released.
        self.input.reserve(READ_BYTES);
        if self.input.capacity() > READ_BYTES {
            self.input = BytesMut::new();
        }
        if self.output.capacity() > READ_BYTES {
            self.output = Vec::new();
        }
    }

    /// Some clients send an empty line after a body.
    fn skip_empty_lines(&mut self) {
        loop {
            match self.input[..] {
                [b'\n', ..] => self.input.advance(1),
                [b'\r', b'\n', ..] => self.input.advance(2),
                _ => return,
            }
        }
    }

    /// Serves one request; `false` if the connection must be closed.
    async fn exchange(
        &mut self,
        head: &RequestHead<'_>,
        peer: Peer,
        handler: &impl Handler,
        shared: &Shared,
        idle: &mut Idle,
    ) -> bool {
        let mut body = SocketBody::new(self, head, shared);
        let Reply { mut response, mut content } = handler.handle(head, peer, &mut body).await;
        let left = body.left();
        drop(body);
        let held = match &content {
            Some(content) if content.is_bounded() => 0,
            // Two pieces: one being sent, and the next one being read.
            Some(_) => {
                2 * CHUNK_BYTES
                    .min(usize::try_from(response.content_length.unwrap_or(0)).unwrap_or(usize::MAX))
            }
            None => response.body.len(),
        };
        // Markup can make a response larger than all the memory for responses: it is sent nevertheless, when no
        // other response holds memory.
        let claim = shared.responses.claim_at_most_all(held);
        if claim.is_none() {
            // A read can still be rejected; a write cannot be undone, so its outcome stays unknown.
            if head.method != "GET" {
                return false;
            }
            content = None;
            response =
                handler.rejection(&Failure::from(ErrorCode::ServerBusy).found_in(Origin::FrontEnd), peer);
        }
        let close = !head.keep_alive || idle.is_stopping() || matches!(left, Left::Broken);
        let close = close || matches!(left, Left::Bytes(bytes) if bytes > DRAIN_BYTES_MAX);
        let ending =
            Ending { close, says_keep_alive: head.says_keep_alive, without_body: head.method == "HEAD" };
        let content = content.filter(|_| !ending.without_body);
        if self.respond(&response, content, ending, shared.limits.request_time_max).await.is_err() {
            return false;
        }
        drop((response, claim));
        match left {
            Left::Nothing if !close => true,
            Left::Bytes(bytes) if !close => self.drain(bytes, shared.limits.body_time_max).await.is_ok(),
            Left::Nothing | Left::Bytes(_) | Left::Broken => {
                self.linger().await;
                false
            }
        }
    }

    /// Responds to input that is not a request, and closes the connection.
    async fn reject(&mut self, handler: &impl Handler, code: ErrorCode, peer: Peer, limits: &Limits) {
        let response = handler.rejection(&Failure::from(code).found_in(Origin::FrontEnd), peer);
        let ending = Ending { close: true, ..Ending::default() };
        if self.write(&response, &response.body, ending, limits.request_time_max).await.is_ok() {
            self.linger().await;
        }
    }

    /// Sends a response with its body, or with content piece by piece: the next piece is read when the socket
    /// has accepted the previous one. Too little or too much content is an error, since the head has announced
    /// its length. The first piece is sent with the head, so that a small blob needs one system call, and its
    /// client wakes up once.
    async fn respond(
        &mut self,
        response: &Response,
        content: Option<Box<dyn ResponseContent>>,
        ending: Ending,
        window: Duration,
    ) -> io::Result<()> {
        let Some(mut content) = content else {
            let body: &[u8] = if ending.without_body { &[] } else { &response.body };
            return self.write(response, body, ending, window).await;
        };
        let first = content.next().await?.unwrap_or_default();
        let after = |left: u64, piece: &Bytes| left.checked_sub(piece.len() as u64);
        let mut left =
            after(response.content_length.unwrap_or(0), &first).ok_or(io::ErrorKind::InvalidData)?;
        self.write(response, &first, ending, window).await?;
        if left == 0 {
            return Ok(());
        }
        drop(first);
        while let Some(piece) = content.next().await? {
            left = after(left, &piece).ok_or(io::ErrorKind::InvalidData)?;
            let mut rest: &[u8] = &piece;
            // The server, not the client, used the time for reading.
            let mut deadline = Deadline::new(window);
            while !rest.is_empty() {
                let sent = timeout_at(deadline.end(), self.stream.write(rest)).await??;
                if sent == 0 {
                    return Err(io::ErrorKind::WriteZero.into());
                }
                deadline.advance(sent);
                rest = &rest[sent..];
            }
        }
        if left > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        timeout_at(Instant::now() + window, self.stream.flush()).await?
    }

    /// Sends a response. The client must read it at a minimum rate, since unread bytes are held in memory.
    async fn write(
        &mut self,
        response: &Response,
        mut body: &[u8],
        ending: Ending,
        timeout: Duration,
    ) -> io::Result<()> {
        self.output.clear();
        write::head(&mut self.output, response, ending);
        if body.len() <= BODY_BYTES_COPIED_MAX {
            self.output.extend_from_slice(body);
            body = &[];
        }
        // A response that the socket takes immediately needs no timer.
        let mut deadline = None;
        let mut head: &[u8] = &self.output;
        while !(head.is_empty() && body.is_empty()) {
            let slices = [IoSlice::new(head), IoSlice::new(body)];
            let write = self.stream.write_vectored(&slices);
            let sent = within(|| deadline.get_or_insert_with(|| Deadline::new(timeout)).end(), write).await?;
            if sent == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            if let Some(deadline) = &mut deadline {
                deadline.advance(sent);
            }
            let of_head = sent.min(head.len());
            head = &head[of_head..];
            body = &body[sent - of_head..];
        }
        // TLS may still buffer a part of it.
        within(|| deadline.unwrap_or_else(|| Deadline::new(timeout)).end(), self.stream.flush()).await
    }

    /// Reads and discards a body.
    async fn drain(&mut self, bytes: u64, timeout: Duration) -> io::Result<()> {
        let mut left = usize::try_from(bytes).unwrap_or(usize::MAX);
        let deadline = Instant::now() + timeout;
        loop {
            let taken = left.min(self.input.len());
            let _ = self.input.split_to(taken);
            left -= taken;
            if left == 0 {
                return Ok(());
            }
            self.input.reserve(READ_BYTES);
            if timeout_at(deadline, self.stream.read_buf(&mut self.input)).await?? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Reads and discards further input of the client, for a limited time: closing a socket with unread input
    /// discards the response in transit.
    async fn linger(&mut self) {
        let deadline = Instant::now() + LINGER_TIME_MAX;
        // TLS sends a close notification, which blocks if the client reads nothing.
        let _ = timeout_at(deadline, self.stream.shutdown()).await;
        let mut taken = 0;
        while taken < LINGER_BYTES_MAX {
            self.input.clear();
            self.input.reserve(READ_BYTES);
            match timeout_at(deadline, self.stream.read_buf(&mut self.input)).await {
                Ok(Ok(bytes)) if bytes > 0 => taken += bytes,
                _ => return,
            }
        }
    }
}
