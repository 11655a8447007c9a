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

/// Maximum blobs queued in each lane, and as many with later events; beyond it a scan of all rows is needed.
const BLOBS_MAX: usize = 100_000;

/// The blobs that have events to deliver.
pub struct Outbox {
    /// The accounts of each lane. An account belongs to the first lane that it matches.
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

/// Blobs with events that happen later: the earliest ones.
#[derive(Default)]
struct Later {
    by_time: BTreeMap<u64, HashSet<At>>,
    len: usize,
    /// The time of the earliest event that is not queued. A scan is needed at that time.
    forgotten: Option<u64>,
}

impl Later {
    fn add(&mut self, at: &At, ticks: u64) {
        if self.by_time.entry(ticks).or_default().insert(at.clone()) {
            self.len += 1;
        }
        while self.len > BLOBS_MAX {
            // Drop the latest ones: their scan is needed last.
            let Some(mut last) = self.by_time.last_entry() else { return };
            let time = *last.key();
            self.forgotten = Some(self.forgotten.map_or(time, |known| known.min(time)));
            if let Some(one) = last.get().iter().next().cloned() {
                last.get_mut().remove(&one);
            }
            if last.get().is_empty() {
                last.remove();
            }
            self.len -= 1;
        }
    }

    /// Takes the blobs whose time has come.
    fn due(&mut self, now: u64) -> Vec<At> {
        let mut due = Vec::new();
        while let Some(entry) = self.by_time.first_entry().filter(|entry| *entry.key() <= now) {
            due.extend(entry.remove());
        }
        self.len -= due.len();
        due
    }

    /// Is an event due that is not queued?
    fn needs_scan(&mut self, now: u64) -> bool {
        let is_due = self.forgotten.is_some_and(|time| time <= now);
        if is_due {
            self.forgotten = None;
        }
        is_due
    }
}

#[derive(Default)]
struct List {
    lanes: Vec<Lane>,
    /// The blobs in the queues.
    known: HashSet<At>,
    later: Later,
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

    /// Do changes of blobs in an account produce events?
    pub fn applies_to(&self, home: &str) -> bool {
        self.accounts.iter().any(|accounts| accounts.applies_to(account_of(home)))
    }

    /// The lane of a blob. An account may have lost its target since the event was stored; then the first lane drops it.
    fn lane_of(&self, at: &At) -> usize {
        let account = at.origin.as_ref().map_or("", |origin| account_of(&origin.home));
        self.accounts.iter().position(|accounts| accounts.applies_to(account)).unwrap_or(0)
    }

    /// Queues a blob that has an event. `false` if the queue is full, so that a scan is needed.
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
        self.lock().later.add(at, ticks);
    }

    /// Queues the blobs whose later events are due. `false` if some of them were dropped, so that a scan is
    /// needed.
    pub fn advance(&self, now: u64) -> bool {
        let mut list = self.lock();
        for at in list.later.due(now) {
            if list.known.insert(at.clone()) {
                let lane = self.lane_of(&at);
                list.lanes[lane].queue.push_back(at);
                self.changed.notify_waiters();
            }
        }
        let needs_scan = list.later.needs_scan(now);
        if needs_scan {
            list.overflowed = true;
            list.is_scanned = false;
        }
        !needs_scan
    }

    /// Takes the blob that has waited longest in a lane, and marks it as the active one.
    pub fn next(&self, lane: usize) -> Option<At> {
        let mut list = self.lock();
        let at = list.lanes[lane].queue.pop_front()?;
        list.known.remove(&at);
        list.lanes[lane].active = Some(at.clone());
        Some(at)
    }

    /// Ends the work on the active blob of a lane.
    pub fn end(&self, lane: usize) {
        self.lock().lanes[lane].active = None;
        self.changed.notify_waiters();
    }

    /// A scan begins.
    pub fn scanning(&self) {
        self.lock().overflowed = false;
    }

    /// Records that a scan has seen all rows.
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
        let mut all = waiting.chain(list.later.by_time.values().flatten());
        !list.is_scanned || list.later.forgotten.is_some() || all.any(|at| at.tables.blobs == table)
    }

    /// Number of waiting blobs.
    pub fn len(&self) -> usize {
        let list = self.lock();
        list.lanes.iter().map(|lane| lane.queue.len() + usize::from(lane.active.is_some())).sum()
    }

    /// Waits until no blob is waiting.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blob::keyspace::Tables;

    fn at(table: u64, number: u64) -> At {
        let tables = Tables { blobs: TableId(table), staged: TableId(2), tags: TableId(3) };
        At::new(tables, &format!("{number}"))
    }

    /// Later events beyond the bound were dropped: only the daily scan found them, and the rows of a deleted
    /// container with such events could be erased.
    #[test]
    fn later_events_beyond_the_bound_cause_a_scan_when_they_happen() {
        let outbox = Outbox::new(vec![EnabledFor::All]).unwrap();
        let (forgotten, times) = (at(9, 0), BLOBS_MAX as u64);
        outbox.add_later(&forgotten, times + 1);
        for number in (0..times).rev() {
            for _ in 0..2 {
                outbox.add_later(&at(1, number), number + 1);
            }
        }
        outbox.scanned();
        assert!(outbox.needs(TableId(1)) && outbox.needs(TableId(9)));
        assert!(outbox.advance(times), "all due events are known");
        assert_eq!(std::iter::from_fn(|| outbox.next(0)).count(), BLOBS_MAX);
        outbox.end(0);
        assert!(!outbox.advance(times + 1), "a scan is needed");
        outbox.scanning();
        assert!(outbox.add(&forgotten));
        outbox.scanned();
        assert!(outbox.advance(times + 1) && outbox.needs(TableId(9)));
        assert_eq!(outbox.next(0), Some(forgotten));
        outbox.end(0);
        assert!(!outbox.needs(TableId(9)));
    }
}
