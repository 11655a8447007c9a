//! Entity group transactions: changes of one partition that are made together or not at all.
//!
//! What a service would refuse is refused when it is added: another partition, an entity twice, too many, too large.

mod wire;

use std::collections::HashSet;
use std::fmt;

use lazuli_model::limits::{BATCH_OPERATIONS_MAX, BODY_BYTES_MAX};
use lazuli_model::{ErrorCode, Failure, Key};
use lazuli_protocol::batch::send::{self, Inner};

use crate::entity::Entity;
use crate::error::{Error, Result};
use crate::table::Table;
use crate::versioned::ETag;
use crate::write::{Change, ChangeKind, WriteMode, WriteOptions, entity_path, key};
use wire::{boundary_id, call, tags};
pub(crate) use wire::{query, refusal};

/// What the envelope of one operation takes at most, beside its URL and its body: headers and boundaries.
const ENVELOPE_BYTES: usize = 512;

/// Changes that are made together or not at all, in the order in which they were added.
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
/// // An entity of another partition cannot be part of it.
/// assert!(sales.batch().insert(&Dynamic::new("Marketing", "x")).is_err());
/// # Ok(()) })
/// ```
#[derive(Clone)]
#[must_use = "a batch does nothing before it is executed"]
pub struct Batch {
    table: Table,
    partition: Key,
    changes: Vec<Change>,
    rows: HashSet<Key>,
    bytes: usize,
    /// May an earlier request for the same have been carried out?
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

    /// The same, of which an earlier request may have been carried out.
    pub(crate) fn after(mut self, uncertain: bool) -> Self {
        self.uncertain = uncertain;
        self
    }

    /// How many changes it has.
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

    /// Has it no changes?
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let mut batch = service.table("Orders")?.partition("2024")?.batch();
    /// assert!(batch.is_empty());
    /// // A change that is refused is not part of it.
    /// assert!(batch.insert(&Dynamic::new("2023", "1")).is_err());
    /// assert!(batch.is_empty());
    /// # Ok(()) })
    /// ```
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// About how many bytes its request has.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let mut batch = service.table("Notes")?.partition("p")?.batch();
    /// batch.insert(&Dynamic::new("p", "1").with("Text", "€".repeat(30_000))?)?;
    /// // Counted as they are sent: 46 such notes fill the four megabytes of a request before there are 100 of them.
    /// assert!((90_000..91_500).contains(&batch.bytes()), "{}", batch.bytes());
    /// # Ok(()) })
    /// ```
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds an entity, which must not be there.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let orders = service.create_table("Orders").await?;
    /// orders.insert(&Dynamic::new("2024", "2")).await?;
    /// let mut batch = orders.partition("2024")?.batch();
    /// batch.insert(&Dynamic::new("2024", "1"))?.insert(&Dynamic::new("2024", "2"))?;
    /// // The second is there already, so the first is not inserted either.
    /// assert_eq!(batch.execute().await.unwrap_err().batch_index(), Some(1));
    /// assert_eq!(orders.try_get::<Dynamic>("2024", "1").await?, None);
    /// # Ok(()) })
    /// ```
    pub fn insert<T: Entity>(&mut self, entity: &T) -> Result<&mut Self> {
        self.write(entity, WriteMode::Insert)
    }

    /// Replaces an entity, which must be there, whatever its version.
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

    /// Changes the properties that are given of an entity that must be there.
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

    /// The same if it still has this version.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let stock = service.create_table("Stock").await?;
    /// let version = stock.insert(&Dynamic::new("Delft", "lamps").with("Count", 7)?).await?;
    /// let mut batch = stock.partition("Delft")?.batch();
    /// // The count and the record of the change: both, or neither if someone else was first.
    /// batch.merge_if(&Dynamic::new("Delft", "lamps").with("Count", 6)?, &version)?;
    /// batch.insert(&Dynamic::new("Delft", "sale-1").with("Lamps", 1)?)?;
    /// assert_eq!(batch.execute().await?.len(), 2);
    /// # Ok(()) })
    /// ```
    pub fn merge_if<T: Entity>(&mut self, entity: &T, etag: &ETag) -> Result<&mut Self> {
        self.write(entity, WriteOptions { mode: WriteMode::Merge, if_match: Some(etag.clone()) })
    }

    /// Adds or replaces an entity.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let orders = service.create_table("Orders").await?.partition("2024")?;
    /// // The same batch twice leaves what it leaves once.
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

    /// Adds an entity, or changes the properties that are given.
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

    /// Writes an entity, in any of the ways there are.
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

    /// Deletes an entity, which must be there, whatever its version.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let orders = service.create_table("Orders").await?;
    /// orders.insert(&Dynamic::new("2024", "draft").with("Total", 10)?).await?;
    /// let mut batch = orders.partition("2024")?.batch();
    /// batch.delete("draft")?.insert(&Dynamic::new("2024", "1").with("Total", 10)?)?;
    /// // What was deleted has no version any more.
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

    /// Is it for entities of this table and of the change's partition?
    pub(crate) fn is_for(&self, table: &Table, change: &Change) -> bool {
        self.partition == change.key.partition && self.table.name().eq_ignore_ascii_case(table.name())
    }

    /// Would this change fit in?
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

    /// Adds a change; a batch that refuses one stays as it was.
    pub(crate) fn push(&mut self, change: Change) -> Result<()> {
        if change.key.partition != self.partition {
            return Err(Failure::from(ErrorCode::CommandsInBatchActOnDifferentPartitions).into());
        }
        if !change.can_be_sent() {
            return Err(Error::input("the version is no text that could be sent as a header"));
        }
        if self.has_row(&change) {
            return Err(Failure::from(ErrorCode::InvalidDuplicateRow).into());
        }
        if self.changes.len() == BATCH_OPERATIONS_MAX {
            let text = format!("a batch has at most {BATCH_OPERATIONS_MAX} changes");
            return Err(Failure::new(ErrorCode::InvalidInput, text).into());
        }
        if !self.has_room_for(&change) {
            let text = format!("a batch has at most {BODY_BYTES_MAX} bytes");
            return Err(Failure::new(ErrorCode::RequestBodyTooLarge, text).into());
        }
        self.bytes += self.cost(&change);
        self.rows.insert(change.key.row.clone());
        self.changes.push(change);
        Ok(())
    }

    /// Makes all changes, or none. Answers with the new version of each entity, `None` for those that were deleted; an
    /// empty batch sends nothing.
    ///
    /// An error of kind [`crate::ErrorKind::BatchOperation`] tells by [`Error::batch_index`] which change was refused;
    /// other kinds are of the batch as a whole (TX-25, ER-08).
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Applied, Dynamic, ErrorKind};
    /// let orders = service.create_table("Orders").await?.partition("2024")?;
    /// let mut batch = orders.batch();
    /// batch.insert(&Dynamic::new("2024", "1"))?.update(&Dynamic::new("2024", "2"))?;
    /// let refused = batch.execute().await.unwrap_err();
    /// assert_eq!((refused.kind(), refused.batch_index()), (ErrorKind::BatchOperation, Some(1)));
    /// assert_eq!(refused.applied(), Applied::No);
    /// assert!(orders.batch().execute().await?.is_empty());
    /// # Ok(()) })
    /// ```
    pub async fn execute(self) -> Result<Vec<Option<ETag>>> {
        if self.changes.is_empty() {
            return Ok(Vec::new());
        }
        let pipeline = &self.table.service().pipeline;
        let endpoint = self.table.service().endpoint();
        let operations: Vec<Inner> =
            self.changes.iter().map(|change| change.inner(endpoint, self.table.table_name())).collect();
        let body = send::change_set(&operations, &boundary_id(&self.table));
        let is_delete: Vec<bool> =
            self.changes.iter().map(|change| change.kind == ChangeKind::Delete).collect();
        pipeline.send_batch(call(body).after(self.uncertain), |answers| tags(answers, &is_delete)).await
    }
}
