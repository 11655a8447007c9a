//! The latest state of rows that were just written, so that the committer can check conditions without reading.
//!
//! Invariant: it holds every row that was written after the group `since`. So if a row is not in it, and a
//! caller read the row in a view of group `since` or later, the row has not changed since.

use std::collections::HashMap;

use bytes::Bytes;

use crate::cell::Cell;
use crate::limits::{RECENT_BYTES_MAX, RECENT_ROWS_MAX};

/// The state of a row as a caller read it before it queued its commit.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The number of the view it looked at.
    pub number: u64,
    /// The row that was read.
    pub cell: Option<Cell>,
}

/// The knowledge about a row without reading it.
#[derive(Debug, PartialEq, Eq)]
pub enum Known {
    /// Its state.
    State(Option<Cell>),
    /// Nothing: it must be read.
    Nothing,
}

/// The latest state of rows that were just written.
#[derive(Debug, Default)]
pub struct Recent {
    rows: HashMap<Bytes, Option<Cell>>,
    bytes: usize,
    since: u64,
}

impl Recent {
    /// Looks a row up.
    pub fn look(&self, key: &[u8], seen: Option<&Seen>) -> Known {
        match (self.rows.get(key), seen) {
            (Some(cell), _) => Known::State(cell.clone()),
            (None, Some(seen)) if seen.number >= self.since => Known::State(seen.cell.clone()),
            (None, _) => Known::Nothing,
        }
    }

    /// A row was written.
    pub fn put(&mut self, key: Bytes, cell: Option<Cell>) {
        let key_bytes = key.len();
        let weight = |cell: &Option<Cell>| key_bytes + cell.as_ref().map_or(0, |cell| cell.value.len());
        self.bytes += weight(&cell);
        if let Some(old) = self.rows.insert(key, cell) {
            self.bytes -= weight(&old);
        }
    }

    /// Forgets everything if there are too many rows. `number` is that of the last group published, which holds it all.
    pub fn trim(&mut self, number: u64) {
        if self.rows.len() > RECENT_ROWS_MAX || self.bytes > RECENT_BYTES_MAX {
            self.clear(number);
        }
    }

    /// Forgets everything. `number` is that of the last group published, which holds it all.
    pub fn clear(&mut self, number: u64) {
        // Do not keep a large allocation for the few rows that may follow.
        self.rows = HashMap::new();
        self.bytes = 0;
        self.since = number;
    }
}

#[cfg(test)]
mod tests {
    use lazuli_engine::Version;

    use super::*;

    fn cell(version: u64) -> Option<Cell> {
        Some(Cell { version: Version(version), value: Bytes::from_static(b"v") })
    }

    fn seen(number: u64, version: u64) -> Seen {
        Seen { number, cell: cell(version) }
    }

    #[test]
    fn writes_take_precedence_over_earlier_reads() {
        let mut recent = Recent::default();
        assert_eq!(recent.look(b"k", None), Known::Nothing);
        assert_eq!(recent.look(b"k", Some(&seen(0, 1))), Known::State(cell(1)));
        recent.put(Bytes::from_static(b"k"), cell(2));
        assert_eq!(recent.look(b"k", Some(&seen(0, 1))), Known::State(cell(2)));
        recent.put(Bytes::from_static(b"k"), None);
        assert_eq!(recent.look(b"k", Some(&seen(0, 1))), Known::State(None));
    }

    #[test]
    fn reads_from_before_a_clear_do_not_count() {
        let mut recent = Recent::default();
        recent.put(Bytes::from_static(b"k"), cell(2));
        recent.clear(5);
        assert_eq!(recent.look(b"k", Some(&seen(4, 1))), Known::Nothing);
        assert_eq!(recent.look(b"k", Some(&seen(5, 2))), Known::State(cell(2)));
    }

    #[test]
    fn it_stays_small() {
        let mut recent = Recent::default();
        for key in 0..=RECENT_ROWS_MAX {
            recent.put(Bytes::from(key.to_string()), None);
            recent.trim(9);
        }
        assert!(recent.rows.is_empty());
        assert_eq!((recent.bytes, recent.since), (0, 9));
        for _ in 0..3 {
            recent.put(Bytes::from_static(b"k"), cell(1));
        }
        assert_eq!(recent.bytes, 2, "an overwritten row counts once");
    }
}
