//! Finds the content that rows refer to, for copies and checks of a whole engine.
//!
//! Invariant: all kinds of rows of the Blob service that can refer to content are known here. A row
//! of an unknown kind is an error, so that a copy never omits content.

use std::collections::HashMap;

use lazuli_engine::content::{Naming, See};
use lazuli_engine::{Result, RowView, TableId};
use lazuli_model::Service;

use super::{Holds, pieces_of};
use crate::keyspace;
use crate::record::{ContainerRecord, KeptRecord};

/// Finds the pieces of content that the rows of all services refer to. It must see every row of an engine,
/// those of the system table first.
pub fn naming() -> Box<dyn Naming> {
    Box::new(Names::default())
}

/// The tables of the containers seen so far. Memory use depends on the number of containers.
#[derive(Default)]
struct Names {
    tables: HashMap<TableId, Holds>,
}

impl Naming for Names {
    fn pieces(&mut self, table: TableId, row: RowView<'_>, see: &mut See<'_>) -> Result<()> {
        if table == TableId::SYSTEM {
            return self.learn(row);
        }
        // Rows of a deleted container refer to content that is being released.
        match self.tables.get(&table) {
            Some(holds) => pieces_of(*holds, row, see),
            None => Ok(()),
        }
    }
}

impl Names {
    /// Records the tables of a container.
    fn learn(&mut self, row: RowView<'_>) -> Result<()> {
        if keyspace::service_of(row.partition) != Some(Service::Blob) {
            return Ok(());
        }
        let record = if keyspace::name_of(row.row).is_some() {
            Some(ContainerRecord::decode(row.value)?)
        } else if keyspace::is_kept(row.row) {
            Some(KeptRecord::decode(row.value)?.record)
        } else {
            None
        };
        if let Some(record) = record {
            let ids = record.ids().collect::<Vec<_>>();
            self.tables.extend(ids.into_iter().zip(Holds::ALL));
        }
        Ok(())
    }
}
