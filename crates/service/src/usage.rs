//! Counters of tables and partitions: one set for each table that has a slot, and one sum for all others, so that
//! memory is bounded however many tables there are.
//!
//! A table gets its slot when the catalog loads it, and releases it when it is deleted. Counting is an addition on this
//! processor's own counters.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::heat::{Heat, Hot, PartitionName};
use crate::shard::Sharded;

/// Maximum tables that are counted separately.
pub const TABLES_MAX: usize = 100;

/// The slot of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(u8);

impl Slot {
    /// The slot for everything without a slot of its own.
    pub const OTHER: Slot = Slot(TABLES_MAX as u8);
}

const _: () = assert!(TABLES_MAX < u8::MAX as usize);

/// The counters of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableCounts {
    /// Requests for its entities.
    pub requests: u64,
    /// Rows that queries read.
    pub rows_read: u64,
    /// Rows that they found.
    pub rows_returned: u64,
    /// Rows that were written or deleted.
    pub rows_written: u64,
}

/// A table with its counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableUsage {
    /// The account; empty for the sum of all other tables.
    pub account: String,
    /// The table's name; empty for the sum of all other tables.
    pub table: String,
    /// What was counted.
    pub counts: TableCounts,
}

#[derive(Debug, Default)]
struct Counters {
    requests: AtomicU64,
    rows_read: AtomicU64,
    rows_returned: AtomicU64,
    rows_written: AtomicU64,
}

#[derive(Debug)]
struct Slots([Counters; TABLES_MAX + 1]);

impl Default for Slots {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Counters::default()))
    }
}

/// The slots in use, by table.
#[derive(Debug, Default)]
struct Places {
    /// By account and lower-case name.
    taken: HashMap<(Box<str>, Box<str>), (Slot, String)>,
    free: Vec<Slot>,
    /// Number of slots used so far.
    used: u8,
}

/// Counters of tables and partitions.
#[derive(Debug, Default)]
pub struct UsageMetrics {
    places: Mutex<Places>,
    slots: Sharded<Slots>,
    heat: Heat,
}

impl UsageMetrics {
    /// The slot of a table. `name` is its original spelling.
    pub fn slot(&self, account: &str, folded: &str, name: &str) -> Slot {
        let mut places = self.locked();
        let key = (account.into(), folded.into());
        if let Some((slot, _)) = places.taken.get(&key) {
            return *slot;
        }
        let slot = match places.free.pop() {
            Some(slot) => slot,
            None if usize::from(places.used) < TABLES_MAX => {
                places.used += 1;
                Slot(places.used - 1)
            }
            None => return Slot::OTHER,
        };
        places.taken.insert(key, (slot, name.to_owned()));
        slot
    }

    /// The table was deleted; frees its slot.
    pub fn release(&self, account: &str, folded: &str) {
        let mut places = self.locked();
        let Some((slot, _)) = places.taken.remove(&(account.into(), folded.into())) else { return };
        for slots in self.slots.iter() {
            let counters = &slots.0[usize::from(slot.0)];
            for counter in
                [&counters.requests, &counters.rows_read, &counters.rows_returned, &counters.rows_written]
            {
                counter.store(0, Ordering::Relaxed);
            }
        }
        places.free.push(slot);
    }

    /// Counts a query.
    pub fn read(&self, slot: Slot, rows_read: u64, rows_returned: u64) {
        let counters = self.own(slot);
        counters.requests.fetch_add(1, Ordering::Relaxed);
        counters.rows_read.fetch_add(rows_read, Ordering::Relaxed);
        counters.rows_returned.fetch_add(rows_returned, Ordering::Relaxed);
    }

    /// Counts a change, applied or rejected.
    pub fn wrote(&self, slot: Slot, rows_written: u64) {
        let counters = self.own(slot);
        counters.requests.fetch_add(1, Ordering::Relaxed);
        counters.rows_written.fetch_add(rows_written, Ordering::Relaxed);
    }

    /// Counts entities of a partition that were read or written.
    pub fn touch(&self, name: &PartitionName<'_>, entities: u64) {
        self.heat.touch(name, entities);
    }

    /// Ends a period of the list of hottest partitions.
    pub fn turn(&self) {
        self.heat.turn();
    }

    /// The partitions that were used most in this period and in the one before, the most used first; and how many
    /// entities of all others were used.
    pub fn hottest(&self) -> (Vec<Hot>, u64) {
        self.heat.hottest()
    }

    /// The counters of each table, by name; the last entry, without a name, is for all others.
    pub fn tables(&self) -> Vec<TableUsage> {
        let places = self.locked();
        let mut tables: Vec<TableUsage> = places
            .taken
            .iter()
            .map(|((account, _), (slot, name))| TableUsage {
                account: account.to_string(),
                table: name.clone(),
                counts: self.counts(*slot),
            })
            .collect();
        tables.sort_by(|a, b| (&a.account, &a.table).cmp(&(&b.account, &b.table)));
        tables.push(TableUsage {
            account: String::new(),
            table: String::new(),
            counts: self.counts(Slot::OTHER),
        });
        tables
    }

    fn counts(&self, slot: Slot) -> TableCounts {
        let mut sum = TableCounts::default();
        for slots in self.slots.iter() {
            let counters = &slots.0[usize::from(slot.0)];
            sum.requests += counters.requests.load(Ordering::Relaxed);
            sum.rows_read += counters.rows_read.load(Ordering::Relaxed);
            sum.rows_returned += counters.rows_returned.load(Ordering::Relaxed);
            sum.rows_written += counters.rows_written.load(Ordering::Relaxed);
        }
        sum
    }

    fn own(&self, slot: Slot) -> &Counters {
        &self.slots.own().0[usize::from(slot.0)]
    }

    fn locked(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(usage: &UsageMetrics) -> Vec<(String, u64)> {
        usage.tables().into_iter().map(|table| (table.table, table.counts.requests)).collect()
    }

    #[test]
    fn tables_beyond_the_bound_share_a_slot() {
        let usage = UsageMetrics::default();
        for number in 0..TABLES_MAX + 5 {
            let name = format!("T{number:03}");
            let slot = usage.slot("acct", &name.to_lowercase(), &name);
            assert_eq!(slot, usage.slot("acct", &name.to_lowercase(), &name));
            usage.read(slot, 1, 1);
        }
        let told = told(&usage);
        assert_eq!(told.len(), TABLES_MAX + 1);
        assert_eq!((&*told[0].0, told[0].1), ("T000", 1));
        assert_eq!((&*told[TABLES_MAX].0, told[TABLES_MAX].1), ("", 5));
    }

    #[test]
    fn a_released_slot_starts_from_zero() {
        let usage = UsageMetrics::default();
        let first = usage.slot("acct", "first", "First");
        usage.wrote(first, 3);
        usage.release("acct", "first");
        usage.release("acct", "unknown");
        assert_eq!(usage.slot("acct", "second", "Second"), first);
        assert_eq!(told(&usage), [("Second".to_owned(), 0), (String::new(), 0)]);
    }

    #[test]
    fn counts() {
        let usage = UsageMetrics::default();
        let slot = usage.slot("acct", "t", "T");
        usage.read(slot, 10, 2);
        usage.wrote(slot, 100);
        usage.wrote(slot, 0);
        let expected = TableCounts { requests: 3, rows_read: 10, rows_returned: 2, rows_written: 100 };
        assert_eq!(usage.tables()[0].counts, expected);
    }
}
