//! An upload: bytes are gathered, written to a reserved range on a blocking thread while more arrive, and synced at the
//! end.
//!
//! Invariant: a range belongs to the upload until its piece is sealed and durable. If the upload is
//! dropped earlier, even in the middle of a write, the range is abandoned after the write has ended.

use std::io::IoSlice;
use std::sync::Arc;

use bytes::Bytes;
use lazuli_engine::content::checksum::Summing;
use lazuli_engine::content::{ContentWriter, Fold, PIECE_BYTES_MAX, Piece};
use lazuli_engine::{EngineFuture, Error, Result};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::{JoinHandle, spawn_blocking};

use super::inner::Inner;
use super::limits::{FLUSH_BYTES, GATHERED_UNIT_BYTES, UNKNOWN_PIECE_BYTES};
use super::pack::{Claim, checked};
use super::packs::Lane;
use super::syncer::{self, Synced};
use crate::crash_point::{self, Point};
use crate::error::closed;
use crate::options::Durability;

/// A write in progress; it returns the worker.
type Flight = JoinHandle<Result<Worker>>;

/// An upload to packs.
pub struct PackWriter {
    inner: Arc<Inner>,
    /// The idle worker; `None` while a write uses it, and after a failure.
    worker: Option<Worker>,
    flight: Option<Flight>,
    gathered: Gathered,
    failed: Option<Error>,
}

/// Bytes waiting to be written.
#[derive(Default)]
struct Gathered {
    chunks: Vec<Bytes>,
    bytes: usize,
    permit: Option<OwnedSemaphorePermit>,
}

impl PackWriter {
    /// Begins an upload.
    pub fn new(inner: &Arc<Inner>, expected: Option<u64>, fold: Option<Fold>) -> Self {
        let worker = Worker { inner: Arc::clone(inner), fold, expected, open: None, done: Vec::new() };
        Self {
            inner: Arc::clone(inner),
            worker: Some(worker),
            flight: None,
            gathered: Gathered::default(),
            failed: None,
        }
    }

    /// Adds bytes to the waiting ones; `false` if they should be written now.
    fn gather(&mut self, bytes: Bytes) -> bool {
        let units = u32::try_from(bytes.len().div_ceil(GATHERED_UNIT_BYTES)).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.inner.gathered).try_acquire_many_owned(units).ok();
        let has_room = permit.is_some();
        match (&mut self.gathered.permit, permit) {
            (Some(held), Some(more)) => held.merge(more),
            (held @ None, more) => *held = more,
            (Some(_), None) => {}
        }
        self.gathered.bytes += bytes.len();
        self.gathered.chunks.push(bytes);
        has_room && self.gathered.bytes < FLUSH_BYTES
    }

    /// Returns the worker when the current write has ended.
    async fn rested(&mut self) -> Result<Worker> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let rested = match self.flight.take() {
            Some(flight) => flight.await.unwrap_or_else(|e| Err(panicked(&e))),
            None => self.worker.take().ok_or_else(closed),
        };
        rested.inspect_err(|error| self.failed = Some(error.clone()))
    }

    /// Starts writing the buffered bytes, once the previous write has finished.
    async fn flush(&mut self) -> Result<()> {
        let mut worker = self.rested().await?;
        let slot = self.inner.write_slot().await?;
        let gathered = std::mem::take(&mut self.gathered);
        self.flight = Some(spawn_blocking(move || {
            worker.write(&gathered.chunks, false)?;
            drop((gathered, slot));
            Ok(worker)
        }));
        Ok(())
    }

    /// Writes the rest and requests the syncs.
    async fn finish(mut self) -> Result<(Worker, Vec<Synced>)> {
        let mut worker = self.rested().await?;
        let slot = self.inner.write_slot().await?;
        let gathered = std::mem::take(&mut self.gathered);
        let flight = spawn_blocking(move || {
            worker.write(&gathered.chunks, true)?;
            drop((gathered, slot));
            let synced = worker.ask_for_syncs()?;
            Ok((worker, synced))
        });
        flight.await.unwrap_or_else(|e| Err(panicked(&e)))
    }
}

impl ContentWriter for PackWriter {
    fn write(&mut self, bytes: Bytes) -> EngineFuture<'_, ()> {
        Box::pin(async move {
            if let Some(error) = &self.failed {
                return Err(error.clone());
            }
            if bytes.is_empty() || self.gather(bytes) {
                return Ok(());
            }
            self.flush().await
        })
    }

    fn seal(self: Box<Self>) -> EngineFuture<'static, Vec<Piece>> {
        Box::pin(async move {
            let (worker, synced) = self.finish().await?;
            for synced in synced {
                syncer::wait(synced).await?;
            }
            Ok(worker.done.into_iter().map(Done::keep).collect())
        })
    }
}

fn panicked(error: &tokio::task::JoinError) -> Error {
    Error::Unavailable(format!("a write of content panicked: {error}"))
}

/// The part of an upload that the blocking thread needs.
struct Worker {
    inner: Arc<Inner>,
    fold: Option<Fold>,
    /// Number of bytes still to come, if the caller has announced it.
    expected: Option<u64>,
    open: Option<Open>,
    done: Vec<Done>,
}

/// A piece being written.
struct Open {
    claim: Claim,
    lane: Lane,
    capacity: u32,
    summing: Summing,
}

/// A piece that is written.
struct Done {
    claim: Claim,
    lane: Lane,
    piece: Piece,
}

impl Done {
    fn keep(self) -> Piece {
        self.claim.keep();
        self.piece
    }
}

impl Worker {
    /// Writes bytes; `is_last` says that there are no more.
    fn write(&mut self, chunks: &[Bytes], is_last: bool) -> Result<()> {
        let mut left: u64 = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        let mut rest: Vec<Bytes> = chunks.iter().rev().cloned().collect();
        while left > 0 {
            let mut open = match self.open.take() {
                Some(open) => open,
                None => self.reserve(left, is_last)?,
            };
            let now = take(&mut rest, u64::from(open.capacity) - open.summing.bytes());
            let bytes: u64 = now.iter().map(|chunk| chunk.len() as u64).sum();
            left -= bytes;
            self.expected = self.expected.map(|expected| expected.saturating_sub(bytes));
            now.iter().for_each(|chunk| open.summing.add(chunk));
            if let Some(fold) = &mut self.fold {
                fold(&now);
            }
            if open.summing.bytes() == u64::from(open.capacity) || (is_last && left == 0) {
                self.end_piece(open, &now)?;
            } else {
                let offset = open.summing.bytes() - bytes;
                self.put(&mut open.claim, offset, &now, &[])?;
                self.open = Some(open);
            }
        }
        match self.open.take_if(|_| is_last) {
            Some(open) => self.end_piece(open, &[]),
            None => Ok(()),
        }
    }

    /// Reserves a range for the next piece, when `left` bytes are available.
    fn reserve(&self, left: u64, is_last: bool) -> Result<Open> {
        let wanted = match self.expected {
            _ if is_last => left,
            Some(expected) if expected >= left => expected,
            _ => left.max(u64::from(UNKNOWN_PIECE_BYTES)),
        };
        let capacity = u32::try_from(wanted).unwrap_or(PIECE_BYTES_MAX).min(PIECE_BYTES_MAX);
        let lane = Lane::of(u64::from(capacity));
        let claim = self.inner.packs.claim(lane, capacity)?;
        Ok(Open { claim, lane, capacity, summing: Summing::default() })
    }

    /// Writes the last bytes of a piece and its checksums.
    fn end_piece(&mut self, mut open: Open, last: &[Bytes]) -> Result<()> {
        let bytes: u64 = last.iter().map(|chunk| chunk.len() as u64).sum();
        let length = open.summing.bytes();
        let (crc, table) = open.summing.finish();
        self.put(&mut open.claim, length - bytes, last, &table)?;
        let piece = Piece {
            stream: open.claim.pack.number,
            offset: open.claim.offset,
            // It was filled to at most its capacity.
            length: u32::try_from(length).unwrap_or(open.capacity),
            crc,
        };
        self.done.push(Done { claim: open.claim, lane: open.lane, piece });
        Ok(())
    }

    /// Writes chunks and a table of checksums from `at` on in the range of a claim.
    fn put(&self, claim: &mut Claim, at: u64, chunks: &[Bytes], table: &[u8]) -> Result<()> {
        self.inner.packs.check_open()?;
        let mut buffers: Vec<IoSlice<'_>> = chunks.iter().map(|chunk| IoSlice::new(chunk)).collect();
        buffers.push(IoSlice::new(table));
        claim.used = at + buffers.iter().map(|buffer| buffer.len() as u64).sum::<u64>();
        let file = checked("open", &claim.pack.path, claim.pack.file())?;
        let written = self.inner.packs.disk.write(&file, &mut buffers, claim.offset + at);
        checked("write to", &claim.pack.path, written)?;
        crash_point::pass(Point::ContentWritten);
        Ok(())
    }

    /// Requests a sync of each pack that it has written to.
    fn ask_for_syncs(&self) -> Result<Vec<Synced>> {
        if self.inner.durability == Durability::Relaxed {
            return Ok(Vec::new());
        }
        let mut asked: Vec<u64> = Vec::new();
        let mut synced = Vec::new();
        for Done { claim, lane, .. } in &self.done {
            if !asked.contains(&claim.pack.number) {
                asked.push(claim.pack.number);
                synced.push(self.inner.syncers.ask(*lane, &claim.pack)?);
            }
        }
        Ok(synced)
    }
}

/// Takes up to `max` bytes off the end of `rest`, which is in reverse order.
fn take(rest: &mut Vec<Bytes>, mut max: u64) -> Vec<Bytes> {
    let mut taken = Vec::new();
    while max > 0
        && let Some(mut chunk) = rest.pop()
    {
        // A chunk that is longer than the rest of a piece is cut.
        let now = usize::try_from(max).map_or(chunk.len(), |max| chunk.len().min(max));
        let first = chunk.split_to(now);
        if !chunk.is_empty() {
            rest.push(chunk);
        }
        max -= first.len() as u64;
        taken.push(first);
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_taken_in_order() {
        let mut rest: Vec<Bytes> =
            [&b"hij"[..], b"g", b"def", b"abc"].into_iter().map(Bytes::from_static).collect();
        for (max, expected) in [(0, ""), (4, "abcd"), (3, "efg"), (2, "hi"), (9, "j"), (9, "")] {
            assert_eq!(take(&mut rest, max).concat(), expected.as_bytes());
        }
    }
}
