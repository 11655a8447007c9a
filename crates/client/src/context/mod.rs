//! A unit of work: objects that are tracked, and changes that are sent together later.
//!
//! What is pending stays pending until the service has taken it, and goes out in the order in which it came. A context
//! belongs to one task at a time: it can be sent to another thread, not shared between two (CL-09).

mod save;
mod tracked;

pub use save::{FailedChange, SaveError, SaveMode, SaveOptions};
pub use tracked::Handle;

use std::collections::HashMap;

use lazuli_model::EntityKey;

use crate::entity::Entity;
use crate::error::{Error, Result};
use crate::service::TableService;
use crate::table::Table;
use crate::versioned::{ETag, Versioned};
use tracked::{Slot, State};

/// What reading an entity does that is tracked already. To read without tracking, read through [`Table`] (CL-07).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MergeOption {
    /// What is tracked stays as it is, version and all (CL-04).
    #[default]
    AppendOnly,
    /// What was read takes its place, and what was pending is forgotten (CL-05).
    OverwriteChanges,
    /// What is pending keeps its values and takes the version that was read: the way out of a conflict (CL-06).
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
/// It goes to another thread, but is not shared between two (CL-09):
///
/// ```compile_fail
/// fn shared<T: Sync>() {}
/// shared::<lazuli_client::Context>();
/// ```
pub struct Context {
    service: TableService,
    merge_option: MergeOption,
    /// Tells the handles of this context from those of others.
    id: u64,
    slots: Vec<Option<Slot>>,
    places: HashMap<Place, usize>,
    /// What is to be sent, in order.
    pending: Vec<Pending>,
}

/// Where an entity is: its table, in lower case, and its keys.
type Place = (String, EntityKey);

/// Something to be sent.
#[derive(Clone)]
enum Pending {
    CreateTable(Table),
    DeleteTable(Table),
    Entity(usize),
}

impl Context {
    /// A unit of work.
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

    /// The same with another way to meet entities again.
    pub fn with_merge_option(mut self, option: MergeOption) -> Self {
        self.merge_option = option;
        self
    }

    /// Meets entities another way from now on.
    pub fn set_merge_option(&mut self, option: MergeOption) {
        self.merge_option = option;
    }

    /// How many changes wait to be sent.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// How many entities are tracked.
    pub fn tracked(&self) -> usize {
        self.places.len()
    }

    /// Creates a table with the next save, before whatever is added after it (LA-18).
    pub fn create_table(&mut self, name: &str) -> Result<Table> {
        let table = self.service.table(name)?;
        self.pending.push(Pending::CreateTable(table.clone()));
        Ok(table)
    }

    /// Deletes a table with the next save, after whatever was added before it.
    pub fn delete_table(&mut self, name: &str) -> Result<()> {
        let table = self.service.table(name)?;
        self.pending.push(Pending::DeleteTable(table));
        Ok(())
    }

    /// Inserts an entity with the next save.
    pub fn add<T: Entity>(&mut self, table: &Table, entity: T) -> Result<Handle<T>> {
        let index = self.track_new(table, entity, None, State::Added)?;
        self.pending.push(Pending::Entity(index));
        Ok(self.handle(index))
    }

    /// Tracks an entity that is in the table, in this version; nothing is to be sent yet. Without a version any is meant.
    pub fn attach<T: Entity>(&mut self, table: &Table, entity: T, etag: Option<ETag>) -> Result<Handle<T>> {
        let index = self.track_new(table, entity, etag, State::Unchanged)?;
        Ok(self.handle(index))
    }

    /// Tracks what was read; if it is tracked already, the [`MergeOption`] decides.
    pub fn track<T: Entity>(&mut self, table: &Table, read: Versioned<T>) -> Result<Handle<T>> {
        let place = place(table, &read.value)?;
        let Some(&index) = self.places.get(&place) else {
            return self.attach(table, read.value, Some(read.etag));
        };
        let option = self.merge_option;
        let slot = self.slot_mut(index)?;
        if !slot.holds::<T>() {
            return Err(Error::input("the entity is tracked as another type"));
        }
        match option {
            MergeOption::AppendOnly => {}
            MergeOption::PreserveChanges if slot.state != State::Unchanged => slot.etag = Some(read.etag),
            MergeOption::PreserveChanges | MergeOption::OverwriteChanges => {
                slot.refresh(read);
                self.forget_pending(index);
            }
        }
        Ok(self.handle(index))
    }

    /// Reads an entity and tracks it.
    pub async fn get<T: Entity>(
        &mut self,
        table: &Table,
        partition_key: impl Into<String>,
        row_key: impl Into<String>,
    ) -> Result<Handle<T>> {
        let read = table.get(partition_key, row_key).await?;
        self.track(table, read)
    }

    /// Reads an entity and tracks it, if it is there.
    pub async fn try_get<T: Entity>(
        &mut self,
        table: &Table,
        partition_key: impl Into<String>,
        row_key: impl Into<String>,
    ) -> Result<Option<Handle<T>>> {
        match table.try_get(partition_key, row_key).await? {
            Some(read) => self.track(table, read).map(Some),
            None => Ok(None),
        }
    }

    /// Looks at an entity.
    pub fn entity<T: Entity>(&self, handle: Handle<T>) -> Result<&T> {
        let index = self.index_of(handle)?;
        self.slots[index].as_ref().and_then(Slot::entity).ok_or_else(no_such)
    }

    /// The version of an entity as it is known; `None` while it is only added.
    pub fn etag<T: Entity>(&self, handle: Handle<T>) -> Result<Option<&ETag>> {
        let index = self.index_of(handle)?;
        Ok(self.slots[index].as_ref().and_then(|slot| slot.etag.as_ref()))
    }

    /// Changes an entity: it goes out with the next save.
    pub fn edit<T: Entity>(&mut self, handle: Handle<T>) -> Result<&mut T> {
        self.update(handle)?;
        let index = self.index_of(handle)?;
        self.slot_mut(index)?.entity_mut().ok_or_else(no_such)
    }

    /// Sends an entity with the next save as it is then.
    pub fn update<T: Entity>(&mut self, handle: Handle<T>) -> Result<()> {
        let index = self.index_of(handle)?;
        let slot = self.slot_mut(index)?;
        match slot.state {
            State::Added | State::Modified => Ok(()),
            State::Deleted => Err(Error::input("the entity is to be deleted")),
            State::Unchanged => {
                slot.state = State::Modified;
                self.pending.push(Pending::Entity(index));
                Ok(())
            }
        }
    }

    /// Deletes an entity with the next save; one that was only added is forgotten.
    pub fn delete<T: Entity>(&mut self, handle: Handle<T>) -> Result<()> {
        let index = self.index_of(handle)?;
        let slot = self.slot_mut(index)?;
        let before = std::mem::replace(&mut slot.state, State::Deleted);
        match before {
            State::Added => {
                self.forget_pending(index);
                self.drop_slot(index);
            }
            State::Unchanged => self.pending.push(Pending::Entity(index)),
            State::Modified | State::Deleted => {}
        }
        Ok(())
    }

    /// Stops tracking an entity, forgets what was to be done with it, and gives it back.
    pub fn detach<T: Entity>(&mut self, handle: Handle<T>) -> Result<T> {
        let index = self.index_of(handle)?;
        self.forget_pending(index);
        self.drop_slot(index).and_then(Slot::into_entity).ok_or_else(no_such)
    }

    /// Sends what is pending as merges and ends the context (LA-20). One that is dropped with changes pending says so in
    /// the log.
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
            return Err(Error::input("an entity with these keys is tracked already"));
        }
        let index = self.slots.len();
        self.slots.push(Some(Slot::new(table.clone(), place.1.clone(), entity, etag, state)));
        self.places.insert(place, index);
        Ok(index)
    }

    fn forget_pending(&mut self, index: usize) {
        self.pending.retain(|pending| !matches!(pending, Pending::Entity(other) if *other == index));
    }

    fn drop_slot(&mut self, index: usize) -> Option<Slot> {
        let slot = self.slots.get_mut(index)?.take()?;
        self.places.remove(&(slot.table.table_name().folded(), slot.key.clone()));
        Some(slot)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if !self.pending.is_empty() {
            tracing::warn!(
                pending = self.pending.len(),
                "a context is dropped with changes that were not saved"
            );
        }
    }
}

fn place<T: Entity>(table: &Table, entity: &T) -> Result<Place> {
    Ok((table.table_name().folded(), entity.key()?))
}

fn no_such() -> Error {
    Error::input("the context does not track this entity")
}
