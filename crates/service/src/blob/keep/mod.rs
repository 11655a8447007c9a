//! Old states of blobs that are retained: deleted ones that can be restored, and versions.
//!
//! | what | where it is stored |
//! |---|---|
//! | a deleted blob | in the head |
//! | a deleted snapshot or version | in its row, with its deletion |
//! | snapshots that were deleted together | in their rows; the marks of the head record their deletion |
//! | the state that a write replaces | as a version, or without versions as a deleted snapshot |
//!
//! Invariant: a retained state refers to its generation, so the sweep does not touch the content.
//! Only [`expire`] removes such a state, in a separate commit, before the sweep looks for unreferenced content.

mod expire;
mod life;
mod revise;
mod undelete;

pub use life::Life;
pub use revise::{Revised, life_of, row_of};

use lazuli_engine::{Condition, Write};
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_model::{DeleteRetention, Service};

use super::commit::Followed;
use super::core::{At, Core};
use super::keyspace;
use super::record::{Deleted, Head, Revision};
use crate::Result;
use crate::keyspace::account_of;

/// A day.
pub const DAY_TICKS: u64 = 24 * 60 * 60 * TICKS_PER_SECOND;

/// Maximum attempts if the blob changes between reading and committing.
pub const ATTEMPTS_MAX: usize = 64;

/// The deleted and replaced data that an account keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keeps {
    /// Deleted blobs, for some days.
    pub deleted: DeleteRetention,
    /// Versions.
    pub versions: bool,
}

impl Keeps {
    /// The deletion mark that a commit writes; `None` if the deletion is final.
    pub fn deletion(&self, version: u64) -> Option<Deleted> {
        let days = self.deleted.days?;
        Some(Deleted { at: version, until: version.saturating_add(u64::from(days) * DAY_TICKS) })
    }

    fn keeps_any(&self) -> bool {
        self.versions || self.deleted.days.is_some()
    }
}

impl Core {
    /// The deleted and replaced data that an account keeps.
    pub async fn keeps(&self, home: &str) -> Result<Keeps> {
        let properties = self.service.properties(Service::Blob, home).await?;
        let versions = self.options.versions.applies_to(account_of(home));
        Ok(Keeps { deleted: properties.delete_retention, versions })
    }

    /// The row for the state that the next write of a blob will replace. `is_retry` means that the row of the
    /// last attempt was wrong.
    pub async fn shelf(&self, at: &At, is_retry: bool) -> Result<Shelf> {
        let mut shelf =
            Shelf { keeps: at.keeps, ticks: self.clock().ticks(), row: None, value: Followed::default() };
        if at.keeps.keeps_any() || is_retry {
            let head = self.head(at).await?.unwrap_or_default();
            shelf.ticks = shelf.ticks.max(head.marks.snapshots.last.saturating_add(1));
            shelf.row = shelf.row_for(&head);
        }
        Ok(shelf)
    }
}

/// Captures the state that a write replaces. The row key must be known before the commit, so the rule of the
/// commit checks that it is still right, and otherwise fails with `Conflict`.
#[derive(Clone)]
pub struct Shelf {
    keeps: Keeps,
    /// The time of the snapshot that the state becomes.
    ticks: u64,
    row: Option<String>,
    value: Followed,
}

impl Shelf {
    /// The write of the row.
    pub fn write(&self) -> Option<Write> {
        Some(self.value.write(self.row.clone()?, Condition::Absent))
    }

    /// Stores the state of the head that the commit `version` replaces or deletes. The current blob stays in
    /// the head.
    pub fn keep(&self, head: &mut Head, version: u64) -> Result<()> {
        let is_late = self.row.as_ref().is_some_and(|_| self.ticks <= head.marks.snapshots.last);
        if self.row_for(head) != self.row || is_late {
            return Err(lazuli_engine::Error::Conflict.into());
        }
        match (&mut head.blob, head.deleted.take()) {
            (Some(blob), _) if self.keeps.versions => {
                let mut kept = blob.clone();
                kept.content = blob.content.preserve();
                kept.version = blob.version_id();
                kept.lease = None;
                head.marks.kept.last_version = head.marks.kept.last_version.max(kept.version);
                self.value.set(Head::of(kept).encode());
            }
            (Some(blob), _) => {
                if let Some(deleted) = self.keeps.deletion(version) {
                    let kept = Revision { deleted: Some(deleted), lease: None, ..blob.clone() };
                    self.value.set(Head::of(kept).encode());
                    head.marks.snapshots.last = self.ticks;
                }
            }
            (None, Some(deleted)) => {
                self.value.set(Head::of(*deleted).encode());
                head.marks.snapshots.last = self.ticks;
            }
            (None, None) => {}
        }
        if self.row.is_some() {
            head.marks.shape = version;
        }
        Ok(())
    }

    /// The version that a write in the commit `version` gets.
    pub fn version(&self, version: u64) -> u64 {
        if self.keeps.versions { version } else { 0 }
    }

    fn row_for(&self, head: &Head) -> Option<String> {
        match (&head.blob, &head.deleted) {
            (Some(blob), _) if self.keeps.versions => Some(keyspace::version(blob.version_id())),
            (Some(_), _) if self.keeps.deleted.days.is_some() => Some(keyspace::snapshot(self.ticks)),
            (None, Some(_)) => Some(keyspace::snapshot(self.ticks)),
            _ => None,
        }
    }
}
