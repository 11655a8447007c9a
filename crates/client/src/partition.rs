//! A partition of a table: entities that can be changed together.

use lazuli_model::Key;

use crate::batch::Batch;
use crate::entity::Entity;
use crate::error::Result;
use crate::table::Table;
use crate::versioned::{ETag, Versioned};

/// A partition of a table. Batches are made from it, so that all their entities are of one partition.
#[derive(Clone)]
pub struct Partition {
    table: Table,
    key: Key,
}

impl Partition {
    pub(crate) fn new(table: Table, key: Key) -> Self {
        Self { table, key }
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The PartitionKey.
    pub fn key(&self) -> &str {
        self.key.as_str()
    }

    /// Changes that are made together or not at all.
    pub fn batch(&self) -> Batch {
        Batch::new(self.table.clone(), self.key.clone())
    }

    /// Reads an entity of the partition.
    pub async fn get<T: Entity>(&self, row_key: impl Into<String>) -> Result<Versioned<T>> {
        self.table.get(self.key(), row_key).await
    }

    /// Reads an entity of the partition, if it is there.
    pub async fn try_get<T: Entity>(&self, row_key: impl Into<String>) -> Result<Option<Versioned<T>>> {
        self.table.try_get(self.key(), row_key).await
    }

    /// Deletes an entity of the partition, which must be there.
    pub async fn delete_entity(&self, row_key: impl Into<String>) -> Result<()> {
        self.table.delete_entity(self.key(), row_key).await
    }

    /// Deletes an entity of the partition if it still has this version.
    pub async fn delete_entity_if(&self, row_key: impl Into<String>, etag: &ETag) -> Result<()> {
        self.table.delete_entity_if(self.key(), row_key, etag).await
    }

    /// Reads an entity, changes it, writes it back; see [`Table::modify`].
    pub async fn modify<T: Entity>(
        &self,
        row_key: impl Into<String>,
        change: impl FnMut(&mut T) -> Result<()>,
    ) -> Result<Versioned<T>> {
        self.table.modify(self.key(), row_key, change).await
    }
}
