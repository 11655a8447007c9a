//! Changes of entities: a single one, or several in the same partition.

use std::sync::Arc;

use bytes::Bytes;
use lazuli_engine::limits::{COMMIT_BYTES_MAX, WRITE_BYTES};
use lazuli_engine::{Applied, Condition, Reason};
use lazuli_model::table::Outcome;
use lazuli_model::table::entity::check_size;
use lazuli_model::table::limits::{BATCH_OPERATIONS_MAX, ENTITY_BYTES_MAX, KEY_UNITS_MAX};
use lazuli_model::table::operation::{EntityChange, EntityWrite, Match, StoredEntity, Written};
use lazuli_model::{EntityKey, ErrorCode, Failure, PackedRow, Properties, TableName};

use super::merge::{self, Merge};
use super::timestamp;
use crate::{Error, Result, Services};

/// Upper bound of the bytes that one entity takes in the engine. Its size counts 2 bytes for each UTF-16 code unit, which
/// takes at most 3 bytes when it is stored; in a key, at most 4.
const ROW_BYTES_MAX: usize = ENTITY_BYTES_MAX / 2 * 3 + 2 * 4 * KEY_UNITS_MAX + WRITE_BYTES;

// The largest legal batch fits into one commit, even if it merges a few bytes into the largest entities.
const _: () = assert!(BATCH_OPERATIONS_MAX * ROW_BYTES_MAX <= COMMIT_BYTES_MAX);

impl Services {
    pub(crate) async fn write(&self, home: &str, table: &TableName, write: EntityWrite) -> Result<Outcome> {
        let written =
            self.commit(home, table, std::slice::from_ref(&write)).await.map_err(|failed| failed.error)?;
        let written = written.into_iter().next().ok_or(ErrorCode::InternalError)?;
        Ok(Outcome::Written(written))
    }

    /// TX-09 to TX-12: one commit, all or nothing, in the order given.
    pub(crate) async fn batch(
        &self,
        home: &str,
        table: &TableName,
        writes: Vec<EntityWrite>,
    ) -> Result<Outcome> {
        match self.commit(home, table, &writes).await {
            Ok(written) => Ok(Outcome::Batch(written)),
            Err(FailedCommit { index, error: Error::Rejected(failure) }) => Err(failure.at(index).into()),
            Err(FailedCommit { error, .. }) => Err(error),
        }
    }

    async fn commit(
        &self,
        home: &str,
        table: &TableName,
        writes: &[EntityWrite],
    ) -> std::result::Result<Vec<Written>, FailedCommit> {
        let whole = |error: Error| FailedCommit { index: 0, error };
        let found = self.find_table(home, table).await.map_err(whole)?;
        let Some(first) = writes.first() else { return Ok(Vec::new()) };
        let partition = first.key.partition.as_str();
        let mut planned = Vec::with_capacity(writes.len());
        for (index, write) in writes.iter().enumerate() {
            planned.push(plan(write).map_err(|failure| FailedCommit { index, error: failure.into() })?);
        }
        let rows: Vec<Option<Bytes>> = planned.iter().map(|write| inserted_row(&write.change)).collect();
        let applied = self.engine.apply(found.record.id, partition, planned).await;
        let is_done = matches!(applied, Ok(Applied::Done { .. }));
        let count = writes.len() as u64;
        self.usage.wrote(found.slot, if is_done { count } else { 0 });
        self.touch(home, table, &found, partition, count);
        match applied.map_err(|error| whole(error.into()))? {
            Applied::Done { version, .. } => {
                let timestamp = timestamp(version).map_err(whole)?;
                let outcomes = writes.iter().zip(rows).map(|(write, row)| outcome(write, row, timestamp));
                outcomes.collect::<Result<_>>().map_err(whole)
            }
            Applied::Rejected { index, reason } => Err(FailedCommit { index, error: rejection(reason) }),
        }
    }
}

/// A rejected commit, and the write that caused it.
struct FailedCommit {
    index: usize,
    error: Error,
}

/// The operation of the engine on the row.
fn plan(write: &EntityWrite) -> std::result::Result<lazuli_engine::Write, Failure> {
    use lazuli_engine::Change::{Delete, Put, Update};
    let (condition, change) = match &write.change {
        EntityChange::Insert(properties) => (Condition::Absent, Put(packed(&write.key, properties)?)),
        EntityChange::Replace(properties, wanted) => {
            (condition(*wanted), Put(packed(&write.key, properties)?))
        }
        EntityChange::InsertOrReplace(properties) => (Condition::Any, Put(packed(&write.key, properties)?)),
        EntityChange::Merge(properties, wanted) => {
            (condition(*wanted), Update(merge(&write.key, properties)?))
        }
        EntityChange::InsertOrMerge(properties) => (Condition::Any, Update(merge(&write.key, properties)?)),
        EntityChange::Delete(wanted) => (condition(*wanted), Delete),
    };
    Ok(lazuli_engine::Write { row: write.key.row.as_str().into(), condition, change })
}

fn packed(key: &EntityKey, properties: &Properties) -> std::result::Result<Bytes, Failure> {
    check_size(key, properties.row())?;
    Ok(properties.row().as_bytes().clone())
}

fn merge(key: &EntityKey, properties: &Properties) -> std::result::Result<Arc<Merge>, Failure> {
    Ok(Arc::new(Merge::new(key.clone(), properties)))
}

/// CC-03 to CC-05.
fn condition(wanted: Match) -> Condition {
    match wanted {
        Match::Any => Condition::Exists,
        Match::Version(timestamp) => Condition::Version(lazuli_engine::Version(timestamp.ticks())),
        Match::Nothing => Condition::Never,
    }
}

fn inserted_row(change: &lazuli_engine::Change) -> Option<Bytes> {
    match change {
        lazuli_engine::Change::Put(row) => Some(row.clone()),
        lazuli_engine::Change::Update(_) | lazuli_engine::Change::Delete => None,
    }
}

fn outcome(write: &EntityWrite, row: Option<Bytes>, timestamp: lazuli_model::DateTime) -> Result<Written> {
    match (&write.change, row) {
        (EntityChange::Insert(_), Some(row)) => Ok(Written::Inserted(StoredEntity {
            partition: write.key.partition.as_str().into(),
            row: write.key.row.as_str().into(),
            timestamp,
            properties: PackedRow::from_bytes(row)?,
        })),
        (EntityChange::Delete(_), _) => Ok(Written::Deleted),
        _ => Ok(Written::Updated(timestamp)),
    }
}

/// A missing entity is 404 even if an ETag was given: old clients loop on 412.
fn rejection(reason: Reason) -> Error {
    match reason {
        Reason::Exists => ErrorCode::EntityAlreadyExists.into(),
        Reason::Missing => ErrorCode::ResourceNotFound.into(),
        Reason::Mismatch => ErrorCode::UpdateConditionNotSatisfied.into(),
        Reason::Rejected(rejected) => merge::rejection(rejected),
    }
}
