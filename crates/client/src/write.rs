//! Changes of one entity as requests, built the same way for single requests and for batches.

use bytes::Bytes;
use http::Method;
use lazuli_model::table::key::KeyError;
use lazuli_model::{EntityKey, ErrorCode, Failure, Key, TableName};
use lazuli_protocol::table::batch::send::OutgoingOperation;
use lazuli_protocol::table::url;

use crate::account::Endpoint;
use crate::entity::{Encoded, Entity, encode};
use crate::error::Result;
use crate::request::{NO_METADATA, TableRequest, path};
use crate::versioned::ETag;

/// The way in which an entity is written.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// use lazuli_client::{Dynamic, WriteMode};
///
/// let people = service.create_table("People").await?;
/// people.insert(&Dynamic::new("a", "1").with("Age", 30)?).await?;
/// let named = Dynamic::new("a", "1").with("Name", "Ann")?;
/// let mut ages = Vec::new();
/// for mode in [WriteMode::UpsertMerge, WriteMode::UpsertReplace] {
///     people.write(&named, mode).await?;
///     ages.push(people.get::<Dynamic>("a", "1").await?.value.get::<i32>("Age")?);
/// }
/// assert_eq!(ages, [Some(30), None]);
/// # Ok(()) })
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WriteMode {
    /// Insert: it must not exist.
    Insert,
    /// It must exist; properties that are not specified are removed.
    Replace,
    /// It must exist; properties that are not specified are preserved.
    Merge,
    /// It may exist; properties that are not specified are removed.
    UpsertReplace,
    /// It may exist; properties that are not specified are preserved.
    UpsertMerge,
}

/// Options for writing an entity.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// use lazuli_client::{Dynamic, WriteMode, WriteOptions};
///
/// let people = service.create_table("People").await?;
/// let version = people.insert(&Dynamic::new("a", "1")).await?;
/// let options = WriteOptions { mode: WriteMode::Merge, if_match: Some(version) };
/// people.write(&Dynamic::new("a", "1").with("Age", 30)?, options.clone()).await?;
/// assert!(people.write(&Dynamic::new("a", "1"), options).await.unwrap_err().is_precondition_failed());
/// # Ok(()) })
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    /// How it is written.
    pub mode: WriteMode,
    /// The version that it must have, for [`WriteMode::Replace`] and [`WriteMode::Merge`]; `None` for any version.
    pub if_match: Option<ETag>,
}

impl From<WriteMode> for WriteOptions {
    fn from(mode: WriteMode) -> Self {
        Self { mode, if_match: None }
    }
}

/// A change of one entity, ready to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub key: EntityKey,
    pub kind: ChangeKind,
    if_match: Option<String>,
    pub body: Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    Write(WriteMode),
    Delete,
}

impl Change {
    /// Writes an entity.
    pub fn write<T: Entity>(entity: &T, options: &WriteOptions) -> Result<Self> {
        let Encoded { key, body } = encode(entity)?;
        let tag = options.if_match.as_ref().map_or("*", ETag::as_str).to_owned();
        let conditional = matches!(options.mode, WriteMode::Replace | WriteMode::Merge);
        if options.if_match.is_some() && !conditional {
            return Err(crate::Error::input("inserts and upserts cannot require a version"));
        }
        let if_match = conditional.then_some(tag);
        Ok(Self { key, kind: ChangeKind::Write(options.mode), if_match, body: body.into() })
    }

    /// Deletes an entity.
    pub fn delete(key: EntityKey, if_match: Option<&ETag>) -> Self {
        let tag = if_match.map_or("*", ETag::as_str).to_owned();
        Self { key, kind: ChangeKind::Delete, if_match: Some(tag), body: Bytes::new() }
    }

    /// Is its ETag valid in a header? Outside of a batch the header itself is checked.
    pub fn can_be_sent(&self) -> bool {
        self.if_match.as_ref().is_none_or(|tag| http::HeaderValue::from_str(tag).is_ok())
    }

    /// Name of the operation, for logs.
    pub fn name(&self) -> &'static str {
        match self.kind {
            ChangeKind::Write(WriteMode::Insert) => "InsertEntity",
            ChangeKind::Write(WriteMode::Replace) => "UpdateEntity",
            ChangeKind::Write(WriteMode::Merge) => "MergeEntity",
            ChangeKind::Write(WriteMode::UpsertReplace) => "InsertOrReplaceEntity",
            ChangeKind::Write(WriteMode::UpsertMerge) => "InsertOrMergeEntity",
            ChangeKind::Delete => "DeleteEntity",
        }
    }

    fn method(&self) -> &'static str {
        match self.kind {
            ChangeKind::Write(WriteMode::Insert) => "POST",
            ChangeKind::Write(WriteMode::Replace | WriteMode::UpsertReplace) => "PUT",
            // PATCH has the same meaning, and passes proxies that do not support MERGE.
            ChangeKind::Write(WriteMode::Merge | WriteMode::UpsertMerge) => "PATCH",
            ChangeKind::Delete => "DELETE",
        }
    }

    /// The path after the endpoint.
    fn path(&self, table: &TableName) -> String {
        match self.kind {
            ChangeKind::Write(WriteMode::Insert) => table.as_str().to_owned(),
            _ => entity_path(table, &self.key),
        }
    }

    fn fields(&self) -> Vec<(&'static str, String)> {
        let mut fields = vec![("accept", NO_METADATA.to_owned())];
        if !self.body.is_empty() {
            fields.push(("content-type", "application/json".to_owned()));
        }
        if self.kind == ChangeKind::Write(WriteMode::Insert) {
            fields.push(("prefer", "return-no-content".to_owned()));
        }
        if let Some(tag) = &self.if_match {
            fields.push(("if-match", tag.clone()));
        }
        fields
    }

    /// As a single request.
    pub fn call(&self, table: &TableName) -> TableRequest {
        let method = Method::from_bytes(self.method().as_bytes()).unwrap_or_default();
        let mut call = TableRequest::new(self.name(), method, self.path(table));
        for (name, value) in self.fields() {
            call = call.header(name, value);
        }
        call.body = self.body.clone();
        call
    }

    /// As a part of a batch.
    pub fn inner(&self, endpoint: &Endpoint, table: &TableName) -> OutgoingOperation {
        let names = |name| match name {
            "accept" => "Accept",
            "content-type" => "Content-Type",
            "prefer" => "Prefer",
            "if-match" => "If-Match",
            other => other,
        };
        let mut fields: Vec<_> =
            self.fields().into_iter().map(|(name, value)| (names(name), value)).collect();
        fields.push(("DataServiceVersion", "3.0;".to_owned()));
        OutgoingOperation {
            method: self.method(),
            url: format!("{}/{}", endpoint.as_str(), self.path(table)),
            fields,
            body: self.body.to_vec(),
        }
    }
}

/// `T(PartitionKey='p',RowKey='r')`, escaped.
pub(crate) fn entity_path(table: &TableName, key: &EntityKey) -> String {
    path(|out| url::entity_path(out, table.as_str(), key.partition.as_str(), key.row.as_str()))
}

/// Both keys, checked.
pub(crate) fn key(partition: impl Into<String>, row: impl Into<String>) -> Result<EntityKey> {
    Ok(EntityKey {
        partition: checked("PartitionKey", partition.into())?,
        row: checked("RowKey", row.into())?,
    })
}

fn checked(name: &str, text: String) -> Result<Key> {
    Key::new(text.as_str()).map_err(|error| {
        let failure = match error {
            KeyError::TooLong => Failure::from(ErrorCode::KeyValueTooLarge),
            KeyError::Character(found) => Failure::new(
                ErrorCode::OutOfRangeInput,
                format!(
                    "the {name} {text:?} contains {found:?}: keys cannot contain /, \\, #, ? or control characters"
                ),
            ),
        };
        failure.into()
    })
}
