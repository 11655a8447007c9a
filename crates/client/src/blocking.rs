//! The client for programs that do not wait asynchronously: the same operations, each of which returns when it is done.
//!
//! Not for use inside an asynchronous runtime, where waiting would hold up everything else; tokio panics there.
//!
//! ```
//! use lazuli_client::{Dynamic, blocking};
//!
//! let client = blocking::Client::new(lazuli_embedded::memory())?;
//! let people = client.create_table("People")?;
//! people.insert(&Dynamic::new("a", "1").with("Age", 30)?)?;
//! assert_eq!(people.get::<Dynamic>("a", "1")?.value.get::<i32>("Age")?, Some(30));
//!
//! // Whatever has no blocking twin: wait for the asynchronous one.
//! let mut batch = people.inner().partition("a")?.batch();
//! batch.insert(&Dynamic::new("a", "2"))?;
//! client.wait(batch.execute())?;
//! # Ok::<(), lazuli_client::Error>(())
//! ```

use std::future::Future;
use std::sync::Arc;

use tokio::runtime::Runtime;

use crate::entity::Entity;
use crate::error::{Error, Result};
use crate::service::TableService;
use crate::versioned::{ETag, Versioned};

/// A service for programs that wait.
#[derive(Clone)]
pub struct Client {
    service: TableService,
    runtime: Arc<Runtime>,
}

impl Client {
    /// Waits for the operations of a service, on a runtime of its own.
    pub fn new(service: TableService) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| Error::input(format!("no runtime can be started: {error}")))?;
        Ok(Self { service, runtime: Arc::new(runtime) })
    }

    /// The service that a connection string describes.
    pub fn from_connection_string(text: &str) -> Result<Self> {
        Self::new(TableService::from_connection_string(text)?)
    }

    /// The asynchronous service.
    pub fn inner(&self) -> &TableService {
        &self.service
    }

    /// Waits for any operation of the asynchronous service.
    pub fn wait<F: Future>(&self, operation: F) -> F::Output {
        self.runtime.block_on(operation)
    }

    /// A table, which need not exist.
    pub fn table(&self, name: &str) -> Result<Table> {
        Ok(Table { table: self.service.table(name)?, client: self.clone() })
    }

    /// Creates a table.
    pub fn create_table(&self, name: &str) -> Result<Table> {
        let table = self.wait(self.service.create_table(name))?;
        Ok(Table { table, client: self.clone() })
    }

    /// Deletes a table with all that is in it.
    pub fn delete_table(&self, name: &str) -> Result<()> {
        self.wait(self.service.delete_table(name))
    }

    /// The names of all tables, in order.
    pub fn table_names(&self) -> Result<Vec<String>> {
        self.wait(self.service.table_names())
    }
}

/// A table for programs that wait. See [`crate::Table`] for what each operation does.
#[derive(Clone)]
pub struct Table {
    table: crate::Table,
    client: Client,
}

impl Table {
    /// The asynchronous table.
    pub fn inner(&self) -> &crate::Table {
        &self.table
    }

    /// Waits for any operation of the asynchronous table.
    pub fn wait<F: Future>(&self, operation: F) -> F::Output {
        self.client.wait(operation)
    }

    /// See [`crate::Table::create_if_missing`].
    pub fn create_if_missing(&self) -> Result<bool> {
        self.wait(self.table.create_if_missing())
    }

    /// See [`crate::Table::delete`].
    pub fn delete(&self) -> Result<()> {
        self.wait(self.table.delete())
    }

    /// See [`crate::Table::get`].
    pub fn get<T: Entity>(&self, partition_key: &str, row_key: &str) -> Result<Versioned<T>> {
        self.wait(self.table.get(partition_key, row_key))
    }

    /// See [`crate::Table::try_get`].
    pub fn try_get<T: Entity>(&self, partition_key: &str, row_key: &str) -> Result<Option<Versioned<T>>> {
        self.wait(self.table.try_get(partition_key, row_key))
    }

    /// See [`crate::Table::insert`].
    pub fn insert<T: Entity>(&self, entity: &T) -> Result<ETag> {
        self.wait(self.table.insert(entity))
    }

    /// See [`crate::Table::update`].
    pub fn update<T: Entity>(&self, entity: &T) -> Result<ETag> {
        self.wait(self.table.update(entity))
    }

    /// See [`crate::Table::update_if`].
    pub fn update_if<T: Entity>(&self, entity: &T, etag: &ETag) -> Result<ETag> {
        self.wait(self.table.update_if(entity, etag))
    }

    /// See [`crate::Table::merge`].
    pub fn merge<T: Entity>(&self, entity: &T) -> Result<ETag> {
        self.wait(self.table.merge(entity))
    }

    /// See [`crate::Table::upsert`].
    pub fn upsert<T: Entity>(&self, entity: &T) -> Result<ETag> {
        self.wait(self.table.upsert(entity))
    }

    /// See [`crate::Table::upsert_merge`].
    pub fn upsert_merge<T: Entity>(&self, entity: &T) -> Result<ETag> {
        self.wait(self.table.upsert_merge(entity))
    }

    /// See [`crate::Table::delete_entity`].
    pub fn delete_entity(&self, partition_key: &str, row_key: &str) -> Result<()> {
        self.wait(self.table.delete_entity(partition_key, row_key))
    }

    /// See [`crate::Table::modify`].
    pub fn modify<T: Entity>(
        &self,
        partition_key: &str,
        row_key: &str,
        change: impl FnMut(&mut T) -> Result<()>,
    ) -> Result<Versioned<T>> {
        self.wait(self.table.modify(partition_key, row_key, change))
    }
}
