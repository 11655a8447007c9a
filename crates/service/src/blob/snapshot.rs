//! Snapshot Blob. A snapshot shares the generation of the blob: nothing is copied.

use lazuli_engine::Condition;
use lazuli_model::blob::Outcome;
use lazuli_model::blob::outcome::Written;
use lazuli_model::{ErrorCode, Metadata};

use super::commit::{Decided, Followed, Step};
use super::core::{At, Core};
use super::guard::{Guard, not_archived, not_pending};
use super::keep::Shelf;
use super::keyspace;
use super::record::{Head, stamp, time};
use crate::{Error, Result};

/// Maximum attempts to find a time that no snapshot has yet.
const ATTEMPTS_MAX: usize = 64;

/// The outcome of an attempt.
enum Attempt {
    Made(Box<Written>),
    /// The time is not later than that of the latest snapshot.
    NotAfter(u64),
}

impl Core {
    /// Snapshot Blob. Times of snapshots always increase, regardless of the clock.
    pub async fn snapshot(&self, at: &At, guard: Guard, metadata: Option<Metadata>) -> Result<Outcome> {
        let mut ticks = self.clock().ticks();
        for _ in 0..ATTEMPTS_MAX {
            match self.snapshot_once(at, guard.clone(), metadata.clone(), ticks).await? {
                Attempt::Made(written) => {
                    return Ok(Outcome::SnapshotMade { written, snapshot: time(ticks) });
                }
                Attempt::NotAfter(last) => ticks = self.clock().ticks().max(last.saturating_add(1)),
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }

    async fn snapshot_once(
        &self,
        at: &At,
        guard: Guard,
        metadata: Option<Metadata>,
        ticks: u64,
    ) -> Result<Attempt> {
        let shelf = if at.keeps.versions { Some(self.shelf(at, false).await?) } else { None };
        let version = shelf.as_ref().and_then(Shelf::write);
        let row = Followed::default();
        let followed = row.clone();
        let rule = move |head: Option<Head>, version: u64| {
            let mut head = head.unwrap_or_default();
            guard.shared_change(head.blob.as_ref())?;
            let mut copy = head.blob.clone().ok_or(ErrorCode::BlobNotFound)?;
            not_pending(&copy)?;
            not_archived(&copy)?;
            guard.may_write(&copy)?;
            if ticks <= head.marks.snapshots.last {
                return Err(lazuli_engine::Error::Conflict.into());
            }
            // With versioning, a snapshot counts as a write: the current state becomes a version.
            if let Some(shelf) = &shelf {
                shelf.keep(&mut head, version)?;
                let id = shelf.version(version);
                head.blob.iter_mut().for_each(|blob| blob.version = id);
            }
            // Writes from now on must not affect the snapshot.
            if let Some(blob) = &mut head.blob {
                copy.content = blob.content.preserve();
            }
            copy.lease = None;
            if let Some(metadata) = &metadata {
                copy.metadata = metadata.clone();
                copy.changed = version;
            }
            let current = head.blob.as_ref().map_or(0, |blob| blob.version);
            let written = Written {
                encryption: copy.encryption.clone(),
                version: Some(current).filter(|id| *id > 0).map(time),
                ..Written::new(stamp(copy.changed))
            };
            copy.version = 0;
            followed.set(Head::of(copy).encode());
            head.marks.snapshots.count += 1;
            head.marks.snapshots.last = ticks;
            head.marks.shape = version;
            Ok((Step::Put(Box::new(head)), Box::new(written)))
        };
        let mut writes = vec![row.write(keyspace::snapshot(ticks), Condition::Absent)];
        writes.extend(version);
        match self.decide(at, rule, writes).await {
            Ok(Decided::Done(written)) => Ok(Attempt::Made(written)),
            Ok(Decided::Rejected) | Err(Error::Engine(lazuli_engine::Error::Conflict)) => {
                Ok(Attempt::NotAfter(self.last_snapshot(at).await?))
            }
            Err(error) => Err(error),
        }
    }

    async fn last_snapshot(&self, at: &At) -> Result<u64> {
        Ok(self.head(at).await?.map_or(0, |head| head.marks.snapshots.last))
    }
}
