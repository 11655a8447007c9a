//! Removes states that can no longer be restored.
//!
//! The commit demands that no state was added, restored or removed since the rows were read. So a state that is restored at
//! the last moment stays, and one that is gone can never come back, whatever the clock does.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use lazuli_engine::{RowView, Write};

use super::Life;
use crate::blob::commit::{Decided, Step, remove};
use crate::blob::core::{At, Core};
use crate::blob::keyspace::{self, RowKind};
use crate::blob::record::Head;
use crate::blob::sweep::each_row;
use crate::{Error, Result};

/// Rows removed in one commit.
const COMMIT_ROWS_MAX: usize = 500;

/// The snapshots and versions of a blob.
#[derive(Debug, Default)]
pub struct Revisions {
    /// The rows of those that are gone.
    pub gone: Vec<String>,
    /// Snapshots that exist.
    pub live: u64,
    /// Snapshots that can be restored.
    pub restorable: u64,
}

impl Core {
    /// Looks at all snapshots and versions of a blob with this head.
    pub async fn revisions(&self, at: &At, head: &Head, now: u64) -> Result<Revisions> {
        let found: Arc<Mutex<Revisions>> = Arc::default();
        let (seen, marks, has_blob) = (found.clone(), head.marks, head.blob.is_some());
        let see = move |row: &RowView<'_>| {
            let Some(revision) = Head::decode(&Bytes::copy_from_slice(row.value))?.blob else {
                return Ok(());
            };
            let mut found = seen.lock().unwrap_or_else(PoisonError::into_inner);
            let (life, is_snapshot) = match RowKind::of(row.row) {
                Some(RowKind::Snapshot(ticks)) => {
                    (Life::of_snapshot(&marks, has_blob, ticks, &revision, now), true)
                }
                Some(RowKind::Version(_)) => (Life::of_version(&marks, &revision, now), false),
                _ => return Ok(()),
            };
            match life {
                Life::Gone => found.gone.push(row.row.to_owned()),
                Life::Live => found.live += u64::from(is_snapshot),
                Life::Deleted(_) => found.restorable += u64::from(is_snapshot),
            }
            Ok(())
        };
        each_row(self, at.tables.blobs, keyspace::revisions(&at.name), see).await?;
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(std::mem::take(&mut *found))
    }

    /// Removes what can no longer be restored. Fails with `Conflict` if the blob changes meanwhile.
    pub async fn expire(&self, at: &At) -> Result<()> {
        let now = self.clock().ticks();
        let Some(head) = self.head(at).await? else { return Ok(()) };
        let gone = self.revisions(at, &head, now).await?.gone;
        let is_over = head.deleted.is_some() && head.restorable(now).is_none();
        if gone.is_empty() && !is_over {
            return Ok(());
        }
        let mut shape = head.marks.shape;
        let mut chunks: Vec<&[String]> = gone.chunks(COMMIT_ROWS_MAX).collect();
        if chunks.is_empty() {
            chunks.push(&[]);
        }
        for rows in chunks {
            shape = self.expire_rows(at, shape, is_over, rows).await?;
        }
        self.todo.blob(at);
        Ok(())
    }

    /// One commit. Returns the new `shape` of the head's marks.
    async fn expire_rows(&self, at: &At, shape: u64, is_over: bool, rows: &[String]) -> Result<u64> {
        let writes: Vec<Write> = rows.iter().map(|row| remove(row.as_str())).collect();
        let rule = move |head: Option<Head>, version: u64| {
            let Some(mut head) = head.filter(|head| head.marks.shape == shape) else {
                return Err(lazuli_engine::Error::Conflict.into());
            };
            if is_over {
                head.deleted = None;
            }
            let left = head.blob.iter_mut().chain(head.deleted.as_deref_mut());
            left.for_each(|blob| blob.content.outlive());
            head.marks.shape = version;
            Ok((Step::Put(Box::new(head)), version))
        };
        match self.decide(at, rule, writes).await? {
            Decided::Done(version) => Ok(version),
            Decided::Rejected => Err(Error::Engine(lazuli_engine::Error::Conflict)),
        }
    }
}
