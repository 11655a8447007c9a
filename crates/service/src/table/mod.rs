//! The Table service: the operations on tables and their entities.

mod analytics;
mod merge;
mod partition;
mod read;
mod tables;
mod window;
mod write;

use std::sync::Arc;
use std::time::Duration;

use lazuli_engine::Row;
use lazuli_model::table::operation::StoredEntity;
use lazuli_model::table::{Operation, Outcome};
use lazuli_model::{DateTime, ErrorCode, PackedRow, TableName};

pub use analytics::MetricsRow;
pub use partition::{PartitionUse, partition_of};

use crate::access::{Authorized, DetachedOperation};
use crate::catalog::{Live, Name};
use crate::heat::PartitionName;
use crate::{Error, Grant, Result, Services};

impl Services {
    /// Executes an operation of the Table service, if the grant permits it.
    pub async fn execute_table(&self, grant: &Grant, operation: Operation) -> Result<Outcome> {
        let authorized = Authorized::new(grant, operation)?;
        self.execute_table_within(authorized, self.options.query_time_max).await
    }

    /// Executes an operation with a shorter query time: after `query_time_max`, a query returns the rows found
    /// so far, with a continuation.
    pub fn execute_table_within(
        &self,
        authorized: Authorized<'_, Operation>,
        query_time_max: Duration,
    ) -> impl Future<Output = Result<Outcome>> {
        let (grant, operation) = authorized.into_parts();
        self.run_table(grant, operation, query_time_max)
    }

    /// Executes an operation in a separate task.
    pub async fn execute_table_detached(&self, detached: DetachedOperation<Operation>) -> Result<Outcome> {
        let (grant, operation) = detached.into_parts();
        self.run_table(&grant, operation, self.options.query_time_max).await
    }

    async fn run_table(
        &self,
        grant: &Grant,
        operation: Operation,
        query_time_max: Duration,
    ) -> Result<Outcome> {
        let time = query_time_max.min(self.options.query_time_max);
        let service = lazuli_model::Service::Table;
        // Box all operations except those on one entity: otherwise their futures would reserve space for the others.
        match operation {
            Operation::QueryTables(query) => Box::pin(self.query_tables(grant, query, time)).await,
            Operation::GetTable(name) => Box::pin(self.get_table(grant, &name)).await,
            Operation::CreateTable(name) => Box::pin(self.create_table(&grant.home, &name)).await,
            Operation::DeleteTable(name) => Box::pin(self.delete_table(&grant.home, &name)).await,
            Operation::GetEntity { table, key } => self.get_entity(grant, &table, &key).await,
            Operation::QueryEntities { table, query } => {
                Box::pin(self.query_entities(grant, &table, query, time)).await
            }
            Operation::Write { table, write } => self.write(&grant.home, &table, write).await,
            Operation::Batch { table, writes } => Box::pin(self.batch(&grant.home, &table, writes)).await,
            Operation::GetAcl(table) => Box::pin(self.get_acl(grant, &table)).await,
            Operation::SetAcl(table, policies) => Box::pin(self.set_acl(grant, &table, policies)).await,
            Operation::GetProperties => {
                Ok(Outcome::Properties(Box::pin(self.properties(service, &grant.home)).await?))
            }
            Operation::SetProperties(update) => {
                Box::pin(self.properties.update(service, &grant.home, *update)).await?;
                Ok(Outcome::PropertiesSet)
            }
            Operation::GetStats => Ok(Outcome::Stats),
        }
    }

    /// Does the table exist? A request with a bad body to a table that does not exist gets the error for the table.
    pub async fn has_table(&self, home: &str, table: &TableName) -> Result<bool> {
        Ok(self.catalog.find(name(home, &table.folded())).await?.is_some())
    }

    async fn find_table(&self, home: &str, table: &TableName) -> Result<Arc<Live>> {
        let found = self.catalog.find(name(home, &table.folded())).await?;
        Ok(found.ok_or(ErrorCode::TableNotFound)?)
    }

    /// Counts entities of a partition that were read or written.
    fn touch(&self, home: &str, table: &TableName, found: &Live, partition: &str, entities: u64) {
        let account = crate::keyspace::account_of(home);
        let name = PartitionName { account, table: table.as_str(), id: found.record.id, key: partition };
        self.usage.touch(&name, entities);
    }
}

/// The name of a table in the catalog.
fn name<'a>(home: &'a str, folded: &'a str) -> Name<'a> {
    Name { service: lazuli_model::Service::Table, home, folded }
}

/// A row of the engine as an entity.
fn stored(row: Row) -> Result<StoredEntity> {
    Ok(StoredEntity {
        timestamp: timestamp(row.version)?,
        partition: row.partition,
        row: row.row,
        properties: PackedRow::from_bytes(row.value)?,
    })
}

/// The Timestamp of a version.
fn timestamp(version: lazuli_engine::Version) -> Result<DateTime> {
    DateTime::from_ticks(version.0).ok_or_else(|| {
        Error::Engine(lazuli_engine::Error::Corrupt("a version is beyond the year 9999".into()))
    })
}
