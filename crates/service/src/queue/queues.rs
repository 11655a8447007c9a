//! Queues: create, delete, list, metadata, access policies.

use bytes::Bytes;
use lazuli_engine::{Verdict, Version};
use lazuli_model::queue::operation::{ListedQueue, QueueQuery};
use lazuli_model::queue::{Outcome, QueueName};
use lazuli_model::{ErrorCode, Metadata, SignedIdentifier};

use super::name;
use super::record::{COUNTERS, PARTITION, counter_key, decode_count};
use crate::catalog::{Created, Edit, NewContainer};
use crate::record::{ContainerRecord, RecordReader, RecordWriter};
use crate::{ATTEMPTS_MAX, Result, Services, keyspace};

/// After every character of a queue's name.
const AFTER_NAMES: char = '\u{7f}';

impl Services {
    /// Creating a queue that exists with the same metadata is no error.
    pub(super) async fn create_queue(
        &self,
        home: &str,
        queue: &QueueName,
        metadata: Metadata,
    ) -> Result<Outcome> {
        let draft =
            NewContainer { name: queue.as_str().to_owned(), tables: 1, data: encode_metadata(&metadata) };
        for _ in 0..ATTEMPTS_MAX {
            match self.catalog.create(name(home, queue), draft.clone()).await? {
                Created::Done(_) => return Ok(Outcome::QueueCreated),
                Created::Blocked => return Err(ErrorCode::QueueBeingDeleted.into()),
                Created::Exists => {}
            }
            match self.catalog.read(name(home, queue)).await? {
                Some(live) if decode_metadata(&live.record)?.is_same(&metadata) => {
                    return Ok(Outcome::QueueUnchanged);
                }
                Some(_) => return Err(ErrorCode::QueueAlreadyExists.into()),
                // Deleted in between.
                None => {}
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }

    /// One small commit, regardless of the number of messages.
    pub(super) async fn delete_queue(&self, home: &str, queue: &QueueName) -> Result<Outcome> {
        match self.catalog.delete(name(home, queue), |_| Ok(())).await? {
            true => Ok(Outcome::QueueDeleted),
            false => Err(ErrorCode::QueueNotFound.into()),
        }
    }

    pub(super) async fn list_queues(&self, home: &str, query: QueueQuery) -> Result<Outcome> {
        let QueueQuery { prefix, from, limit, metadata } = query;
        let from = from.as_deref().unwrap_or_default().max(&prefix);
        let end = (!prefix.is_empty()).then(|| format!("{prefix}{AFTER_NAMES}"));
        let range = keyspace::live_between(lazuli_model::Service::Queue, home, from, end.as_deref());
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let listing = self.catalog.list(range, limit, Box::new(|_| Ok(Verdict::Keep))).await?;
        let listed = listing.containers.into_iter().map(|(record, _)| {
            let metadata = if metadata { Some(decode_metadata(&record)?) } else { None };
            Ok(ListedQueue { name: record.name, metadata })
        });
        Ok(Outcome::Queues { queues: listed.collect::<Result<_>>()?, next: listing.next })
    }

    /// The number of messages is the sum of a few rows, regardless of its size.
    pub(super) async fn get_queue_metadata(&self, home: &str, queue: &QueueName) -> Result<Outcome> {
        let live = self.find_queue(home, queue).await?;
        let keys: Vec<String> = (0..COUNTERS).map(counter_key).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let rows = self.engine.get(live.record.id, PARTITION, &keys).await?;
        let counts = rows.iter().flatten().map(|row| decode_count(&row.value));
        let sum = counts.sum::<lazuli_engine::Result<i64>>()?;
        let messages = u64::try_from(sum).unwrap_or(0);
        Ok(Outcome::Metadata { metadata: decode_metadata(&live.record)?, messages })
    }

    pub(super) async fn set_queue_metadata(
        &self,
        home: &str,
        queue: &QueueName,
        metadata: Metadata,
    ) -> Result<Outcome> {
        let data = encode_metadata(&metadata);
        self.edit_queue(home, queue, |record| ContainerRecord { data: data.clone(), ..record }).await?;
        Ok(Outcome::MetadataSet)
    }

    pub(super) async fn set_queue_acl(
        &self,
        home: &str,
        queue: &QueueName,
        policies: Vec<SignedIdentifier>,
    ) -> Result<Outcome> {
        self.edit_queue(home, queue, |record| ContainerRecord {
            policies: policies.clone().into(),
            ..record
        })
        .await?;
        Ok(Outcome::AclSet)
    }

    async fn edit_queue(
        &self,
        home: &str,
        queue: &QueueName,
        change: impl Fn(ContainerRecord) -> ContainerRecord,
    ) -> Result<Version> {
        let edited = self.catalog.edit(name(home, queue), |live| {
            Ok(Edit { record: change(live.record.clone()), dropped: Vec::new(), result: () })
        });
        let (version, ()) = edited.await?.ok_or(ErrorCode::QueueNotFound)?;
        Ok(version)
    }

    /// Removes all messages at once: the queue continues on an empty engine table. A message that is being put
    /// at the same time may be removed, too.
    pub(super) async fn clear_messages(&self, home: &str, queue: &QueueName) -> Result<Outcome> {
        self.find_queue(home, queue).await?;
        let id = self.engine.fresh_table().await?;
        let edited = self.catalog.edit(name(home, queue), |live| {
            let dropped = vec![live.record.id];
            Ok(Edit { record: ContainerRecord { id, ..live.record.clone() }, dropped, result: () })
        });
        edited.await?.ok_or(ErrorCode::QueueNotFound)?;
        Ok(Outcome::MessagesCleared)
    }
}

fn encode_metadata(metadata: &Metadata) -> Bytes {
    let pairs: Vec<(&str, &str)> = metadata.iter().collect();
    RecordWriter::new()
        .list(&pairs, |writer, (name, value)| writer.bytes(name.as_bytes()).bytes(value.as_bytes()))
        .finish()
}

fn decode_metadata(record: &ContainerRecord) -> Result<Metadata> {
    if record.data.is_empty() {
        return Ok(Metadata::default());
    }
    let mut reader = RecordReader::new(&record.data)?;
    let pairs = reader.list(|reader| Ok((reader.text()?, reader.text()?)))?;
    let mut metadata = Metadata::default();
    for (name, value) in &pairs {
        metadata.insert(name, value).map_err(|_| crate::record::corrupt())?;
    }
    Ok(reader.finish(metadata)?)
}
