//! Writes many entities in few requests: batches of adjacent entities, with a checkpoint after each (ER-07).

use std::fmt;

use crate::batch::Batch;
use crate::entity::Entity;
use crate::error::Error;
use crate::table::Table;
use crate::write::{Change, WriteMode, WriteOptions};

/// How [`Table::write_all`] writes entities.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// use lazuli_client::{BulkOptions, Dynamic, WriteMode};
///
/// let table = service.create_table("Numbers").await?;
/// let options = BulkOptions { mode: WriteMode::Insert, batch_entities_max: 40, ..BulkOptions::default() };
/// let entities = (0..100).map(|n| Dynamic::new("p", format!("{n:05}")));
/// let mut checkpoints = Vec::new();
/// table.write_all(entities, options, |done| checkpoints.push(done)).await?;
/// assert_eq!(checkpoints, [40, 80, 100]);
/// # Ok(()) })
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkOptions {
    /// How each entity is written. The default is an upsert, so that writing twice has the same result as once.
    pub mode: WriteMode,
    /// Maximum number of entities per batch, up to the limit of the service.
    pub batch_entities_max: usize,
}

impl Default for BulkOptions {
    fn default() -> Self {
        Self {
            mode: WriteMode::UpsertReplace,
            batch_entities_max: lazuli_model::table::limits::BATCH_OPERATIONS_MAX,
        }
    }
}

/// A bulk write that stopped early.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// use lazuli_client::{BulkOptions, Dynamic, WriteMode};
///
/// let table = service.create_table("Numbers").await?;
/// table.insert(&Dynamic::new("p", "7")).await?;
/// let options = BulkOptions { mode: WriteMode::Insert, batch_entities_max: 4 };
/// let entities = (0..10).map(|n| Dynamic::new("p", n.to_string()));
/// let stopped = table.write_all(entities, options, |_| {}).await.unwrap_err();
/// // The second batch of four contains a number that exists already.
/// assert_eq!(stopped.done, 4);
/// assert!(stopped.error.is_conflict());
/// # Ok(()) })
/// ```
#[derive(Debug)]
pub struct BulkError {
    /// Number of entities, from the first on, that are certainly written. Resume after them.
    pub done: u64,
    /// The error that stopped it.
    pub error: Error,
}

impl fmt::Display for BulkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stopped after {} entities: {}", self.done, self.error)
    }
}

impl std::error::Error for BulkError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl From<BulkError> for Error {
    fn from(stopped: BulkError) -> Self {
        stopped.error
    }
}

impl Table {
    /// Writes entities in order, adjacent ones of a partition in one batch. After each batch, `checkpoint` receives the number
    /// of entities that are certainly written; a program that stores this number can resume after a crash.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{BulkOptions, Dynamic};
    /// let table = service.create_table("Numbers").await?;
    /// let entities = (0..250).map(|n| Dynamic::new("p", format!("{n:05}")));
    /// let mut kept = 0;
    /// table.write_all(entities, BulkOptions::default(), |done| kept = done).await?;
    /// assert_eq!(kept, 250);
    /// # Ok(()) })
    /// ```
    pub async fn write_all<T: Entity>(
        &self,
        entities: impl IntoIterator<Item = T>,
        options: BulkOptions,
        mut checkpoint: impl FnMut(u64),
    ) -> Result<u64, BulkError> {
        let write = WriteOptions::from(options.mode);
        let mut done = 0;
        let mut open: Option<Batch> = None;
        for entity in entities {
            let stopped = |error| BulkError { done, error };
            let change = Change::write(&entity, &write).map_err(stopped)?;
            let fits = open.as_ref().is_none_or(|batch| {
                batch.len() < options.batch_entities_max
                    && batch.is_for(self, &change)
                    && !batch.has_row(&change)
                    && batch.has_room_for(&change)
            });
            if !fits {
                done = send(open.take(), done, &mut checkpoint).await?;
            }
            let partition = change.key.partition.clone();
            let batch = open.get_or_insert_with(|| Batch::new(self.clone(), partition));
            batch.push(change).map_err(|error| BulkError { done, error })?;
        }
        send(open, done, &mut checkpoint).await
    }
}

async fn send(batch: Option<Batch>, done: u64, checkpoint: &mut impl FnMut(u64)) -> Result<u64, BulkError> {
    let Some(batch) = batch else { return Ok(done) };
    let count = batch.len() as u64;
    batch.execute().await.map_err(|error| BulkError { done, error })?;
    checkpoint(done + count);
    Ok(done + count)
}
