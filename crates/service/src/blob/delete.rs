//! Delete Blob: one small commit, regardless of the amount of data. The sweep removes the rest.
//!
//! Snapshots are deleted together by raising a mark in the head: snapshots below it are gone, or, with soft
//! delete, can be restored. The head stays as long as such a mark or the one for uncommitted blocks is needed.
//! A protected snapshot prevents this: the rows of the snapshots are read first, and the commit requires that
//! none has changed.

use lazuli_model::blob::operation::{BlobRequest, Revision as Which};
use lazuli_model::blob::write::DeleteSnapshots;
use lazuli_model::blob::{Outcome, Tags};
use lazuli_model::{ErrorCode, Failure, OperationKind};

use super::commit::{Decided, Step};
use super::core::{At, Core};
use super::guard::{Guard, not_immutable, not_pending};
use super::keep::{ATTEMPTS_MAX, Life, Revised, Shelf};
use super::protect::Protection;
use super::put::leaves_garbage;
use super::record::{Deleted, Head, Marks, Revision};
use super::tags::{Pairs, retired};
use crate::{Error, Grant, Result};

/// The outcome of a deletion.
struct Gone {
    /// Deadline for undoing the deletion, in ticks.
    until: Option<u64>,
    /// Does the blob remain as a version?
    is_version: bool,
    has_garbage: bool,
    retired: Pairs,
}

impl Core {
    /// Delete Blob.
    pub async fn delete(
        &self,
        grant: &Grant,
        request: BlobRequest,
        snapshots: DeleteSnapshots,
        is_permanent: bool,
    ) -> Result<Outcome> {
        let at = self.locate(&grant.home, &request.container, &request.blob).await?;
        let guard = Guard::of(&request, self.clock());
        let gone = match (request.revision, snapshots) {
            (Which::Current, _) if is_permanent => {
                return Err(Failure::from(ErrorCode::InvalidOperation).into());
            }
            (Which::Current, DeleteSnapshots::Only) => self.delete_snapshots(&at, guard).await?,
            (Which::Current, snapshots) => self.delete_blob(&at, guard, snapshots).await?,
            (which, DeleteSnapshots::Unspecified) if is_permanent => {
                self.delete_kept(&at, guard, which).await?
            }
            (which, DeleteSnapshots::Unspecified) => self.delete_revision(&at, guard, which).await?,
            (Which::Snapshot(_) | Which::Version(_), _) => {
                return Err(Failure::from(ErrorCode::InvalidOperation).into());
            }
        };
        self.retire(&at, gone.retired);
        if let Some(until) = gone.until {
            self.todo.due(&at, until);
        }
        if gone.has_garbage {
            self.todo.blob(&at);
        }
        Ok(Outcome::Deleted { is_permanent: gone.until.is_none() && !gone.is_version })
    }

    /// Permanently deletes a blob that the server itself wrote, even if the account keeps deleted blobs.
    /// `false` if there is none.
    pub async fn discard(&self, at: &At) -> Result<bool> {
        match self.delete_blob(at, Guard::none(self.clock()), DeleteSnapshots::Include).await {
            Ok(_) => {
                self.todo.blob(at);
                Ok(true)
            }
            Err(Error::Rejected(failure)) if failure.code == ErrorCode::BlobNotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn delete_blob(&self, at: &At, guard: Guard, snapshots: DeleteSnapshots) -> Result<Gone> {
        for attempt in 0..ATTEMPTS_MAX {
            let shelf = if at.keeps.versions { Some(self.shelf(at, attempt > 0).await?) } else { None };
            let writes = shelf.iter().filter_map(Shelf::write).collect();
            // Most blobs have no snapshots: the first attempt does not look for them.
            let protection = if attempt > 0 && snapshots == DeleteSnapshots::Include {
                Some(self.protection_of_snapshots(at).await?)
            } else {
                None
            };
            let (guard, at_rule) = (guard.clone(), at.clone());
            let rule = move |head: Option<Head>, version: u64| {
                let with = (shelf.as_ref(), snapshots, protection.as_ref());
                deleting(&at_rule, &guard, with, head.unwrap_or_default(), version)
            };
            match self.decide_with_event(at, OperationKind::DeleteBlob, rule, writes).await {
                Ok(Decided::Done(gone)) => return Ok(gone),
                // The state to keep has changed in the meantime.
                Ok(Decided::Rejected) | Err(Error::Engine(lazuli_engine::Error::Conflict)) => {}
                Err(error) => return Err(error),
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }

    async fn delete_snapshots(&self, at: &At, guard: Guard) -> Result<Gone> {
        let keeps = at.keeps;
        for _ in 0..ATTEMPTS_MAX {
            let protection = self.protection_of_snapshots(at).await?;
            let guard = guard.clone();
            let deleted = self.change(at, move |head, version| {
                let mut head = head.unwrap_or_default();
                let mut blob = guard.change(head.blob.take())?;
                blob.content.outlive();
                head.blob = Some(blob);
                if head.marks.snapshots.count == 0 {
                    return Err(ErrorCode::BlobNotFound.into());
                }
                protection.check(&head.marks, guard.now())?;
                let deletion = keeps.deletion(version);
                drop_snapshots(&mut head.marks, version, deletion);
                Ok((Step::Put(Box::new(head)), Gone::of(deletion)))
            });
            match deleted.await {
                // The snapshots have changed in the meantime.
                Err(Error::Engine(lazuli_engine::Error::Conflict)) => {}
                other => return other,
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }

    /// Deletes one snapshot, or one version that is not the current one.
    async fn delete_revision(&self, at: &At, guard: Guard, which: Which) -> Result<Gone> {
        let Some(which) = self.other_than_current(at, which).await? else {
            return Err(ErrorCode::OperationNotAllowedOnRootBlob.into());
        };
        let keeps = at.keeps;
        self.revise(at, which, move |Revised { head, row, life, version }| {
            let found = row.as_mut().filter(|_| life.is_live()).ok_or(ErrorCode::BlobNotFound)?;
            guard.shared_change(Some(found))?;
            not_immutable(found, guard.now())?;
            let deletion = keeps.deletion(version);
            match deletion {
                Some(_) => found.deleted = deletion,
                None => *row = None,
            }
            if matches!(which, Which::Snapshot(_)) {
                head.marks.snapshots.count = head.marks.snapshots.count.saturating_sub(1);
            }
            head.marks.shape = version;
            Ok(Gone::of(deletion))
        })
        .await
    }

    /// Permanently deletes a soft-deleted snapshot or version.
    async fn delete_kept(&self, at: &At, guard: Guard, which: Which) -> Result<Gone> {
        if !at.keeps.deleted.allow_permanent_delete {
            return Err(ErrorCode::PermanentDeleteIsOff.into());
        }
        self.revise(at, which, move |Revised { head, row, life, version }| {
            let found = row.as_ref().ok_or(ErrorCode::BlobNotFound)?;
            match life {
                Life::Deleted(_) => {}
                Life::Live => return Err(Failure::from(ErrorCode::InvalidOperation).into()),
                Life::Gone => return Err(ErrorCode::BlobNotFound.into()),
            }
            not_immutable(found, guard.now())?;
            *row = None;
            head.marks.shape = version;
            Ok(Gone::of(None))
        })
        .await
    }
}

impl Gone {
    fn of(deletion: Option<Deleted>) -> Self {
        let until = deletion.map(|deleted| deleted.until);
        Self { until, is_version: false, has_garbage: true, retired: Pairs::new() }
    }
}

/// Decides on the head of a blob that is deleted.
fn deleting(
    at: &At,
    guard: &Guard,
    (shelf, snapshots, protection): (Option<&Shelf>, DeleteSnapshots, Option<&Protection>),
    mut head: Head,
    version: u64,
) -> Result<(Step, Gone)> {
    if head.blob.is_none() && head.marks.staged.is_some_and(|marks| marks.is_live) {
        // A blob that has only uncommitted blocks can be deleted, too.
        guard.change_uncommitted(&head)?;
        head.marks.staged.iter_mut().for_each(|staged| staged.drop_all(version));
        return Ok((Step::Put(Box::new(head)), Gone::of(None)));
    }
    let blob = guard.change(head.blob.clone())?;
    not_pending(&blob)?;
    not_immutable(&blob, guard.now())?;
    if head.marks.snapshots.count > 0 && snapshots == DeleteSnapshots::Unspecified {
        return Err(ErrorCode::SnapshotsPresent.into());
    }
    if head.marks.snapshots.count > 0 {
        protection.ok_or(lazuli_engine::Error::Conflict)?.check(&head.marks, guard.now())?;
    }
    let has_garbage = leaves_garbage(&head) || head.marks.snapshots.last > 0;
    let retired = retired(Some(&blob), &Tags::default());
    let deletion = at.keeps.deletion(version);
    if let Some(shelf) = shelf {
        shelf.keep(&mut head, version)?;
    } else if deletion.is_some() {
        head.deleted = Some(Box::new(Revision { deleted: deletion, lease: None, ..blob }));
    }
    let head = emptied(head, version, deletion);
    // With versioning, a deleted blob just has no current version any more.
    let until = deletion.filter(|_| shelf.is_none()).map(|deleted| deleted.until);
    let gone = Gone { until, is_version: shelf.is_some(), has_garbage, retired };
    Ok((Step::put_or_delete(head), gone))
}

/// The head after the deletion of the blob, with everything that belongs to it, in the commit `version`.
fn emptied(mut head: Head, version: u64, deletion: Option<Deleted>) -> Head {
    head.blob = None;
    if let Some(staged) = &mut head.marks.staged {
        staged.drop_all(version);
    }
    let is_empty = Head { marks: Marks { shape: 0, ..head.marks }, ..head.clone() } == Head::default();
    if is_empty {
        return Head::default();
    }
    drop_snapshots(&mut head.marks, version, deletion);
    head
}

/// Deletes all snapshots, either permanently or by soft delete.
fn drop_snapshots(marks: &mut Marks, version: u64, deletion: Option<Deleted>) {
    match deletion {
        Some(_) if marks.snapshots.count > 0 => {
            marks.kept.floor = marks.snapshots.last;
            marks.kept.batch = deletion;
        }
        Some(_) => {}
        None => marks.snapshots.floor = marks.snapshots.last,
    }
    marks.snapshots.count = 0;
    marks.shape = version;
}
