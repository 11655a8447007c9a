//! Checks every row of an engine offline against the invariants of the services.
//!
//! Rows are passed in the order of a dump, the system table first, so every container is known before its rows
//! are read. Memory use depends on the number of containers, not on the number of rows.

use std::collections::{HashMap, HashSet};

use lazuli_engine::{Marks, RowView, TableId};
use lazuli_model::policy::POLICIES_MAX;
use lazuli_model::table::key::Key;
use lazuli_model::table::row::RowRef;
use lazuli_model::{Service, TableName};

use crate::accounts::is_account_name;
use crate::record::{AccountRecord, ContainerRecord, DroppedRecord, KeptRecord, decode_properties};
use crate::{blob, keyspace, queue};

/// Maximum number of findings that are listed. All are counted.
const EXAMPLES_MAX: usize = 100;

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Accounts stored in the engine.
    pub accounts: u64,
    /// Tables that clients see.
    pub tables: u64,
    /// Entities in them.
    pub entities: u64,
    /// Queues.
    pub queues: u64,
    /// Messages in them, including expired ones that are not removed yet.
    pub messages: u64,
    /// Blob containers.
    pub containers: u64,
    /// Blobs in them, without snapshots.
    pub blobs: u64,
    /// Rows of deleted containers, whose space will be reclaimed.
    pub pending: u64,
    /// Number of violations.
    pub findings: u64,
    /// Violations, up to a limit.
    pub examples: Vec<String>,
}

/// Checks rows.
pub struct Inspector {
    marks: Marks,
    /// The service of each table that is in use, and whether it is the first table of its container.
    live: HashMap<TableId, (Service, bool)>,
    dropped: HashSet<TableId>,
    strays: HashSet<TableId>,
    found: Findings,
}

impl Inspector {
    /// Checks an engine that has these marks.
    pub fn new(marks: Marks) -> Self {
        let (live, dropped, strays) = Default::default();
        Self { marks, live, dropped, strays, found: Findings::default() }
    }

    /// Checks the next row.
    pub fn see(&mut self, table: TableId, row: RowView<'_>) {
        if row.version > self.marks.last_version {
            self.find(format!("{}: its version is higher than the last one assigned", name(table, row)));
        }
        let result = if table == TableId::SYSTEM { self.record(row) } else { self.row(table, row) };
        if let Err(what) = result {
            self.find(format!("{}: {what}", name(table, row)));
        }
    }

    /// Ends the check after the last row.
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
                known(is_account_name(row.row), "its key is not a valid account name")
            }
            keyspace::PROPERTIES => decode_properties(row.value).map(drop).map_err(|e| e.to_string()),
            partition => match keyspace::service_of(partition) {
                Some(service) => self.container(service, row),
                None => Err("a record of unknown kind".into()),
            },
        }
    }

    fn container(&mut self, service: Service, row: RowView<'_>) -> Result<(), String> {
        if let Some(folded) = keyspace::name_of(row.row) {
            let record = ContainerRecord::decode(row.value).map_err(|e| e.to_string())?;
            return self.live(service, folded, &record);
        }
        if keyspace::is_kept(row.row) {
            let kept = KeptRecord::decode(row.value).map_err(|e| e.to_string())?;
            let row_fits = row.row == keyspace::kept(&kept.record.name, kept.record.id);
            let (folded, record) = (kept.record.name.clone(), kept.record);
            self.live(service, &folded, &record)?;
            return known(row_fits, "its id does not match its key");
        }
        if row.row == keyspace::CLOSED {
            return known(row.value.is_empty(), "a record of unknown kind");
        }
        let record = DroppedRecord::decode(row.value).map_err(|e| e.to_string())?;
        if keyspace::is_dropped(row.row) {
            self.dropped.extend(record.ids());
            return known(row.row == keyspace::dropped(record.id), "its id does not match its key");
        }
        known(row.row.starts_with(keyspace::blocked("").as_str()), "a record of unknown kind")
    }

    fn live(&mut self, service: Service, folded: &str, record: &ContainerRecord) -> Result<(), String> {
        *match service {
            Service::Blob => &mut self.found.containers,
            Service::Queue => &mut self.found.queues,
            Service::Table => &mut self.found.tables,
        } += 1;
        // Even if the record violates a rule, its rows are reachable.
        let mut is_new = true;
        for (index, id) in record.ids().enumerate() {
            is_new &= self.live.insert(id, (service, index == 0)).is_none();
        }
        known(fits(service, folded, &record.name), "its name does not match its key")?;
        known(record.policies.len() <= POLICIES_MAX, "it has too many policies")?;
        known(record.ids().all(|id| id <= self.marks.last_table), "its id was never assigned")?;
        known(!record.ids().any(|id| self.dropped.contains(&id)), "it is both live and deleted")?;
        known(is_new, "two tables have one id")
    }

    fn row(&mut self, table: TableId, row: RowView<'_>) -> Result<(), String> {
        if self.dropped.contains(&table) {
            self.found.pending += 1;
            return Ok(());
        }
        match self.live.get(&table) {
            // Reported once for a table, not for each of its rows.
            None => known(
                !self.strays.insert(table),
                "no table, queue or container has this table id; the rows are unreachable",
            ),
            Some((Service::Table, _)) => self.entity(row),
            Some((Service::Queue, _)) => self.queue_row(row),
            Some((Service::Blob, true)) => self.blob_row(row),
            Some((Service::Blob, false)) => Ok(()),
        }
    }

    fn queue_row(&mut self, row: RowView<'_>) -> Result<(), String> {
        self.found.messages += queue::check_row(row)?;
        Ok(())
    }

    fn blob_row(&mut self, row: RowView<'_>) -> Result<(), String> {
        self.found.blobs += blob::check_row(row)?;
        Ok(())
    }

    fn entity(&mut self, row: RowView<'_>) -> Result<(), String> {
        self.found.entities += 1;
        for key in [row.partition, row.row] {
            Key::new(key).map_err(|_| "its key is not valid for clients")?;
        }
        let packed = RowRef::new(row.value).map_err(|e| e.to_string())?;
        for property in packed.iter() {
            property.map_err(|e| e.to_string())?;
        }
        Ok(())
    }
}

/// Does the name match the key of its record?
fn fits(service: Service, folded: &str, name: &str) -> bool {
    match service {
        // The service's own tables have names that a client cannot use.
        Service::Table => {
            let name = TableName::new(name).ok().or_else(|| TableName::of_metrics(name));
            name.is_some_and(|name| name.folded() == folded)
        }
        Service::Blob | Service::Queue => name == folded,
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
