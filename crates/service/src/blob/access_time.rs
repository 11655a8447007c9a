//! The time of the last access to a block blob, in accounts that track it.
//!
//! A write is an access, so the stored time is that of the last change or of a later read. A read is recorded
//! in the head at most once a day, by a background task.
//!
//! Invariants:
//! - A read neither waits for the commit that records it nor fails with it.
//! - Recording a read changes neither the ETag nor the time of the last change, and produces no event.
//! - In accounts that do not track it, no record gets the field: earlier versions of the server can read their blobs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lazuli_model::blob::BlobKind;
use lazuli_model::blob::operation::Revision as Which;
use tokio::sync::Notify;

use super::commit::Step;
use super::core::{At, Core};
use super::keep::DAY_TICKS;
use super::record::{Head, Revision};
use crate::{Grant, Result};

/// Maximum reads that wait to be recorded. Reads beyond it are dropped: a later read of the same blob is
/// recorded instead.
const READS_MAX: usize = 4096;

/// Reads that wait to be recorded.
#[derive(Default)]
pub struct Reads {
    /// The blobs, with the time of the read in ticks.
    waiting: Mutex<HashMap<At, u64>>,
    changed: Notify,
}

impl Reads {
    fn add(&self, at: &At, ticks: u64) {
        let mut waiting = self.lock();
        if waiting.len() < READS_MAX && !waiting.contains_key(at) {
            waiting.insert(at.clone(), ticks);
            drop(waiting);
            self.changed.notify_one();
        }
    }

    fn take(&self) -> HashMap<At, u64> {
        std::mem::take(&mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<At, u64>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Revision {
    /// The time of the last access in ticks, if known.
    pub fn last_access(&self) -> u64 {
        self.changed.max(self.accessed)
    }

    /// Should a read at this time be recorded?
    fn is_due(&self, ticks: u64) -> bool {
        self.kind == BlobKind::Block && ticks.saturating_sub(self.last_access()) >= DAY_TICKS
    }
}

impl Core {
    /// Queues the recording of a read of a blob's content. Snapshots, versions and reads at the secondary
    /// endpoint do not count.
    pub fn note_read(&self, grant: &Grant, at: &At, which: Which, revision: &Revision) {
        let now = self.clock().ticks();
        if at.tracks_access && !grant.read_only && which == Which::Current && revision.is_due(now) {
            self.reads.add(at, now);
        }
    }
}

/// The background work of recording reads.
pub struct Accesses(Arc<Core>);

impl Accesses {
    pub(super) fn new(core: Arc<Core>) -> Self {
        Self(core)
    }

    /// Waits until there is a read to record.
    pub async fn wait(&self) {
        self.0.reads.changed.notified().await;
    }

    /// Records all waiting reads. After an error the others are dropped: later reads of their blobs are
    /// recorded instead.
    pub async fn round(&self) -> Result<()> {
        for (at, ticks) in self.0.reads.take() {
            let rule = move |head: Option<Head>, _| Ok((recorded(head, ticks), ()));
            self.0.change(&at, rule).await?;
        }
        Ok(())
    }
}

/// The head after a read. The blob may have been deleted, written or read by another front end in the meantime.
fn recorded(head: Option<Head>, ticks: u64) -> Step {
    let Some(mut head) = head else { return Step::Keep };
    match &mut head.blob {
        Some(blob) if blob.is_due(ticks) => {
            blob.accessed = ticks;
            Step::Put(Box::new(head))
        }
        _ => Step::Keep,
    }
}
