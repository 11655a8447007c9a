//! The blobs that have events to deliver: in memory, with a bound. A scan of all rows finds those of earlier processes.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lazuli_engine::TableId;
use tokio::sync::Notify;

use crate::blob::core::At;

/// Maximum blobs remembered; beyond it a scan of all rows is needed.
const BLOBS_MAX: usize = 100_000;

/// The blobs that have events to deliver.
#[derive(Default)]
pub struct Outbox {
    list: Mutex<List>,
    changed: Notify,
}

#[derive(Default)]
struct List {
    queue: VecDeque<At>,
    known: HashSet<At>,
    /// Blobs with events that happen later, by time and a number.
    later: BTreeMap<(u64, u64), At>,
    number: u64,
    /// The blob whose events are being delivered.
    active: Option<At>,
    /// The events of earlier processes are known.
    is_scanned: bool,
    overflowed: bool,
}

impl Outbox {
    /// A blob has an event. `false` if it cannot be remembered: then a scan is needed.
    pub fn add(&self, at: &At) -> bool {
        let mut list = self.lock();
        let is_new = list.known.insert(at.clone());
        if is_new && list.queue.len() >= BLOBS_MAX {
            list.known.remove(at);
            list.overflowed = true;
            list.is_scanned = false;
            return false;
        }
        if is_new {
            list.queue.push_back(at.clone());
        }
        drop(list);
        self.changed.notify_waiters();
        true
    }

    /// A blob may have an event at that time.
    pub fn add_later(&self, at: &At, ticks: u64) {
        let mut list = self.lock();
        if list.later.len() >= BLOBS_MAX {
            list.overflowed = true;
            return;
        }
        list.number += 1;
        let number = list.number;
        list.later.insert((ticks, number), at.clone());
    }

    /// Takes the blob that has waited longest, and remembers it as the active one.
    pub fn next(&self, now: u64) -> Option<At> {
        let mut list = self.lock();
        while let Some(entry) = list.later.first_entry().filter(|entry| entry.key().0 <= now) {
            let at = entry.remove();
            if list.known.insert(at.clone()) {
                list.queue.push_back(at);
            }
        }
        let at = list.queue.pop_front()?;
        list.known.remove(&at);
        list.active = Some(at.clone());
        Some(at)
    }

    /// The work on the active blob has ended.
    pub fn end(&self) {
        self.lock().active = None;
        self.changed.notify_waiters();
    }

    /// A scan begins.
    pub fn scanning(&self) {
        self.lock().overflowed = false;
    }

    /// A scan has seen all rows.
    pub fn scanned(&self) {
        let mut list = self.lock();
        list.is_scanned = !list.overflowed;
        drop(list);
        self.changed.notify_waiters();
    }

    /// May a table have events that are not delivered?
    pub fn needs(&self, table: TableId) -> bool {
        let list = self.lock();
        let mut all = list.queue.iter().chain(&list.active).chain(list.later.values());
        !list.is_scanned || all.any(|at| at.tables.blobs == table)
    }

    /// Number of blobs that wait.
    pub fn len(&self) -> usize {
        let list = self.lock();
        list.queue.len() + usize::from(list.active.is_some())
    }

    /// Waits until no blob waits.
    pub async fn drained(&self) {
        loop {
            let changed = self.changed.notified();
            let mut changed = std::pin::pin!(changed);
            changed.as_mut().enable();
            let is_done = {
                let list = self.lock();
                list.is_scanned && list.queue.is_empty() && list.active.is_none()
            };
            if is_done {
                return;
            }
            changed.await;
        }
    }

    /// Waits for an event.
    pub async fn wait(&self) {
        let changed = self.changed.notified();
        let mut changed = std::pin::pin!(changed);
        changed.as_mut().enable();
        if self.lock().queue.is_empty() {
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
