//! Finds the most used partitions in bounded memory, regardless of their number.
//!
//! Each processor keeps a list of the partitions it saw most. A partition that is not in a full list replaces
//! the least used entry with a probability that decreases as that entry's count grows: a partition that is used
//! often enters the list soon, and one that is used once rarely displaces another. Counts of late entries are
//! therefore estimates, but never far too large.
//!
//! A request only tries the lock of the list: in the rare case that the list is being read, it is not counted.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use lazuli_engine::TableId;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::shard::Sharded;

/// Number of partitions in the list of each processor.
const REMEMBERED_MAX: usize = 64;
/// Maximum partitions that are reported.
pub const TOLD_MAX: usize = 20;

/// A partition.
#[derive(Clone, Copy, Debug)]
pub struct PartitionName<'a> {
    /// The account.
    pub account: &'a str,
    /// The table's name.
    pub table: &'a str,
    /// The table's id.
    pub id: TableId,
    /// Its PartitionKey.
    pub key: &'a str,
}

/// A heavily used partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hot {
    /// The account.
    pub account: String,
    /// The table.
    pub table: String,
    /// The PartitionKey.
    pub partition: String,
    /// Approximate number of its entities that were read or written.
    pub entities: u64,
}

/// The most used partitions of this period and of the previous one.
#[derive(Debug, Default)]
pub struct Heat(Sharded<Mutex<Periods>>);

#[derive(Debug, Default)]
struct Periods {
    current: Sketch,
    last: Sketch,
}

/// The list of one processor.
#[derive(Debug, Default)]
struct Sketch {
    /// The hashes of the entries, in the same order.
    hashes: Vec<u64>,
    entries: Vec<Hot>,
    /// The index of the least used entry and its count as of the last search; the count can only have grown since.
    least: (usize, u64),
    /// The seed of the random numbers.
    seed: u64,
    /// Total number of counted entities, whether listed or not.
    total: u64,
}

impl Heat {
    /// Counts entities of a partition that were read or written.
    pub fn touch(&self, name: &PartitionName<'_>, entities: u64) {
        if let Ok(mut periods) = self.0.own().try_lock() {
            periods.current.touch(name, entities);
        }
    }

    /// Starts a new period.
    pub fn turn(&self) {
        for part in self.0.iter() {
            let mut periods = part.lock().unwrap_or_else(PoisonError::into_inner);
            let periods = &mut *periods;
            std::mem::swap(&mut periods.current, &mut periods.last);
            periods.current.clear();
        }
    }

    /// The most used partitions of this period and the previous one, the most used first; and the number of
    /// entities used in all others.
    pub fn hottest(&self) -> (Vec<Hot>, u64) {
        let mut merged: HashMap<u64, Hot> = HashMap::new();
        let mut total = 0;
        for part in self.0.iter() {
            let periods = part.lock().unwrap_or_else(PoisonError::into_inner);
            for sketch in [&periods.current, &periods.last] {
                total += sketch.total;
                for (hash, entry) in sketch.hashes.iter().zip(&sketch.entries) {
                    merged
                        .entry(*hash)
                        .and_modify(|known| known.entities += entry.entities)
                        .or_insert_with(|| entry.clone());
                }
            }
        }
        let mut hottest: Vec<Hot> = merged.into_values().collect();
        hottest.sort_by(|a, b| b.entities.cmp(&a.entities).then_with(|| a.partition.cmp(&b.partition)));
        hottest.truncate(TOLD_MAX);
        let told: u64 = hottest.iter().map(|hot| hot.entities).sum();
        (hottest, total.saturating_sub(told))
    }
}

impl Sketch {
    fn touch(&mut self, name: &PartitionName<'_>, entities: u64) {
        self.total += entities;
        let hash = xxh3_64_with_seed(name.key.as_bytes(), name.id.0);
        if let Some(at) = self.hashes.iter().position(|&known| known == hash) {
            self.entries[at].entities += entities;
        } else if self.entries.len() < REMEMBERED_MAX {
            self.hashes.push(hash);
            self.entries.push(name.used(entities));
        } else if self.is_lucky(entities) {
            self.replace_least(hash, name, entities);
        }
    }

    /// Decides at random whether a new entry replaces the least used one. The probability is
    /// `entities / (least + entities)`.
    fn is_lucky(&mut self, entities: u64) -> bool {
        // A counter with an odd step visits all numbers. Its bits are mixed, which is random enough for this decision.
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.seed ^ (self.seed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        (mixed >> 16) % (self.least.1 + entities).max(1) < entities
    }

    fn replace_least(&mut self, hash: u64, name: &PartitionName<'_>, entities: u64) {
        let (at, least) = self.find_least();
        self.hashes[at] = hash;
        self.entries[at] = name.used(least + entities);
        self.least = self.find_least();
    }

    fn find_least(&self) -> (usize, u64) {
        let least = self.entries.iter().enumerate().min_by_key(|(_, entry)| entry.entities);
        least.map_or((0, 0), |(at, entry)| (at, entry.entities))
    }

    fn clear(&mut self) {
        self.hashes.clear();
        self.entries.clear();
        self.least = (0, 0);
        self.total = 0;
    }
}

impl PartitionName<'_> {
    fn used(&self, entities: u64) -> Hot {
        Hot { account: self.account.into(), table: self.table.into(), partition: self.key.into(), entities }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(heat: &Heat, key: &str, entities: u64) {
        heat.touch(&PartitionName { account: "a", table: "T", id: TableId(1), key }, entities);
    }

    fn told(heat: &Heat) -> String {
        let (hottest, other) = heat.hottest();
        let told: Vec<_> = hottest.iter().map(|hot| format!("{}={}", hot.partition, hot.entities)).collect();
        format!("{} other={other}", told.join(" "))
    }

    #[test]
    fn few_partitions_are_counted_exactly() {
        let heat = Heat::default();
        for (key, entities) in [("x", 1), ("y", 100), ("x", 2), ("z", 7)] {
            touch(&heat, key, entities);
        }
        assert_eq!(told(&heat), "y=100 z=7 x=3 other=0");
    }

    #[test]
    fn periods_end() {
        let heat = Heat::default();
        touch(&heat, "x", 5);
        heat.turn();
        touch(&heat, "x", 1);
        touch(&heat, "y", 2);
        assert_eq!(told(&heat), "x=6 y=2 other=0");
        heat.turn();
        assert_eq!(told(&heat), "y=2 x=1 other=0");
        heat.turn();
        assert_eq!(told(&heat), " other=0");
    }

    /// A partition that gets every tenth request is found among a hundred thousand that get one each, whenever
    /// it begins; and the size of the list is bounded.
    #[test]
    fn the_hot_one_is_found_in_a_crowd() {
        let heat = Heat::default();
        for number in 0..100_000 {
            touch(&heat, &format!("once{number}"), 1);
            if number % 10 == 0 && number > 1_000 {
                touch(&heat, "hot", 1);
            }
        }
        let (hottest, other) = heat.hottest();
        assert_eq!(hottest[0].partition, "hot", "{hottest:?}");
        assert!((8_000..12_000).contains(&hottest[0].entities), "{:?}", hottest[0]);
        assert_eq!(hottest.len(), TOLD_MAX);
        assert_eq!(hottest.iter().map(|hot| hot.entities).sum::<u64>() + other, 109_899);
    }

    #[test]
    fn tables_are_counted_separately() {
        let heat = Heat::default();
        for id in 1..=2 {
            heat.touch(&PartitionName { account: "a", table: "T", id: TableId(id), key: "x" }, id);
        }
        assert_eq!(told(&heat), "x=2 x=1 other=0");
    }
}
