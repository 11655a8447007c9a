//! An upload: bytes are buffered into chunks, several of which are in flight at a time.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::{Bytes, BytesMut};
use lazuli_engine::content::checksum::Summing;
use lazuli_engine::content::{ContentLedger, ContentWriter, Fold, PIECE_BYTES_MAX, Piece, Spot, footprint};
use lazuli_engine::{EngineFuture, Error, Result};
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::{JoinSet, spawn_blocking};

use super::{CHUNK_BYTES, GATHERED_UNIT_BYTES, Inner, UPLOAD_CHUNKS_MAX};

/// Bytes that an upload of unknown length reserves at a time.
const UNKNOWN_PIECE_BYTES: u32 = 4 * 1024 * 1024;

/// An upload to a database.
pub struct ChunkWriter {
    inner: Arc<Inner>,
    fold: Option<Fold>,
    /// Number of bytes still expected, if the caller has announced it.
    expected: Option<u64>,
    gathered: BytesMut,
    permit: Option<OwnedSemaphorePermit>,
    open: Option<Open>,
    done: Vec<Piece>,
    flights: JoinSet<Result<()>>,
    /// Reserved positions, with their lengths.
    places: Vec<(Spot, u64)>,
    failed: Option<Error>,
}

/// A piece being written.
struct Open {
    spot: Spot,
    capacity: u32,
    summing: Summing,
}

impl ChunkWriter {
    /// Begins an upload.
    pub fn new(inner: &Arc<Inner>, expected: Option<u64>, fold: Option<Fold>) -> Self {
        Self {
            inner: Arc::clone(inner),
            fold,
            expected,
            gathered: BytesMut::new(),
            permit: None,
            open: None,
            done: Vec::new(),
            flights: JoinSet::new(),
            places: Vec::new(),
            failed: None,
        }
    }

    /// Buffers bytes; `false` if there is no memory for them.
    fn gather(&mut self, bytes: &[u8]) -> bool {
        let units = u32::try_from(bytes.len().div_ceil(GATHERED_UNIT_BYTES)).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.inner.gathered).try_acquire_many_owned(units).ok();
        let has_room = permit.is_some();
        match (&mut self.permit, permit) {
            (Some(held), Some(more)) => held.merge(more),
            (held @ None, more) => *held = more,
            (Some(_), None) => {}
        }
        self.gathered.extend_from_slice(bytes);
        has_room
    }

    async fn take(&mut self, bytes: Bytes) -> Result<()> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let bytes = self.see(bytes).await?;
        let has_room = self.gather(&bytes);
        let sent = match (has_room, self.gathered.len() >= CHUNK_BYTES) {
            (true, false) => Ok(()),
            (has_room, _) => self.send_gathered(!has_room, false).await,
        };
        sent.inspect_err(|error| self.failed = Some(error.clone()))
    }

    /// Passes bytes to the fold, on a thread where long computations are allowed.
    async fn see(&mut self, bytes: Bytes) -> Result<Bytes> {
        let Some(mut fold) = self.fold.take() else { return Ok(bytes) };
        let seen = spawn_blocking(move || {
            fold(std::slice::from_ref(&bytes));
            (fold, bytes)
        });
        let (fold, bytes) = seen.await.map_err(|e| Error::Unavailable(format!("a fold panicked: {e}")))?;
        self.fold = Some(fold);
        Ok(bytes)
    }

    /// Sends whole chunks, and with `is_all` also the rest.
    async fn send_gathered(&mut self, is_all: bool, is_last: bool) -> Result<()> {
        while !self.gathered.is_empty() {
            let mut open = match self.open.take() {
                Some(open) => open,
                None => self.reserve(is_last).await?,
            };
            let written = open.summing.bytes();
            let window = CHUNK_BYTES as u64 - written % CHUNK_BYTES as u64;
            let room = window.min(u64::from(open.capacity) - written);
            if (self.gathered.len() as u64) < room && !is_all && !is_last {
                self.open = Some(open);
                break;
            }
            // It is at most the length of a chunk.
            let now = self.gathered.len().min(room as usize);
            let chunk = self.gathered.split_to(now).freeze();
            open.summing.add(&chunk);
            self.expected = self.expected.map(|expected| expected.saturating_sub(now as u64));
            let chunks = vec![(open.spot.offset + written, chunk)];
            let is_full = open.summing.bytes() == u64::from(open.capacity);
            if is_full || (is_last && self.gathered.is_empty()) {
                self.end_piece(open, chunks).await?;
            } else {
                let stream = open.spot.stream;
                self.open = Some(open);
                self.send(stream, chunks).await?;
            }
        }
        if self.gathered.is_empty() {
            self.permit = None;
        }
        match self.open.take_if(|_| is_last) {
            Some(open) => self.end_piece(open, Vec::new()).await,
            None => Ok(()),
        }
    }

    /// Reserves a position for the next piece.
    async fn reserve(&mut self, is_last: bool) -> Result<Open> {
        let left = self.gathered.len() as u64;
        let wanted = match self.expected {
            _ if is_last => left,
            Some(expected) if expected >= left => expected,
            _ => left.max(u64::from(UNKNOWN_PIECE_BYTES)),
        };
        let capacity = u32::try_from(wanted).unwrap_or(PIECE_BYTES_MAX).min(PIECE_BYTES_MAX);
        let spot = self.inner.ledger.place(capacity).await?;
        let bytes = footprint(capacity);
        self.inner.writing.fetch_add(bytes, Ordering::Relaxed);
        self.places.push((spot, bytes));
        Ok(Open { spot, capacity, summing: Summing::default() })
    }

    /// Sends the last chunks of a piece, including its checksums.
    async fn end_piece(&mut self, open: Open, mut chunks: Vec<(u64, Bytes)>) -> Result<()> {
        let Open { spot: Spot { stream, offset }, capacity, summing } = open;
        // It was filled up to its capacity at most.
        let length = u32::try_from(summing.bytes()).unwrap_or(capacity);
        let (crc, table) = summing.finish();
        if !table.is_empty() {
            chunks.push((offset + u64::from(length), table.into()));
        }
        self.done.push(Piece { stream, offset, length, crc });
        self.send(stream, chunks).await
    }

    /// Sends chunks. If too many are in flight, waits for one of them first.
    async fn send(&mut self, stream: u64, chunks: Vec<(u64, Bytes)>) -> Result<()> {
        while self.flights.len() >= UPLOAD_CHUNKS_MAX {
            self.arrive().await?;
        }
        let inner = Arc::clone(&self.inner);
        self.flights.spawn(async move { inner.put(stream, &chunks).await });
        Ok(())
    }

    async fn arrive(&mut self) -> Result<()> {
        match self.flights.join_next().await {
            Some(Ok(arrived)) => arrived,
            Some(Err(e)) => Err(Error::Unavailable(format!("a write of content failed: {e}"))),
            None => Ok(()),
        }
    }

    async fn finish(&mut self) -> Result<Vec<Piece>> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        self.send_gathered(true, true).await?;
        while !self.flights.is_empty() {
            self.arrive().await?;
        }
        self.inner.ledger.check(&self.done).await?;
        for (_, bytes) in self.places.drain(..) {
            self.inner.writing.fetch_sub(bytes, Ordering::Relaxed);
        }
        for piece in &self.done {
            self.inner.count_stored(piece.stream, piece.footprint());
        }
        Ok(std::mem::take(&mut self.done))
    }
}

impl ContentWriter for ChunkWriter {
    fn write(&mut self, bytes: Bytes) -> EngineFuture<'_, ()> {
        Box::pin(self.take(bytes))
    }

    fn seal(mut self: Box<Self>) -> EngineFuture<'static, Vec<Piece>> {
        Box::pin(async move { self.finish().await })
    }
}

impl Drop for ChunkWriter {
    /// Deletes the stored chunks after those in flight have arrived. Without a runtime, a sweep does this later.
    fn drop(&mut self) {
        let (places, inner) = (std::mem::take(&mut self.places), Arc::clone(&self.inner));
        let mut flights = std::mem::take(&mut self.flights);
        let Some(runtime) = Handle::try_current().ok().filter(|_| !places.is_empty()) else { return };
        runtime.spawn(async move {
            while flights.join_next().await.is_some() {}
            for (spot, bytes) in places {
                if let Err(error) = inner.delete_range(spot.stream, spot.offset, bytes).await {
                    tracing::warn!(%error, "an abandoned upload is left to the next sweep");
                }
                inner.writing.fetch_sub(bytes, Ordering::Relaxed);
            }
        });
    }
}
