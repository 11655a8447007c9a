//! Counters of tables or queues: one set for each that has a slot, and one sum for all others, so that memory
//! is bounded regardless of their number.
//!
//! A table or queue gets its slot when the catalog loads it, and releases it when it is deleted. Counting is an
//! addition to the counters of the current processor.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::shard::Sharded;

/// Maximum tables, and maximum queues, that are counted individually.
pub const SLOTS_MAX: usize = 100;

/// The slot of a table or a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(u8);

impl Slot {
    /// The slot for everything without its own slot.
    pub const OTHER: Slot = Slot(SLOTS_MAX as u8);
}

const _: () = assert!(SLOTS_MAX < u8::MAX as usize);

/// The counters of one processor, `N` for each slot.
#[derive(Debug)]
struct Counters<const N: usize>([[AtomicU64; N]; SLOTS_MAX + 1]);

impl<const N: usize> Default for Counters<N> {
    fn default() -> Self {
        Self([const { [const { AtomicU64::new(0) }; N] }; SLOTS_MAX + 1])
    }
}

/// The slots in use, by table or queue.
#[derive(Debug, Default)]
struct Places {
    /// By account and lower-case name.
    taken: HashMap<(Box<str>, Box<str>), (Slot, String)>,
    free: Vec<Slot>,
    /// Number of slots used so far.
    used: u8,
}

/// A table or queue with its counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage<const N: usize> {
    /// The account; empty for the sum of all others.
    pub account: String,
    /// The name of the table or queue; empty for the sum of all others.
    pub name: String,
    /// The counts.
    pub counts: [u64; N],
}

/// `N` counters for each table or queue.
#[derive(Debug, Default)]
pub struct Slots<const N: usize> {
    places: Mutex<Places>,
    counters: Sharded<Counters<N>>,
}

impl<const N: usize> Slots<N> {
    /// The slot of a table or queue. `name` is its original spelling.
    pub fn slot(&self, account: &str, folded: &str, name: &str) -> Slot {
        let mut places = self.locked();
        let key = (account.into(), folded.into());
        if let Some((slot, _)) = places.taken.get(&key) {
            return *slot;
        }
        let slot = match places.free.pop() {
            Some(slot) => slot,
            None if usize::from(places.used) < SLOTS_MAX => {
                places.used += 1;
                Slot(places.used - 1)
            }
            None => return Slot::OTHER,
        };
        places.taken.insert(key, (slot, name.to_owned()));
        slot
    }

    /// Frees the slot of a deleted table or queue.
    pub fn release(&self, account: &str, folded: &str) {
        let mut places = self.locked();
        let Some((slot, _)) = places.taken.remove(&(account.into(), folded.into())) else { return };
        for part in self.counters.iter() {
            for counter in &part.0[usize::from(slot.0)] {
                counter.store(0, Ordering::Relaxed);
            }
        }
        places.free.push(slot);
    }

    /// Adds to the counters of a slot.
    pub fn add(&self, slot: Slot, by: [u64; N]) {
        let counters = &self.counters.own().0[usize::from(slot.0)];
        for (counter, by) in counters.iter().zip(by).filter(|(_, by)| *by > 0) {
            counter.fetch_add(by, Ordering::Relaxed);
        }
    }

    /// The counters of each table or queue, by name; the last entry, without a name, is for all others.
    pub fn all(&self) -> Vec<Usage<N>> {
        let places = self.locked();
        let mut all: Vec<Usage<N>> = places
            .taken
            .iter()
            .map(|((account, _), (slot, name))| Usage {
                account: account.to_string(),
                name: name.clone(),
                counts: self.counts(*slot),
            })
            .collect();
        all.sort_by(|a, b| (&a.account, &a.name).cmp(&(&b.account, &b.name)));
        all.push(Usage { account: String::new(), name: String::new(), counts: self.counts(Slot::OTHER) });
        all
    }

    fn counts(&self, slot: Slot) -> [u64; N] {
        let mut sum = [0; N];
        for part in self.counters.iter() {
            for (sum, counter) in sum.iter_mut().zip(&part.0[usize::from(slot.0)]) {
                *sum += counter.load(Ordering::Relaxed);
            }
        }
        sum
    }

    fn locked(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(slots: &Slots<2>) -> Vec<(String, [u64; 2])> {
        slots.all().into_iter().map(|usage| (usage.name, usage.counts)).collect()
    }

    #[test]
    fn tables_beyond_the_bound_share_a_slot() {
        let slots = Slots::<2>::default();
        for number in 0..SLOTS_MAX + 5 {
            let name = format!("T{number:03}");
            let slot = slots.slot("acct", &name.to_lowercase(), &name);
            assert_eq!(slot, slots.slot("acct", &name.to_lowercase(), &name));
            slots.add(slot, [1, 0]);
        }
        let told = told(&slots);
        assert_eq!(told.len(), SLOTS_MAX + 1);
        assert_eq!(told[0], ("T000".to_owned(), [1, 0]));
        assert_eq!(told[SLOTS_MAX], (String::new(), [5, 0]));
    }

    #[test]
    fn a_released_slot_starts_from_zero() {
        let slots = Slots::<2>::default();
        let first = slots.slot("acct", "first", "First");
        slots.add(first, [3, 4]);
        slots.release("acct", "first");
        slots.release("acct", "unknown");
        assert_eq!(slots.slot("acct", "second", "Second"), first);
        assert_eq!(told(&slots), [("Second".to_owned(), [0, 0]), (String::new(), [0, 0])]);
    }

    #[test]
    fn counts() {
        let slots = Slots::<2>::default();
        let slot = slots.slot("acct", "t", "T");
        slots.add(slot, [10, 0]);
        slots.add(slot, [1, 2]);
        assert_eq!(slots.all()[0], Usage { account: "acct".into(), name: "T".into(), counts: [11, 2] });
    }
}
