//! The body of a request on a socket: read when it is asked for, within its bounds.
//!
//! Memory follows what has arrived, and all large bodies together stay within one budget.

use std::io;
use std::sync::Arc;

use lazuli_model::error::Origin;
use lazuli_model::{ErrorCode, Failure};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout_at};

use super::body::{ChunkError, Chunked, Progress};
use super::connection::{BUDGET_UNIT_BYTES, BodySource, Connection, READ_BYTES, Shared};
use super::head::{Framing, RequestHead};
use crate::Limits;

const GO_ON: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// What is left of a body when its request has been answered.
pub enum Left {
    /// It was read to its end.
    Nothing,
    /// So many bytes that the client is sending or has sent.
    Bytes(u64),
    /// Nobody knows where the next request starts.
    Broken,
}

/// The body of a request on a socket.
pub struct SocketBody<'a, S> {
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
    /// The body that follows a head.
    pub fn new(connection: &'a mut Connection<S>, head: &RequestHead<'_>, shared: &Shared) -> Self {
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

    /// What is left of it now.
    pub fn left(&self) -> Left {
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
                self.go_on(deadline).await?;
                self.read_length(length, deadline).await
            }
            Framing::Chunked => {
                self.go_on(deadline).await?;
                self.read_chunks(deadline).await
            }
        }
    }

    /// Tells a client that waits to send the body. One that takes no answers may not even take this one.
    async fn go_on(&mut self, deadline: Instant) -> Result<(), Failure> {
        if std::mem::take(&mut self.waiting) {
            let sent = self.connection.stream.write_all(GO_ON);
            arrived(timeout_at(deadline, sent).await.map(|sent| sent.map(|()| GO_ON.len())))?;
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
            arrived(timeout_at(deadline, rest.read_buf(&mut body)).await)?;
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
            while chunked.body_bytes() > reserved {
                self.reserve(reserved + 1)?;
                reserved *= 2;
            }
            let Connection { stream, input, .. } = &mut *self.connection;
            input.reserve(READ_BYTES);
            arrived(timeout_at(deadline, stream.read_buf(input)).await)?;
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

/// Some bytes came before the deadline, or the request is over.
fn arrived(bytes: Result<io::Result<usize>, Elapsed>) -> Result<(), Failure> {
    match bytes {
        Ok(Ok(1..)) => Ok(()),
        Ok(Ok(0) | Err(_)) => Err(refused(ErrorCode::InvalidInput)),
        Err(_) => Err(refused(ErrorCode::RequestTimeout)),
    }
}

fn refused(code: ErrorCode) -> Failure {
    Failure::from(code).found_in(Origin::FrontEnd)
}
