//! The blobs that have events to deliver: in memory, with a bound. A scan of all rows finds those of earlier processes.
//!
//! Each lane has its own queue, so that an unreachable target delays only the events of its own accounts. All events of a
//! blob are in the lane of its account.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lazuli_engine::TableId;
use tokio::sync::Notify;

use crate::blob::core::{At, EnabledFor};
use crate::keyspace::account_of;

/// Maximum blobs remembered in each lane, and as many with later events; beyond it a scan of all rows is needed.
const BLOBS_MAX: usize = 100_000;

/// The blobs that have events to deliver.
pub struct Outbox {
    /// The accounts of each lane. The first lane that an account matches is its own.
    accounts: Vec<EnabledFor>,
    list: Mutex<List>,
    changed: Notify,
}

/// Blobs whose events one task delivers.
#[derive(Default)]
struct Lane {
    queue: VecDeque<At>,
    /// The blob whose events are being delivered.
    active: Option<At>,
}

#[derive(Default)]
struct List {
    lanes: Vec<Lane>,
    /// The blobs in the queues.
    known: HashSet<At>,
    /// Blobs with events that happen later, by time and a number.
    later: BTreeMap<(u64, u64), At>,
    number: u64,
    /// The events of earlier processes are known.
    is_scanned: bool,
    overflowed: bool,
}

impl Outbox {
    /// An outbox with a lane for each of these sets of accounts; `None` if there are none.
    pub fn new(accounts: Vec<EnabledFor>) -> Option<Self> {
        let lanes = accounts.iter().map(|_| Lane::default()).collect();
        let list = Mutex::new(List { lanes, ..List::default() });
        (!accounts.is_empty()).then(|| Self { accounts, list, changed: Notify::new() })
    }

    /// Do changes of blobs in an account leave events?
    pub fn applies_to(&self, home: &str) -> bool {
        self.accounts.iter().any(|accounts| accounts.applies_to(account_of(home)))
    }

    /// The lane of a blob. An account may have lost its target since the event was stored; then the first lane drops it.
    fn lane_of(&self, at: &At) -> usize {
        let account = at.origin.as_ref().map_or("", |origin| account_of(&origin.home));
        self.accounts.iter().position(|accounts| accounts.applies_to(account)).unwrap_or(0)
    }

    /// Queues a blob that has an event. `false` if the queue is full: then a scan is needed.
    pub fn add(&self, at: &At) -> bool {
        let lane = self.lane_of(at);
        let mut list = self.lock();
        let is_new = list.known.insert(at.clone());
        if is_new && list.lanes[lane].queue.len() >= BLOBS_MAX {
            list.known.remove(at);
            list.overflowed = true;
            list.is_scanned = false;
            return false;
        }
        if is_new {
            list.lanes[lane].queue.push_back(at.clone());
        }
        drop(list);
        self.changed.notify_waiters();
        true
    }

    /// Queues a blob that may have an event at the time `ticks`.
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

    /// Takes the blob of a lane that has waited longest, and remembers it as the active one.
    pub fn next(&self, lane: usize, now: u64) -> Option<At> {
        let mut list = self.lock();
        while let Some(entry) = list.later.first_entry().filter(|entry| entry.key().0 <= now) {
            let at = entry.remove();
            if list.known.insert(at.clone()) {
                let lane = self.lane_of(&at);
                list.lanes[lane].queue.push_back(at);
                self.changed.notify_waiters();
            }
        }
        let at = list.lanes[lane].queue.pop_front()?;
        list.known.remove(&at);
        list.lanes[lane].active = Some(at.clone());
        Some(at)
    }

    /// The work on the active blob of a lane has ended.
    pub fn end(&self, lane: usize) {
        self.lock().lanes[lane].active = None;
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

    /// May blobs of a table have undelivered events?
    pub fn needs(&self, table: TableId) -> bool {
        let list = self.lock();
        let waiting = list.lanes.iter().flat_map(|lane| lane.queue.iter().chain(&lane.active));
        let mut all = waiting.chain(list.later.values());
        !list.is_scanned || all.any(|at| at.tables.blobs == table)
    }

    /// Number of blobs that wait.
    pub fn len(&self) -> usize {
        let list = self.lock();
        list.lanes.iter().map(|lane| lane.queue.len() + usize::from(lane.active.is_some())).sum()
    }

    /// Waits until no blob waits.
    pub async fn drained(&self) {
        loop {
            let changed = self.changed.notified();
            let mut changed = std::pin::pin!(changed);
            changed.as_mut().enable();
            let is_done = {
                let list = self.lock();
                let is_empty = |lane: &Lane| lane.queue.is_empty() && lane.active.is_none();
                list.is_scanned && list.lanes.iter().all(is_empty)
            };
            if is_done {
                return;
            }
            changed.await;
        }
    }

    /// Waits for an event in a lane.
    pub async fn wait(&self, lane: usize) {
        let changed = self.changed.notified();
        let mut changed = std::pin::pin!(changed);
        changed.as_mut().enable();
        if self.lock().lanes[lane].queue.is_empty() {
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
