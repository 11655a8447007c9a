//! A table: what can be done with it and with the entities in it.

use http::Method;
use lazuli_model::{EntityKey, ErrorCode, SignedIdentifier, TableName};
use lazuli_protocol::{json, url, xml};

use crate::decode::decode_entity;
use crate::dynamic::Dynamic;
use crate::entity::Entity;
use crate::error::{Applied, Error, Result};
use crate::page::{Continuation, Explain, PageRequest, PageSource, RawPage};
use crate::partition::Partition;
use crate::request::{Call, MINIMAL_METADATA, NO_METADATA, path};
use crate::service::{TableService, unreadable};
use crate::transport::BoxFuture;
use crate::versioned::{ETag, Versioned};
use crate::write::{Change, ChangeKind, WriteMode, WriteOptions, entity_path, key};

/// A table, which need not exist. Cheap to clone.
///
/// Operations come in pairs: the plain one, and `…_with` for all that can be set about it.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// use lazuli_client::Dynamic;
///
/// let table = service.create_table("Orders").await?;
/// let first = table.insert(&Dynamic::new("2024", "1").with("Total", 10)?).await?;
/// let second = table.update_if(&Dynamic::new("2024", "1").with("Total", 12)?, &first).await?;
///
/// // Someone who still has the first version is told so, and nothing is changed.
/// let late = table.delete_entity_if("2024", "1", &first).await.unwrap_err();
/// assert!(late.is_precondition_failed());
/// assert_eq!(table.get::<Dynamic>("2024", "1").await?.etag, second);
/// # Ok(()) })
/// ```
///
/// What is not an entity cannot be written (CL-14):
///
/// ```compile_fail
/// # async fn example(table: lazuli_client::Table) {
/// table.insert(&"text").await;
/// # }
/// ```
#[derive(Clone)]
pub struct Table {
    service: TableService,
    name: TableName,
}

/// How an entity is read.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// use lazuli_client::{Dynamic, GetOptions};
///
/// let table = service.create_table("Photos").await?;
/// table.insert(&Dynamic::new("p", "1").with("Title", "Sea")?.with("Size", 9)?).await?;
/// let options = GetOptions { select: vec!["Title".into()], ..GetOptions::default() };
/// let found = table.get_with::<Dynamic>("p", "1", &options).await?;
/// assert_eq!(found.value.get::<i32>("Size")?, None);
/// # Ok(()) })
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GetOptions {
    /// The properties to read; empty for all.
    pub select: Vec<String>,
    /// Read from the secondary.
    pub secondary: bool,
}

/// How [`Table::modify_with`] changes an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModifyOptions {
    /// How often it is read and changed before the contention is an error (CC-09).
    pub attempts_max: u32,
    /// Write all properties back (`false`), or only add and change (`true`).
    pub merge: bool,
    /// Is the change harmless if made twice? Then it is made again also where nobody knows whether it was made.
    pub repeatable: bool,
}

impl Default for ModifyOptions {
    fn default() -> Self {
        Self { attempts_max: 10, merge: false, repeatable: false }
    }
}

impl Table {
    pub(crate) fn new(service: TableService, name: TableName) -> Self {
        Self { service, name }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// Its name, checked.
    pub fn table_name(&self) -> &TableName {
        &self.name
    }

    /// The service that it belongs to.
    pub fn service(&self) -> &TableService {
        &self.service
    }

    /// One partition of it: the unit of transactions.
    pub fn partition(&self, partition_key: impl Into<String>) -> Result<Partition> {
        let key = key(partition_key.into(), "")?;
        Ok(Partition::new(self.clone(), key.partition))
    }

    async fn send(&self, call: &Call) -> Result<crate::pipeline::Answer> {
        self.service.pipeline.send(call).await
    }

    /// Creates it. One that was deleted a moment ago may have to wait: the service says so, and the client retries.
    pub async fn create(&self) -> Result<()> {
        let call = Call::new("CreateTable", Method::POST, "Tables")
            .header("accept", NO_METADATA)
            .header("prefer", "return-no-content")
            .body("application/json", json::send::table(self.name()));
        match self.send(&call).await {
            Err(error) if repeated(&error, ErrorCode::TableAlreadyExists) => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// Creates it unless it exists. `true` if it was created.
    pub async fn create_if_missing(&self) -> Result<bool> {
        match self.create().await {
            Ok(()) => Ok(true),
            Err(error) if error.code() == Some(ErrorCode::TableAlreadyExists) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Deletes it with all that is in it.
    pub async fn delete(&self) -> Result<()> {
        let target = path(|out| url::table_path(out, self.name()));
        let call = Call::new("DeleteTable", Method::DELETE, target).header("accept", NO_METADATA);
        match self.send(&call).await {
            Err(error) if error.is_not_found() && error.applied() == Applied::Unknown => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// Deletes it if it exists. `true` if it was deleted.
    pub async fn delete_if_exists(&self) -> Result<bool> {
        match self.delete().await {
            Ok(()) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Does it exist?
    pub async fn exists(&self) -> Result<bool> {
        let target = path(|out| url::table_path(out, self.name()));
        let call = Call::new("QueryTable", Method::GET, target).header("accept", NO_METADATA);
        match self.send(&call).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Its stored access policies.
    pub async fn policies(&self) -> Result<Vec<SignedIdentifier>> {
        let call = Call::xml("GetTableAcl", Method::GET, self.name()).query("comp", "acl");
        let answer = self.send(&call).await?;
        xml::send::read_acl(&answer.body).map_err(unreadable)
    }

    /// Gives it other stored access policies; those that it has are replaced.
    pub async fn set_policies(&self, policies: &[SignedIdentifier]) -> Result<()> {
        let call = Call::xml("SetTableAcl", Method::PUT, self.name())
            .query("comp", "acl")
            .body("application/xml", xml::send::write_acl(policies));
        self.send(&call).await.map(|_| ())
    }

    /// Reads an entity. One that is not there is an error.
    pub async fn get<T: Entity>(
        &self,
        partition_key: impl Into<String>,
        row_key: impl Into<String>,
    ) -> Result<Versioned<T>> {
        self.get_with(partition_key, row_key, &GetOptions::default()).await
    }

    /// Reads an entity, if it is there. A missing table is an error.
    pub async fn try_get<T: Entity>(
        &self,
        partition_key: impl Into<String>,
        row_key: impl Into<String>,
    ) -> Result<Option<Versioned<T>>> {
        match self.get(partition_key, row_key).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.code() == Some(ErrorCode::ResourceNotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads an entity.
    pub async fn get_with<T: Entity>(
        &self,
        partition_key: impl Into<String>,
        row_key: impl Into<String>,
        options: &GetOptions,
    ) -> Result<Versioned<T>> {
        let key = key(partition_key.into(), row_key.into())?;
        let call = Call::new("QueryEntity", Method::GET, entity_path(&self.name, &key))
            .query_some("$select", select(&options.select))
            .header("accept", MINIMAL_METADATA)
            .at_secondary(options.secondary);
        decode_entity(&self.send(&call).await?.body)
    }

    /// Adds an entity, which must not be there.
    ///
    /// If the answer to a first attempt was lost and the second finds the entity there, it is read: one that is equal is
    /// taken for the one that was sent (ER-05, [`crate::RetryOptions::adopt_equal_insert`]).
    pub async fn insert<T: Entity>(&self, entity: &T) -> Result<ETag> {
        self.write(entity, WriteMode::Insert).await
    }

    /// Replaces an entity, which must be there, whatever its version.
    pub async fn update<T: Entity>(&self, entity: &T) -> Result<ETag> {
        self.write(entity, WriteMode::Replace).await
    }

    /// Replaces an entity if it still has this version.
    pub async fn update_if<T: Entity>(&self, entity: &T, etag: &ETag) -> Result<ETag> {
        let if_match = Some(etag.clone());
        self.write(entity, WriteOptions { mode: WriteMode::Replace, if_match }).await
    }

    /// Changes the properties that are given of an entity that must be there; the others stay.
    pub async fn merge<T: Entity>(&self, entity: &T) -> Result<ETag> {
        self.write(entity, WriteMode::Merge).await
    }

    /// The same if it still has this version.
    pub async fn merge_if<T: Entity>(&self, entity: &T, etag: &ETag) -> Result<ETag> {
        let if_match = Some(etag.clone());
        self.write(entity, WriteOptions { mode: WriteMode::Merge, if_match }).await
    }

    /// Adds or replaces an entity.
    pub async fn upsert<T: Entity>(&self, entity: &T) -> Result<ETag> {
        self.write(entity, WriteMode::UpsertReplace).await
    }

    /// Adds an entity, or changes the properties that are given.
    pub async fn upsert_merge<T: Entity>(&self, entity: &T) -> Result<ETag> {
        self.write(entity, WriteMode::UpsertMerge).await
    }

    /// Writes an entity, in any of the ways there are.
    pub async fn write<T: Entity>(&self, entity: &T, options: impl Into<WriteOptions>) -> Result<ETag> {
        self.apply(&Change::write(entity, &options.into())?).await
    }

    /// Deletes an entity, which must be there, whatever its version.
    pub async fn delete_entity(
        &self,
        partition_key: impl Into<String>,
        row_key: impl Into<String>,
    ) -> Result<()> {
        let key = key(partition_key.into(), row_key.into())?;
        self.apply_delete(&Change::delete(key, None)).await
    }

    /// Deletes an entity if it still has this version.
    pub async fn delete_entity_if(
        &self,
        partition_key: impl Into<String>,
        row_key: impl Into<String>,
        etag: &ETag,
    ) -> Result<()> {
        let key = key(partition_key.into(), row_key.into())?;
        self.apply_delete(&Change::delete(key, Some(etag))).await
    }

    /// Reads an entity, changes it, writes it back; and does so again if another writer came between (CC-09).
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let counters = service.create_table("Counters").await?;
    /// counters.insert(&Dynamic::new("p", "visits").with("Count", 1)?).await?;
    /// let now = counters
    ///     .modify("p", "visits", |counter: &mut Dynamic| {
    ///         let count = counter.get::<i32>("Count").ok().flatten().unwrap_or(0);
    ///         counter.set("Count", count + 1).map(|_| ())
    ///     })
    ///     .await?;
    /// assert_eq!(now.value.get::<i32>("Count")?, Some(2));
    /// # Ok(()) })
    /// ```
    pub async fn modify<T: Entity>(
        &self,
        partition_key: impl Into<String>,
        row_key: impl Into<String>,
        change: impl FnMut(&mut T) -> Result<()>,
    ) -> Result<Versioned<T>> {
        self.modify_with(partition_key, row_key, ModifyOptions::default(), change).await
    }

    /// The same, with options. An error of the closure ends it, and nothing is written.
    pub async fn modify_with<T: Entity>(
        &self,
        partition_key: impl Into<String>,
        row_key: impl Into<String>,
        options: ModifyOptions,
        mut change: impl FnMut(&mut T) -> Result<()>,
    ) -> Result<Versioned<T>> {
        let (partition, row) = (partition_key.into(), row_key.into());
        let mode = if options.merge { WriteMode::Merge } else { WriteMode::Replace };
        let mut done = 0;
        loop {
            let mut found: Versioned<T> = self.get(partition.as_str(), row.as_str()).await?;
            change(&mut found.value)?;
            let if_match = Some(found.etag.clone());
            done += 1;
            match self.write(&found.value, WriteOptions { mode, if_match }).await {
                Ok(etag) => {
                    let timestamp = etag.timestamp().unwrap_or(found.timestamp);
                    return Ok(Versioned { value: found.value, etag, timestamp });
                }
                Err(error) => {
                    let certain = error.applied() == Applied::No || options.repeatable;
                    if !error.is_precondition_failed() || !certain || done >= options.attempts_max {
                        return Err(error);
                    }
                }
            }
        }
    }

    /// Sends a change that leaves the entity there.
    pub(crate) async fn apply(&self, change: &Change) -> Result<ETag> {
        match self.send(&change.call(&self.name)).await {
            Ok(answer) => {
                let etag = answer.get("etag").map(ETag::new);
                etag.ok_or_else(|| Error::answer("the answer to a write has no ETag"))
            }
            Err(error) if change.kind == ChangeKind::Write(WriteMode::Insert) => {
                self.adopt(change, error).await
            }
            Err(error) => Err(error),
        }
    }

    /// ER-05: a repeated delete that finds nothing has been done by an attempt before.
    pub(crate) async fn apply_delete(&self, change: &Change) -> Result<()> {
        match self.send(&change.call(&self.name)).await {
            Err(error) if repeated(&error, ErrorCode::ResourceNotFound) => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// ER-05: a repeated insert that finds the entity there looks whether it is its own.
    async fn adopt(&self, change: &Change, error: Error) -> Result<ETag> {
        if !repeated(&error, ErrorCode::EntityAlreadyExists)
            || !self.service.pipeline.retry.adopt_equal_insert
        {
            return Err(error);
        }
        let EntityKey { partition, row } = &change.key;
        let sent: Dynamic = decode_entity(&change.body)?;
        match self.get::<Dynamic>(partition.as_str(), row.as_str()).await {
            Ok(found) if found.value.props == sent.props => Ok(found.etag),
            _ => Err(error),
        }
    }

    /// Reads one entity by a batch of one query, for keys that are too long for a URL (CL-12, FW-06).
    pub async fn get_in_batch<T: Entity>(
        &self,
        partition_key: impl Into<String>,
        row_key: impl Into<String>,
    ) -> Result<Versioned<T>> {
        let key = key(partition_key.into(), row_key.into())?;
        crate::batch::query(self, &key).await
    }
}

/// Was the request refused because an attempt before it, whose answer was lost, may have been carried out?
fn repeated(error: &Error, code: ErrorCode) -> bool {
    error.applied() == Applied::Unknown && error.code() == Some(code)
}

fn select(names: &[String]) -> Option<String> {
    (!names.is_empty()).then(|| names.join(","))
}

impl PageSource for Table {
    fn page<'a>(&'a self, request: PageRequest) -> BoxFuture<'a, Result<RawPage>> {
        Box::pin(async move {
            let Continuation { partition, row } = match request.continuation {
                Some(place) => place,
                None => Continuation { partition: String::new(), row: None },
            };
            let call = Call::new("QueryEntities", Method::GET, format!("{}()", request.table))
                .query_some("$filter", request.filter)
                .query_some("$select", select(&request.select))
                .query_some("$top", request.top.map(|top| top.to_string()))
                .query_some("NextPartitionKey", Some(partition).filter(|text| !text.is_empty()))
                .query_some("NextRowKey", row)
                .header("accept", MINIMAL_METADATA)
                .header_some("x-lazuli-explain", request.explain.then_some("1"))
                .at_secondary(request.secondary);
            let answer = self.send(&call).await?;
            let next = |name: &str| answer.get(name).map(str::to_owned);
            let continuation = next("x-ms-continuation-nextpartitionkey")
                .map(|partition| Continuation { partition, row: next("x-ms-continuation-nextrowkey") });
            Ok(RawPage {
                continuation,
                explain: Explain::from_headers(&answer.headers),
                request_id: answer.request_id(),
                body: answer.body,
            })
        })
    }
}
