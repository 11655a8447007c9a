//! Walks through a store and verifies all that it can.

use std::fmt;

use lazuli_engine::{Marks, RowView, TableId, Version, keycode};

use crate::cell;
use crate::keyspace::{self, Kind};
use crate::limits::CHECK_FINDINGS_MAX;
use crate::state::State;
use crate::view::View;

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Rows walked over, the service's own included.
    pub rows: u64,
    /// Bytes of their keys and values.
    pub bytes: u64,
    /// Tables that have rows, the service's own included.
    pub tables: u64,
    /// What the store remembers; none if that is not readable.
    pub marks: Option<Marks>,
    /// How much is wrong. Nothing of it is ever served.
    pub findings: u64,
    /// What is wrong, up to a limit.
    pub examples: Vec<String>,
}

impl Report {
    /// Walks through everything in `view`, and shows each row that is as it was written.
    pub(crate) fn of(view: &View, see: &mut dyn FnMut(TableId, RowView<'_>)) -> Self {
        let mut report = Self::default();
        match State::load(view) {
            Ok(State { last_version, last_table }) => report.marks = Some(Marks { last_version, last_table }),
            Err(e) => report.find(e.to_string()),
        }
        let mut last_key = vec![];
        let mut last_table: Option<TableId> = None;
        for item in view.everything() {
            let (key, stored) = match item {
                Ok(item) => item,
                Err(e) => {
                    report.find(format!("after the key {}: {e}", last_key.escape_ascii()));
                    // What lies beyond cannot be reached by this walk.
                    break;
                }
            };
            if !last_key.is_empty() && *key <= *last_key {
                report.find(format!("the key {} is not after the one before", key.escape_ascii()));
            }
            match (keyspace::kind(&key), cell::view(&key, &stored)) {
                (_, Err(e)) => report.find(e.to_string()),
                (Some(Kind::State), Ok(_)) => {}
                (Some(Kind::Row(table, encoded)), Ok((version, value))) => {
                    report.rows += 1;
                    report.bytes += (key.len() + stored.len()) as u64;
                    report.tables += u64::from(last_table != Some(table));
                    last_table = Some(table);
                    report.row(&key, version);
                    match keycode::decode_key(encoded) {
                        Ok((partition, row)) => {
                            see(table, RowView { partition: &partition, row: &row, version, value });
                        }
                        Err(_) => report.find(format!("the key {} is not readable", key.escape_ascii())),
                    }
                }
                (None, Ok(_)) => {
                    report.find(format!("the key {} is of no known kind", key.escape_ascii()));
                }
            }
            last_key = key.to_vec();
        }
        report
    }

    /// A version that was never given out could be given out again.
    fn row(&mut self, key: &[u8], version: Version) {
        if self.marks.is_some_and(|marks| version > marks.last_version) {
            self.find(format!("the row with the key {}: its version is of the future", key.escape_ascii()));
        }
    }

    /// Nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.findings == 0
    }

    fn find(&mut self, what: String) {
        self.findings += 1;
        if self.examples.len() < CHECK_FINDINGS_MAX {
            self.examples.push(what);
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows in {} tables, {} bytes: ", self.rows, self.tables, self.bytes)?;
        match self.findings {
            0 => f.write_str("all as written"),
            count => write!(f, "{count} findings"),
        }
    }
}
