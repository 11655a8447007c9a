//! A content store in memory: the oracle for the others.

use std::collections::{BTreeMap, HashSet};
use std::ops::{Bound, Range};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};

use super::checksum::{Summing, missing, verify_piece};
use super::piece::{CHUNK_BYTES_MAX, PIECE_BYTES_MAX};
use super::{
    Content, ContentReader, ContentStatus, ContentSweep, ContentWriter, Extent, ExtentPage, Fold, Piece,
    Pinned, Pins, Spot, Streams, Swept,
};
use crate::{EngineFuture, Error, Result};

/// Content of at most this many bytes belongs in a row, as in the store on disk.
const INLINE_BYTES_MAX: usize = 8 * 1024;
/// Maximum extents on one page of a listing.
const LIST_EXTENTS_MAX: usize = 1000;

/// A content store without files.
#[derive(Clone, Debug, Default)]
pub struct MemoryContent {
    shared: Arc<Mutex<State>>,
    pins: Pins,
}

#[derive(Debug, Default)]
struct State {
    pieces: BTreeMap<Spot, (Piece, Bytes)>,
    streams: Streams,
    last_stream: u64,
    /// Streams of the current process.
    own: HashSet<u64>,
    /// Streams up to this one belong to earlier processes.
    last_former: u64,
    freed: u64,
    is_swept: bool,
}

impl MemoryContent {
    /// The same content, as found by a process that is started later.
    pub fn reopened(&self) -> Self {
        let mut state = self.lock();
        state.streams.leave();
        state.own.clear();
        state.last_former = state.last_stream;
        state.is_swept = false;
        drop(state);
        Self { shared: Arc::clone(&self.shared), pins: Pins::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn store(&mut self, crc: u32, bytes: Bytes) -> Result<Piece> {
        let length = u32::try_from(bytes.len()).map_err(|_| Error::TooLarge("a piece".into()))?;
        let spot = loop {
            if let Some(spot) = self.streams.place(length) {
                break spot;
            }
            self.last_stream += 1;
            self.own.insert(self.last_stream);
            self.streams.enter(self.last_stream);
        };
        let piece = Piece { stream: spot.stream, offset: spot.offset, length, crc };
        self.pieces.insert(spot, (piece, bytes));
        Ok(piece)
    }

    fn free(&mut self, piece: Piece) {
        if let Some((piece, _)) = self.pieces.remove(&piece.spot()) {
            self.freed += piece.footprint();
        }
    }

    fn adopt(&mut self, piece: Piece, bytes: Bytes) -> Result<()> {
        let spot = piece.spot();
        let end = Spot { offset: piece.offset + piece.footprint(), ..spot };
        if self.pieces.get(&spot) == Some(&(piece, bytes.clone())) {
            return Ok(());
        }
        let before = self.pieces.range(..end).next_back();
        let overlaps = before.is_some_and(|(at, (other, _))| {
            at.stream == spot.stream && at.offset + other.footprint() > spot.offset
        });
        if overlaps || self.own.contains(&piece.stream) {
            return Err(in_use(piece));
        }
        self.last_stream = self.last_stream.max(piece.stream);
        self.pieces.insert(spot, (piece, bytes));
        Ok(())
    }
}

/// The error for an adopted piece whose position is taken.
fn in_use(piece: Piece) -> Error {
    Error::Unavailable(format!("cannot copy {piece}: other content is stored under its name"))
}

impl Content for MemoryContent {
    /// Chunks are slices of the stored bytes.
    fn bounds_reads(&self) -> bool {
        true
    }

    fn inline_max(&self) -> usize {
        INLINE_BYTES_MAX
    }

    fn begin(&self, _: Option<u64>, fold: Option<Fold>) -> Box<dyn ContentWriter> {
        Box::new(Writer { content: self.clone(), fold, pieces: vec![Open::default()] })
    }

    fn read(&self, piece: &Piece, range: Range<u64>) -> Box<dyn ContentReader> {
        let pinned = self.pins.pin(&[*piece]);
        let found = self.lock().pieces.get(&piece.spot()).filter(|found| found.0 == *piece).cloned();
        // The name matches, including the checksum, and bytes in memory do not change.
        let bytes = found.ok_or_else(|| missing(*piece)).map(|(piece, bytes)| {
            let end = range.end.min(u64::from(piece.length));
            let start = range.start.min(end);
            // Both are at most the length of a piece, which fits.
            bytes.slice(start as usize..end as usize)
        });
        Box::new(Reader { bytes, _pinned: pinned })
    }

    fn pin(&self, pieces: &[Piece]) -> Pinned {
        self.pins.pin(pieces)
    }

    fn pin_all(&self) -> Pinned {
        self.pins.pin_all()
    }

    fn release(&self, pieces: Vec<Piece>) -> EngineFuture<'_, Vec<Piece>> {
        Box::pin(async move { Ok(self.pins.free(pieces, |piece| self.lock().free(piece))) })
    }

    fn adopt(&self, piece: Piece, bytes: Bytes) -> EngineFuture<'_, ()> {
        Box::pin(async move {
            if !piece.is_valid() {
                return Err(Error::Corrupt(format!("{piece} is not a valid piece")));
            }
            verify_piece(piece, &bytes)?;
            self.lock().adopt(piece, bytes)
        })
    }

    fn list(&self, from: Spot) -> EngineFuture<'_, ExtentPage> {
        Box::pin(async move {
            let state = self.lock();
            let mut found = state.pieces.range((Bound::Included(from), Bound::Unbounded));
            let extents: Vec<Extent> = found
                .by_ref()
                .take(LIST_EXTENTS_MAX)
                .map(|(spot, (piece, _))| Extent { start: *spot, bytes: piece.footprint() })
                .collect();
            let next = found.next().map(|(spot, _)| *spot);
            Ok(ExtentPage { extents, next })
        })
    }

    fn sweep(&self) -> EngineFuture<'_, Box<dyn ContentSweep>> {
        Box::pin(async move {
            let last = self.lock().last_former;
            let sweep = MemorySweep { content: self.clone(), last, kept: HashSet::new() };
            Ok(Box::new(sweep) as Box<dyn ContentSweep>)
        })
    }

    fn status(&self) -> EngineFuture<'_, ContentStatus> {
        Box::pin(async move {
            let state = self.lock();
            let mut status = ContentStatus { freed: state.freed, ..ContentStatus::default() };
            for (piece, _) in state.pieces.values() {
                let is_unswept = piece.stream <= state.last_former && !state.is_swept;
                *(if is_unswept { &mut status.unswept } else { &mut status.live }) += piece.footprint();
            }
            Ok(status)
        })
    }
}

/// A piece being written.
#[derive(Default)]
struct Open {
    summing: Summing,
    bytes: BytesMut,
}

struct Writer {
    content: MemoryContent,
    fold: Option<Fold>,
    /// The last one is the one being written; there is always one.
    pieces: Vec<Open>,
}

impl Writer {
    fn take(&mut self, mut bytes: Bytes) {
        if let Some(fold) = &mut self.fold {
            fold(std::slice::from_ref(&bytes));
        }
        while !bytes.is_empty() {
            if self.pieces.last().is_none_or(|open| open.bytes.len() == PIECE_BYTES_MAX as usize) {
                self.pieces.push(Open::default());
            }
            let Some(open) = self.pieces.last_mut() else { return };
            let now = bytes.split_to(bytes.len().min(PIECE_BYTES_MAX as usize - open.bytes.len()));
            open.summing.add(&now);
            open.bytes.extend_from_slice(&now);
        }
    }
}

impl ContentWriter for Writer {
    fn write(&mut self, bytes: Bytes) -> EngineFuture<'_, ()> {
        Box::pin(async move {
            self.take(bytes);
            Ok(())
        })
    }

    fn seal(self: Box<Self>) -> EngineFuture<'static, Vec<Piece>> {
        Box::pin(async move {
            let mut state = self.content.lock();
            let written = self.pieces.into_iter().filter(|open| !open.bytes.is_empty());
            written.map(|open| state.store(open.summing.finish().0, open.bytes.freeze())).collect()
        })
    }
}

struct Reader {
    bytes: Result<Bytes>,
    _pinned: Pinned,
}

impl ContentReader for Reader {
    fn next(&mut self) -> EngineFuture<'_, Option<Bytes>> {
        let next = match &mut self.bytes {
            Ok(bytes) if bytes.is_empty() => Ok(None),
            Ok(bytes) => Ok(Some(bytes.split_to(bytes.len().min(CHUNK_BYTES_MAX)))),
            Err(error) => Err(error.clone()),
        };
        Box::pin(std::future::ready(next))
    }
}

struct MemorySweep {
    content: MemoryContent,
    last: u64,
    kept: HashSet<Piece>,
}

impl ContentSweep for MemorySweep {
    fn keep(&mut self, piece: &Piece) {
        if piece.stream <= self.last {
            self.kept.insert(*piece);
        }
    }

    fn finish(self: Box<Self>) -> EngineFuture<'static, Swept> {
        Box::pin(async move {
            let mut swept = Swept::default();
            let mut unnamed = Vec::new();
            let end = Spot { stream: self.last + 1, offset: 0 };
            for (piece, _) in self.content.lock().pieces.range(..end).map(|(_, stored)| stored) {
                if self.kept.contains(piece) {
                    swept.kept_bytes += piece.footprint();
                } else {
                    unnamed.push(*piece);
                }
            }
            let pinned = self.content.pins.free(unnamed, |piece| {
                swept.freed_bytes += piece.footprint();
                self.content.lock().free(piece);
            });
            swept.is_complete = pinned.is_empty();
            self.content.lock().is_swept |= swept.is_complete;
            Ok(swept)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::conformance::{ContentFactory, Home};

    struct InMemory;

    impl ContentFactory for InMemory {
        type Home = MemoryContent;

        async fn home(&self) -> MemoryContent {
            MemoryContent::default()
        }
    }

    impl Home for MemoryContent {
        async fn open(&mut self) -> Arc<dyn Content> {
            *self = self.reopened();
            Arc::new(self.clone())
        }
    }

    crate::content_conformance_tests!(InMemory);
}
