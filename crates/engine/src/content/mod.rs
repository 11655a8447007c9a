//! Large content: bytes that are too many for a row. Rows contain the names of the pieces, the content store
//! contains the bytes.
//!
//! The store does not know which content is in use: only rows do. So bytes are freed when the owner of the rows
//! releases them, and by a [`ContentSweep`], which frees bytes of earlier processes that no row refers to.
//!
//! Invariants:
//! - Bytes are durable before their names leave [`ContentWriter::seal`]; a commit can then refer to them.
//! - A name is never reused. Releasing the same piece again, even years later, cannot affect another piece.
//! - Nothing is freed that a row refers to, that a reader or a copy has pinned, or that an upload of a running
//!   process has written.
//! - No byte leaves a reader before its checksum was verified.

mod audit;
pub mod checksum;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod copy;
mod ledger;
mod memory;
mod naming;
mod piece;
mod pins;
mod status;
mod streams;
mod units;

use std::ops::Range;

use bytes::Bytes;

pub use audit::{Audit, Auditor, verify};
pub use copy::{Copied, Copy};
pub use ledger::{ContentLedger, Left};
pub use memory::MemoryContent;
pub use naming::{NamesNothing, Naming, See, sweep};
pub use piece::{
    ALIGN_BYTES, CHUNK_BYTES_MAX, Extent, ExtentPage, PIECE_BYTES_MAX, PIECE_ENCODED_BYTES, Piece,
    STREAM_BYTES_MAX, STREAM_MAX, Spot, footprint,
};
pub use pins::{Pinned, Pins};
pub use status::ContentStatus;
pub use streams::Streams;
pub use units::{Units, units_of};

use crate::EngineFuture;

/// Receives all bytes of an upload, in order, several chunks at a time, on a thread where long computations are
/// allowed. It is used for hashes of the whole content.
pub type Fold = Box<dyn FnMut(&[Bytes]) + Send>;

/// Where large content lives.
pub trait Content: Send + Sync + 'static {
    /// Content of at most this many bytes belongs in a row.
    fn inline_max(&self) -> usize;

    /// Starts an upload. `expected` is the number of bytes to come, if known: a hint by which the store chooses
    /// where to write. `fold` has seen all bytes when [`ContentWriter::seal`] returns.
    fn begin(&self, expected: Option<u64>, fold: Option<Fold>) -> Box<dyn ContentWriter>;

    /// Reads `range` of a piece; the part beyond the end of the piece is ignored. The piece stays readable
    /// until the reader is dropped. If the piece was released before, the first chunk is an error: read the row
    /// again, it has changed.
    fn read(&self, piece: &Piece, range: Range<u64>) -> Box<dyn ContentReader>;

    /// Is the memory of chunks bounded for all reads together, however slow they are? If not, the caller must
    /// bound the number of reads.
    fn bounds_reads(&self) -> bool {
        false
    }

    /// Prevents pieces from being freed until the result is dropped. The caller ensures that they are not
    /// released yet: pin first, then check that the row still refers to them.
    fn pin(&self, pieces: &[Piece]) -> Pinned;

    /// Prevents everything from being freed until the result is dropped, for copies of the whole store: pin
    /// first, then take the snapshot of the rows.
    fn pin_all(&self) -> Pinned;

    /// Like [`Self::pin_all`], but also for other processes that use the store: no process frees anything while
    /// the result exists.
    fn hold_all(&self) -> EngineFuture<'_, Box<dyn ContentHold>> {
        let pinned = self.pin_all();
        Box::pin(std::future::ready(Ok(Box::new(pinned) as Box<dyn ContentHold>)))
    }

    /// Does a process hold everything? If so, releasing has no effect now.
    fn is_held(&self) -> EngineFuture<'_, bool> {
        Box::pin(std::future::ready(Ok(false)))
    }

    /// Frees pieces that no row refers to any more, and returns those that are pinned or held: release them
    /// again later. Releasing a piece that does not exist does nothing. The row that records the release may be
    /// deleted when this returns.
    fn release(&self, pieces: Vec<Piece>) -> EngineFuture<'_, Vec<Piece>>;

    /// Stores a piece from another store under its name. It is durable when this returns. Bytes that do not match the
    /// piece's checksum, and a name whose position is in use by other bytes, are rejected.
    fn adopt(&self, piece: Piece, bytes: Bytes) -> EngineFuture<'_, ()>;

    /// Lists stored bytes from `from` on, whether or not a row refers to them. Uploads in progress may be
    /// included.
    fn list(&self, from: Spot) -> EngineFuture<'_, ExtentPage>;

    /// Starts a sweep of the content that earlier processes stored and no row refers to. Call this first, then
    /// take a snapshot of all rows, pass every piece in them to [`ContentSweep::keep`], then
    /// [`ContentSweep::finish`].
    fn sweep(&self) -> EngineFuture<'_, Box<dyn ContentSweep>>;

    /// Number of stored bytes, live and dead.
    fn status(&self) -> EngineFuture<'_, ContentStatus>;
}

/// Prevents everything from being freed until it is dropped.
pub trait ContentHold: Send + Sync {
    /// Fails if something may have been freed since the hold started: processes that no longer respond lose
    /// their holds.
    fn check(&self) -> EngineFuture<'_, ()>;

    /// Do other processes use the content, too? Content that they started to remove before the hold can
    /// disappear while it is read.
    fn is_shared(&self) -> bool {
        false
    }
}

impl ContentHold for Pinned {
    fn check(&self) -> EngineFuture<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// One hold for this process, and one for the others.
impl ContentHold for (Pinned, Box<dyn ContentHold>) {
    fn check(&self) -> EngineFuture<'_, ()> {
        self.1.check()
    }

    fn is_shared(&self) -> bool {
        self.1.is_shared()
    }
}

/// An upload in progress. Dropping it without sealing it frees its bytes.
pub trait ContentWriter: Send {
    /// Accepts the next bytes; waits while too many are still being written to the disk. After an error, the
    /// upload is lost.
    fn write(&mut self, bytes: Bytes) -> EngineFuture<'_, ()>;

    /// Makes everything durable and returns its names, in order; none if nothing was written. The caller
    /// commits a row that refers to the pieces, or releases them.
    fn seal(self: Box<Self>) -> EngineFuture<'static, Vec<Piece>>;
}

/// A read in progress.
pub trait ContentReader: Send {
    /// The next bytes, verified; at most [`CHUNK_BYTES_MAX`], never empty. `None` at the end of the range. After an error
    /// every further call returns an error.
    fn next(&mut self) -> EngineFuture<'_, Option<Bytes>>;
}

/// Finds the bytes of earlier processes that no row refers to.
///
/// It covers only streams in which no process can create new pieces. So a piece that no row of the snapshot
/// refers to can never be referenced again.
pub trait ContentSweep: Send {
    /// Records that a row refers to this piece.
    fn keep(&mut self, piece: &Piece);

    /// Frees everything that the sweep covers, except pieces that were kept. Dropping the sweep instead frees
    /// nothing.
    fn finish(self: Box<Self>) -> EngineFuture<'static, Swept>;
}

/// The outcome of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Bytes that were kept.
    pub kept_bytes: u64,
    /// Bytes that were freed.
    pub freed_bytes: u64,
    /// All bytes of earlier processes are accounted for. Otherwise another sweep is needed: something was
    /// pinned, or there was too much for one sweep.
    pub is_complete: bool,
}
