//! Content in use: generations that are being read or written are not reclaimed.
//!
//! A reader pins the blob, reads its head, and replaces the pin by one for the generation that the head refers
//! to. The sweep first makes a generation unreferenceable and checks the pins afterwards. So either the reader
//! no longer finds the generation, or the sweep finds a pin.
//!
//! Pins are numbered in the order in which they are taken. A pin of a blob that was taken after a generation
//! became unreferenceable does not count: otherwise a blob that is read constantly would never be reclaimed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lazuli_engine::TableId;

use super::keyspace::Generation;
use crate::hash::NameMap;

/// The content that is in use, by blob. `None` stands for all generations of a blob.
type Key = (TableId, Arc<str>, Option<Generation>);

/// All pins of this process.
#[derive(Clone, Debug, Default)]
pub struct Pins(Arc<Mutex<Taken>>);

#[derive(Debug, Default)]
struct Taken {
    /// The numbers of the pins of each content, in ascending order.
    pins: NameMap<Key, Vec<u64>>,
    /// The number of the latest pin.
    last: u64,
}

impl Pins {
    /// Keeps every generation of a blob while its head is being read.
    pub fn blob(&self, table: TableId, name: &Arc<str>) -> Pin {
        self.pin((table, name.clone(), None), None)
    }

    /// Keeps one generation.
    pub fn generation(&self, table: TableId, name: &Arc<str>, generation: Generation) -> Pin {
        self.pin((table, name.clone(), Some(generation)), None)
    }

    /// The number of the latest pin.
    pub fn last(&self) -> u64 {
        self.lock().last
    }

    /// Is the generation in use?
    pub fn has(&self, table: TableId, name: &str, generation: Generation) -> bool {
        self.has_up_to(u64::MAX, table, name, generation)
    }

    /// Is the generation in use? Pins of the whole blob after the number `last` cannot find it, so they do not
    /// count.
    pub fn has_up_to(&self, last: u64, table: TableId, name: &str, generation: Generation) -> bool {
        let taken = self.lock();
        // Usually nothing is pinned.
        !taken.pins.is_empty()
            && (taken.pins.contains_key(&(table, name.into(), Some(generation)))
                || taken
                    .pins
                    .get(&(table, name.into(), None))
                    .and_then(|numbers| numbers.first())
                    .is_some_and(|first| *first <= last))
    }

    /// Is this one generation being written, or its content read? Does not count readers that may be about to find it.
    pub fn has_generation(&self, table: TableId, name: &str, generation: Generation) -> bool {
        self.has_up_to(0, table, name, generation)
    }

    /// Is a change of the blob in progress, or is its head being read?
    pub fn has_blob(&self, table: TableId, name: &str) -> bool {
        let taken = self.lock();
        !taken.pins.is_empty() && taken.pins.contains_key(&(table, name.into(), None))
    }

    /// Is any content of this table in use?
    pub fn has_table(&self, table: TableId) -> bool {
        self.lock().pins.keys().any(|(pinned, ..)| *pinned == table)
    }

    /// Adds a pin with a new number, or with that of another pin.
    fn pin(&self, key: Key, number: Option<u64>) -> Pin {
        let mut taken = self.lock();
        let number = number.unwrap_or_else(|| {
            taken.last += 1;
            taken.last
        });
        let numbers = taken.pins.entry(key.clone()).or_default();
        let place = numbers.partition_point(|other| *other <= number);
        numbers.insert(place, number);
        Pin { pins: self.clone(), key, number }
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps content until it is dropped.
#[derive(Debug)]
#[must_use = "dropping it ends the pin"]
pub struct Pin {
    pins: Pins,
    key: Key,
    number: u64,
}

impl Pin {
    /// Narrows a pin of a blob to one generation, without releasing it in between.
    pub fn narrow(self, generation: Generation) -> Pin {
        self.pins.pin((self.key.0, self.key.1.clone(), Some(generation)), Some(self.number))
    }

    /// Another pin of the same content, with the same number.
    pub fn again(&self) -> Pin {
        self.pins.pin(self.key.clone(), Some(self.number))
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut taken = self.pins.lock();
        if let Some(numbers) = taken.pins.get_mut(&self.key) {
            if let Ok(place) = numbers.binary_search(&self.number) {
                numbers.remove(place);
            }
            if numbers.is_empty() {
                taken.pins.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_of_a_blob_covers_all_generations() {
        let pins = Pins::default();
        let (table, one, two) = (TableId(7), Generation(1), Generation(2));
        let name = Arc::from("b");
        let blob = pins.blob(table, &name);
        assert!(pins.has(table, "b", one) && pins.has(table, "b", two) && pins.has_table(table));
        assert!(!pins.has(table, "c", one) && !pins.has(TableId(8), "b", one));
        let generation = blob.narrow(one);
        let again = pins.generation(table, &name, one);
        assert!(pins.has(table, "b", one) && !pins.has(table, "b", two));
        drop(generation);
        assert!(pins.has(table, "b", one));
        drop(again);
        assert!(!pins.has(table, "b", one) && !pins.has_table(table));
    }

    #[test]
    fn pins_of_a_blob_after_a_number_do_not_count() {
        let pins = Pins::default();
        let (table, one, two) = (TableId(7), Generation(1), Generation(2));
        let name = Arc::from("b");
        let early = pins.blob(table, &name);
        let last = pins.last();
        let late = pins.blob(table, &name);
        let is_pinned = |generation| pins.has_up_to(last, table, "b", generation);
        assert!(is_pinned(one) && !pins.has_generation(table, "b", one));
        let again = early.again();
        drop(early);
        assert!(is_pinned(one), "the second one is as old");
        drop(again);
        assert!(!is_pinned(one) && pins.has(table, "b", one));
        let late = late.narrow(one);
        assert!(is_pinned(one) && !is_pinned(two) && pins.has_generation(table, "b", one));
        drop(late);
        assert!(!is_pinned(one) && !pins.has_table(table));
    }
}
