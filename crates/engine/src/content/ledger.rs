//! What processes that share a content store agree on: which of them writes to which stream.
//!
//! A store that keeps its bytes elsewhere, such as in an object store, needs an engine with transactions for this. It uses
//! the engine that holds the rows.
//!
//! Invariants:
//! - A stream number is issued once, to one process.
//! - A stream that was given up, or fenced, is never written to again under its number.

use super::{Piece, Spot};
use crate::{EngineFuture, Error, Result};

/// The streams of all processes.
pub trait ContentLedger: Send + Sync + 'static {
    /// A position for a piece of at most `length` bytes, in a stream of this process.
    fn place(&self, length: u32) -> EngineFuture<'_, Spot>;

    /// Was this stream taken away from this process, which was wrongly assumed dead? Nothing may be named in it any more.
    fn is_lost(&self, stream: u64) -> bool;

    /// Rejects an upload that wrote to a stream which was taken away.
    fn check(&self, pieces: &[Piece]) -> Result<()> {
        match pieces.iter().any(|piece| self.is_lost(piece.stream)) {
            true => Err(Error::Unavailable("the upload was interrupted too long; repeat it".into())),
            false => Ok(()),
        }
    }

    /// Takes a stream whose pieces come from another store. `false` if a process that may be alive has it, or if this
    /// process writes new pieces to it.
    fn claim(&self, stream: u64) -> EngineFuture<'_, bool>;

    /// Counts bytes of a stream that were stored, or released if the number is negative. The sum is an estimate: a
    /// sweep corrects it.
    fn count(&self, stream: u64, bytes: i64);

    /// At most `max` streams that no process can name new pieces of, starting with those that were never swept. If a
    /// process was wrongly assumed dead, [`is_lost`](Self::is_lost) tells it.
    fn left(&self, max: usize) -> EngineFuture<'_, Left>;

    /// All streams of which no process can name new pieces. Changes nothing.
    fn unowned(&self) -> EngineFuture<'_, Vec<u64>>;

    /// Is the stream still without an owner?
    fn is_free(&self, stream: u64) -> EngineFuture<'_, bool>;

    /// Records that a sweep has examined the whole stream, of which `live` bytes are in use. An empty stream is removed.
    fn settle(&self, stream: u64, live: u64) -> EngineFuture<'_, ()>;

    /// Bytes in all streams, by the last counts and sweeps.
    fn live(&self) -> EngineFuture<'_, u64>;
}

/// Streams that a sweep can cover.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Their numbers.
    pub streams: Vec<u64>,
    /// There are more that no sweep has covered yet.
    pub is_partial: bool,
}
