//! The body of a request on a socket: read on demand, as a whole or in chunks, within its bounds.
//!
//! Memory use follows the bytes that have arrived, and all large bodies together stay within one budget. A
//! streamed body holds one window, regardless of its length.

use std::io;

use bytes::{Buf as _, Bytes, BytesMut};
use lazuli_model::error::Origin;
use lazuli_model::{ErrorCode, Failure};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::error::Elapsed;
use tokio::time::timeout_at;

use super::budget::{Budget, Claim};
use super::chunked::{ChunkError, Chunked, Progress};
use super::connection::{Connection, READ_BYTES, Shared};
use super::handler::{Body, Reading};
use super::head::{Framing, RequestHead};
use super::progress::Deadline;
use crate::Limits;

const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
/// Maximum size of a piece of a streamed body. If less than this is left of the budget, a piece is only as long
/// as the rest.
pub const CHUNK_BYTES: usize = 256 * 1024;
/// The share of the budget that a streamed body claims: the piece that is being filled and the one before it.
const WINDOW_BYTES: usize = 2 * CHUNK_BYTES;

/// The state of a body after the response to its request.
pub enum Left {
    /// It was read to its end.
    Nothing,
    /// Bytes that the client is sending or has sent.
    Bytes(u64),
    /// The start of the next request is unknown.
    Broken,
}

/// The read position in a body.
enum Read {
    /// Not at all.
    Nothing,
    /// Some of it is still to come; with a fixed length, this many bytes.
    Partly(Partly),
    /// To its end.
    All,
    /// After an error, the position in the input is unknown.
    Failed,
}

enum Partly {
    Length(u64),
    Chunked(Box<Chunked>),
}

/// The body of a request on a socket.
pub struct SocketBody<'a, S> {
    connection: &'a mut Connection<S>,
    framing: Framing,
    /// The client is waiting for `100 Continue`.
    waiting: bool,
    read: Read,
    limits: &'a Limits,
    budget: &'a Budget,
    deadline: Option<Deadline>,
    /// Held until the response is complete.
    claim: Option<Claim>,
    /// Memory for the decoded body, held for the same time.
    held: Vec<Claim>,
}

impl<'a, S: AsyncRead + AsyncWrite + Unpin + Send> SocketBody<'a, S> {
    /// The body that follows a request head.
    pub fn new(connection: &'a mut Connection<S>, head: &RequestHead<'_>, shared: &'a Shared) -> Self {
        // A client that has sent part of the body already does not wait.
        let waiting = head.expects_continue && connection.input.is_empty();
        Self {
            connection,
            framing: head.framing,
            waiting,
            read: Read::Nothing,
            limits: &shared.limits,
            budget: &shared.requests,
            deadline: None,
            claim: None,
            held: Vec::new(),
        }
    }

    /// The rest of the body, if all of it is in the buffer, as small bodies are. It needs no claim.
    fn buffered(&self) -> Option<usize> {
        let left = match (&self.read, self.framing) {
            (Read::All, _) => 0,
            (Read::Nothing, Framing::Length(length)) if !self.waiting => length,
            (Read::Partly(Partly::Length(left)), _) => *left,
            _ => return None,
        };
        let left = usize::try_from(left).ok()?;
        (left <= self.connection.input.len().min(Limits::BODY_BYTES_FREE)).then_some(left)
    }

    /// Copies bytes out of the buffer, since callers may keep them longer than the buffer.
    fn take<T>(&mut self, bytes: usize, copy: impl FnOnce(&[u8]) -> T) -> T {
        let taken = copy(&self.connection.input[..bytes]);
        self.connection.input.advance(bytes);
        taken
    }

    /// The rest of the body, which is still to be read.
    pub fn left(&self) -> Left {
        match (&self.read, self.framing) {
            (Read::All, _) | (Read::Nothing, Framing::Length(0)) => Left::Nothing,
            (Read::Nothing, Framing::Length(bytes)) if !self.waiting => Left::Bytes(bytes),
            (Read::Partly(Partly::Length(bytes)), _) => Left::Bytes(*bytes),
            _ => Left::Broken,
        }
    }

    async fn read_all(&mut self, max: usize) -> Result<Vec<u8>, Failure> {
        match self.framing {
            Framing::Length(0) => Ok(Vec::new()),
            Framing::Length(length) => {
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                // Fail now rather than after half of the body has arrived.
                if !self.budget.has_room(length) {
                    return Err(rejection(ErrorCode::ServerBusy));
                }
                self.send_continue().await?;
                self.read_length(length).await
            }
            Framing::Chunked => {
                self.send_continue().await?;
                self.read_chunks(max).await
            }
        }
    }

    fn deadline(&mut self) -> &mut Deadline {
        self.deadline.get_or_insert_with(|| Deadline::new(self.limits.body_time_max))
    }

    /// Sends `100 Continue` to a waiting client. A client that reads no responses may not read this one either,
    /// so the write has a timeout.
    async fn send_continue(&mut self) -> Result<(), Failure> {
        let end = self.deadline().end();
        if std::mem::take(&mut self.waiting) {
            let stream = &mut self.connection.stream;
            let sent = async {
                stream.write_all(CONTINUE).await?;
                stream.flush().await
            };
            arrived(timeout_at(end, sent).await.map(|sent| sent.map(|()| CONTINUE.len())))?;
        }
        Ok(())
    }

    async fn read_length(&mut self, length: usize) -> Result<Vec<u8>, Failure> {
        let mut body = Vec::new();
        while body.len() < length {
            // Memory use depends on the bytes that have arrived, not on the announced length.
            if body.len() == body.capacity() {
                let more = body.len().max(Limits::BODY_BYTES_FREE).min(length - body.len());
                self.reserve(body.len() + more)?;
                body.reserve_exact(more);
            }
            let end = self.deadline().end();
            let before = body.len();
            let Connection { stream, input, .. } = &mut *self.connection;
            let room = body.capacity().min(length) - body.len();
            if input.is_empty() {
                let mut rest = stream.take(room as u64);
                arrived(timeout_at(end, rest.read_buf(&mut body)).await)?;
            } else {
                body.extend_from_slice(&input.split_to(room.min(input.len())));
            }
            let moved = body.len() - before;
            self.deadline().advance(moved);
        }
        Ok(body)
    }

    async fn read_chunks(&mut self, max: usize) -> Result<Vec<u8>, Failure> {
        let mut chunked = Chunked::new(max as u64);
        let mut reserved = Limits::BODY_BYTES_FREE;
        loop {
            if self.feed(&mut chunked)? == Progress::Done {
                return Ok(chunked.into_body());
            }
            while chunked.body_bytes() > reserved {
                reserved = (reserved * 2).min(max.max(reserved));
                self.reserve(reserved)?;
            }
            self.receive().await?;
        }
    }

    fn feed(&mut self, chunked: &mut Chunked) -> Result<Progress, Failure> {
        let (used, progress) = chunked.feed(&self.connection.input).map_err(|error| match error {
            ChunkError::Malformed => rejection(ErrorCode::InvalidInput),
            ChunkError::TooLarge => rejection(ErrorCode::RequestBodyTooLarge),
        })?;
        let _ = self.connection.input.split_to(used);
        Ok(progress)
    }

    /// Reads more input from the socket.
    async fn receive(&mut self) -> Result<(), Failure> {
        let end = self.deadline().end();
        let Connection { stream, input, .. } = &mut *self.connection;
        let before = input.len();
        input.reserve(READ_BYTES);
        arrived(timeout_at(end, stream.read_buf(input)).await)?;
        let moved = input.len() - before;
        self.deadline().advance(moved);
        Ok(())
    }

    /// Claims memory from the budget that all large bodies share. A body at least doubles from one claim to the
    /// next, so the previous claim is released first.
    fn reserve(&mut self, bytes: usize) -> Result<(), Failure> {
        self.claim = None;
        self.claim = self.budget.claim(bytes);
        if self.claim.is_some() { Ok(()) } else { Err(rejection(ErrorCode::ServerBusy)) }
    }

    async fn next_piece(&mut self) -> Result<Option<Bytes>, Failure> {
        if matches!(self.read, Read::Nothing) {
            self.read = match self.framing {
                Framing::Length(0) => Read::All,
                Framing::Length(length) => Read::Partly(Partly::Length(length)),
                Framing::Chunked => {
                    Read::Partly(Partly::Chunked(Box::new(Chunked::new(self.limits.streamed_bytes_max))))
                }
            };
            self.send_continue().await?;
        } else if let Some(deadline) = &mut self.deadline {
            // The time since the last piece was used by the server, not by the client.
            deadline.restart();
        }
        match std::mem::replace(&mut self.read, Read::Failed) {
            Read::Nothing | Read::All => {
                self.read = Read::All;
                Ok(None)
            }
            Read::Failed => Err(rejection(ErrorCode::InvalidInput)),
            Read::Partly(Partly::Length(left)) => self.next_of_length(left).await.map(Some),
            Read::Partly(Partly::Chunked(chunked)) => self.next_of_chunks(chunked).await,
        }
    }

    /// The length of the next piece: a whole chunk if the budget allows it, else the free part of the budget.
    fn piece_bytes(&mut self) -> usize {
        if self.claim.is_none() {
            self.claim = self.budget.claim(WINDOW_BYTES);
        }
        if self.claim.is_some() { CHUNK_BYTES } else { Limits::BODY_BYTES_FREE }
    }

    async fn next_of_length(&mut self, left: u64) -> Result<Bytes, Failure> {
        let max = self.piece_bytes().min(usize::try_from(left).unwrap_or(usize::MAX));
        // Allocate the full length at once: its memory is claimed or free, and a buffer that grows would waste
        // as much again.
        let mut piece = BytesMut::with_capacity(max);
        let buffered = self.connection.input.len().min(max);
        piece.extend_from_slice(&self.connection.input.split_to(buffered));
        while piece.len() < max {
            let end = self.deadline().end();
            let room = max - piece.len();
            let before = piece.len();
            let mut rest = (&mut self.connection.stream).take(room as u64);
            arrived(timeout_at(end, rest.read_buf(&mut piece)).await)?;
            let moved = piece.len() - before;
            self.deadline().advance(moved);
        }
        let left = left - piece.len() as u64;
        self.read = if left == 0 { Read::All } else { Read::Partly(Partly::Length(left)) };
        Ok(piece.freeze())
    }

    async fn next_of_chunks(&mut self, mut chunked: Box<Chunked>) -> Result<Option<Bytes>, Failure> {
        let max = self.piece_bytes();
        chunked.make_room(max + 2 * READ_BYTES);
        loop {
            let progress = self.feed(&mut chunked)?;
            if progress == Progress::Done {
                let rest = chunked.into_body();
                self.read = Read::All;
                return Ok((!rest.is_empty()).then(|| rest.into()));
            }
            if chunked.body_bytes() >= max {
                let piece = chunked.take();
                self.read = Read::Partly(Partly::Chunked(chunked));
                return Ok(Some(piece.into()));
            }
            self.receive().await?;
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Body for SocketBody<'_, S> {
    fn length(&self) -> Option<u64> {
        match self.framing {
            Framing::Length(length) => Some(length),
            Framing::Chunked => None,
        }
    }

    fn collect(&mut self, max: usize) -> Reading<'_, Vec<u8>> {
        // A body rejected by its announced length can still be read and discarded; after any other failure, the
        // position in the input is unknown.
        if matches!(self.framing, Framing::Length(length) if length > max as u64) {
            return Reading::ready(Err(rejection(ErrorCode::RequestBodyTooLarge)));
        }
        // A body larger than the whole budget could never be read.
        let all = self.budget.bytes();
        if matches!(self.framing, Framing::Length(length) if length > all as u64) {
            return Reading::ready(Err(larger_than_memory(all)));
        }
        if let Some(bytes) = self.buffered() {
            self.read = Read::All;
            return Reading::ready(Ok(self.take(bytes, <[u8]>::to_vec)));
        }
        Reading::waiting(async move {
            let body = self.read_all(max.min(all)).await.map_err(|failure| match failure.code {
                ErrorCode::RequestBodyTooLarge if all < max => larger_than_memory(all),
                _ => failure,
            });
            self.read = if body.is_ok() { Read::All } else { Read::Failed };
            body
        })
    }

    fn next(&mut self) -> Reading<'_, Option<Bytes>> {
        let Some(bytes) = self.buffered() else { return Reading::waiting(self.next_piece()) };
        self.read = Read::All;
        let piece = self.take(bytes, Bytes::copy_from_slice);
        Reading::ready(Ok(Some(piece).filter(|piece| !piece.is_empty())))
    }

    fn hold(&mut self, bytes: usize) -> Result<(), Failure> {
        let claim = self.budget.claim_at_most_half(bytes).ok_or_else(|| rejection(ErrorCode::ServerBusy))?;
        self.held.push(claim);
        Ok(())
    }
}

/// Checks that some bytes arrived before the deadline; otherwise the request fails.
fn arrived(bytes: Result<io::Result<usize>, Elapsed>) -> Result<(), Failure> {
    match bytes {
        Ok(Ok(1..)) => Ok(()),
        Ok(Ok(0) | Err(_)) => Err(rejection(ErrorCode::InvalidInput)),
        Err(_) => Err(rejection(ErrorCode::RequestTimeout)),
    }
}

/// The body fits the operation, but not the memory that the operator has configured.
fn larger_than_memory(all: usize) -> Failure {
    rejection(ErrorCode::RequestBodyTooLarge).detail("MaxLimit", all.to_string())
}

fn rejection(code: ErrorCode) -> Failure {
    Failure::from(code).found_in(Origin::FrontEnd)
}
