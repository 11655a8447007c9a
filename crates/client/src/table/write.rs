//! Writes entities of a table, one by one, and settles what a repeated request finds.

use lazuli_model::{EntityKey, ErrorCode};

use super::{Table, repeated};
use crate::decode::decode_entity;
use crate::dynamic::Dynamic;
use crate::entity::Entity;
use crate::error::{Error, Result};
use crate::versioned::ETag;
use crate::write::{Change, ChangeKind, WriteMode, WriteOptions, key};

impl Table {
    /// Adds an entity, which must not be there.
    ///
    /// If the answer to a first attempt was lost and the second finds the entity there, it is read: one that is equal is
    /// taken for the one that was sent (ER-05, [`crate::RetryOptions::adopt_equal_insert`]).
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let orders = service.create_table("Orders").await?;
    /// let version = orders.insert(&Dynamic::new("2024", "1").with("Total", 10)?).await?;
    /// assert_eq!(orders.get::<Dynamic>("2024", "1").await?.etag, version);
    /// assert!(orders.insert(&Dynamic::new("2024", "1")).await.unwrap_err().is_conflict());
    /// # Ok(()) })
    /// ```
    pub async fn insert<T: Entity>(&self, entity: &T) -> Result<ETag> {
        self.write(entity, WriteMode::Insert).await
    }

    /// Replaces an entity, which must be there, whatever its version.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let orders = service.create_table("Orders").await?;
    /// orders.insert(&Dynamic::new("2024", "1").with("Total", 10)?.with("Paid", true)?).await?;
    /// orders.update(&Dynamic::new("2024", "1").with("Total", 12)?).await?;
    /// let order = orders.get::<Dynamic>("2024", "1").await?.value;
    /// assert_eq!((order.get("Total")?, order.get::<bool>("Paid")?), (Some(12), None));
    /// # Ok(()) })
    /// ```
    pub async fn update<T: Entity>(&self, entity: &T) -> Result<ETag> {
        self.write(entity, WriteMode::Replace).await
    }

    /// Replaces an entity if it still has this version.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let orders = service.create_table("Orders").await?;
    /// let first = orders.insert(&Dynamic::new("2024", "1").with("Total", 10)?).await?;
    /// let mut order = orders.get::<Dynamic>("2024", "1").await?;
    /// order.value.set("Total", 12)?;
    /// let second = orders.update_if(&order.value, &order.etag).await?;
    /// // The one who still has the first version does not overwrite the second.
    /// assert!(orders.update_if(&order.value, &first).await.unwrap_err().is_precondition_failed());
    /// assert_eq!(orders.get::<Dynamic>("2024", "1").await?.etag, second);
    /// # Ok(()) })
    /// ```
    pub async fn update_if<T: Entity>(&self, entity: &T, etag: &ETag) -> Result<ETag> {
        let if_match = Some(etag.clone());
        self.write(entity, WriteOptions { mode: WriteMode::Replace, if_match }).await
    }

    /// Changes the properties that are given of an entity that must be there; the others stay.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let orders = service.create_table("Orders").await?;
    /// orders.insert(&Dynamic::new("2024", "1").with("Total", 10)?).await?;
    /// orders.merge(&Dynamic::new("2024", "1").with("Paid", true)?).await?;
    /// let order = orders.get::<Dynamic>("2024", "1").await?.value;
    /// assert_eq!((order.get("Total")?, order.get("Paid")?), (Some(10), Some(true)));
    /// # Ok(()) })
    /// ```
    pub async fn merge<T: Entity>(&self, entity: &T) -> Result<ETag> {
        self.write(entity, WriteMode::Merge).await
    }

    /// The same if it still has this version.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let orders = service.create_table("Orders").await?;
    /// let version = orders.insert(&Dynamic::new("2024", "1").with("Total", 10)?).await?;
    /// let paid = Dynamic::new("2024", "1").with("Paid", true)?;
    /// orders.merge_if(&paid, &version).await?;
    /// assert!(orders.merge_if(&paid, &version).await.unwrap_err().is_precondition_failed());
    /// # Ok(()) })
    /// ```
    pub async fn merge_if<T: Entity>(&self, entity: &T, etag: &ETag) -> Result<ETag> {
        let if_match = Some(etag.clone());
        self.write(entity, WriteOptions { mode: WriteMode::Merge, if_match }).await
    }

    /// Adds or replaces an entity.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let orders = service.create_table("Orders").await?;
    /// // No matter whether it is the first time: it is there afterwards, and as it is here.
    /// for total in [10, 12] {
    ///     orders.upsert(&Dynamic::new("2024", "1").with("Total", total)?).await?;
    /// }
    /// assert_eq!(orders.get::<Dynamic>("2024", "1").await?.value.get("Total")?, Some(12));
    /// # Ok(()) })
    /// ```
    pub async fn upsert<T: Entity>(&self, entity: &T) -> Result<ETag> {
        self.write(entity, WriteMode::UpsertReplace).await
    }

    /// Adds an entity, or changes the properties that are given.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let profiles = service.create_table("Profiles").await?;
    /// // Two that know different things of an entity, and neither knows who is first.
    /// profiles.upsert_merge(&Dynamic::new("p", "ann").with("Age", 30)?).await?;
    /// profiles.upsert_merge(&Dynamic::new("p", "ann").with("City", "Delft")?).await?;
    /// let ann = profiles.get::<Dynamic>("p", "ann").await?.value;
    /// assert_eq!((ann.get("Age")?, ann.get::<String>("City")?.as_deref()), (Some(30), Some("Delft")));
    /// # Ok(()) })
    /// ```
    pub async fn upsert_merge<T: Entity>(&self, entity: &T) -> Result<ETag> {
        self.write(entity, WriteMode::UpsertMerge).await
    }

    /// Writes an entity, in any of the ways there are.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Dynamic, WriteMode, WriteOptions};
    /// let orders = service.create_table("Orders").await?;
    /// let order = Dynamic::new("2024", "1").with("Total", 10)?;
    /// let version = orders.write(&order, WriteMode::UpsertMerge).await?;
    /// // A mode alone writes whatever is there; with options it can depend on the version.
    /// let options = WriteOptions { mode: WriteMode::Replace, if_match: Some(version.clone()) };
    /// assert_ne!(orders.write(&order, options).await?, version);
    /// # Ok(()) })
    /// ```
    pub async fn write<T: Entity>(&self, entity: &T, options: impl Into<WriteOptions>) -> Result<ETag> {
        self.apply(&Change::write(entity, &options.into())?, false).await
    }

    /// Deletes an entity, which must be there, whatever its version.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let orders = service.create_table("Orders").await?;
    /// orders.insert(&Dynamic::new("2024", "1")).await?;
    /// orders.delete_entity("2024", "1").await?;
    /// assert!(orders.delete_entity("2024", "1").await.unwrap_err().is_not_found());
    ///
    /// // One that is at hand tells its keys.
    /// # use lazuli_client::Entity;
    /// orders.insert(&Dynamic::new("2024", "2")).await?;
    /// for order in orders.query::<Dynamic>().collect().await? {
    ///     orders.delete_entity(order.partition_key(), order.row_key()).await?;
    /// }
    /// # Ok(()) })
    /// ```
    pub async fn delete_entity(
        &self,
        partition_key: impl Into<String>,
        row_key: impl Into<String>,
    ) -> Result<()> {
        let key = key(partition_key.into(), row_key.into())?;
        self.apply_delete(&Change::delete(key, None), false).await
    }

    /// Deletes an entity if it still has this version.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let orders = service.create_table("Orders").await?;
    /// let first = orders.insert(&Dynamic::new("2024", "1")).await?;
    /// let second = orders.merge(&Dynamic::new("2024", "1").with("Paid", true)?).await?;
    /// assert!(orders.delete_entity_if("2024", "1", &first).await.is_err());
    /// orders.delete_entity_if("2024", "1", &second).await?;
    /// # Ok(()) })
    /// ```
    pub async fn delete_entity_if(
        &self,
        partition_key: impl Into<String>,
        row_key: impl Into<String>,
        etag: &ETag,
    ) -> Result<()> {
        let key = key(partition_key.into(), row_key.into())?;
        self.apply_delete(&Change::delete(key, Some(etag)), false).await
    }

    /// Sends a change that leaves the entity there. `uncertain`: an earlier request for it may have been carried out.
    pub(crate) async fn apply(&self, change: &Change, uncertain: bool) -> Result<ETag> {
        match self.send(&change.call(&self.name).after(uncertain)).await {
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
    pub(crate) async fn apply_delete(&self, change: &Change, uncertain: bool) -> Result<()> {
        match self.send(&change.call(&self.name).after(uncertain)).await {
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
            Ok(found) if found.value.props.is_same(&sent.props) => Ok(found.etag),
            _ => Err(error),
        }
    }
}
