//! Imported rows with their own versions, on their way to the committer.

use std::collections::HashMap;

use bytes::Bytes;
use lazuli_engine::adopt::{self, Unfit};
use lazuli_engine::limits::check_value;
use lazuli_engine::{Error, Result, Row, TableId, Version};

use crate::cell::{self, Cell};
use crate::commit::Changed;
use crate::keyspace;
use crate::limits::{COMMIT_INPUT_BYTES_MAX, KEY_BYTES_MAX, WRITE_BYTES};

/// Rows that are ready to be decided.
#[derive(Debug)]
pub struct Adoption {
    offers: Vec<Offer>,
    /// Bytes of their keys and values.
    pub bytes: usize,
}

/// One row.
#[derive(Debug)]
struct Offer {
    key: Bytes,
    stored: Bytes,
    cell: Cell,
}

impl Adoption {
    /// Makes rows ready.
    pub fn prepare(table: TableId, rows: Vec<Row>) -> Result<Self> {
        if table == TableId::SYSTEM {
            return Err(Error::Unavailable("rows cannot be imported into the system table".into()));
        }
        let mut adoption = Self { offers: Vec::with_capacity(rows.len()), bytes: 0 };
        for Row { partition, row, version, value } in rows {
            let key = keyspace::row_key(table, &partition, &row);
            if key.len() > KEY_BYTES_MAX {
                return Err(Error::TooLarge(format!(
                    "a key of {} bytes is too long; the maximum is {KEY_BYTES_MAX}",
                    key.len()
                )));
            }
            check_value(value.len())?;
            adoption.bytes += WRITE_BYTES + key.len() + value.len();
            if adoption.bytes > COMMIT_INPUT_BYTES_MAX {
                return Err(Error::TooLarge(format!("a commit of more than {COMMIT_INPUT_BYTES_MAX} bytes")));
            }
            let stored = cell::seal(&key, &value, version);
            adoption.offers.push(Offer { key: key.into(), stored, cell: Cell { version, value } });
        }
        Ok(adoption)
    }

    /// The resulting changes, without rows that exist already. `current` returns the state of a row before them.
    pub fn decide(
        self,
        latest: Version,
        current: impl Fn(&[u8]) -> Result<Option<Cell>>,
    ) -> Result<std::result::Result<Vec<Changed>, (usize, Unfit)>> {
        let mut decided: HashMap<Bytes, Cell> = HashMap::with_capacity(self.offers.len());
        let mut changes = Vec::with_capacity(self.offers.len());
        for (index, Offer { key, stored, cell }) in self.offers.into_iter().enumerate() {
            let before = match decided.get(&key) {
                Some(cell) => Some(cell.clone()),
                None => current(&key)?,
            };
            let before = before.as_ref().map(|cell| (cell.version, &cell.value));
            match adopt::judge(before, (cell.version, &cell.value), latest) {
                Ok(true) => {
                    decided.insert(key.clone(), cell.clone());
                    changes.push(Changed { key, state: Some((stored, cell)) });
                }
                Ok(false) => {}
                Err(reason) => return Ok(Err((index, reason))),
            }
        }
        Ok(Ok(changes))
    }
}
