//! An entity of any type, tracked by a context.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;

use lazuli_model::EntityKey;

use crate::entity::Entity;
use crate::error::{Error, Result};
use crate::table::Table;
use crate::versioned::{ETag, Versioned};
use crate::write::{Change, WriteMode, WriteOptions};

/// Identifies an entity that a [`super::Context`] tracks.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// use lazuli_client::{Context, Dynamic, Handle};
///
/// let blogs = service.create_table("Blogs").await?;
/// let mut context = Context::new(&service);
/// // It is a number, so a program can keep many of them next to the context.
/// let post: Handle<Dynamic> = context.add(&blogs, Dynamic::new("Channel9", "Oct-29"))?;
/// context.edit(post)?.set("Rating", 4)?;
/// assert_eq!(context.entity(post)?.get("Rating")?, Some(4));
/// // It is not valid in another context.
/// assert!(Context::new(&service).entity(post).is_err());
/// # context.detach(post)?;
/// # Ok(()) })
/// ```
pub struct Handle<T> {
    pub(super) context: u64,
    pub(super) index: usize,
    entity: PhantomData<fn() -> T>,
}

impl<T> Handle<T> {
    pub(super) fn new(context: u64, index: usize) -> Self {
        Self { context, index, entity: PhantomData }
    }
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

impl<T> PartialEq for Handle<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.context, self.index) == (other.context, other.index)
    }
}

impl<T> Eq for Handle<T> {}

impl<T> fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Handle({})", self.index)
    }
}

/// The pending operation of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Added,
    Unchanged,
    Modified,
    Deleted,
}

/// A tracked entity.
pub(super) struct Slot {
    pub table: Table,
    pub key: EntityKey,
    entity: Box<dyn Tracked>,
    pub etag: Option<ETag>,
    pub state: State,
}

impl Slot {
    pub fn new<T: Entity>(table: Table, key: EntityKey, entity: T, etag: Option<ETag>, state: State) -> Self {
        Self { table, key, entity: Box::new(entity), etag, state }
    }

    pub fn holds<T: Entity>(&self) -> bool {
        self.entity.as_any().is::<T>()
    }

    pub fn entity<T: Entity>(&self) -> Option<&T> {
        self.entity.as_any().downcast_ref()
    }

    pub fn entity_mut<T: Entity>(&mut self) -> Option<&mut T> {
        self.entity.as_any_mut().downcast_mut()
    }

    pub fn into_entity<T: Entity>(self) -> Option<T> {
        self.entity.into_any().downcast().ok().map(|entity| *entity)
    }

    /// Takes over an entity that was read.
    pub fn refresh<T: Entity>(&mut self, read: Versioned<T>) {
        self.entity = Box::new(read.value);
        self.etag = Some(read.etag);
        self.state = State::Unchanged;
    }

    /// The change to be sent. An entity whose keys were changed cannot be saved.
    pub fn change(&self, replace: bool) -> Result<Change> {
        let mode = match self.state {
            State::Deleted => return Ok(Change::delete(self.key.clone(), self.etag.as_ref())),
            State::Added => WriteMode::Insert,
            State::Modified | State::Unchanged if replace => WriteMode::Replace,
            State::Modified | State::Unchanged => WriteMode::Merge,
        };
        let if_match = self.etag.clone().filter(|_| mode != WriteMode::Insert);
        let change = self.entity.change(&WriteOptions { mode, if_match })?;
        if change.key == self.key {
            Ok(change)
        } else {
            Err(Error::input("the keys of a tracked entity were changed; delete it and add a new one"))
        }
    }
}

/// An entity of any type.
trait Tracked: Send {
    fn change(&self, options: &WriteOptions) -> Result<Change>;
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<T: Entity> Tracked for T {
    fn change(&self, options: &WriteOptions) -> Result<Change> {
        Change::write(self, options)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
