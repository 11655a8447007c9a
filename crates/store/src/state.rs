//! The state that the store keeps from one run to the next, in addition to the rows: the last version, the last
//! table id.
//!
//! It is written with every group, so that neither ever decreases, regardless of the clock.

use bytes::Bytes;
use lazuli_engine::{Error, Result, TableId, Version};

use crate::cell;
use crate::keyspace::STATE_KEY;
use crate::view::View;

/// The state of the store besides its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// The version of the last commit.
    pub last_version: Version,
    /// The last table id assigned.
    pub last_table: TableId,
}

impl State {
    const NEW: State = State { last_version: Version(0), last_table: TableId::SYSTEM };

    /// Reads it; a store without one is new.
    pub fn load(view: &View) -> Result<Self> {
        let Some(cell) = view.cell(&STATE_KEY)? else { return Ok(Self::NEW) };
        Self::decode(&cell.value).ok_or_else(|| Error::Corrupt("the store's state is unreadable".into()))
    }

    /// Key and value to store.
    pub fn sealed(&self) -> (Bytes, Bytes) {
        let mut value = [0; 16];
        value[..8].copy_from_slice(&self.last_version.0.to_be_bytes());
        value[8..].copy_from_slice(&self.last_table.0.to_be_bytes());
        (Bytes::from_static(&STATE_KEY), cell::seal(&STATE_KEY, &value, self.last_version))
    }

    fn decode(value: &[u8]) -> Option<Self> {
        let (version, table) = value.split_first_chunk()?;
        let table = table.try_into().ok()?;
        Some(Self {
            last_version: Version(u64::from_be_bytes(*version)),
            last_table: TableId(u64::from_be_bytes(table)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_back() {
        let state = State { last_version: Version(1 << 60), last_table: TableId(77) };
        let (key, stored) = state.sealed();
        let cell = cell::open(&key, stored).unwrap();
        assert_eq!(State::decode(&cell.value), Some(state));
        assert_eq!(cell.version, state.last_version);
        assert_eq!(State::decode(&cell.value[1..]), None);
    }
}
