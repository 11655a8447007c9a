//! Large content as rows of at most 256 KiB, for installations without an object store.
//!
//! A piece is a series of chunks in `lazuli_chunk`, each under its stream and its position in it; the table of
//! checksums follows as one more chunk. A stream belongs to the front end that took it, as recorded in
//! `lazuli_stream`, so positions need no coordination. Chunks are written once, each in a transaction of its
//! own.
//!
//! Invariants:
//! - No chunk crosses a multiple of 256 KiB from the start of its piece, so a reader finds whole chunks.
//! - A chunk that is sent again is written again, so that a standby confirms it again.
//! - A sweep covers the streams that front ends have given up, and those that were taken away from front ends
//!   that have ended: nothing can refer to their chunks later. `watch.rs` explains why.
//! - No process frees anything while a copy of the database is being made: see `hold.rs`.

mod adopt;
mod calls;
mod elsewhere;
mod hold;
mod ledger;
mod listing;
mod reader;
mod sweep;
mod watch;
mod writer;

use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use lazuli_engine::content::{
    CHUNK_BYTES_MAX, Content, ContentHold, ContentLedger, ContentReader, ContentStatus, ContentSweep,
    ContentWriter, ExtentPage, Fold, Piece, Pinned, Pins, Spot,
};
use lazuli_engine::{EngineFuture, Result};
use tokio::sync::Semaphore;

pub use self::ledger::{StreamLedger, in_objects};
use self::reader::ChunkReader;
use self::sweep::ChunkSweep;
use self::writer::ChunkWriter;

/// Content of at most this size is stored in a row.
const INLINE_BYTES_MAX: usize = 64 * 1024;
/// Largest chunk.
const CHUNK_BYTES: usize = CHUNK_BYTES_MAX;
/// Maximum chunks of one upload in flight.
const UPLOAD_CHUNKS_MAX: usize = 4;
/// Maximum bytes that all uploads together buffer. Beyond it, each upload sends its bytes immediately.
const GATHERED_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes per permit of that limit.
const GATHERED_UNIT_BYTES: usize = 1024;

/// Content in a database.
#[derive(Clone)]
pub struct ChunkContent {
    inner: Arc<Inner>,
}

/// State that uploads, downloads and the content store share.
pub struct Inner {
    ledger: Arc<StreamLedger>,
    pins: Pins,
    /// Permits for buffered bytes, in units of [`GATHERED_UNIT_BYTES`].
    gathered: Arc<Semaphore>,
    /// Pieces that are being deleted.
    leaving: Mutex<HashSet<Spot>>,
    writing: AtomicU64,
    freed: AtomicU64,
}

impl ChunkContent {
    /// The content in the database of an engine, in streams of this ledger.
    pub fn new(ledger: &Arc<StreamLedger>) -> Self {
        Self {
            inner: Arc::new(Inner {
                ledger: Arc::clone(ledger),
                pins: Pins::default(),
                gathered: Arc::new(Semaphore::new(GATHERED_BYTES_MAX / GATHERED_UNIT_BYTES)),
                leaving: Mutex::default(),
                writing: AtomicU64::new(0),
                freed: AtomicU64::new(0),
            }),
        }
    }
}

impl Inner {
    fn leaving(&self) -> MutexGuard<'_, HashSet<Spot>> {
        self.leaving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts bytes of a stream that were stored.
    fn count_stored(&self, stream: u64, bytes: u64) {
        self.ledger.count(stream, calls::signed(bytes));
    }

    /// Counts bytes of a stream that were released.
    fn count_freed(&self, stream: u64, bytes: u64) {
        self.ledger.count(stream, -calls::signed(bytes));
        self.freed.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes that all front ends together store, according to their last reports.
    async fn status(&self) -> Result<ContentStatus> {
        Ok(ContentStatus {
            live: self.ledger.live().await?,
            writing: self.writing.load(Ordering::Relaxed),
            freed: self.freed.load(Ordering::Relaxed),
            ..ContentStatus::default()
        })
    }

    /// Deletes the pieces that are not pinned or held; returns the others.
    async fn release(&self, pieces: Vec<Piece>) -> Result<Vec<Piece>> {
        if self.ledger.is_held().await? {
            return Ok(pieces);
        }
        let mut leaving = Leaving { inner: self, pieces: Vec::new() };
        // A later pin of one of them finds that it is being deleted.
        let pinned = self.pins.free(pieces, |piece| {
            self.leaving().insert(piece.spot());
            leaving.pieces.push(piece);
        });
        for piece in &leaving.pieces {
            self.delete(piece).await?;
        }
        Ok(pinned)
    }
}

/// Pieces that are being deleted. They count as such until this value is dropped, whether or not the deletion
/// succeeded.
struct Leaving<'a> {
    inner: &'a Inner,
    pieces: Vec<Piece>,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        let mut leaving = self.inner.leaving();
        for piece in &self.pieces {
            leaving.remove(&piece.spot());
        }
    }
}

impl Content for ChunkContent {
    fn inline_max(&self) -> usize {
        INLINE_BYTES_MAX
    }

    fn begin(&self, expected: Option<u64>, fold: Option<Fold>) -> Box<dyn ContentWriter> {
        Box::new(ChunkWriter::new(&self.inner, expected, fold))
    }

    fn read(&self, piece: &Piece, range: Range<u64>) -> Box<dyn ContentReader> {
        Box::new(ChunkReader::new(&self.inner, *piece, range))
    }

    fn pin(&self, pieces: &[Piece]) -> Pinned {
        self.inner.pins.pin(pieces)
    }

    fn pin_all(&self) -> Pinned {
        self.inner.pins.pin_all()
    }

    fn hold_all(&self) -> EngineFuture<'_, Box<dyn ContentHold>> {
        Arc::clone(&self.inner.ledger).hold_with(self.pin_all())
    }

    fn is_held(&self) -> EngineFuture<'_, bool> {
        self.inner.ledger.is_held()
    }

    fn release(&self, pieces: Vec<Piece>) -> EngineFuture<'_, Vec<Piece>> {
        Box::pin(self.inner.release(pieces))
    }

    fn adopt(&self, piece: Piece, bytes: Bytes) -> EngineFuture<'_, ()> {
        Box::pin(self.inner.adopt(piece, bytes))
    }

    fn list(&self, from: Spot) -> EngineFuture<'_, ExtentPage> {
        Box::pin(self.inner.list(from))
    }

    fn sweep(&self) -> EngineFuture<'_, Box<dyn ContentSweep>> {
        Box::pin(async {
            let sweep = ChunkSweep::begin(&self.inner).await?;
            Ok(Box::new(sweep) as Box<dyn ContentSweep>)
        })
    }

    fn status(&self) -> EngineFuture<'_, ContentStatus> {
        Box::pin(self.inner.status())
    }
}
