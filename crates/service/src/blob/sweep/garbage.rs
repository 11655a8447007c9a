//! Unnames the generations of a blob that no state refers to, and releases their content.
//!
//! A blob that is constantly overwritten leaves thousands of small generations between two rounds. So one
//! commit unnames the rows of many generations, and one scan of the other rows covers the pieces of many
//! generations: the cost grows with the number of rows, not with its square.
//!
//! Invariants:
//! - A generation is never referenced again once no upload pins it, all commits in progress are decided, and no
//!   state refers to it: a new state takes over a generation only from another state, and every other commit
//!   requires the rows of the generations that it refers to. The only exceptions are expired states, which can
//!   come   back: see [`Reclaim::unname`].
//! - Pins are checked after the generation was unnamed: from then on no reader can find it.
//! - A row is forgotten only after all its pieces were released, and the marker of a page blob only after its pages.

use std::collections::HashSet;

use lazuli_engine::content::Piece;
use lazuli_engine::{Change, Condition, Write};

use super::partition::{ContentRow, Partition};
use super::{Progress, Reclaim, SHARED_READ_GRACE, SHARED_UPLOAD_GRACE, free};
use crate::blob::commit::{Decided, Step};
use crate::blob::core::At;
use crate::blob::keyspace::{self, Generation, KeySlot};
use crate::blob::record::Head;
use crate::blob::segment::Segment;
use crate::{Error, Result};

/// Maximum rows of content read together, or unnamed in one commit, which has two writes for each.
const BATCH_ROWS_MAX: usize = 250;
/// A batch takes no further row once it has this many bytes. A row has less than 60 KiB.
const BATCH_BYTES_MAX: usize = 1024 * 1024;
/// A portion takes no further batch once it has this many pieces. They take less than 8 MiB of memory.
const PORTION_PIECES_MAX: usize = 64 * 1024;

/// A row of a generation that nothing refers to.
#[derive(Clone, Copy)]
struct GarbageRow {
    generation: Generation,
    content: ContentRow,
}

/// Unnameable rows whose pieces are released together.
#[derive(Default)]
struct Portion {
    /// Each row with the number of its pieces.
    rows: Vec<(Generation, KeySlot, usize)>,
    /// The pieces of all rows, in their order.
    pieces: Vec<Piece>,
}

impl Portion {
    fn generations(&self) -> HashSet<Generation> {
        self.rows.iter().map(|(generation, ..)| *generation).collect()
    }

    /// The rows without pinned content: those that represent pages, and the keys of all of them.
    fn released(&self, pinned: &HashSet<Piece>) -> (HashSet<Generation>, Vec<String>) {
        let (mut markers, mut keys) = (HashSet::new(), Vec::new());
        let mut rest = &self.pieces[..];
        for (generation, slot, count) in &self.rows {
            let (own, others) = rest.split_at(*count);
            rest = others;
            if !pinned.is_empty() && own.iter().any(|piece| pinned.contains(piece)) {
                continue;
            }
            if own.is_empty() && *slot == KeySlot::Segment(0) {
                markers.insert(*generation);
            }
            keys.push(keyspace::unnamed(*generation, *slot));
        }
        (markers, keys)
    }
}

impl Reclaim {
    /// Makes generations unreferenceable that nothing refers to.
    ///
    /// The first commit requires that the states have not changed since they were read. A blob that is
    /// constantly written never has the same states for long enough, so after a conflict they are read again,
    /// now after the rows of the generations. Unless some states have expired and could be restored in the
    /// meantime, a change of the others no longer matters.
    pub(super) async fn unname(&self, at: &At, partition: &mut Partition) -> Result<Progress> {
        let mut progress = Progress::Done;
        let (mut rows, mut recent) = (Vec::new(), Vec::new());
        for generation in partition.garbage() {
            let segments = &partition.segments[&generation];
            // A request that is about to read the generation also finds unreferenceable rows.
            if self.core.pins.has_generation(at.tables.blobs, &at.name, generation) {
                progress = Progress::Again;
            } else if let Some(until) = self.recent_until(segments, SHARED_UPLOAD_GRACE) {
                recent.push(until);
            } else {
                rows.extend(segments.iter().map(|content| GarbageRow { generation, content: *content }));
            }
        }
        recent.into_iter().for_each(|until| partition.is_used_until(until));
        let mut later: Option<Partition> = None;
        for batch in batches(&rows) {
            let mut batch = batch.to_vec();
            match self.unname_batch(at, partition, &mut later, &mut batch).await? {
                Progress::Done => {
                    let now = self.core.clock().ticks();
                    for rows in batch.chunk_by(|a, b| a.generation == b.generation) {
                        let slots: HashSet<KeySlot> = rows.iter().map(|row| row.content.slot).collect();
                        partition.unname(rows[0].generation, &slots, now);
                    }
                }
                Progress::Again => progress = Progress::Again,
            }
        }
        Ok(progress)
    }

    /// Unnames rows, based on the states as they were read first or, after a conflict, later. Skips rows that
    /// are referenced.
    async fn unname_batch(
        &self,
        at: &At,
        partition: &Partition,
        later: &mut Option<Partition>,
        rows: &mut Vec<GarbageRow>,
    ) -> Result<Progress> {
        if later.is_none() {
            if self.unname_rows(at, partition, false, rows).await? == Progress::Done {
                return Ok(Progress::Done);
            }
            // The commit of a cancelled request can still be in progress. Its upload is no longer pinned.
            self.wait_for_commits(at, 1).await?;
            *later = Some(self.look_at_states(at).await?);
        }
        let Some(states) = later else { return Ok(Progress::Again) };
        rows.retain(|row| !states.named.has(row.generation));
        self.unname_rows(at, states, states.dead.is_empty(), rows).await
    }

    /// The time until which another process may read or write these rows of a generation. Only their age shows that.
    fn recent_until(&self, rows: &[ContentRow], grace: std::time::Duration) -> Option<u64> {
        self.recent(rows.iter().map(|row| row.version).max()?, grace)
    }

    /// One commit, on condition that no state refers to the generations: either the states are still `states`,
    /// or they `may_change` and the current blob does not refer to them.
    async fn unname_rows(
        &self,
        at: &At,
        states: &Partition,
        may_change: bool,
        rows: &[GarbageRow],
    ) -> Result<Progress> {
        if rows.is_empty() {
            return Ok(Progress::Done);
        }
        let found = self.rows_at(at, rows, keyspace::named).await?;
        let mut writes = Vec::new();
        for (GarbageRow { generation, content }, row) in found {
            writes.push(Write { row: row.row, condition: Condition::Exists, change: Change::Delete });
            let unnamed = keyspace::unnamed(generation, content.slot).into();
            writes.push(Write { row: unnamed, condition: Condition::Any, change: Change::Put(row.value) });
        }
        let shape = |head: Option<&Head>| head.map(|head| head.marks.shape);
        let expected = shape(states.head.as_ref().map(|(_, head)| head));
        let generations: HashSet<Generation> = rows.iter().map(|row| row.generation).collect();
        let rule = move |head: Option<Head>, _| {
            let states = head.iter().flat_map(|head| head.blob.iter().chain(head.deleted.as_deref()));
            let mut named = states.filter_map(|state| state.content.generation());
            let is_named = named.any(|generation| generations.contains(&generation));
            if is_named || (!may_change && shape(head.as_ref()) != expected) {
                return Err(lazuli_engine::Error::Conflict.into());
            }
            Ok((Step::Keep, ()))
        };
        match self.core.decide(at, rule, writes).await {
            Ok(Decided::Done(())) => Ok(Progress::Done),
            Ok(Decided::Rejected) | Err(Error::Engine(lazuli_engine::Error::Conflict)) => Ok(Progress::Again),
            Err(error) => Err(error),
        }
    }

    /// Releases the pieces of unreferenceable generations, and deletes their rows.
    pub(super) async fn release_unnamed(&self, at: &At, partition: &mut Partition) -> Result<Progress> {
        let mut progress = Progress::Done;
        let (mut rows, mut recent) = (Vec::new(), Vec::new());
        for (generation, unnamed) in &partition.unnamed {
            let is_fresh = partition.fresh.contains(generation);
            let last = if is_fresh { u64::MAX } else { partition.last_pin };
            if self.core.pins.has_up_to(last, at.tables.blobs, &at.name, *generation) {
                progress = Progress::Again;
            } else if let Some(until) = self.recent_until(unnamed, SHARED_READ_GRACE) {
                recent.push(until);
            } else {
                let row = |content: &ContentRow| GarbageRow { generation: *generation, content: *content };
                rows.extend(unnamed.iter().map(row));
            }
        }
        recent.into_iter().for_each(|until| partition.is_used_until(until));
        let mut portion = Portion::default();
        for batch in batches(&rows) {
            for (GarbageRow { generation, content }, row) in
                self.rows_at(at, batch, keyspace::unnamed).await?
            {
                let before = portion.pieces.len();
                portion.pieces.extend(Segment::decode(row.value)?.pieces());
                portion.rows.push((generation, content.slot, portion.pieces.len() - before));
            }
            if portion.pieces.len() >= PORTION_PIECES_MAX {
                let full = std::mem::take(&mut portion);
                progress = progress.and(self.release_portion(at, partition, full).await?);
            }
        }
        Ok(progress.and(self.release_portion(at, partition, portion).await?))
    }

    async fn release_portion(&self, at: &At, partition: &Partition, portion: Portion) -> Result<Progress> {
        let mut loose: HashSet<Piece> = portion.pieces.iter().copied().collect();
        let is_alone = partition.segments.len() + partition.unnamed.len() == 1;
        if !is_alone {
            self.keep_named(at, portion.generations(), &mut loose).await?;
        }
        if partition.may_have_staged() {
            // A list that was never committed may have left segments that share pieces with blocks that are
            // still valid.
            self.keep_staged(at, &mut loose).await?;
        }
        let pinned: HashSet<Piece> =
            free(&self.core, loose.into_iter().collect()).await?.into_iter().collect();
        let (markers, keys) = portion.released(&pinned);
        for generation in markers {
            self.delete_cells(at, generation).await?;
        }
        self.delete_rows(at, at.tables.blobs, keys).await?;
        Ok(if pinned.is_empty() { Progress::Done } else { Progress::Again })
    }

    /// Reads rows by their keys. Omits those that do not exist.
    async fn rows_at(
        &self,
        at: &At,
        rows: &[GarbageRow],
        key: fn(Generation, KeySlot) -> String,
    ) -> Result<Vec<(GarbageRow, lazuli_engine::Row)>> {
        let keys: Vec<String> = rows.iter().map(|row| key(row.generation, row.content.slot)).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let found = self.core.engine().get(at.tables.blobs, &at.name, &keys).await?;
        Ok(rows.iter().zip(found).filter_map(|(row, found)| Some((*row, found?))).collect())
    }
}

/// Divides rows into batches of bounded size.
fn batches(rows: &[GarbageRow]) -> impl Iterator<Item = &[GarbageRow]> {
    let mut rest = rows;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |row: &&GarbageRow| {
            let is_full = bytes >= BATCH_BYTES_MAX;
            bytes += row.content.bytes;
            !is_full
        };
        let count = rest.iter().take(BATCH_ROWS_MAX).take_while(fits).count();
        let (batch, others) = rest.split_at(count);
        rest = others;
        (!batch.is_empty()).then_some(batch)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: u32, bytes: usize) -> Vec<GarbageRow> {
        let content = |n| ContentRow { slot: KeySlot::Segment(n), version: 1, bytes };
        (0..count).map(|n| GarbageRow { generation: Generation(7), content: content(n) }).collect()
    }

    #[test]
    fn batches_are_bounded_by_rows_and_bytes() {
        let sizes = |rows: &[GarbageRow]| batches(rows).map(<[_]>::len).collect::<Vec<_>>();
        assert_eq!(sizes(&rows(0, 1)), [0; 0]);
        assert_eq!(sizes(&rows(600, 100)), [250, 250, 100]);
        assert_eq!(sizes(&rows(5, 600 * 1024)), [2, 2, 1]);
        assert_eq!(sizes(&rows(3, 2 * BATCH_BYTES_MAX)), [1, 1, 1]);
    }

    #[test]
    fn a_row_with_a_pinned_piece_stays() {
        let piece = |offset| Piece { stream: 1, offset, length: 1, crc: 0 };
        let portion = Portion {
            rows: vec![
                (Generation(1), KeySlot::Segment(0), 2),
                (Generation(2), KeySlot::Segment(0), 0),
                (Generation(3), KeySlot::TAIL, 0),
                (Generation(4), KeySlot::Segment(0), 1),
            ],
            pieces: vec![piece(0), piece(1), piece(2)],
        };
        let (markers, keys) = portion.released(&HashSet::from([piece(1)]));
        assert_eq!(markers, HashSet::from([Generation(2)]));
        assert_eq!(keys.len(), 3);
        let (_, keys) = portion.released(&HashSet::from([piece(2)]));
        assert!(!keys.iter().any(|key| *key == keyspace::unnamed(Generation(4), KeySlot::Segment(0))));
        assert_eq!(portion.released(&HashSet::new()).1.len(), 4);
    }
}
