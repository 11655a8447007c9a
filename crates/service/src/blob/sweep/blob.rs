//! Sweeps one blob.

use lazuli_engine::{Applied, Change, Condition, Write};

use super::{Progress, Reclaim};
use crate::blob::commit::remove;
use crate::blob::core::At;
use crate::blob::keyspace;
use crate::{Error, Result};

/// Maximum rows deleted in one commit.
const COMMIT_ROWS_MAX: usize = 500;

impl Reclaim {
    /// Removes all unused content of a blob.
    pub(super) async fn sweep_blob(&self, at: &At) -> Result<Progress> {
        let mut partition = self.look_at(at).await?;
        if partition.has_expired() {
            // States that can no longer be restored are removed first, in a separate commit.
            match self.core.expire(at).await {
                Err(Error::Engine(lazuli_engine::Error::Conflict)) => return Ok(Progress::Again),
                other => other?,
            }
            partition = self.look_at(at).await?;
        }
        let mut progress = self.unname(at, &mut partition).await?;
        progress = progress.and(self.tidy_pages(at, &mut partition).await?);
        progress = progress.and(self.release_unnamed(at, &mut partition).await?);
        if partition.head.is_none() {
            // Without a head, nothing can refer to them.
            self.delete_rows(at, at.tables.blobs, std::mem::take(&mut partition.dead)).await?;
        } else if !partition.dead.is_empty() {
            progress = Progress::Again;
        }
        if let Some(due) = partition.due {
            self.core.todo.due(at, due);
        }
        if let Some(later) = partition.later {
            self.core.todo.later(at, later);
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

    /// Removes a head that only has marks, when nothing is left that they refer to.
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
