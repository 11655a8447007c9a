//! A download: one GET whose bytes are read at the client's pace; each block is verified before any of it is
//! returned.
//!
//! A connection that breaks is replaced by another GET for the rest. The memory of a download is one chunk and
//! the read-ahead of the HTTP client.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use lazuli_engine::content::checksum::{BLOCK_BYTES, Sums, blocks_around, missing};
use lazuli_engine::content::{CHUNK_BYTES_MAX, ContentReader, Piece, Pinned};
use lazuli_engine::{EngineFuture, Error, Result};
use tokio::time::timeout;

use crate::content::{Inner, table_of};
use crate::store::{ObjectBody, ObjectFailure, Objects};

/// Maximum consecutive GETs that return no new byte.
const ATTEMPTS_MAX: usize = 4;
/// Maximum time without any new byte.
const STALL_TIME_MAX: Duration = Duration::from_secs(20);
/// Maximum time for a GET with all its retries, up to the head of its response.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(40);
/// Ranges that start before this offset are read together with the table of checksums before them.
const TOGETHER_BYTES_MAX: u64 = 256 * 1024;

/// A download from an object store.
pub struct ObjectReader {
    store: Arc<dyn Objects>,
    name: String,
    piece: Result<Piece>,
    sums: Option<Sums>,
    /// The part of the piece that the caller has not received yet.
    rest: Range<u64>,
    /// The part of the object that has not arrived yet, and its bytes.
    coming: Option<(Range<u64>, ObjectBody)>,
    /// Received bytes that were not returned yet.
    buffer: BytesMut,
    attempts: usize,
    _pinned: Pinned,
}

impl ObjectReader {
    /// Begins a download.
    pub fn new(inner: &Inner, piece: Piece, range: Range<u64>) -> Self {
        // Pin before checking whether the piece is leaving: from then on it is either kept or already leaving.
        let pinned = inner.pins.pin(&[piece]);
        let is_there = piece.is_valid() && !inner.leaving().contains(&piece.spot());
        let end = range.end.min(u64::from(piece.length));
        Self {
            store: Arc::clone(&inner.store),
            name: inner.names.object(piece.spot()),
            piece: if is_there { Ok(piece) } else { Err(missing(piece)) },
            sums: None,
            rest: range.start.min(end)..end,
            coming: None,
            buffer: BytesMut::new(),
            attempts: 0,
            _pinned: pinned,
        }
    }

    /// Are these the bytes of the piece? Also `false` if the stored bytes belong to another piece.
    pub async fn has(&mut self, bytes: &[u8]) -> Result<bool> {
        let mut rest = bytes;
        loop {
            match self.next().await {
                Ok(Some(chunk)) => match rest.strip_prefix(&chunk[..]) {
                    Some(more) => rest = more,
                    None => return Ok(false),
                },
                Ok(None) => return Ok(rest.is_empty()),
                Err(Error::Corrupt(_)) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }

    async fn read(&mut self) -> Result<Option<Bytes>> {
        let piece = self.piece.clone()?;
        if self.rest.is_empty() {
            return Ok(None);
        }
        let around = blocks_around(piece, &self.rest);
        if self.sums.is_none() {
            self.fetch_sums(piece, &around).await?;
        }
        let table = table_of(&piece);
        let window = around.start..(around.start + CHUNK_BYTES_MAX as u64).min(around.end);
        let wanted = table + window.start..table + around.end;
        let bytes = self.fetch(piece, wanted, (window.end - window.start) as usize).await?;
        if let Some(sums) = &self.sums {
            sums.verify((window.start / BLOCK_BYTES as u64) as usize, &bytes)?;
        }
        let end = window.end.min(self.rest.end);
        // Both are within the window, which is a chunk at most.
        let chunk = bytes.slice((self.rest.start - window.start) as usize..(end - window.start) as usize);
        self.rest.start = end;
        Ok(Some(chunk))
    }

    /// The table of checksums, read by the same GET as the first bytes if they follow closely.
    async fn fetch_sums(&mut self, piece: Piece, around: &Range<u64>) -> Result<()> {
        let table = table_of(&piece);
        let bytes = match table {
            0 => Bytes::new(),
            _ if around.start <= TOGETHER_BYTES_MAX => {
                let bytes = self.fetch(piece, 0..table + around.end, table as usize).await?;
                if around.start > 0 {
                    self.fetch(piece, table..table + around.end, around.start as usize).await?;
                }
                bytes
            }
            _ => self.fetch(piece, 0..table, table as usize).await?,
        };
        self.sums = Some(Sums::open(piece, bytes)?);
        Ok(())
    }

    /// The first `count` bytes of a range of the object. Continues the current GET if it is at the start of the
    /// range.
    async fn fetch(&mut self, piece: Piece, range: Range<u64>, count: usize) -> Result<Bytes> {
        loop {
            if self.buffer.len() >= count {
                return Ok(self.buffer.split_to(count).freeze());
            }
            let at = range.start + self.buffer.len() as u64;
            if !self.coming.as_ref().is_some_and(|(coming, _)| coming.start == at && !coming.is_empty()) {
                self.connect(piece, at..range.end).await?;
            }
            let Some((coming, bytes)) = &mut self.coming else { continue };
            match timeout(STALL_TIME_MAX, bytes.frame()).await {
                Ok(Some(Ok(frame))) => {
                    // Trailers have no data.
                    let more = frame.into_data().unwrap_or_default();
                    coming.start += more.len() as u64;
                    self.buffer.extend_from_slice(&more);
                    self.attempts = 0;
                }
                // The response was truncated, broken or stalled: request the rest.
                Ok(None | Some(Err(_))) | Err(_) => self.coming = None,
            }
        }
    }

    async fn connect(&mut self, piece: Piece, range: Range<u64>) -> Result<()> {
        self.attempts += 1;
        if self.attempts > ATTEMPTS_MAX {
            return Err(Error::Unavailable(
                "the object store broke every connection while content was read".into(),
            ));
        }
        match timeout(CONNECT_TIME_MAX, self.store.get(&self.name, range.clone())).await {
            Ok(Ok(body)) => {
                self.coming = Some((range, body));
                Ok(())
            }
            Ok(Err(ObjectFailure::Missing)) => Err(missing(piece)),
            Ok(Err(failure)) => Err(failure.during("reading content")),
            Err(_) => Err(ObjectFailure::Late.during("reading content")),
        }
    }
}

impl ContentReader for ObjectReader {
    fn next(&mut self) -> EngineFuture<'_, Option<Bytes>> {
        Box::pin(async move {
            let read = self.read().await;
            if let Err(error) = &read {
                self.piece = Err(error.clone());
            }
            read
        })
    }
}
