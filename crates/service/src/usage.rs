//! Counters of tables, partitions and queues, in bounded memory: see [`crate::slots`] and [`crate::heat`].

use crate::heat::{Heat, Hot, PartitionName};
use crate::slots::{Slot, Slots, Usage};

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

impl TableCounts {
    const COUNT: usize = 4;

    fn from_array([requests, rows_read, rows_returned, rows_written]: [u64; Self::COUNT]) -> Self {
        Self { requests, rows_read, rows_returned, rows_written }
    }
}

/// A table with its counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableUsage {
    /// The account; empty for the sum of all other tables.
    pub account: String,
    /// The table's name; empty for the sum of all other tables.
    pub table: String,
    /// The counts.
    pub counts: TableCounts,
}

/// The counters of a queue: messages, not requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounts {
    /// Messages put, including moves from another queue.
    pub put: u64,
    /// Messages dequeued; a message counts each time that a client gets it.
    pub dequeued: u64,
    /// Messages deleted by a client, or moved to another queue. Cleared and expired ones do not count.
    pub deleted: u64,
}

impl QueueCounts {
    const COUNT: usize = 3;

    fn from_array([put, dequeued, deleted]: [u64; Self::COUNT]) -> Self {
        Self { put, dequeued, deleted }
    }
}

/// A queue with its counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueUsage {
    /// The account; empty for the sum of all other queues.
    pub account: String,
    /// The queue's name; empty for the sum of all other queues.
    pub queue: String,
    /// The counts.
    pub counts: QueueCounts,
}

/// Counters of tables, partitions and queues.
#[derive(Debug, Default)]
pub struct UsageMetrics {
    tables: Slots<{ TableCounts::COUNT }>,
    queues: Slots<{ QueueCounts::COUNT }>,
    heat: Heat,
}

impl UsageMetrics {
    /// The slot of a table. `name` is its original spelling.
    pub fn table_slot(&self, account: &str, folded: &str, name: &str) -> Slot {
        self.tables.slot(account, folded, name)
    }

    /// The slot of a queue.
    pub fn queue_slot(&self, account: &str, name: &str) -> Slot {
        self.queues.slot(account, name, name)
    }

    /// Frees the slot of a deleted table.
    pub fn release_table(&self, account: &str, folded: &str) {
        self.tables.release(account, folded);
    }

    /// Frees the slot of a deleted queue.
    pub fn release_queue(&self, account: &str, name: &str) {
        self.queues.release(account, name);
    }

    /// Counts a query.
    pub fn read(&self, slot: Slot, rows_read: u64, rows_returned: u64) {
        self.tables.add(slot, [1, rows_read, rows_returned, 0]);
    }

    /// Counts a change, applied or rejected.
    pub fn wrote(&self, slot: Slot, rows_written: u64) {
        self.tables.add(slot, [1, 0, 0, rows_written]);
    }

    /// Counts messages that were put, dequeued or deleted.
    pub fn handled(&self, slot: Slot, counts: QueueCounts) {
        self.queues.add(slot, [counts.put, counts.dequeued, counts.deleted]);
    }

    /// Counts entities of a partition that were read or written.
    pub fn touch(&self, name: &PartitionName<'_>, entities: u64) {
        self.heat.touch(name, entities);
    }

    /// Ends a period of the list of hottest partitions.
    pub fn turn(&self) {
        self.heat.turn();
    }

    /// The most used partitions of this period and the previous one, the most used first; and the number of
    /// entities used in all others.
    pub fn hottest(&self) -> (Vec<Hot>, u64) {
        self.heat.hottest()
    }

    /// The counters of each table, by name; the last entry, without a name, is for all others.
    pub fn tables(&self) -> Vec<TableUsage> {
        let counted = |Usage { account, name, counts }: Usage<{ TableCounts::COUNT }>| TableUsage {
            account,
            table: name,
            counts: TableCounts::from_array(counts),
        };
        self.tables.all().into_iter().map(counted).collect()
    }

    /// The counters of each queue, by name; the last entry, without a name, is for all others.
    pub fn queues(&self) -> Vec<QueueUsage> {
        let counted = |Usage { account, name, counts }: Usage<{ QueueCounts::COUNT }>| QueueUsage {
            account,
            queue: name,
            counts: QueueCounts::from_array(counts),
        };
        self.queues.all().into_iter().map(counted).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_tables() {
        let usage = UsageMetrics::default();
        let slot = usage.table_slot("acct", "t", "T");
        usage.read(slot, 10, 2);
        usage.wrote(slot, 100);
        usage.wrote(slot, 0);
        let expected = TableCounts { requests: 3, rows_read: 10, rows_returned: 2, rows_written: 100 };
        assert_eq!(usage.tables()[0].counts, expected);
    }

    #[test]
    fn queues_and_tables_are_counted_separately() {
        let usage = UsageMetrics::default();
        let slot = usage.queue_slot("acct", "jobs");
        usage.handled(slot, QueueCounts { put: 5, ..QueueCounts::default() });
        usage.handled(slot, QueueCounts { dequeued: 3, deleted: 2, ..QueueCounts::default() });
        let queues = usage.queues();
        assert_eq!((queues[0].account.as_str(), queues[0].queue.as_str()), ("acct", "jobs"));
        assert_eq!(queues[0].counts, QueueCounts { put: 5, dequeued: 3, deleted: 2 });
        assert_eq!(usage.tables().len(), 1, "only the sum of all others");
        usage.release_queue("acct", "jobs");
        assert_eq!(usage.queues().len(), 1);
    }
}
