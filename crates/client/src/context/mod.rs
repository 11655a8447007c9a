//! A unit of work: tracked objects, and changes that are sent together later.
//!
//! A change stays pending until the service has accepted it, and changes are sent in the order in which they were made. A
//! context belongs to one task at a time: it can be sent to another thread, but not shared between two (CL-09).

mod entities;
mod save;
mod tracked;

pub use save::{FailedChange, SaveError, SaveMode, SaveOptions};
pub use tracked::Handle;

use std::collections::HashMap;
use std::fmt;

use lazuli_model::EntityKey;

use crate::entity::Entity;
use crate::error::{Error, Result};
use crate::service::TableService;
use crate::table::Table;
use crate::versioned::ETag;
use tracked::{Slot, State};

/// How a context treats a tracked entity that is read again. To read without tracking, use [`Table`] (CL-07).
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// use lazuli_client::{Context, Dynamic, MergeOption};
///
/// let blogs = service.create_table("Blogs").await?;
/// blogs.insert(&Dynamic::new("Channel9", "Oct-29").with("Rating", 3)?).await?;
/// let mut context = Context::new(&service).with_merge_option(MergeOption::PreserveChanges);
/// let post = context.get::<Dynamic>(&blogs, "Channel9", "Oct-29").await?;
/// context.edit(post)?.set("Rating", 4)?;
///
/// // Another client is faster. Reading again takes its version and keeps our value, so the save succeeds.
/// blogs.merge(&Dynamic::new("Channel9", "Oct-29").with("Rating", 1)?).await?;
/// assert!(context.save().await.is_err());
/// context.get::<Dynamic>(&blogs, "Channel9", "Oct-29").await?;
/// context.save().await?;
/// assert_eq!(blogs.get::<Dynamic>("Channel9", "Oct-29").await?.value.get("Rating")?, Some(4));
/// # Ok(()) })
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MergeOption {
    /// The tracked entity stays unchanged, including its version (CL-04).
    #[default]
    AppendOnly,
    /// The entity that was read replaces the tracked one, and pending changes are dropped (CL-05).
    OverwriteChanges,
    /// Pending changes keep their values and take the version that was read: this resolves a conflict (CL-06).
    PreserveChanges,
}

/// A unit of work on a service.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// use lazuli_client::{Context, Dynamic};
///
/// let blogs = service.create_table("Blogs").await?;
/// let mut context = Context::new(&service);
/// let first = context.add(&blogs, Dynamic::new("Channel9", "Oct-29").with("Rating", 3)?)?;
/// context.save().await?;
///
/// context.edit(first)?.set("Rating", 4)?;
/// context.save().await?;
/// assert_eq!(blogs.get::<Dynamic>("Channel9", "Oct-29").await?.value.get::<i32>("Rating")?, Some(4));
/// # Ok(()) })
/// ```
///
/// It can be sent to another thread, but not shared between two (CL-09):
///
/// ```compile_fail
/// fn shared<T: Sync>() {}
/// shared::<lazuli_client::Context>();
/// ```
pub struct Context {
    service: TableService,
    merge_option: MergeOption,
    /// Distinguishes the handles of this context from those of others.
    id: u64,
    slots: Vec<Option<Slot>>,
    places: HashMap<EntityAddress, usize>,
    /// Pending changes, in order.
    pending: Vec<Pending>,
}

/// Location of an entity: its table, in lower case, and its keys.
type EntityAddress = (String, EntityKey);

/// A pending change.
struct Pending {
    what: What,
    /// Has it been sent, with an unknown outcome?
    uncertain: bool,
    /// Is it done, in a save that is running or was dropped before its end?
    saved: bool,
}

#[derive(Clone)]
enum What {
    CreateTable(Table),
    DeleteTable(Table),
    Entity(usize),
}

impl Context {
    /// Creates a unit of work.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Context;
    /// let context = Context::new(&service);
    /// assert_eq!((context.tracked(), context.pending()), (0, 0));
    /// # Ok(()) })
    /// ```
    pub fn new(service: &TableService) -> Self {
        Self {
            service: service.clone(),
            merge_option: MergeOption::default(),
            id: service.pipeline.environment.random(),
            slots: Vec::new(),
            places: HashMap::new(),
            pending: Vec::new(),
        }
    }

    /// Sets the merge option.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Context, Dynamic, MergeOption};
    /// let blogs = service.create_table("Blogs").await?;
    /// blogs.insert(&Dynamic::new("Channel9", "Oct-29").with("Rating", 3)?).await?;
    /// let mut context = Context::new(&service).with_merge_option(MergeOption::OverwriteChanges);
    /// let post = context.get::<Dynamic>(&blogs, "Channel9", "Oct-29").await?;
    /// context.edit(post)?.set("Rating", 4)?;
    /// // Reading again discards unsaved changes.
    /// context.get::<Dynamic>(&blogs, "Channel9", "Oct-29").await?;
    /// assert_eq!((context.entity(post)?.get("Rating")?, context.pending()), (Some(3), 0));
    /// # Ok(()) })
    /// ```
    pub fn with_merge_option(mut self, option: MergeOption) -> Self {
        self.merge_option = option;
        self
    }

    /// Changes the merge option from now on.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Context, Dynamic, MergeOption};
    /// let blogs = service.create_table("Blogs").await?;
    /// let mut context = Context::new(&service);
    /// let post = context.add(&blogs, Dynamic::new("Channel9", "Oct-29").with("Rating", 3)?)?;
    /// context.save().await?;
    /// blogs.merge(&Dynamic::new("Channel9", "Oct-29").with("Rating", 1)?).await?;
    /// context.get::<Dynamic>(&blogs, "Channel9", "Oct-29").await?;
    /// assert_eq!(context.entity(post)?.get("Rating")?, Some(3));
    /// context.set_merge_option(MergeOption::OverwriteChanges);
    /// context.get::<Dynamic>(&blogs, "Channel9", "Oct-29").await?;
    /// assert_eq!(context.entity(post)?.get("Rating")?, Some(1));
    /// # Ok(()) })
    /// ```
    pub fn set_merge_option(&mut self, option: MergeOption) {
        self.merge_option = option;
    }

    /// Number of pending changes.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Context, Dynamic};
    /// let blogs = service.create_table("Blogs").await?;
    /// let mut context = Context::new(&service);
    /// let post = context.add(&blogs, Dynamic::new("Channel9", "Oct-29"))?;
    /// // Changing an entity that is to be added is not a separate change.
    /// context.edit(post)?.set("Rating", 4)?;
    /// assert_eq!(context.pending(), 1);
    /// assert_eq!((context.save().await?, context.pending()), (1, 0));
    /// # Ok(()) })
    /// ```
    pub fn pending(&self) -> usize {
        self.pending.iter().filter(|pending| !pending.saved).count()
    }

    /// Number of tracked entities.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Context, Dynamic};
    /// let blogs = service.create_table("Blogs").await?;
    /// let mut context = Context::new(&service);
    /// let post = context.add(&blogs, Dynamic::new("Channel9", "Oct-29"))?;
    /// context.save().await?;
    /// assert_eq!(context.tracked(), 1);
    /// context.delete(post)?;
    /// context.save().await?;
    /// assert_eq!(context.tracked(), 0);
    /// # Ok(()) })
    /// ```
    pub fn tracked(&self) -> usize {
        self.places.len()
    }

    /// Creates a table with the next save, before any later changes (LA-18).
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Context, Dynamic};
    /// let mut context = Context::new(&service);
    /// let blogs = context.create_table("Blogs")?;
    /// context.add(&blogs, Dynamic::new("Channel9", "Oct-29"))?;
    /// assert!(!blogs.exists().await?);
    /// assert_eq!(context.save().await?, 2);
    /// blogs.get::<Dynamic>("Channel9", "Oct-29").await?;
    /// # Ok(()) })
    /// ```
    pub fn create_table(&mut self, name: &str) -> Result<Table> {
        let table = self.service.table(name)?;
        self.await_save(What::CreateTable(table.clone()));
        Ok(table)
    }

    /// Deletes a table with the next save, after all earlier changes.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Context;
    /// let blogs = service.create_table("Blogs").await?;
    /// let mut context = Context::new(&service);
    /// context.delete_table("Blogs")?;
    /// assert!(blogs.exists().await?);
    /// context.save().await?;
    /// assert!(!blogs.exists().await?);
    /// # Ok(()) })
    /// ```
    pub fn delete_table(&mut self, name: &str) -> Result<()> {
        let table = self.service.table(name)?;
        self.await_save(What::DeleteTable(table));
        Ok(())
    }

    /// Drops the pending creation and deletion of a table; changes of its entities stay. Otherwise a table that already exists
    /// would fail every save. Returns whether anything was pending.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Context, Dynamic};
    /// service.create_table("Blogs").await?;
    /// let mut context = Context::new(&service);
    /// let blogs = context.create_table("Blogs")?;
    /// context.add(&blogs, Dynamic::new("Channel9", "Oct-29"))?;
    /// assert!(context.save().await.is_err());
    /// assert!(context.detach_table("Blogs")?);
    /// assert_eq!(context.save().await?, 1);
    /// # Ok(()) })
    /// ```
    pub fn detach_table(&mut self, name: &str) -> Result<bool> {
        let name = self.service.table(name)?.table_name().folded();
        let before = self.pending.len();
        self.pending.retain(|pending| match &pending.what {
            What::CreateTable(table) | What::DeleteTable(table) => table.table_name().folded() != name,
            What::Entity(_) => true,
        });
        Ok(self.pending.len() < before)
    }

    /// Saves pending changes as merges and ends the context (LA-20). A context that is dropped with pending changes logs
    /// a warning.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Context, Dynamic};
    /// let blogs = service.create_table("Blogs").await?;
    /// let mut context = Context::new(&service);
    /// context.add(&blogs, Dynamic::new("Channel9", "Oct-29"))?;
    /// context.close().await?;
    /// blogs.get::<Dynamic>("Channel9", "Oct-29").await?;
    /// # Ok(()) })
    /// ```
    pub async fn close(mut self) -> Result<(), SaveError> {
        self.save().await.map(|_| ())
    }

    fn handle<T>(&self, index: usize) -> Handle<T> {
        Handle::new(self.id, index)
    }

    fn index_of<T: Entity>(&self, handle: Handle<T>) -> Result<usize> {
        let slot = self.slots.get(handle.index).and_then(Option::as_ref);
        match slot {
            Some(slot) if handle.context == self.id && slot.holds::<T>() => Ok(handle.index),
            _ => Err(no_such()),
        }
    }

    fn slot_mut(&mut self, index: usize) -> Result<&mut Slot> {
        self.slots.get_mut(index).and_then(Option::as_mut).ok_or_else(no_such)
    }

    fn track_new<T: Entity>(
        &mut self,
        table: &Table,
        entity: T,
        etag: Option<ETag>,
        state: State,
    ) -> Result<usize> {
        let place = place(table, &entity)?;
        if self.places.contains_key(&place) {
            return Err(Error::input("an entity with these keys is already tracked"));
        }
        let index = self.slots.len();
        self.slots.push(Some(Slot::new(table.clone(), place.1.clone(), entity, etag, state)));
        self.places.insert(place, index);
        Ok(index)
    }

    fn await_save(&mut self, what: What) {
        self.pending.push(Pending { what, uncertain: false, saved: false });
    }

    /// Has a change of the entity been sent, with an unknown outcome?
    fn is_uncertain(&self, index: usize) -> bool {
        let of_entity = |pending: &&Pending| matches!(pending.what, What::Entity(other) if other == index);
        self.pending.iter().filter(of_entity).any(|pending| pending.uncertain && !pending.saved)
    }

    fn forget_pending(&mut self, index: usize) {
        self.pending.retain(|pending| !matches!(pending.what, What::Entity(other) if other == index));
    }

    fn drop_slot(&mut self, index: usize) -> Option<Slot> {
        let slot = self.slots.get_mut(index)?.take()?;
        self.places.remove(&(slot.table.table_name().folded(), slot.key.clone()));
        Some(slot)
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tracked, pending) = (self.tracked(), self.pending());
        f.debug_struct("Context")
            .field("service", &self.service)
            .field("tracked", &tracked)
            .field("pending", &pending)
            .finish()
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let pending = self.pending();
        if pending > 0 {
            tracing::warn!(pending, "context dropped with unsaved changes");
        }
    }
}

fn place<T: Entity>(table: &Table, entity: &T) -> Result<EntityAddress> {
    Ok((table.table_name().folded(), entity.key()?))
}

fn no_such() -> Error {
    Error::input("the context does not track this entity")
}
