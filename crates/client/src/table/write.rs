//! Writes entities of a table one by one, and resolves the outcome of repeated requests.

use lazuli_model::{EntityKey, ErrorCode};

use super::{Table, repeated};
use crate::decode::decode_entity;
use crate::dynamic::Dynamic;
use crate::entity::Entity;
use crate::error::{Error, Result};
use crate::versioned::ETag;
use crate::write::{Change, ChangeKind, WriteMode, WriteOptions, entity_path, key};

impl Table {
    /// Inserts an entity, which must not exist.
    ///
    /// If the response to the first attempt was lost and the second one gets 409, the entity is read: an equal one is
    /// accepted as the one that was sent (ER-05, [`crate::RetryOptions::adopt_equal_insert`]).
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

    /// Replaces an entity, which must exist, regardless of its version.
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
    /// // A client that still has the first version does not overwrite the second.
    /// assert!(orders.update_if(&order.value, &first).await.unwrap_err().is_precondition_failed());
    /// assert_eq!(orders.get::<Dynamic>("2024", "1").await?.etag, second);
    /// # Ok(()) })
    /// ```
    pub async fn update_if<T: Entity>(&self, entity: &T, etag: &ETag) -> Result<ETag> {
        let if_match = Some(etag.clone());
        self.write(entity, WriteOptions { mode: WriteMode::Replace, if_match }).await
    }

    /// Changes the given properties of an entity, which must exist; other properties stay unchanged.
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

    /// Like [`Table::merge`], if the entity still has this version.
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

    /// Inserts or replaces an entity.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let orders = service.create_table("Orders").await?;
    /// // Whether or not it existed, it now has exactly these properties.
    /// for total in [10, 12] {
    ///     orders.upsert(&Dynamic::new("2024", "1").with("Total", total)?).await?;
    /// }
    /// assert_eq!(orders.get::<Dynamic>("2024", "1").await?.value.get("Total")?, Some(12));
    /// # Ok(()) })
    /// ```
    pub async fn upsert<T: Entity>(&self, entity: &T) -> Result<ETag> {
        self.write(entity, WriteMode::UpsertReplace).await
    }

    /// Inserts an entity, or changes the given properties.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let profiles = service.create_table("Profiles").await?;
    /// // Two clients write different properties, in any order.
    /// profiles.upsert_merge(&Dynamic::new("p", "ann").with("Age", 30)?).await?;
    /// profiles.upsert_merge(&Dynamic::new("p", "ann").with("City", "Delft")?).await?;
    /// let ann = profiles.get::<Dynamic>("p", "ann").await?.value;
    /// assert_eq!((ann.get("Age")?, ann.get::<String>("City")?.as_deref()), (Some(30), Some("Delft")));
    /// # Ok(()) })
    /// ```
    pub async fn upsert_merge<T: Entity>(&self, entity: &T) -> Result<ETag> {
        self.write(entity, WriteMode::UpsertMerge).await
    }

    /// Writes an entity in any mode.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Dynamic, WriteMode, WriteOptions};
    /// let orders = service.create_table("Orders").await?;
    /// let order = Dynamic::new("2024", "1").with("Total", 10)?;
    /// let version = orders.write(&order, WriteMode::UpsertMerge).await?;
    /// // A mode alone is unconditional; options can require a version.
    /// let options = WriteOptions { mode: WriteMode::Replace, if_match: Some(version.clone()) };
    /// assert_ne!(orders.write(&order, options).await?, version);
    /// # Ok(()) })
    /// ```
    pub async fn write<T: Entity>(&self, entity: &T, options: impl Into<WriteOptions>) -> Result<ETag> {
        self.apply(&Change::write(entity, &options.into())?, false).await
    }

    /// Deletes an entity, which must exist, regardless of its version.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let orders = service.create_table("Orders").await?;
    /// orders.insert(&Dynamic::new("2024", "1")).await?;
    /// orders.delete_entity("2024", "1").await?;
    /// assert!(orders.delete_entity("2024", "1").await.unwrap_err().is_not_found());
    ///
    /// // With the entity at hand, take the keys from it.
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

    /// Deletes an entity if it exists, regardless of its version. Returns whether it was deleted. It can be
    /// repeated: a worker that starts over after a crash need not know its previous progress (PT-04).
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let orders = service.create_table("Orders").await?;
    /// orders.insert(&Dynamic::new("2024", "1")).await?;
    /// assert!(orders.delete_entity_if_exists("2024", "1").await?);
    /// assert!(!orders.delete_entity_if_exists("2024", "1").await?);
    ///
    /// // A missing table is an error.
    /// assert!(service.table("Missing")?.delete_entity_if_exists("2024", "1").await.is_err());
    /// # Ok(()) })
    /// ```
    pub async fn delete_entity_if_exists(
        &self,
        partition_key: impl Into<String>,
        row_key: impl Into<String>,
    ) -> Result<bool> {
        match self.delete_entity(partition_key, row_key).await {
            Ok(()) => Ok(true),
            Err(error) if error.code() == Some(ErrorCode::ResourceNotFound) => Ok(false),
            Err(error) => Err(error),
        }
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

    /// Sends a change that does not delete. `uncertain`: an earlier request may have been applied.
    pub(crate) async fn apply(&self, change: &Change, uncertain: bool) -> Result<ETag> {
        match self.send(&change.call(&self.name).after(uncertain)).await {
            Ok(response) => {
                let etag = response.get("etag").map(ETag::new);
                etag.ok_or_else(|| Error::invalid_response("the response to a write has no ETag"))
            }
            Err(error) if change.kind == ChangeKind::Write(WriteMode::Insert) => {
                let named = |error: Error| error.of_entity(entity_path(&self.name, &change.key));
                self.adopt(change, error).await.map_err(named)
            }
            Err(error) => Err(error),
        }
    }

    /// ER-05: a repeated delete that gets 404 was applied by an earlier attempt.
    pub(crate) async fn apply_delete(&self, change: &Change, uncertain: bool) -> Result<()> {
        match self.send(&change.call(&self.name).after(uncertain)).await {
            Err(error) if repeated(&error, ErrorCode::ResourceNotFound) => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// ER-05: a repeated insert that gets 409 checks whether the entity is its own.
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
