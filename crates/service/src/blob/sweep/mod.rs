//! Reclaims content that is no longer used, in the background: unname, release, forget.
//!
//! 1. Unname: one commit turns the segments of a generation into rows that nothing can refer to, if no state of
//!    the blob refers to the generation.
//! 2. Release: the content store frees the pieces that no other row of the blob has.
//! 3. Forget: the rows are deleted.
//!
//! Each step may be repeated after a crash: names of pieces are never reused, so releasing twice is harmless.
//!
//! Invariant: only this work deletes rows that name pieces, and it does one thing at a time. So a piece that is
//! named when a scan of all rows begins is still named in a row when the scan gets there. Pieces in the tail of an append blob
//! are the exception, see `partition::some_rows`.

mod blob;
mod dropped;
mod garbage;
mod pages;
mod partition;
mod scan;
mod staged;
mod tags;

pub use partition::{each_row, every_row};

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lazuli_engine::content::Piece;
use lazuli_model::time::TICKS_PER_SECOND;

use super::commit::Step;
use super::core::{At, Core};
use super::todo::Doubt;
use crate::Result;
use crate::sweep::SHARED_READ_GRACE;

/// Maximum blobs processed in one round.
const ROUND_BLOBS_MAX: usize = 256;
/// After this time, a commit with an unknown outcome has either arrived or never will.
const GRACE: Duration = Duration::from_secs(120);
/// Interval between two scans of all rows.
const SCAN_PERIOD: Duration = Duration::from_secs(24 * 60 * 60);
/// With several processes: uploads of another process are done after this time.
const SHARED_UPLOAD_GRACE: Duration = Duration::from_secs(24 * 60 * 60);

/// The background task that reclaims content.
pub struct Reclaim {
    core: Arc<Core>,
    /// The time at which the last scan of all rows was completed, in ticks.
    scanned: Option<u64>,
    /// Do several processes use the engine?
    is_shared: bool,
    /// Blobs on the work list that this pass over it has not reached yet.
    left: usize,
    /// A copy held all content during the last scan, so it freed nothing.
    is_owed: bool,
}

/// Whether the work is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Done,
    /// Something is in use, or was changed in the meantime.
    Again,
}

impl Reclaim {
    pub(super) fn new(core: Arc<Core>) -> Self {
        Self { core, scanned: None, is_shared: false, left: 0, is_owed: false }
    }

    /// One round of bounded length; `true` if there is more to do immediately. Call it periodically.
    ///
    /// Several rounds make a pass over the work list. What is still in use then waits for the next pass: if there were always
    /// more to do while many blobs are in use, the process would do nothing else.
    pub async fn round(&mut self) -> Result<bool> {
        let now = self.core.clock().ticks();
        // A copy of everything may take hours, in which nothing can be freed.
        let is_held = (self.is_owed || self.core.todo.has_any()) && self.core.content.is_held().await?;
        let is_due = self.scanned.is_none_or(|at| now.saturating_sub(at) >= ticks(SCAN_PERIOD));
        let is_owed = self.is_owed && !is_held;
        if is_due || is_owed || (self.core.todo.len() == 0 && self.core.todo.take_overflow()) {
            self.is_shared = self.core.engine().shared_state().await?.is_some();
            self.is_owed = !self.scan().await? && self.core.content.is_held().await?;
            self.scanned = Some(now);
        }
        if is_held {
            return self.clean_tags(now).await;
        }
        self.settle_doubts(now).await?;
        let has_tags = self.clean_tags(now).await?;
        self.core.todo.turn_to_due(now);
        if self.left == 0 {
            self.left = self.core.todo.len();
        }
        let mut again = Vec::new();
        for _ in 0..ROUND_BLOBS_MAX.min(self.left) {
            let Some(at) = self.core.todo.next_blob() else {
                self.left = 0;
                break;
            };
            self.left -= 1;
            match self.sweep_blob(&at).await {
                Ok(Progress::Done) => {}
                Ok(Progress::Again) => again.push(at),
                Err(error) => {
                    again.push(at);
                    again.iter().for_each(|at| self.core.todo.blob(at));
                    return Err(error);
                }
            }
            self.core.counters.swept_blobs.fetch_add(1, Ordering::Relaxed);
        }
        again.iter().for_each(|at| self.core.todo.blob(at));
        Ok(has_tags || self.left > 0)
    }

    /// Releases pieces of failed uploads that no row refers to. One scan of a blob covers all its failed
    /// uploads.
    async fn settle_doubts(&self, now: u64) -> Result<()> {
        let mut by_blob: HashMap<At, Doubt> = HashMap::new();
        for doubt in self.core.todo.ripe_doubts(now.saturating_sub(ticks(GRACE))) {
            match by_blob.entry(doubt.at.clone()) {
                Entry::Vacant(entry) => drop(entry.insert(doubt)),
                Entry::Occupied(mut entry) => {
                    let joined = entry.get_mut();
                    joined.pieces.extend(doubt.pieces);
                    joined.since = joined.since.max(doubt.since);
                }
            }
        }
        let mut doubts = by_blob.into_values();
        while let Some(doubt) = doubts.next() {
            match self.settle_doubt(&doubt).await {
                Ok(pinned) if pinned.is_empty() => {}
                Ok(pinned) => self.core.todo.doubt(Doubt { pieces: pinned, ..doubt }),
                Err(error) => {
                    for mut doubt in std::iter::once(doubt).chain(doubts) {
                        // The list counts the capacity of the vector, which joining may have increased: shrink it to
                        // what was counted before.
                        doubt.pieces.shrink_to_fit();
                        self.core.todo.doubt(doubt);
                    }
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Releases the pieces of failed uploads to one blob. Returns those that are pinned.
    async fn settle_doubt(&self, Doubt { at, pieces, since }: &Doubt) -> Result<Vec<Piece>> {
        let mut loose: HashSet<Piece> = pieces.iter().copied().collect();
        self.wait_for_commits(at, *since).await?;
        self.keep_named(at, HashSet::new(), &mut loose).await?;
        self.keep_staged(at, &mut loose).await?;
        free(&self.core, loose.into_iter().collect()).await
    }

    /// Waits for commits of a blob that are still in progress, however slow the disk is: a later commit is
    /// decided after them.
    async fn wait_for_commits(&self, at: &At, since: u64) -> Result<()> {
        if since == 0 {
            return Ok(());
        }
        self.core.change(at, |_, _| Ok((Step::Keep, ()))).await
    }

    /// Frees pieces that no row refers to any more.
    async fn release(&self, pieces: Vec<Piece>) -> Result<Progress> {
        release(&self.core, pieces).await
    }

    /// Until when another process may use what has this version, if it still may.
    fn recent(&self, version: u64, grace: Duration) -> Option<u64> {
        let until = version.saturating_add(ticks(grace));
        (self.is_shared && until > self.core.clock().ticks()).then_some(until)
    }

    /// The age of a row by its version, in ticks.
    fn age(&self, version: u64) -> u64 {
        self.core.clock().ticks().saturating_sub(version)
    }
}

/// Frees pieces that no row refers to any more.
async fn release(core: &Core, pieces: Vec<Piece>) -> Result<Progress> {
    Ok(if free(core, pieces).await?.is_empty() { Progress::Done } else { Progress::Again })
}

/// Frees pieces that no row refers to any more, except those that are pinned, which it returns.
async fn free(core: &Core, pieces: Vec<Piece>) -> Result<Vec<Piece>> {
    if pieces.is_empty() {
        return Ok(pieces);
    }
    let bytes: u64 = pieces.iter().map(|piece| u64::from(piece.length)).sum();
    let pinned = core.content.release(pieces).await?;
    let kept: u64 = pinned.iter().map(|piece| u64::from(piece.length)).sum();
    core.counters.released_bytes.fetch_add(bytes.saturating_sub(kept), Ordering::Relaxed);
    Ok(pinned)
}

fn ticks(duration: Duration) -> u64 {
    duration.as_secs().saturating_mul(TICKS_PER_SECOND)
}

/// A blob by its tables and name.
fn at(tables: super::keyspace::Tables, name: &str) -> At {
    At::new(tables, name)
}
