//! What operations do to the entities of a table.

mod merge;
mod read;
mod write;

use lazuli_engine::Row;
use lazuli_model::operation::Stored;
use lazuli_model::{DateTime, PackedRow, TableName};

use crate::catalog::Found;
use crate::heat::PartitionName;
use crate::{Error, Result, Service};

impl Service {
    /// Counts entities of a partition that were read or written.
    fn touch(&self, account: &str, table: &TableName, found: Found, partition: &str, entities: u64) {
        let name = PartitionName { account, table: table.as_str(), id: found.id, key: partition };
        self.figures.touch(&name, entities);
    }
}

/// A row of the engine as an entity.
fn stored(row: Row) -> Result<Stored> {
    Ok(Stored {
        timestamp: timestamp(row.version)?,
        partition: row.partition,
        row: row.row,
        properties: PackedRow::from_bytes(row.value)?,
    })
}

/// The Timestamp that a version stands for.
fn timestamp(version: lazuli_engine::Version) -> Result<DateTime> {
    DateTime::from_ticks(version.0).ok_or_else(|| {
        Error::Engine(lazuli_engine::Error::Corrupt("a version lies beyond the year 9999".into()))
    })
}
