//! Removes states that can no longer be restored.
//!
//! The commit requires that everything that decides which states are expired is unchanged. So a state that is
//! restored at the last moment stays, and an expired one can never come back, even if the clock is set back.
//! New states do not matter: a busy blob gets them faster than the rows of the old ones can be read.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use lazuli_engine::{RowView, Write};

use super::Life;
use crate::blob::commit::{Decided, Step, remove};
use crate::blob::core::{At, Core};
use crate::blob::keyspace::{self, RowKind};
use crate::blob::record::{Deleted, Head};
use crate::blob::sweep::each_row;
use crate::{Error, Result};

/// Maximum rows removed in one commit.
const COMMIT_ROWS_MAX: usize = 500;

/// The part of a head that decides which states can no longer be restored. All other influences can only make
/// more states expire.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Basis {
    has_blob: bool,
    /// The deletion of the blob that the head retains.
    deleted: Option<Deleted>,
    /// Snapshots up to this time were deleted together.
    floor: u64,
    batch: Option<Deleted>,
    restored: u64,
}

impl Basis {
    fn of(head: &Head) -> Self {
        let kept = head.marks.kept;
        Self {
            has_blob: head.blob.is_some(),
            deleted: head.deleted.as_ref().and_then(|blob| blob.deleted),
            floor: kept.floor,
            batch: kept.batch,
            restored: kept.restored,
        }
    }
}

/// The snapshots and versions of a blob.
#[derive(Debug, Default)]
pub struct Revisions {
    /// The rows of the expired ones.
    pub gone: Vec<String>,
    /// Snapshots that exist.
    pub live: u64,
    /// The number of snapshots that can be restored.
    pub restorable: u64,
}

impl Core {
    /// Examines all snapshots and versions of a blob with this head.
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

    /// Removes everything that can no longer be restored. Fails with `Conflict` if the blob changes in the
    /// meantime.
    pub async fn expire(&self, at: &At) -> Result<()> {
        let now = self.clock().ticks();
        let Some(head) = self.head(at).await? else { return Ok(()) };
        let gone = self.revisions(at, &head, now).await?.gone;
        let is_over = head.deleted.is_some() && head.restorable(now).is_none();
        if gone.is_empty() && !is_over {
            return Ok(());
        }
        let mut basis = Basis::of(&head);
        let mut chunks: Vec<&[String]> = gone.chunks(COMMIT_ROWS_MAX).collect();
        if chunks.is_empty() {
            chunks.push(&[]);
        }
        for rows in chunks {
            self.expire_rows(at, basis, is_over, rows).await?;
            basis.deleted = basis.deleted.filter(|_| !is_over);
        }
        self.todo.blob(at);
        Ok(())
    }

    /// One commit.
    async fn expire_rows(&self, at: &At, basis: Basis, is_over: bool, rows: &[String]) -> Result<()> {
        let writes: Vec<Write> = rows.iter().map(|row| remove(row.as_str())).collect();
        let rule = move |head: Option<Head>, version: u64| {
            let Some(mut head) = head.filter(|head| Basis::of(head) == basis) else {
                return Err(lazuli_engine::Error::Conflict.into());
            };
            if is_over {
                head.deleted = None;
            }
            let left = head.blob.iter_mut().chain(head.deleted.as_deref_mut());
            left.for_each(|blob| blob.content.outlive());
            head.marks.shape = version;
            Ok((Step::Put(Box::new(head)), ()))
        };
        match self.decide(at, rule, writes).await? {
            Decided::Done(()) => Ok(()),
            Decided::Rejected => Err(Error::Engine(lazuli_engine::Error::Conflict)),
        }
    }
}
