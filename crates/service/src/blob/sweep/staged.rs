//! Sweeps the uncommitted blocks of a blob: those that were committed or dropped, replaced by a later upload,
//! or not committed for a week.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use lazuli_engine::content::Piece;
use lazuli_model::blob::BlockId;
use lazuli_model::blob::limits::UNCOMMITTED_DAYS;
use lazuli_model::time::TICKS_PER_SECOND;

use super::partition::Partition;
use super::{GRACE, Progress, Reclaim, ticks};
use crate::Result;
use crate::blob::commit::Step;
use crate::blob::core::At;
use crate::blob::record::{Head, StagedMarks};

const EXPIRY_TICKS: u64 = UNCOMMITTED_DAYS as u64 * 24 * 60 * 60 * TICKS_PER_SECOND;
/// Blocks released together.
const RELEASE_ROWS_MAX: usize = 10_000;

/// The uncommitted blocks of a blob, by the way they are handled.
#[derive(Default)]
struct Sorted {
    /// No longer count.
    dead: Vec<String>,
    /// Blocks that were replaced by a later upload of the same block.
    replaced: Vec<String>,
    /// Still count.
    live: HashMap<BlockId, (u64, String)>,
    /// The version of the latest upload that is still valid.
    latest: u64,
}

impl Reclaim {
    /// Removes invalid uncommitted blocks. Also returns whether there are any left.
    pub(super) async fn sweep_staged(&self, at: &At, partition: &Partition) -> Result<(Progress, bool)> {
        let marks = partition.head.as_ref().and_then(|(_, head)| head.marks.staged);
        let mut sorted = self.sort_staged(at, marks.unwrap_or_default().horizon).await?;
        let mut progress = Progress::Done;
        if marks.is_none() && !sorted.live.is_empty() {
            // Either the request that uploaded a block is about to announce it, or it never will.
            if self.age(sorted.latest) < ticks(GRACE) {
                return Ok((Progress::Again, true));
            }
            self.announce_lost(at).await?;
            return Ok((Progress::Again, true));
        }
        if !sorted.live.is_empty() && self.age(sorted.latest) >= EXPIRY_TICKS {
            self.expire(at, sorted.latest).await?;
            sorted = self.sort_staged(at, sorted.latest).await?;
            if !sorted.live.is_empty() {
                // A block has arrived in the meantime, and may have been announced before its announcement was dropped.
                self.announce_lost(at).await?;
            }
        }
        let mut unused = std::mem::take(&mut sorted.dead);
        if !sorted.replaced.is_empty() {
            match self.surely_replaced(at, sorted.replaced).await? {
                Some(mut replaced) => {
                    // A list that was assembled earlier must not be committed any more.
                    self.fence(at).await?;
                    unused.append(&mut replaced);
                }
                None => progress = Progress::Again,
            }
        }
        for rows in unused.chunks(RELEASE_ROWS_MAX) {
            progress = progress.and(self.free_staged(at, rows).await?);
        }
        Ok((progress, !sorted.live.is_empty() || progress == Progress::Again))
    }

    /// The replaced blocks that stay replaced; `None` if an upload is in progress. A rejected upload is stored
    /// for a moment, and seems to replace an earlier one until it is withdrawn.
    async fn surely_replaced(&self, at: &At, replaced: Vec<String>) -> Result<Option<Vec<String>>> {
        if self.core.pins.has_blob(at.tables.blobs, &at.name) {
            return Ok(None);
        }
        // An upload may have been withdrawn since the rows were read.
        let horizon =
            self.core.head(at).await?.and_then(|head| head.marks.staged).unwrap_or_default().horizon;
        let still: HashSet<String> = self.sort_staged(at, horizon).await?.replaced.into_iter().collect();
        Ok(Some(replaced.into_iter().filter(|row| still.contains(row)).collect()))
    }

    async fn sort_staged(&self, at: &At, horizon: u64) -> Result<Sorted> {
        let mut sorted = Sorted::default();
        let mut rows = self.core.staged_rows(at);
        while let Some(page) = rows.next().await? {
            for row in page {
                let key = row.key();
                if row.version <= horizon {
                    sorted.dead.push(key);
                    continue;
                }
                sorted.latest = sorted.latest.max(row.version);
                match sorted.live.entry(row.id) {
                    Entry::Vacant(entry) => drop(entry.insert((row.version, key))),
                    Entry::Occupied(mut entry) if row.version > entry.get().0 => {
                        let (_, older) = entry.insert((row.version, key));
                        sorted.replaced.push(older);
                    }
                    Entry::Occupied(_) => sorted.replaced.push(key),
                }
            }
        }
        Ok(sorted)
    }

    /// Releases the content of uncommitted blocks that no segment refers to, and deletes their rows.
    async fn free_staged(&self, at: &At, rows: &[String]) -> Result<Progress> {
        let mut pieces = HashSet::new();
        for keys in rows.chunks(500) {
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            for row in self.core.engine().get(at.tables.staged, &at.name, &keys).await?.into_iter().flatten()
            {
                pieces.extend(crate::blob::record::Staged::decode(row.value)?.pieces());
            }
        }
        self.keep_named(at, HashSet::new(), &mut pieces).await?;
        let progress = self.release(pieces.into_iter().collect()).await?;
        if progress == Progress::Done {
            self.delete_rows(at, at.tables.staged, rows.to_vec()).await?;
        }
        Ok(progress)
    }

    /// Removes from `pieces` all that uncommitted blocks of the blob refer to.
    pub(super) async fn keep_staged(&self, at: &At, pieces: &mut HashSet<Piece>) -> Result<()> {
        if pieces.is_empty() {
            return Ok(());
        }
        let mut rows = self.core.staged_rows(at);
        while let Some(page) = rows.next().await? {
            for row in page {
                row.block.pieces().iter().for_each(|piece| {
                    pieces.remove(piece);
                });
            }
        }
        Ok(())
    }

    /// Drops uncommitted blocks up to a version.
    async fn expire(&self, at: &At, horizon: u64) -> Result<()> {
        self.mark(at, move |marks, version| {
            let horizon = marks.horizon.max(horizon);
            *marks = StagedMarks { horizon, fence: version, ..StagedMarks::default() };
        })
        .await
    }

    async fn fence(&self, at: &At) -> Result<()> {
        self.mark(at, |marks, version| marks.fence = version).await
    }

    /// Announces blocks that can still be committed but that the head does not record. They expire like all other blocks.
    async fn announce_lost(&self, at: &At) -> Result<()> {
        self.core
            .change(at, |head, _| {
                let mut head = head.unwrap_or_default();
                let mut marks = head.marks.staged.unwrap_or_default();
                marks.is_live = head.blob.is_none();
                head.marks.staged = Some(marks);
                Ok((Step::Put(Box::new(head)), ()))
            })
            .await
    }

    async fn mark(
        &self,
        at: &At,
        change: impl Fn(&mut StagedMarks, u64) + Send + Sync + 'static,
    ) -> Result<()> {
        self.core
            .change(at, move |head: Option<Head>, version| {
                let Some(mut head) = head else { return Ok((Step::Keep, ())) };
                let mut marks = head.marks.staged.unwrap_or_default();
                change(&mut marks, version);
                head.marks.staged = Some(marks);
                Ok((Step::Put(Box::new(head)), ()))
            })
            .await
    }
}
