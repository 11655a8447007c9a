//! Reads an entity, changes it and writes it back, until no other client interferes.

use super::Table;
use crate::entity::Entity;
use crate::error::{Applied, Error, Result};
use crate::versioned::Versioned;
use crate::write::{WriteMode, WriteOptions};

/// How [`Table::modify_with`] changes an entity.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// use lazuli_client::{Dynamic, ModifyOptions};
///
/// let counters = service.create_table("Counters").await?;
/// counters.insert(&Dynamic::new("p", "visits")).await?;
/// // Setting a mark twice is harmless, and contention is short.
/// let options = ModifyOptions { attempts_max: 50, repeatable: true, ..ModifyOptions::default() };
/// let marked = counters
///     .modify_with("p", "visits", options, |counter: &mut Dynamic| counter.set("Seen", true).map(|_| ()))
///     .await?;
/// assert_eq!(marked.value.get("Seen")?, Some(true));
/// # Ok(()) })
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModifyOptions {
    /// Maximum number of attempts before contention is an error (CC-09).
    pub attempts_max: u32,
    /// Merge (`true`): add and change properties only. Replace (`false`): write all properties.
    pub merge: bool,
    /// Is making the change twice harmless? Then it is also repeated if it is unknown whether it was applied.
    pub repeatable: bool,
}

impl Default for ModifyOptions {
    fn default() -> Self {
        Self { attempts_max: 10, merge: false, repeatable: false }
    }
}

impl Table {
    /// Reads an entity, changes it, and writes it back; starts over if another client has changed it in the
    /// meantime (CC-09).
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

    /// Like [`Table::modify`], with options. An error of the closure aborts, and nothing is written.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Dynamic, Error, ModifyOptions};
    /// let accounts = service.create_table("Accounts").await?;
    /// let before = accounts.insert(&Dynamic::new("p", "ann").with("Balance", 5)?).await?;
    /// let withdraw = |account: &mut Dynamic| match account.get::<i32>("Balance")?.unwrap_or(0) {
    ///     balance @ 10.. => account.set("Balance", balance - 10).map(|_| ()),
    ///     _ => Err(Error::input("insufficient balance")),
    /// };
    /// let rejected = accounts.modify_with("p", "ann", ModifyOptions::default(), withdraw).await.unwrap_err();
    /// assert_eq!(rejected.message(), "insufficient balance");
    /// assert_eq!(accounts.get::<Dynamic>("p", "ann").await?.etag, before);
    /// # Ok(()) })
    /// ```
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
            if found.value.partition_key() != partition || found.value.row_key() != row {
                return Err(Error::input("modify cannot change the keys; insert another entity instead"));
            }
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
}
