//! The state that processes with a common content store share: the owner of each stream.
//!
//! A store that keeps its bytes elsewhere, such as in an object store, needs an engine with transactions for this. It uses
//! the engine that holds the rows.
//!
//! Invariants:
//! - A stream number is issued once, to one process.
//! - An abandoned or fenced stream is never written to again under its number.
//! - A stream is swept by one process at a time.

use std::collections::HashSet;
use std::sync::Arc;

use super::{ContentHold, Piece, Pinned, Spot};
use crate::{EngineFuture, Error};

/// The streams of all processes.
pub trait ContentLedger: Send + Sync + 'static {
    /// A position for a piece of at most `length` bytes, in a stream of this process.
    fn place(&self, length: u32) -> EngineFuture<'_, Spot>;

    /// Does this process still have all of these streams, which it has written to? A process that was wrongly
    /// assumed dead loses them: then no row may refer to them any more. It may have been suspended together
    /// with its clocks, so the response comes from the shared state.
    fn owns<'a>(&'a self, streams: &'a HashSet<u64>) -> EngineFuture<'a, bool>;

    /// Rejects an upload that wrote to a stream which was taken away.
    fn check<'a>(&'a self, pieces: &'a [Piece]) -> EngineFuture<'a, ()> {
        let streams: HashSet<u64> = pieces.iter().map(|piece| piece.stream).collect();
        Box::pin(async move {
            match streams.is_empty() || self.owns(&streams).await? {
                true => Ok(()),
                false => Err(Error::Unavailable("the upload was interrupted for too long; repeat it".into())),
            }
        })
    }

    /// Takes ownership of a stream whose pieces come from another store. `false` if a process that may be alive
    /// has it, or if this process writes new pieces to it.
    fn claim(&self, stream: u64) -> EngineFuture<'_, bool>;

    /// Counts bytes of a stream that were stored, or released if the number is negative. The sum is an estimate: a
    /// sweep corrects it.
    fn count(&self, stream: u64, bytes: i64);

    /// At most `max` streams in which no process can create new pieces, starting with those that were never
    /// swept. A process that was wrongly assumed dead learns this from [`owns`](Self::owns).
    fn left(&self, max: usize) -> EngineFuture<'_, Left>;

    /// All streams in which no process can create new pieces. Changes nothing.
    fn unowned(&self) -> EngineFuture<'_, Vec<u64>>;

    /// Takes a stream for a sweep; `false` if it has an owner again, or another process sweeps it.
    fn begin_sweep(&self, stream: u64) -> EngineFuture<'_, bool>;

    /// Ends the sweep of a stream, of which `live` bytes are in use. An empty stream is removed. `None` if the sweep has
    /// failed.
    fn end_sweep(&self, stream: u64, live: Option<u64>) -> EngineFuture<'_, ()>;

    /// Bytes in all streams, by the last counts and sweeps.
    fn live(&self) -> EngineFuture<'_, u64>;

    /// Starts a hold: when this returns, [`is_held`](Self::is_held) is true in all processes, until the result
    /// is dropped.
    fn hold(self: Arc<Self>) -> EngineFuture<'static, Box<dyn ContentHold>>;

    /// Begins a hold, and keeps these pins of this process for as long as it lasts.
    fn hold_with(self: Arc<Self>, pinned: Pinned) -> EngineFuture<'static, Box<dyn ContentHold>> {
        Box::pin(async move {
            let hold = self.hold().await?;
            Ok(Box::new((pinned, hold)) as Box<dyn ContentHold>)
        })
    }

    /// Does a process hold all content? Then nothing may be freed.
    fn is_held(&self) -> EngineFuture<'_, bool>;
}

/// Streams that a sweep can cover.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Their numbers.
    pub streams: Vec<u64>,
    /// There are more that no sweep has covered yet.
    pub is_partial: bool,
}
