//! The body of a request on a socket: read when it is asked for, within its bounds.
//!
//! Memory follows what has arrived, and all large bodies together stay within one budget.

use std::io;

use lazuli_model::error::Origin;
use lazuli_model::{ErrorCode, Failure};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout_at};

use super::body::{ChunkError, Chunked, Progress};
use super::budget::{Budget, Claim};
use super::connection::{BodySource, Connection, READ_BYTES, Shared};
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
    /// Was it read to its end? `None` if nobody has asked for it.
    read: Option<bool>,
    limits: Limits,
    budget: Budget,
    /// Held until the request is answered.
    claim: Option<Claim>,
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
            budget: shared.requests.clone(),
            claim: None,
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
                // Better now than when half of it has come.
                if !self.budget.has_room(length) {
                    return Err(refused(ErrorCode::ServerBusy));
                }
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
            let stream = &mut self.connection.stream;
            let sent = async {
                stream.write_all(GO_ON).await?;
                stream.flush().await
            };
            arrived(timeout_at(deadline, sent).await.map(|sent| sent.map(|()| GO_ON.len())))?;
        }
        Ok(())
    }

    async fn read_length(&mut self, length: usize, deadline: Instant) -> Result<Vec<u8>, Failure> {
        let mut body = Vec::new();
        while body.len() < length {
            // Memory follows what has arrived, not what was announced.
            if body.len() == body.capacity() {
                let more = body.len().max(Limits::BODY_BYTES_FREE).min(length - body.len());
                self.reserve(body.len() + more)?;
                body.reserve_exact(more);
            }
            let Connection { stream, input, .. } = &mut *self.connection;
            if input.is_empty() {
                let room = body.capacity().min(length) - body.len();
                let mut rest = stream.take(room as u64);
                arrived(timeout_at(deadline, rest.read_buf(&mut body)).await)?;
            } else {
                let room = body.capacity().min(length) - body.len();
                body.extend_from_slice(&input.split_to(room.min(input.len())));
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
            while chunked.body_bytes() > reserved {
                reserved = (reserved * 2).min(self.limits.body_bytes_max);
                self.reserve(reserved)?;
            }
            let Connection { stream, input, .. } = &mut *self.connection;
            input.reserve(READ_BYTES);
            arrived(timeout_at(deadline, stream.read_buf(input)).await)?;
        }
    }

    /// Sees to it that so much is claimed of the memory that all large bodies share. A body at least doubles from one
    /// claim to the next, so the claims before are let go; a server that has no more left is busy.
    fn reserve(&mut self, bytes: usize) -> Result<(), Failure> {
        self.claim = None;
        self.claim = self.budget.claim(bytes);
        if self.claim.is_some() { Ok(()) } else { Err(refused(ErrorCode::ServerBusy)) }
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
