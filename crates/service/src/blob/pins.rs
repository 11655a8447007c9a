//! Content in use: generations that are being read or written are not reclaimed.
//!
//! A reader pins the blob, reads its head, and swaps the pin for one of the generation that the head names. The sweep first
//! makes a generation unnameable and looks at the pins afterwards. So either the reader no longer finds the generation, or
//! the sweep finds a pin.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lazuli_engine::TableId;

use super::keyspace::Generation;
use crate::hash::NameMap;

/// Which content of which blob is in use. `None` stands for all generations of a blob.
type Key = (TableId, Arc<str>, Option<Generation>);

/// All pins of this process.
#[derive(Clone, Debug, Default)]
pub struct Pins(Arc<Mutex<NameMap<Key, usize>>>);

impl Pins {
    /// Keeps every generation of a blob, for as long as its head is being read.
    pub fn blob(&self, table: TableId, name: &Arc<str>) -> Pin {
        self.pin((table, name.clone(), None))
    }

    /// Keeps one generation.
    pub fn generation(&self, table: TableId, name: &Arc<str>, generation: Generation) -> Pin {
        self.pin((table, name.clone(), Some(generation)))
    }

    /// Is the generation in use?
    pub fn has(&self, table: TableId, name: &str, generation: Generation) -> bool {
        let pins = self.lock();
        // Most of the time nothing is pinned at all.
        !pins.is_empty()
            && [None, Some(generation)].into_iter().any(|at| pins.contains_key(&(table, name.into(), at)))
    }

    /// Is a change of the blob in progress, or is its head being read?
    pub fn has_blob(&self, table: TableId, name: &str) -> bool {
        let pins = self.lock();
        !pins.is_empty() && pins.contains_key(&(table, name.into(), None))
    }

    /// Is any content of this table in use?
    pub fn has_table(&self, table: TableId) -> bool {
        self.lock().keys().any(|(pinned, ..)| *pinned == table)
    }

    fn pin(&self, key: Key) -> Pin {
        *self.lock().entry(key.clone()).or_default() += 1;
        Pin { pins: self.clone(), key }
    }

    fn lock(&self) -> MutexGuard<'_, NameMap<Key, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps content until it is dropped.
#[derive(Debug)]
#[must_use = "dropping it ends the pin"]
pub struct Pin {
    pins: Pins,
    key: Key,
}

impl Pin {
    /// Narrows a pin of a blob to one generation, without a gap.
    pub fn narrow(self, generation: Generation) -> Pin {
        self.pins.pin((self.key.0, self.key.1.clone(), Some(generation)))
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut pins = self.pins.lock();
        if let Some(count) = pins.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                pins.remove(&self.key);
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
}
