//! One connection: requests one after the other, each within its bounds, until either side has had enough.

use std::future::Future;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use lazuli_model::error::Origin;
use lazuli_model::{ErrorCode, Failure};
use lazuli_protocol::Response;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, timeout, timeout_at};

use super::body::{ChunkError, Chunked, Progress};
use super::head::{Framing, HeadError, RequestHead, find_head_end};
use super::write::{self, BODY_BYTES_COPIED_MAX, Ending};
use crate::Limits;

/// First size of a connection's read buffer; an idle connection holds no more.
const READ_BYTES: usize = 4 * 1024;
/// An unread body up to this size is read and dropped, so that the connection can be used again.
const DRAIN_BYTES_MAX: u64 = 64 * 1024;
/// Before a connection with an unread body is closed, so much of it is taken, so that the client sees the answer.
const LINGER_BYTES_MAX: usize = 16 * 1024 * 1024;
const LINGER_TIME_MAX: Duration = Duration::from_secs(5);
/// The budget of large bodies is counted in units of this size.
const BUDGET_UNIT_BYTES: usize = 1024;

/// Who is at the other end.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// Its address.
    pub address: SocketAddr,
}

/// Gives the body of a request on demand: reading it is what tells the client to go on.
pub trait BodySource: Send {
    /// Reads the whole body.
    fn read(&mut self) -> impl Future<Output = Result<Vec<u8>, Failure>> + Send;
}

/// Answers requests.
pub trait Handler: Send + Sync + 'static {
    /// Answers one request. It may leave the body unread.
    fn handle(
        &self,
        head: &RequestHead<'_>,
        peer: Peer,
        body: &mut impl BodySource,
    ) -> impl Future<Output = Response> + Send;

    /// Answers what is not a request at all.
    fn refuse(&self, failure: &Failure) -> Response;
}

/// What connections share.
#[derive(Clone)]
pub struct Shared {
    /// Bounds.
    pub limits: Limits,
    /// The memory for large bodies.
    bodies: Arc<Semaphore>,
    /// Turns true when the server is to stop.
    stop: watch::Receiver<bool>,
}

impl Shared {
    /// What connections share.
    pub fn new(limits: Limits, stop: watch::Receiver<bool>) -> Self {
        let units = (limits.bodies_bytes_max / BUDGET_UNIT_BYTES).clamp(1, Semaphore::MAX_PERMITS);
        Self { limits, bodies: Arc::new(Semaphore::new(units)), stop }
    }
}

/// Serves a connection to its end.
pub async fn serve<S, H>(stream: S, peer: Peer, handler: &H, mut shared: Shared)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
    H: Handler,
{
    let mut connection = Connection { stream, input: BytesMut::new(), output: Vec::new() };
    let mut patience = shared.limits.head_time_max;
    while let Ok(bytes) = connection.read_head(&mut shared, patience).await {
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(code) => return connection.refuse(handler, code, &shared.limits).await,
        };
        let again = match RequestHead::parse(&bytes, shared.limits.fields_max) {
            Ok(head) => connection.exchange(&head, peer, handler, &shared).await,
            Err(error) => return connection.refuse(handler, refusal(error), &shared.limits).await,
        };
        if !again {
            return;
        }
        patience = shared.limits.idle_time_max;
    }
}

fn refusal(error: HeadError) -> ErrorCode {
    match error {
        HeadError::Malformed => ErrorCode::InvalidInput,
        HeadError::TooManyFields => ErrorCode::RequestHeaderTooLarge,
        HeadError::UnknownCoding => ErrorCode::NotImplemented,
        HeadError::UnknownExpectation => ErrorCode::InvalidHeaderValue,
    }
}

struct Connection<S> {
    stream: S,
    /// What was read and not yet used.
    input: BytesMut,
    /// Kept from answer to answer.
    output: Vec<u8>,
}

/// The connection is of no more use.
struct Gone;

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Connection<S> {
    /// Reads the next head. `Err(Gone)` when there is none to come; a code when it is refused.
    async fn read_head(
        &mut self,
        shared: &mut Shared,
        patience: Duration,
    ) -> Result<Result<Bytes, ErrorCode>, Gone> {
        let limits = shared.limits;
        let mut deadline =
            Instant::now() + if self.input.is_empty() { patience } else { limits.head_time_max };
        let mut searched = 0;
        loop {
            self.skip_empty_lines();
            if let Some(end) = find_head_end(&self.input, searched) {
                if end > limits.head_bytes_max {
                    return Ok(Err(ErrorCode::RequestHeaderTooLarge));
                }
                return Ok(Ok(self.input.split_to(end).freeze()));
            }
            searched = self.input.len();
            if searched >= limits.head_bytes_max {
                return Ok(Err(ErrorCode::RequestHeaderTooLarge));
            }
            let waiting = self.input.is_empty();
            if waiting && *shared.stop.borrow_and_update() {
                return Err(Gone);
            }
            self.input.reserve(READ_BYTES);
            let read = tokio::select! {
                read = timeout_at(deadline, self.stream.read_buf(&mut self.input)) => read,
                _ = shared.stop.changed(), if waiting => continue,
            };
            match read {
                Ok(Ok(0)) | Ok(Err(_)) => return Err(Gone),
                Ok(Ok(_)) if waiting => deadline = Instant::now() + limits.head_time_max,
                Ok(Ok(_)) => {}
                Err(_) if waiting => return Err(Gone),
                Err(_) => return Ok(Err(ErrorCode::RequestTimeout)),
            }
        }
    }

    /// Some clients send an empty line after a body.
    fn skip_empty_lines(&mut self) {
        let empty = self.input.iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
        if empty > 0 {
            let _ = self.input.split_to(empty);
        }
    }

    /// Answers one request; `false` when the connection is to be closed.
    async fn exchange(
        &mut self,
        head: &RequestHead<'_>,
        peer: Peer,
        handler: &impl Handler,
        shared: &Shared,
    ) -> bool {
        let mut body = SocketBody::new(self, head, shared);
        let response = handler.handle(head, peer, &mut body).await;
        let left = body.left();
        let close = !head.keep_alive || *shared.stop.borrow() || matches!(left, Left::Broken);
        let close = close || matches!(left, Left::Bytes(bytes) if bytes > DRAIN_BYTES_MAX);
        let ending = Ending { close, without_body: head.method == "HEAD" };
        if self.write(&response, ending, shared.limits.request_time_max).await.is_err() {
            return false;
        }
        match left {
            Left::Nothing => !close,
            Left::Bytes(bytes) if !close => self.drain(bytes, shared.limits.body_time_max).await.is_ok(),
            Left::Bytes(_) | Left::Broken => {
                self.linger().await;
                false
            }
        }
    }

    /// Answers what is not a request, and closes.
    async fn refuse(&mut self, handler: &impl Handler, code: ErrorCode, limits: &Limits) {
        let response = handler.refuse(&Failure::from(code).found_in(Origin::FrontEnd));
        let ending = Ending { close: true, without_body: false };
        if self.write(&response, ending, limits.request_time_max).await.is_ok() {
            self.linger().await;
        }
    }

    /// Sends an answer. The client must keep taking it.
    async fn write(&mut self, response: &Response, ending: Ending, patience: Duration) -> io::Result<()> {
        self.output.clear();
        write::head(&mut self.output, response, ending);
        let mut body: &[u8] = if ending.without_body { &[] } else { &response.body };
        if body.len() <= BODY_BYTES_COPIED_MAX {
            self.output.extend_from_slice(body);
            body = &[];
        }
        let mut head: &[u8] = &self.output;
        while !(head.is_empty() && body.is_empty()) {
            let slices = [IoSlice::new(head), IoSlice::new(body)];
            let sent = timeout(patience, self.stream.write_vectored(&slices)).await??;
            if sent == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            let of_head = sent.min(head.len());
            head = &head[of_head..];
            body = &body[sent - of_head..];
        }
        self.stream.flush().await
    }

    /// Reads a body that nobody wants.
    async fn drain(&mut self, bytes: u64, patience: Duration) -> io::Result<()> {
        let mut left = usize::try_from(bytes).unwrap_or(usize::MAX);
        let deadline = Instant::now() + patience;
        loop {
            let taken = left.min(self.input.len());
            let _ = self.input.split_to(taken);
            left -= taken;
            if left == 0 {
                return Ok(());
            }
            if timeout_at(deadline, self.stream.read_buf(&mut self.input)).await?? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Takes what the client still sends, for a while: closing with unread input would destroy the answer on its way.
    async fn linger(&mut self) {
        let _ = self.stream.shutdown().await;
        let deadline = Instant::now() + LINGER_TIME_MAX;
        let mut taken = 0;
        while taken < LINGER_BYTES_MAX {
            self.input.clear();
            match timeout_at(deadline, self.stream.read_buf(&mut self.input)).await {
                Ok(Ok(bytes)) if bytes > 0 => taken += bytes,
                _ => return,
            }
        }
    }
}

/// What is left of a body when its request has been answered.
enum Left {
    Nothing,
    /// So many bytes that the client is sending or has sent.
    Bytes(u64),
    /// Nobody knows where the next request starts.
    Broken,
}

/// The body of a request on a socket.
struct SocketBody<'a, S> {
    connection: &'a mut Connection<S>,
    framing: Framing,
    /// The client waits to be told to go on.
    waiting: bool,
    read: Option<bool>,
    limits: Limits,
    budget: Arc<Semaphore>,
    /// Held until the request is answered.
    permits: Vec<OwnedSemaphorePermit>,
}

impl<'a, S: AsyncRead + AsyncWrite + Unpin + Send> SocketBody<'a, S> {
    fn new(connection: &'a mut Connection<S>, head: &RequestHead<'_>, shared: &Shared) -> Self {
        // A client that has sent part of the body already does not wait.
        let waiting = head.expects_continue && connection.input.is_empty();
        Self {
            connection,
            framing: head.framing,
            waiting,
            read: None,
            limits: shared.limits,
            budget: shared.bodies.clone(),
            permits: Vec::new(),
        }
    }

    fn left(&self) -> Left {
        match (self.read, self.framing) {
            (Some(true), _) | (None, Framing::Length(0)) => Left::Nothing,
            (Some(false), _) | (None, Framing::Chunked) => Left::Broken,
            (None, Framing::Length(_)) if self.waiting => Left::Broken,
            (None, Framing::Length(bytes)) => Left::Bytes(bytes),
        }
    }

    async fn read_all(&mut self) -> Result<Vec<u8>, Failure> {
        let deadline = Instant::now() + self.limits.body_time_max;
        match self.framing {
            Framing::Length(0) => Ok(Vec::new()),
            Framing::Length(length) => {
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                if length > self.limits.body_bytes_max {
                    return Err(refused(ErrorCode::RequestBodyTooLarge));
                }
                self.reserve(length)?;
                self.go_on().await?;
                self.read_length(length, deadline).await
            }
            Framing::Chunked => {
                self.go_on().await?;
                self.read_chunks(deadline).await
            }
        }
    }

    async fn go_on(&mut self) -> Result<(), Failure> {
        if std::mem::take(&mut self.waiting) {
            let sent = self.connection.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await;
            sent.map_err(|_| refused(ErrorCode::RequestTimeout))?;
        }
        Ok(())
    }

    async fn read_length(&mut self, length: usize, deadline: Instant) -> Result<Vec<u8>, Failure> {
        let input = &mut self.connection.input;
        let start = input.split_to(length.min(input.len()));
        // Memory follows what has arrived, not what was announced.
        let mut body = Vec::with_capacity(length.min(start.len().max(Limits::BODY_BYTES_FREE)));
        body.extend_from_slice(&start);
        while body.len() < length {
            let left = u64::try_from(length - body.len()).unwrap_or(u64::MAX);
            let mut rest = (&mut self.connection.stream).take(left);
            match timeout_at(deadline, rest.read_buf(&mut body)).await {
                Ok(Ok(bytes)) if bytes > 0 => {}
                _ => return Err(refused(ErrorCode::RequestTimeout)),
            }
        }
        Ok(body)
    }

    async fn read_chunks(&mut self, deadline: Instant) -> Result<Vec<u8>, Failure> {
        let mut chunked = Chunked::new(self.limits.body_bytes_max);
        let mut reserved = Limits::BODY_BYTES_FREE;
        loop {
            let (used, progress) = chunked.feed(&self.connection.input).map_err(|error| match error {
                ChunkError::Malformed => refused(ErrorCode::InvalidInput),
                ChunkError::TooLarge => refused(ErrorCode::RequestBodyTooLarge),
            })?;
            let _ = self.connection.input.split_to(used);
            if progress == Progress::Done {
                return Ok(chunked.into_body());
            }
            while chunked.len() > reserved {
                self.reserve(reserved + 1)?;
                reserved *= 2;
            }
            self.connection.input.reserve(READ_BYTES);
            match timeout_at(deadline, self.connection.stream.read_buf(&mut self.connection.input)).await {
                Ok(Ok(bytes)) if bytes > 0 => {}
                _ => return Err(refused(ErrorCode::RequestTimeout)),
            }
        }
    }

    /// Takes a part of the memory that all large bodies share; a server that has none left is busy.
    fn reserve(&mut self, bytes: usize) -> Result<(), Failure> {
        if bytes <= Limits::BODY_BYTES_FREE {
            return Ok(());
        }
        let units = u32::try_from(bytes.div_ceil(BUDGET_UNIT_BYTES)).unwrap_or(u32::MAX);
        let permit = self.budget.clone().try_acquire_many_owned(units);
        self.permits.push(permit.map_err(|_| refused(ErrorCode::ServerBusy))?);
        Ok(())
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> BodySource for SocketBody<'_, S> {
    async fn read(&mut self) -> Result<Vec<u8>, Failure> {
        let too_large =
            matches!(self.framing, Framing::Length(length) if length > self.limits.body_bytes_max as u64);
        let body = self.read_all().await;
        // A body refused by its announced length is still to come and can be dropped; any other failure loses our place.
        if !too_large {
            self.read = Some(body.is_ok());
        }
        body
    }
}

fn refused(code: ErrorCode) -> Failure {
    Failure::from(code).found_in(Origin::FrontEnd)
}
