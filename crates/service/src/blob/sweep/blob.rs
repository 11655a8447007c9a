//! Sweeps one blob.

use std::collections::HashSet;

use lazuli_engine::content::Piece;
use lazuli_engine::{Applied, Change, Condition, Write};

use super::partition::{ContentRow, Partition};
use super::{Progress, Reclaim, SHARED_READ_GRACE, SHARED_UPLOAD_GRACE, ticks};
use crate::blob::commit::{Decided, Step, remove};
use crate::blob::core::At;
use crate::blob::keyspace::{self, Generation};
use crate::blob::record::Head;
use crate::blob::segment::Segment;
use crate::{Error, Result};

/// Rows deleted in one commit.
const COMMIT_ROWS_MAX: usize = 500;
/// Segments changed in one commit, and released together. Each has less than 60 KiB.
const COMMIT_SEGMENTS_MAX: usize = 16;

impl Reclaim {
    /// Removes everything of a blob that is not in use.
    pub(super) async fn sweep_blob(&self, at: &At) -> Result<Progress> {
        let mut partition = self.look_at(at).await?;
        if partition.has_expired() {
            // States that can no longer be restored go first, in a commit of their own.
            match self.core.expire(at).await {
                Err(Error::Engine(lazuli_engine::Error::Conflict)) => return Ok(Progress::Again),
                other => other?,
            }
            partition = self.look_at(at).await?;
        }
        let mut progress = self.unname(at, &mut partition).await?;
        progress = progress.and(self.tidy_pages(at, &partition).await?);
        progress = progress.and(self.release_unnamed(at, &partition).await?);
        if partition.head.is_none() {
            // Without a head nothing can name them.
            self.delete_rows(at, at.tables.blobs, std::mem::take(&mut partition.dead)).await?;
        } else if !partition.dead.is_empty() {
            progress = Progress::Again;
        }
        if let Some(due) = partition.due {
            self.core.todo.due(at, due);
        }
        let mut has_staged = false;
        if partition.may_have_staged() {
            let (staged, is_left) = self.sweep_staged(at, &partition).await?;
            progress = progress.and(staged);
            has_staged = is_left;
        }
        let is_stub = partition.head.as_ref().is_some_and(|(_, head)| head.blob.is_none());
        if is_stub && progress == Progress::Done && !has_staged {
            progress = self.remove_stub(at).await?;
        }
        Ok(progress)
    }

    /// Makes generations unnameable that nothing names.
    async fn unname(&self, at: &At, partition: &mut Partition) -> Result<Progress> {
        let mut progress = Progress::Done;
        for generation in partition.garbage() {
            let rows = partition.segments[&generation].clone();
            if self.is_in_use(at, generation, &rows, SHARED_UPLOAD_GRACE) {
                progress = Progress::Again;
                continue;
            }
            for rows in rows.chunks(COMMIT_SEGMENTS_MAX) {
                match self.unname_rows(at, partition, generation, rows).await? {
                    Progress::Done => partition.unname(generation, rows, self.core.clock().ticks()),
                    Progress::Again => progress = Progress::Again,
                }
            }
        }
        Ok(progress)
    }

    /// Is the generation being read or written? For other processes, only the age of the rows shows that.
    fn is_in_use(
        &self,
        at: &At,
        generation: Generation,
        rows: &[ContentRow],
        grace: std::time::Duration,
    ) -> bool {
        let is_young = |row: &ContentRow| self.age(row.version) < ticks(grace);
        self.core.pins.has(at.tables.blobs, &at.name, generation)
            || (self.is_shared && rows.iter().any(is_young))
    }

    /// One commit, on condition that no generation was named since the rows were read.
    async fn unname_rows(
        &self,
        at: &At,
        partition: &Partition,
        generation: Generation,
        rows: &[ContentRow],
    ) -> Result<Progress> {
        let keys: Vec<String> = rows.iter().map(|row| keyspace::named(generation, row.slot)).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let found = self.core.engine().get(at.tables.blobs, &at.name, &keys).await?;
        let mut writes = Vec::new();
        for (row, found) in rows.iter().zip(found).filter_map(|(row, found)| Some((row, found?))) {
            writes.push(Write { row: found.row, condition: Condition::Exists, change: Change::Delete });
            let unnamed = keyspace::unnamed(generation, row.slot).into();
            writes.push(Write { row: unnamed, condition: Condition::Any, change: Change::Put(found.value) });
        }
        let shape = |head: Option<&Head>| head.map(|head| head.marks.shape);
        let expected = shape(partition.head.as_ref().map(|(_, head)| head));
        let rule = move |head: Option<Head>, _| {
            if shape(head.as_ref()) != expected {
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

    /// Releases the pieces of unnameable generations, and forgets them.
    async fn release_unnamed(&self, at: &At, partition: &Partition) -> Result<Progress> {
        let mut progress = Progress::Done;
        let is_alone = partition.segments.len() + partition.unnamed.len() == 1;
        for (generation, rows) in &partition.unnamed {
            if self.is_in_use(at, *generation, rows, SHARED_READ_GRACE) {
                progress = Progress::Again;
                continue;
            }
            for rows in rows.chunks(COMMIT_SEGMENTS_MAX) {
                let mut pieces = self.pieces_of(at, *generation, rows).await?;
                if !is_alone {
                    self.keep_named(at, Some(*generation), &mut pieces).await?;
                }
                if partition.may_have_staged() {
                    // A list that was never committed may have left segments that share pieces with blocks that still count.
                    self.keep_staged(at, &mut pieces).await?;
                }
                let may_have_pages = pieces.is_empty();
                match self.release(pieces.into_iter().collect()).await? {
                    Progress::Done => {
                        if may_have_pages {
                            self.delete_cells(at, *generation).await?;
                        }
                        let rows = rows.iter().map(|row| keyspace::unnamed(*generation, row.slot));
                        self.delete_rows(at, at.tables.blobs, rows.collect()).await?;
                    }
                    Progress::Again => progress = Progress::Again,
                }
            }
        }
        Ok(progress)
    }

    async fn pieces_of(
        &self,
        at: &At,
        generation: Generation,
        rows: &[ContentRow],
    ) -> Result<HashSet<Piece>> {
        let keys: Vec<String> = rows.iter().map(|row| keyspace::unnamed(generation, row.slot)).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let found = self.core.engine().get(at.tables.blobs, &at.name, &keys).await?;
        let mut pieces = HashSet::new();
        for row in found.into_iter().flatten() {
            pieces.extend(Segment::decode(row.value)?.pieces());
        }
        Ok(pieces)
    }

    pub(super) async fn delete_rows(
        &self,
        at: &At,
        table: lazuli_engine::TableId,
        rows: Vec<String>,
    ) -> Result<()> {
        for rows in rows.chunks(COMMIT_ROWS_MAX) {
            let writes = rows.iter().map(|row| remove(row.as_str())).collect();
            let _: Applied = self.core.engine().apply(table, &at.name, writes).await?;
        }
        Ok(())
    }

    /// Removes a head that only remembers marks, when there is nothing left that they are about.
    async fn remove_stub(&self, at: &At) -> Result<Progress> {
        let partition = self.look_at(at).await?;
        let Some((version, head)) = &partition.head else { return Ok(Progress::Done) };
        let is_live = head.marks.staged.is_some_and(|marks| marks.is_live);
        let is_needed = head.blob.is_some()
            || is_live
            || head.deleted.is_some()
            || partition.kept + partition.dead.len() > 0
            || !partition.segments.is_empty()
            || !partition.unnamed.is_empty();
        if is_needed {
            return Ok(Progress::Done);
        }
        let write = Write {
            row: keyspace::HEAD.into(),
            condition: Condition::Version(*version),
            change: Change::Delete,
        };
        match self.core.engine().apply(at.tables.blobs, &at.name, vec![write]).await? {
            // A block may have arrived in the meantime: check again.
            Applied::Done { .. } => {
                let is_empty = self.core.staged_rows(at).next().await?.is_none_or(|rows| rows.is_empty());
                Ok(if is_empty { Progress::Done } else { Progress::Again })
            }
            Applied::Rejected { .. } => Ok(Progress::Again),
        }
    }
}

impl Progress {
    /// Both were done.
    pub(super) fn and(self, other: Progress) -> Progress {
        if self == Progress::Done { other } else { self }
    }
}
