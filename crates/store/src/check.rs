//! Reads a whole store and verifies everything that can be verified.

use std::fmt;

use lazuli_engine::{Marks, RowView, TableId, Version, keycode};

use crate::cell;
use crate::keyspace::{self, KeyKind};
use crate::limits::CHECK_FINDINGS_MAX;
use crate::state::State;
use crate::view::View;

/// The findings of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Rows read, including those of the service itself.
    pub rows: u64,
    /// Bytes of their keys and values.
    pub bytes: u64,
    /// Tables that have rows, including those of the service itself.
    pub tables: u64,
    /// The last version and table id; `None` if they are unreadable.
    pub marks: Option<Marks>,
    /// Number of problems. Damaged data is never served.
    pub findings: u64,
    /// Descriptions of the problems, up to a limit.
    pub examples: Vec<String>,
}

impl CheckReport {
    /// Reads everything in `view`, and passes each undamaged row on.
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
                    // This scan cannot go beyond the end.
                    break;
                }
            };
            if !last_key.is_empty() && *key <= *last_key {
                report.find(format!("the key {} is out of order", key.escape_ascii()));
            }
            match (keyspace::kind(&key), cell::view(&key, &stored)) {
                (_, Err(e)) => report.find(e.to_string()),
                (Some(KeyKind::State), Ok(_)) => {}
                (Some(KeyKind::Row(table, encoded)), Ok((version, value))) => {
                    report.rows += 1;
                    report.bytes += (key.len() + stored.len()) as u64;
                    report.tables += u64::from(last_table != Some(table));
                    last_table = Some(table);
                    report.row(&key, version);
                    match keycode::decode_key(encoded) {
                        Ok((partition, row)) => {
                            see(table, RowView { partition: &partition, row: &row, version, value });
                        }
                        Err(_) => report.find(format!("the key {} is unreadable", key.escape_ascii())),
                    }
                }
                (None, Ok(_)) => {
                    report.find(format!("the key {} has an unknown kind", key.escape_ascii()));
                }
            }
            last_key = key.to_vec();
        }
        report
    }

    /// A version above the last one assigned could be assigned a second time.
    fn row(&mut self, key: &[u8], version: Version) {
        if self.marks.is_some_and(|marks| version > marks.last_version) {
            self.find(format!(
                "the row with the key {}: its version is higher than the last one assigned",
                key.escape_ascii()
            ));
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

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows in {} tables, {} bytes: ", self.rows, self.tables, self.bytes)?;
        match self.findings {
            0 => f.write_str("no problems found"),
            count => write!(f, "{count} findings"),
        }
    }
}
