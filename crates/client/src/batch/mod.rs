//! Entity group transactions: changes of one partition that are applied atomically.
//!
//! Limits are checked when a change is added: same partition, no entity twice, number and size of changes.

mod wire;

use std::collections::HashSet;
use std::fmt;

use lazuli_model::table::limits::{BATCH_OPERATIONS_MAX, BODY_BYTES_MAX};
use lazuli_model::{ErrorCode, Failure, Key};
use lazuli_protocol::table::batch::send;
use lazuli_protocol::table::batch::send::OutgoingOperation;

use crate::entity::Entity;
use crate::error::{Error, Result};
use crate::table::Table;
use crate::versioned::ETag;
use crate::write::{Change, ChangeKind, WriteMode, WriteOptions, entity_path, key};
use wire::{boundary_id, call, tags};
pub(crate) use wire::{error_body, query};

/// Maximum overhead of one operation in addition to its URL and body: headers and boundaries.
const ENVELOPE_BYTES: usize = 512;

/// Changes that are applied together or not at all, in the order in which they were added.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// # use lazuli_client::Dynamic;
/// let sales = service.create_table("Employees").await?.partition("Sales")?;
/// let mut batch = sales.batch();
/// batch.insert(&Dynamic::new("Sales", "empid_1").with("Name", "Jones")?)?;
/// batch.insert(&Dynamic::new("Sales", "email_jones").with("Name", "Jones")?)?;
/// let etags = batch.execute().await?;
/// assert_eq!(etags.len(), 2);
///
/// // An entity of another partition cannot be added.
/// assert!(sales.batch().insert(&Dynamic::new("Marketing", "x")).is_err());
/// # Ok(()) })
/// ```
#[derive(Clone)]
#[must_use = "a batch does nothing until it is executed"]
pub struct Batch {
    table: Table,
    partition: Key,
    changes: Vec<Change>,
    rows: HashSet<Key>,
    bytes: usize,
    /// May an earlier request with the same changes have been applied?
    uncertain: bool,
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, partition, .. } = self;
        f.debug_struct("Batch")
            .field("table", table)
            .field("partition", partition)
            .field("len", &self.len())
            .finish()
    }
}

impl Batch {
    pub(crate) fn new(table: Table, partition: Key) -> Self {
        Self {
            table,
            partition,
            changes: Vec::new(),
            rows: HashSet::new(),
            bytes: ENVELOPE_BYTES,
            uncertain: false,
        }
    }

    /// Marks the batch as possibly applied by an earlier request.
    pub(crate) fn after(mut self, uncertain: bool) -> Self {
        self.uncertain = uncertain;
        self
    }

    /// Number of changes.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let mut batch = service.table("Orders")?.partition("2024")?.batch();
    /// batch.insert(&Dynamic::new("2024", "1"))?.insert(&Dynamic::new("2024", "2"))?;
    /// assert_eq!(batch.len(), 2);
    /// # Ok(()) })
    /// ```
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Does it have no changes?
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let mut batch = service.table("Orders")?.partition("2024")?.batch();
    /// assert!(batch.is_empty());
    /// // A rejected change is not added.
    /// assert!(batch.insert(&Dynamic::new("2023", "1")).is_err());
    /// assert!(batch.is_empty());
    /// # Ok(()) })
    /// ```
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Approximate size of its request in bytes.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let mut batch = service.table("Notes")?.partition("p")?.batch();
    /// batch.insert(&Dynamic::new("p", "1").with("Text", "€".repeat(30_000))?)?;
    /// // Sizes count as sent: 46 such notes fill the four megabytes of a request before there are 100 of them.
    /// assert!((90_000..91_500).contains(&batch.bytes()), "{}", batch.bytes());
    /// # Ok(()) })
    /// ```
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Inserts an entity, which must not exist.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let orders = service.create_table("Orders").await?;
    /// orders.insert(&Dynamic::new("2024", "2")).await?;
    /// let mut batch = orders.partition("2024")?.batch();
    /// batch.insert(&Dynamic::new("2024", "1"))?.insert(&Dynamic::new("2024", "2"))?;
    /// // The second one exists, so the first is not inserted either.
    /// assert_eq!(batch.execute().await.unwrap_err().batch_index(), Some(1));
    /// assert_eq!(orders.try_get::<Dynamic>("2024", "1").await?, None);
    /// # Ok(()) })
    /// ```
    pub fn insert<T: Entity>(&mut self, entity: &T) -> Result<&mut Self> {
        self.write(entity, WriteMode::Insert)
    }

    /// Replaces an entity, which must exist, regardless of its version.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let orders = service.create_table("Orders").await?;
    /// orders.insert(&Dynamic::new("2024", "1").with("Note", "soon")?).await?;
    /// let mut batch = orders.partition("2024")?.batch();
    /// batch.update(&Dynamic::new("2024", "1").with("Total", 12)?)?;
    /// batch.execute().await?;
    /// assert_eq!(orders.get::<Dynamic>("2024", "1").await?.value.get::<String>("Note")?, None);
    /// # Ok(()) })
    /// ```
    pub fn update<T: Entity>(&mut self, entity: &T) -> Result<&mut Self> {
        self.write(entity, WriteMode::Replace)
    }

    /// Replaces an entity if it still has this version.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let orders = service.create_table("Orders").await?;
    /// let first = orders.insert(&Dynamic::new("2024", "1")).await?;
    /// orders.update(&Dynamic::new("2024", "1").with("Total", 11)?).await?;
    /// let mut batch = orders.partition("2024")?.batch();
    /// batch.insert(&Dynamic::new("2024", "2"))?.update_if(&Dynamic::new("2024", "1").with("Total", 12)?, &first)?;
    /// let late = batch.execute().await.unwrap_err();
    /// assert!(late.is_precondition_failed() && late.batch_index() == Some(1));
    /// # Ok(()) })
    /// ```
    pub fn update_if<T: Entity>(&mut self, entity: &T, etag: &ETag) -> Result<&mut Self> {
        self.write(entity, WriteOptions { mode: WriteMode::Replace, if_match: Some(etag.clone()) })
    }

    /// Changes the given properties of an entity, which must exist.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let orders = service.create_table("Orders").await?;
    /// orders.insert(&Dynamic::new("2024", "1").with("Note", "soon")?).await?;
    /// let mut batch = orders.partition("2024")?.batch();
    /// batch.merge(&Dynamic::new("2024", "1").with("Total", 12)?)?;
    /// batch.execute().await?;
    /// assert_eq!(orders.get::<Dynamic>("2024", "1").await?.value.get::<String>("Note")?.as_deref(), Some("soon"));
    /// # Ok(()) })
    /// ```
    pub fn merge<T: Entity>(&mut self, entity: &T) -> Result<&mut Self> {
        self.write(entity, WriteMode::Merge)
    }

    /// Like [`Batch::merge`], if the entity still has this version.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let stock = service.create_table("Stock").await?;
    /// let version = stock.insert(&Dynamic::new("Delft", "lamps").with("Count", 7)?).await?;
    /// let mut batch = stock.partition("Delft")?.batch();
    /// // The counter and the log entry: both are written, or neither if another client was faster.
    /// batch.merge_if(&Dynamic::new("Delft", "lamps").with("Count", 6)?, &version)?;
    /// batch.insert(&Dynamic::new("Delft", "sale-1").with("Lamps", 1)?)?;
    /// assert_eq!(batch.execute().await?.len(), 2);
    /// # Ok(()) })
    /// ```
    pub fn merge_if<T: Entity>(&mut self, entity: &T, etag: &ETag) -> Result<&mut Self> {
        self.write(entity, WriteOptions { mode: WriteMode::Merge, if_match: Some(etag.clone()) })
    }

    /// Inserts or replaces an entity.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let orders = service.create_table("Orders").await?.partition("2024")?;
    /// // Executing the same batch twice has the same result as once.
    /// for _ in 0..2 {
    ///     let mut batch = orders.batch();
    ///     batch.upsert(&Dynamic::new("2024", "1").with("Total", 10)?)?;
    ///     batch.execute().await?;
    /// }
    /// assert_eq!(orders.get::<Dynamic>("1").await?.value.get("Total")?, Some(10));
    /// # Ok(()) })
    /// ```
    pub fn upsert<T: Entity>(&mut self, entity: &T) -> Result<&mut Self> {
        self.write(entity, WriteMode::UpsertReplace)
    }

    /// Inserts an entity, or changes the given properties.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let orders = service.create_table("Orders").await?.partition("2024")?;
    /// for (name, value) in [("Total", 10), ("Items", 2)] {
    ///     let mut batch = orders.batch();
    ///     batch.upsert_merge(&Dynamic::new("2024", "1").with(name, value)?)?;
    ///     batch.execute().await?;
    /// }
    /// assert_eq!(orders.get::<Dynamic>("1").await?.value.props.len(), 2);
    /// # Ok(()) })
    /// ```
    pub fn upsert_merge<T: Entity>(&mut self, entity: &T) -> Result<&mut Self> {
        self.write(entity, WriteMode::UpsertMerge)
    }

    /// Writes an entity in any mode.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Dynamic, WriteMode};
    /// let orders = service.create_table("Orders").await?;
    /// let found = orders.try_get::<Dynamic>("2024", "1").await?;
    /// let mode = if found.is_some() { WriteMode::Merge } else { WriteMode::Insert };
    /// let mut batch = orders.partition("2024")?.batch();
    /// batch.write(&Dynamic::new("2024", "1"), mode)?;
    /// assert_eq!(batch.execute().await?.len(), 1);
    /// # Ok(()) })
    /// ```
    pub fn write<T: Entity>(&mut self, entity: &T, options: impl Into<WriteOptions>) -> Result<&mut Self> {
        self.push(Change::write(entity, &options.into())?)?;
        Ok(self)
    }

    /// Deletes an entity, which must exist, regardless of its version.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let orders = service.create_table("Orders").await?;
    /// orders.insert(&Dynamic::new("2024", "draft").with("Total", 10)?).await?;
    /// let mut batch = orders.partition("2024")?.batch();
    /// batch.delete("draft")?.insert(&Dynamic::new("2024", "1").with("Total", 10)?)?;
    /// // A deleted entity no longer has a version.
    /// assert!(matches!(batch.execute().await?[..], [None, Some(_)]));
    /// # Ok(()) })
    /// ```
    pub fn delete(&mut self, row_key: impl Into<String>) -> Result<&mut Self> {
        let key = key(self.partition.as_str(), row_key.into())?;
        self.push(Change::delete(key, None))?;
        Ok(self)
    }

    /// Deletes an entity if it still has this version.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let orders = service.create_table("Orders").await?.partition("2024")?;
    /// let version = orders.table().insert(&Dynamic::new("2024", "1")).await?;
    /// let mut batch = orders.batch();
    /// batch.delete_if("1", &version)?;
    /// batch.execute().await?;
    /// assert_eq!(orders.try_get::<Dynamic>("1").await?, None);
    /// # Ok(()) })
    /// ```
    pub fn delete_if(&mut self, row_key: impl Into<String>, etag: &ETag) -> Result<&mut Self> {
        let key = key(self.partition.as_str(), row_key.into())?;
        self.push(Change::delete(key, Some(etag)))?;
        Ok(self)
    }

    /// Is it for this table and the partition of the change?
    pub(crate) fn is_for(&self, table: &Table, change: &Change) -> bool {
        self.partition == change.key.partition && self.table.name().eq_ignore_ascii_case(table.name())
    }

    /// Does this change fit?
    pub(crate) fn has_room_for(&self, change: &Change) -> bool {
        self.changes.len() < BATCH_OPERATIONS_MAX && self.bytes + self.cost(change) <= BODY_BYTES_MAX
    }

    pub(crate) fn has_row(&self, change: &Change) -> bool {
        self.rows.contains(&change.key.row)
    }

    fn cost(&self, change: &Change) -> usize {
        let url = self.table.service().endpoint().as_str().len()
            + entity_path(self.table.table_name(), &change.key).len();
        change.body.len() + url + ENVELOPE_BYTES
    }

    /// Adds a change. If the change is rejected, the batch is unchanged.
    pub(crate) fn push(&mut self, change: Change) -> Result<()> {
        if change.key.partition != self.partition {
            return Err(Failure::from(ErrorCode::CommandsInBatchActOnDifferentPartitions).into());
        }
        if !change.can_be_sent() {
            return Err(Error::input("the ETag is not valid in a header"));
        }
        if self.has_row(&change) {
            return Err(Failure::from(ErrorCode::InvalidDuplicateRow).into());
        }
        if self.changes.len() == BATCH_OPERATIONS_MAX {
            let text = format!("a batch can have at most {BATCH_OPERATIONS_MAX} changes");
            return Err(Failure::new(ErrorCode::InvalidInput, text).into());
        }
        if !self.has_room_for(&change) {
            let text = format!("a batch can have at most {BODY_BYTES_MAX} bytes");
            return Err(Failure::new(ErrorCode::RequestBodyTooLarge, text).into());
        }
        self.bytes += self.cost(&change);
        self.rows.insert(change.key.row.clone());
        self.changes.push(change);
        Ok(())
    }

    /// Applies all changes, or none. Returns the new version of each entity, `None` for deleted ones. An empty batch sends
    /// nothing.
    ///
    /// For an error of kind [`crate::ErrorKind::BatchOperation`], [`Error::batch_index`] is the change that failed;
    /// other kinds concern the batch as a whole (TX-25, ER-08).
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Applied, Dynamic, ErrorKind};
    /// let orders = service.create_table("Orders").await?.partition("2024")?;
    /// let mut batch = orders.batch();
    /// batch.insert(&Dynamic::new("2024", "1"))?.update(&Dynamic::new("2024", "2"))?;
    /// let rejected = batch.execute().await.unwrap_err();
    /// assert_eq!((rejected.kind(), rejected.batch_index()), (ErrorKind::BatchOperation, Some(1)));
    /// assert_eq!(rejected.applied(), Applied::No);
    /// assert!(rejected.to_string().ends_with("entity Orders(PartitionKey='2024',RowKey='2')"));
    /// assert!(orders.batch().execute().await?.is_empty());
    /// # Ok(()) })
    /// ```
    pub async fn execute(self) -> Result<Vec<Option<ETag>>> {
        if self.changes.is_empty() {
            return Ok(Vec::new());
        }
        let pipeline = &self.table.service().pipeline;
        let endpoint = self.table.service().endpoint();
        let operations: Vec<OutgoingOperation> =
            self.changes.iter().map(|change| change.inner(endpoint, self.table.table_name())).collect();
        let body = send::change_set(&operations, &boundary_id(&self.table));
        let is_delete: Vec<bool> =
            self.changes.iter().map(|change| change.kind == ChangeKind::Delete).collect();
        let sent = pipeline
            .send_batch(call(body).after(self.uncertain), |responses| tags(responses, &is_delete))
            .await;
        sent.map_err(|error| match error.batch_index().and_then(|index| self.changes.get(index)) {
            Some(change) => error.of_entity(entity_path(self.table.table_name(), &change.key)),
            None => error,
        })
    }
}
