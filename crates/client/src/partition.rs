//! A partition of a table: entities that can be changed together.

use lazuli_model::Key;

use crate::batch::Batch;
use crate::entity::Entity;
use crate::error::Result;
use crate::table::Table;
use crate::versioned::{ETag, Versioned};

/// A partition of a table. Batches are created from it, so that all their entities are in one partition.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// use lazuli_client::Dynamic;
///
/// let sales = service.create_table("Employees").await?.partition("Sales")?;
/// let mut batch = sales.batch();
/// batch.insert(&Dynamic::new("Sales", "1").with("Name", "Jones")?)?;
/// batch.execute().await?;
/// assert_eq!(sales.get::<Dynamic>("1").await?.value.get::<String>("Name")?.as_deref(), Some("Jones"));
/// # Ok(()) })
/// ```
#[derive(Clone, Debug)]
pub struct Partition {
    table: Table,
    key: Key,
}

impl Partition {
    pub(crate) fn new(table: Table, key: Key) -> Self {
        Self { table, key }
    }

    /// The table.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let sales = service.create_table("Employees").await?.partition("Sales")?;
    /// // Other operations go through its table.
    /// sales.table().insert(&Dynamic::new("Sales", "1")).await?;
    /// assert_eq!(sales.table().name(), "Employees");
    /// # Ok(()) })
    /// ```
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The PartitionKey.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let sales = service.create_table("Employees").await?.partition("Sales")?;
    /// let mut batch = sales.batch();
    /// batch.insert(&Dynamic::new(sales.key(), "1"))?;
    /// batch.execute().await?;
    /// assert_eq!(sales.get::<Dynamic>("1").await?.value.partition_key, "Sales");
    /// # Ok(()) })
    /// ```
    pub fn key(&self) -> &str {
        self.key.as_str()
    }

    /// A batch of changes that are applied together or not at all.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let sales = service.create_table("Employees").await?.partition("Sales")?;
    /// let mut batch = sales.batch();
    /// batch.insert(&Dynamic::new("Sales", "1"))?.insert(&Dynamic::new("Sales", "2"))?;
    /// assert_eq!(batch.execute().await?.len(), 2);
    /// # Ok(()) })
    /// ```
    pub fn batch(&self) -> Batch {
        Batch::new(self.table.clone(), self.key.clone())
    }

    /// Reads an entity of the partition.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let sales = service.create_table("Employees").await?.partition("Sales")?;
    /// sales.table().insert(&Dynamic::new("Sales", "1").with("Age", 30)?).await?;
    /// assert_eq!(sales.get::<Dynamic>("1").await?.value.get("Age")?, Some(30));
    /// # Ok(()) })
    /// ```
    pub async fn get<T: Entity>(&self, row_key: impl Into<String>) -> Result<Versioned<T>> {
        self.table.get(self.key(), row_key).await
    }

    /// Reads an entity of the partition, if it exists.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let sales = service.create_table("Employees").await?.partition("Sales")?;
    /// sales.table().insert(&Dynamic::new("Marketing", "1")).await?;
    /// // An entity of another partition is not found.
    /// assert_eq!(sales.try_get::<Dynamic>("1").await?, None);
    /// # Ok(()) })
    /// ```
    pub async fn try_get<T: Entity>(&self, row_key: impl Into<String>) -> Result<Option<Versioned<T>>> {
        self.table.try_get(self.key(), row_key).await
    }

    /// Deletes an entity of the partition, which must exist.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let sales = service.create_table("Employees").await?.partition("Sales")?;
    /// sales.table().insert(&Dynamic::new("Sales", "1")).await?;
    /// sales.delete_entity("1").await?;
    /// assert_eq!(sales.try_get::<Dynamic>("1").await?, None);
    /// # Ok(()) })
    /// ```
    pub async fn delete_entity(&self, row_key: impl Into<String>) -> Result<()> {
        self.table.delete_entity(self.key(), row_key).await
    }

    /// Deletes an entity of the partition if it exists. Returns whether it was deleted.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let sales = service.create_table("Employees").await?.partition("Sales")?;
    /// assert!(!sales.delete_entity_if_exists("1").await?);
    /// # Ok(()) })
    /// ```
    pub async fn delete_entity_if_exists(&self, row_key: impl Into<String>) -> Result<bool> {
        self.table.delete_entity_if_exists(self.key(), row_key).await
    }

    /// Deletes an entity of the partition if it still has this version.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let sales = service.create_table("Employees").await?.partition("Sales")?;
    /// sales.table().insert(&Dynamic::new("Sales", "1")).await?;
    /// let read = sales.get::<Dynamic>("1").await?;
    /// sales.delete_entity_if("1", &read.etag).await?;
    /// assert!(sales.delete_entity_if("1", &read.etag).await.unwrap_err().is_not_found());
    /// # Ok(()) })
    /// ```
    pub async fn delete_entity_if(&self, row_key: impl Into<String>, etag: &ETag) -> Result<()> {
        self.table.delete_entity_if(self.key(), row_key, etag).await
    }

    /// Reads an entity, changes it, and writes it back; see [`Table::modify`].
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let sales = service.create_table("Employees").await?.partition("Sales")?;
    /// sales.table().insert(&Dynamic::new("Sales", "1").with("Age", 30)?).await?;
    /// let older = sales
    ///     .modify("1", |employee: &mut Dynamic| employee.set("Age", 31).map(|_| ()))
    ///     .await?;
    /// assert_eq!(older.value.get("Age")?, Some(31));
    /// # Ok(()) })
    /// ```
    pub async fn modify<T: Entity>(
        &self,
        row_key: impl Into<String>,
        change: impl FnMut(&mut T) -> Result<()>,
    ) -> Result<Versioned<T>> {
        self.table.modify(self.key(), row_key, change).await
    }
}
