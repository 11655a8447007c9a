//! The client for programs without async: the same operations, each of which blocks until it is done.
//!
//! Not for use inside an asynchronous runtime, where blocking would stall everything else; tokio panics there.
//!
//! ```
//! use lazuli_client::{Dynamic, blocking};
//!
//! let client = blocking::Client::new(lazuli_embedded::memory())?;
//! let people = client.create_table("People")?;
//! people.insert(&Dynamic::new("a", "1").with("Age", 30)?)?;
//! assert_eq!(people.get::<Dynamic>("a", "1")?.value.get::<i32>("Age")?, Some(30));
//!
//! // For operations without a blocking version, wait for the asynchronous one.
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

/// A service with blocking operations.
///
/// ```
/// use lazuli_client::blocking::Client;
///
/// let client = Client::new(lazuli_embedded::memory())?;
/// client.create_table("People")?;
/// // Clones share their runtime and can be sent to other threads.
/// let other = client.clone();
/// let names = std::thread::spawn(move || other.table_names()).join().expect("no panic")?;
/// assert_eq!(names, ["People"]);
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[derive(Clone)]
pub struct Client {
    service: TableService,
    runtime: Arc<Runtime>,
}

impl Client {
    /// Creates a blocking client for a service, with its own runtime.
    ///
    /// ```
    /// # use lazuli_client::{RetryOptions, TableService, blocking::Client};
    /// let service = TableService::builder(lazuli_embedded::account())
    ///     .transport(lazuli_embedded::Embedded::memory().expect("entropy is available"))
    ///     .retry(RetryOptions::none())
    ///     .build()?;
    /// assert!(Client::new(service)?.table_names()?.is_empty());
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn new(service: TableService) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| Error::input(format!("cannot start a runtime: {error}")))?;
        Ok(Self { service, runtime: Arc::new(runtime) })
    }

    /// The service that a connection string describes.
    ///
    /// ```
    /// # use lazuli_client::blocking::Client;
    /// let client = Client::from_connection_string("UseDevelopmentStorage=true")?;
    /// assert_eq!(client.inner().endpoint().authority(), "127.0.0.1:10002");
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn from_connection_string(text: &str) -> Result<Self> {
        Self::new(TableService::from_connection_string(text)?)
    }

    /// The asynchronous service.
    ///
    /// ```
    /// # use lazuli_client::blocking::Client;
    /// let client = Client::new(lazuli_embedded::memory())?;
    /// client.create_table("People")?;
    /// let named = client.wait(client.inner().table_names_with_prefix("Peo"))?;
    /// assert_eq!(named, ["People"]);
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn inner(&self) -> &TableService {
        &self.service
    }

    /// Blocks until any operation of the asynchronous service is done.
    ///
    /// ```
    /// # use lazuli_client::{Dynamic, blocking::Client};
    /// let client = Client::new(lazuli_embedded::memory())?;
    /// let people = client.create_table("People")?;
    /// let rows = client.wait(people.inner().query::<Dynamic>().collect())?;
    /// assert!(rows.is_empty());
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn wait<F: Future>(&self, operation: F) -> F::Output {
        self.runtime.block_on(operation)
    }

    /// A handle for a table, which need not exist.
    ///
    /// ```
    /// # use lazuli_client::{Dynamic, blocking::Client};
    /// let client = Client::new(lazuli_embedded::memory())?;
    /// let people = client.table("People")?;
    /// // Creating the handle sends nothing; the missing table is noticed now.
    /// assert!(people.insert(&Dynamic::new("a", "1")).unwrap_err().is_not_found());
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn table(&self, name: &str) -> Result<Table> {
        Ok(Table { table: self.service.table(name)?, client: self.clone() })
    }

    /// Creates a table.
    ///
    /// ```
    /// # use lazuli_client::{Dynamic, blocking::Client};
    /// let client = Client::new(lazuli_embedded::memory())?;
    /// client.create_table("People")?.insert(&Dynamic::new("a", "1"))?;
    /// assert!(client.create_table("People").is_err_and(|error| error.is_conflict()));
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn create_table(&self, name: &str) -> Result<Table> {
        let table = self.wait(self.service.create_table(name))?;
        Ok(Table { table, client: self.clone() })
    }

    /// Deletes a table and its contents.
    ///
    /// ```
    /// # use lazuli_client::blocking::Client;
    /// let client = Client::new(lazuli_embedded::memory())?;
    /// client.create_table("People")?;
    /// client.delete_table("People")?;
    /// assert!(client.table_names()?.is_empty());
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn delete_table(&self, name: &str) -> Result<()> {
        self.wait(self.service.delete_table(name))
    }

    /// The names of all tables, sorted.
    ///
    /// ```
    /// # use lazuli_client::blocking::Client;
    /// let client = Client::new(lazuli_embedded::memory())?;
    /// client.create_table("People")?;
    /// client.create_table("Orders")?;
    /// assert_eq!(client.table_names()?, ["Orders", "People"]);
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn table_names(&self) -> Result<Vec<String>> {
        self.wait(self.service.table_names())
    }
}

/// A table with blocking operations. See [`crate::Table`] for their descriptions.
///
/// ```
/// use lazuli_client::{Entity, blocking::Client};
///
/// #[derive(Entity)]
/// struct Person {
///     #[table(partition_key)] city: String,
///     #[table(row_key)] name: String,
///     age: i32,
/// }
///
/// let people = Client::new(lazuli_embedded::memory())?.create_table("People")?;
/// people.upsert(&Person { city: "Delft".into(), name: "Jan".into(), age: 35 })?;
/// assert_eq!(people.get::<Person>("Delft", "Jan")?.value.age, 35);
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[derive(Clone)]
pub struct Table {
    table: crate::Table,
    client: Client,
}

impl Table {
    /// The asynchronous table.
    ///
    /// ```
    /// # use lazuli_client::{Dynamic, blocking::Client};
    /// let people = Client::new(lazuli_embedded::memory())?.create_table("People")?;
    /// people.insert(&Dynamic::new("a", "1"))?;
    /// let mut batch = people.inner().partition("a")?.batch();
    /// batch.delete("1")?;
    /// people.wait(batch.execute())?;
    /// assert_eq!(people.try_get::<Dynamic>("a", "1")?, None);
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn inner(&self) -> &crate::Table {
        &self.table
    }

    /// Blocks until any operation of the asynchronous table is done.
    ///
    /// ```
    /// # use lazuli_client::{Dynamic, blocking::Client, partition_key};
    /// let people = Client::new(lazuli_embedded::memory())?.create_table("People")?;
    /// people.insert(&Dynamic::new("a", "1"))?;
    /// people.insert(&Dynamic::new("b", "1"))?;
    /// let query = people.inner().query::<Dynamic>().filter(partition_key().eq("b"));
    /// assert_eq!(people.wait(query.collect())?.len(), 1);
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn wait<F: Future>(&self, operation: F) -> F::Output {
        self.client.wait(operation)
    }

    /// See [`crate::Table::create_if_missing`].
    ///
    /// ```
    /// # use lazuli_client::blocking::Client;
    /// let people = Client::new(lazuli_embedded::memory())?.table("People")?;
    /// assert!(people.create_if_missing()?);
    /// assert!(!people.create_if_missing()?);
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn create_if_missing(&self) -> Result<bool> {
        self.wait(self.table.create_if_missing())
    }

    /// See [`crate::Table::delete`].
    ///
    /// ```
    /// # use lazuli_client::blocking::Client;
    /// let client = Client::new(lazuli_embedded::memory())?;
    /// client.create_table("People")?.delete()?;
    /// assert!(client.table_names()?.is_empty());
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn delete(&self) -> Result<()> {
        self.wait(self.table.delete())
    }

    /// See [`crate::Table::get`].
    ///
    /// ```
    /// # use lazuli_client::{Dynamic, blocking::Client};
    /// let people = Client::new(lazuli_embedded::memory())?.create_table("People")?;
    /// people.insert(&Dynamic::new("a", "1").with("Age", 30)?)?;
    /// assert_eq!(people.get::<Dynamic>("a", "1")?.value.get("Age")?, Some(30));
    /// assert!(people.get::<Dynamic>("a", "2").is_err_and(|error| error.is_not_found()));
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn get<T: Entity>(&self, partition_key: &str, row_key: &str) -> Result<Versioned<T>> {
        self.wait(self.table.get(partition_key, row_key))
    }

    /// See [`crate::Table::try_get`].
    ///
    /// ```
    /// # use lazuli_client::{Dynamic, blocking::Client};
    /// let people = Client::new(lazuli_embedded::memory())?.create_table("People")?;
    /// assert!(people.try_get::<Dynamic>("a", "1")?.is_none());
    /// people.insert(&Dynamic::new("a", "1"))?;
    /// assert!(people.try_get::<Dynamic>("a", "1")?.is_some());
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn try_get<T: Entity>(&self, partition_key: &str, row_key: &str) -> Result<Option<Versioned<T>>> {
        self.wait(self.table.try_get(partition_key, row_key))
    }

    /// See [`crate::Table::insert`].
    ///
    /// ```
    /// # use lazuli_client::{Dynamic, blocking::Client};
    /// let people = Client::new(lazuli_embedded::memory())?.create_table("People")?;
    /// let version = people.insert(&Dynamic::new("a", "1"))?;
    /// assert_eq!(people.get::<Dynamic>("a", "1")?.etag, version);
    /// assert!(people.insert(&Dynamic::new("a", "1")).unwrap_err().is_conflict());
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn insert<T: Entity>(&self, entity: &T) -> Result<ETag> {
        self.wait(self.table.insert(entity))
    }

    /// See [`crate::Table::update`].
    ///
    /// ```
    /// # use lazuli_client::{Dynamic, blocking::Client};
    /// let people = Client::new(lazuli_embedded::memory())?.create_table("People")?;
    /// people.insert(&Dynamic::new("a", "1").with("Age", 30)?)?;
    /// people.update(&Dynamic::new("a", "1").with("Name", "Ann")?)?;
    /// // Properties that are not given are removed.
    /// assert_eq!(people.get::<Dynamic>("a", "1")?.value.get::<i32>("Age")?, None);
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn update<T: Entity>(&self, entity: &T) -> Result<ETag> {
        self.wait(self.table.update(entity))
    }

    /// See [`crate::Table::update_if`].
    ///
    /// ```
    /// # use lazuli_client::{Dynamic, blocking::Client};
    /// let people = Client::new(lazuli_embedded::memory())?.create_table("People")?;
    /// let first = people.insert(&Dynamic::new("a", "1"))?;
    /// people.update_if(&Dynamic::new("a", "1").with("Age", 30)?, &first)?;
    /// let late = people.update_if(&Dynamic::new("a", "1").with("Age", 31)?, &first).unwrap_err();
    /// assert!(late.is_precondition_failed());
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn update_if<T: Entity>(&self, entity: &T, etag: &ETag) -> Result<ETag> {
        self.wait(self.table.update_if(entity, etag))
    }

    /// See [`crate::Table::merge`].
    ///
    /// ```
    /// # use lazuli_client::{Dynamic, blocking::Client};
    /// let people = Client::new(lazuli_embedded::memory())?.create_table("People")?;
    /// people.insert(&Dynamic::new("a", "1").with("Age", 30)?)?;
    /// people.merge(&Dynamic::new("a", "1").with("Name", "Ann")?)?;
    /// // Properties that are not given are preserved.
    /// assert_eq!(people.get::<Dynamic>("a", "1")?.value.get("Age")?, Some(30));
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn merge<T: Entity>(&self, entity: &T) -> Result<ETag> {
        self.wait(self.table.merge(entity))
    }

    /// See [`crate::Table::upsert`].
    ///
    /// ```
    /// # use lazuli_client::{Dynamic, blocking::Client};
    /// let people = Client::new(lazuli_embedded::memory())?.create_table("People")?;
    /// for age in [30, 31] {
    ///     people.upsert(&Dynamic::new("a", "1").with("Age", age)?)?;
    /// }
    /// assert_eq!(people.get::<Dynamic>("a", "1")?.value.get("Age")?, Some(31));
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn upsert<T: Entity>(&self, entity: &T) -> Result<ETag> {
        self.wait(self.table.upsert(entity))
    }

    /// See [`crate::Table::upsert_merge`].
    ///
    /// ```
    /// # use lazuli_client::{Dynamic, blocking::Client};
    /// let people = Client::new(lazuli_embedded::memory())?.create_table("People")?;
    /// people.upsert_merge(&Dynamic::new("a", "1").with("Age", 30)?)?;
    /// people.upsert_merge(&Dynamic::new("a", "1").with("Name", "Ann")?)?;
    /// assert_eq!(people.get::<Dynamic>("a", "1")?.value.props.len(), 2);
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn upsert_merge<T: Entity>(&self, entity: &T) -> Result<ETag> {
        self.wait(self.table.upsert_merge(entity))
    }

    /// See [`crate::Table::delete_entity`].
    ///
    /// ```
    /// # use lazuli_client::{Dynamic, blocking::Client};
    /// let people = Client::new(lazuli_embedded::memory())?.create_table("People")?;
    /// people.insert(&Dynamic::new("a", "1"))?;
    /// people.delete_entity("a", "1")?;
    /// assert!(people.delete_entity("a", "1").unwrap_err().is_not_found());
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn delete_entity(&self, partition_key: &str, row_key: &str) -> Result<()> {
        self.wait(self.table.delete_entity(partition_key, row_key))
    }

    /// See [`crate::Table::delete_entity_if_exists`].
    ///
    /// ```
    /// # use lazuli_client::{Dynamic, blocking::Client};
    /// let people = Client::new(lazuli_embedded::memory())?.create_table("People")?;
    /// assert!(!people.delete_entity_if_exists("a", "1")?);
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn delete_entity_if_exists(&self, partition_key: &str, row_key: &str) -> Result<bool> {
        self.wait(self.table.delete_entity_if_exists(partition_key, row_key))
    }

    /// See [`crate::Table::modify`].
    ///
    /// ```
    /// # use lazuli_client::{Dynamic, blocking::Client};
    /// let people = Client::new(lazuli_embedded::memory())?.create_table("People")?;
    /// people.insert(&Dynamic::new("a", "1").with("Age", 30)?)?;
    /// let older = people.modify("a", "1", |person: &mut Dynamic| {
    ///     let age = person.get::<i32>("Age")?.unwrap_or(0);
    ///     person.set("Age", age + 1).map(|_| ())
    /// })?;
    /// assert_eq!(older.value.get("Age")?, Some(31));
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn modify<T: Entity>(
        &self,
        partition_key: &str,
        row_key: &str,
        change: impl FnMut(&mut T) -> Result<()>,
    ) -> Result<Versioned<T>> {
        self.wait(self.table.modify(partition_key, row_key, change))
    }
}
