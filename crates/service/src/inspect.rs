//! Looks at every row of an engine and tells what cannot be: the service's own invariants, checked offline.
//!
//! Rows come in the order of a dump, the system's own table first, so that every table is known before its rows are seen.
//! Memory grows with the number of tables, not with that of rows.

use std::collections::HashSet;

use lazuli_engine::{Marks, RowView, TableId};
use lazuli_model::TableName;
use lazuli_model::key::Key;
use lazuli_model::policy::POLICIES_MAX;
use lazuli_model::row::RowRef;

use crate::accounts::is_account_name;
use crate::keyspace;
use crate::record::{AccountRecord, DroppedRecord, TableRecord, decode_properties};

/// Findings that are listed; all are counted.
const EXAMPLES_MAX: usize = 100;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Accounts that are kept in the engine.
    pub accounts: u64,
    /// Tables that clients see.
    pub tables: u64,
    /// Entities in them.
    pub entities: u64,
    /// Rows of deleted tables whose space will be given back.
    pub pending: u64,
    /// How much is wrong.
    pub findings: u64,
    /// What is wrong, up to a limit.
    pub examples: Vec<String>,
}

/// Looks at rows.
pub struct Inspector {
    marks: Marks,
    live: HashSet<TableId>,
    dropped: HashSet<TableId>,
    strays: HashSet<TableId>,
    found: Findings,
}

impl Inspector {
    /// An engine that remembers `marks` is to be looked at.
    pub fn new(marks: Marks) -> Self {
        let (live, dropped, strays) = Default::default();
        Self { marks, live, dropped, strays, found: Findings::default() }
    }

    /// Looks at the next row.
    pub fn see(&mut self, table: TableId, row: RowView<'_>) {
        if row.version > self.marks.last_version {
            self.find(format!("{}: its version is of the future", name(table, row)));
        }
        let result = if table == TableId::SYSTEM { self.record(row) } else { self.entity(table, row) };
        if let Err(what) = result {
            self.find(format!("{}: {what}", name(table, row)));
        }
    }

    /// Everything was seen.
    pub fn finish(self) -> Findings {
        self.found
    }

    fn find(&mut self, what: String) {
        self.found.findings += 1;
        if self.found.examples.len() < EXAMPLES_MAX {
            self.found.examples.push(what);
        }
    }

    fn record(&mut self, row: RowView<'_>) -> Result<(), String> {
        match row.partition {
            keyspace::ACCOUNTS => {
                self.found.accounts += 1;
                AccountRecord::decode(row.value).map_err(|e| e.to_string())?;
                known(is_account_name(row.row), "that is no name of an account")
            }
            keyspace::PROPERTIES => decode_properties(row.value).map(drop).map_err(|e| e.to_string()),
            partition => match partition.strip_prefix(keyspace::tables("").as_str()) {
                Some(_) => self.table(row),
                None => Err("a record of no known kind".into()),
            },
        }
    }

    fn table(&mut self, row: RowView<'_>) -> Result<(), String> {
        if let Some(folded) = keyspace::name_of(row.row) {
            let record = TableRecord::decode(row.value).map_err(|e| e.to_string())?;
            self.found.tables += 1;
            // Whatever is wrong with the record, its rows are in reach.
            let is_first = self.live.insert(record.id);
            // Those of the metrics have names that a client cannot give.
            let name = TableName::new(&record.name).ok().or_else(|| TableName::of_metrics(&record.name));
            known(name.is_some_and(|name| name.folded() == folded), "its name does not fit its key")?;
            known(record.policies.len() <= POLICIES_MAX, "it has too many policies")?;
            known(record.id <= self.marks.last_table, "its id was never given out")?;
            known(!self.dropped.contains(&record.id), "it is deleted and is not")?;
            return known(is_first, "two tables have one id");
        }
        let record = DroppedRecord::decode(row.value).map_err(|e| e.to_string())?;
        if keyspace::is_dropped(row.row) {
            self.dropped.insert(record.id);
            return known(row.row == keyspace::dropped(record.id), "its id does not fit its key");
        }
        known(row.row.starts_with(keyspace::blocked("").as_str()), "a record of no known kind")
    }

    fn entity(&mut self, table: TableId, row: RowView<'_>) -> Result<(), String> {
        if self.dropped.contains(&table) {
            self.found.pending += 1;
            return Ok(());
        }
        if !self.live.contains(&table) {
            // Told once for a table, not for each of its rows.
            return known(!self.strays.insert(table), "no table has this id: its rows are out of reach");
        }
        self.found.entities += 1;
        for key in [row.partition, row.row] {
            Key::new(key).map_err(|_| "its key is not one that a client can name")?;
        }
        let packed = RowRef::new(row.value).map_err(|e| e.to_string())?;
        for property in packed.iter() {
            property.map_err(|e| e.to_string())?;
        }
        Ok(())
    }
}

fn known(holds: bool, otherwise: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.into()) }
}

fn name(table: TableId, row: RowView<'_>) -> String {
    match table {
        TableId::SYSTEM => format!("record {:?} / {:?}", row.partition, row.row),
        TableId(id) => format!("table id {id}, entity {:?} / {:?}", row.partition, row.row),
    }
}
