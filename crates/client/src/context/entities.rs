//! Operations of a context on entities: track, read, and mark for saving.

use super::tracked::{Handle, Slot, State};
use super::{Context, MergeOption, What, no_such, place};
use crate::entity::Entity;
use crate::error::{Error, Result};
use crate::table::Table;
use crate::versioned::{ETag, Versioned};

impl Context {
    /// Inserts an entity with the next save.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Context, Dynamic};
    /// let blogs = service.create_table("Blogs").await?;
    /// let mut context = Context::new(&service);
    /// let post = context.add(&blogs, Dynamic::new("Channel9", "Oct-29"))?;
    /// // A context has one object per entity.
    /// assert!(context.add(&blogs, Dynamic::new("Channel9", "Oct-29")).is_err());
    /// context.save().await?;
    /// assert_eq!(context.etag(post)?, Some(&blogs.get::<Dynamic>("Channel9", "Oct-29").await?.etag));
    /// # Ok(()) })
    /// ```
    pub fn add<T: Entity>(&mut self, table: &Table, entity: T) -> Result<Handle<T>> {
        let index = self.track_new(table, entity, None, State::Added)?;
        self.await_save(What::Entity(index));
        Ok(self.handle(index))
    }

    /// Tracks an entity that exists in this version, without pending changes. Without a version, any version matches.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Context, Dynamic};
    /// let blogs = service.create_table("Blogs").await?;
    /// blogs.insert(&Dynamic::new("Channel9", "Oct-29").with("Rating", 3)?).await?;
    /// // Changes an entity with known keys without reading it.
    /// let mut context = Context::new(&service);
    /// let post = context.attach(&blogs, Dynamic::new("Channel9", "Oct-29"), None)?;
    /// context.edit(post)?.set("Text", "New")?;
    /// context.save().await?;
    /// assert_eq!(blogs.get::<Dynamic>("Channel9", "Oct-29").await?.value.props.len(), 2);
    /// # Ok(()) })
    /// ```
    pub fn attach<T: Entity>(&mut self, table: &Table, entity: T, etag: Option<ETag>) -> Result<Handle<T>> {
        let index = self.track_new(table, entity, etag, State::Unchanged)?;
        Ok(self.handle(index))
    }

    /// Tracks an entity that was read; if it is already tracked, the [`MergeOption`] decides.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Context, Dynamic, Versioned};
    /// let blogs = service.create_table("Blogs").await?;
    /// blogs.insert(&Dynamic::new("Channel9", "Oct-29").with("Rating", 3)?).await?;
    /// let mut context = Context::new(&service);
    /// for read in blogs.query::<Versioned<Dynamic>>().collect().await? {
    ///     let post = context.track(&blogs, read)?;
    ///     context.edit(post)?.set("Rating", 5)?;
    /// }
    /// assert_eq!(context.save().await?, 1);
    /// # Ok(()) })
    /// ```
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
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Context, Dynamic};
    /// let blogs = service.create_table("Blogs").await?;
    /// blogs.insert(&Dynamic::new("Channel9", "Oct-29").with("Rating", 3)?).await?;
    /// let mut context = Context::new(&service);
    /// let post = context.get::<Dynamic>(&blogs, "Channel9", "Oct-29").await?;
    /// assert_eq!(context.entity(post)?.get("Rating")?, Some(3));
    /// // Reading again returns the same object.
    /// assert_eq!(context.get::<Dynamic>(&blogs, "Channel9", "Oct-29").await?, post);
    /// # Ok(()) })
    /// ```
    pub async fn get<T: Entity>(
        &mut self,
        table: &Table,
        partition_key: impl Into<String>,
        row_key: impl Into<String>,
    ) -> Result<Handle<T>> {
        let read = table.get(partition_key, row_key).await?;
        self.track(table, read)
    }

    /// Reads an entity and tracks it, if it exists.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Context, Dynamic};
    /// let blogs = service.create_table("Blogs").await?;
    /// let mut context = Context::new(&service);
    /// let post = match context.try_get::<Dynamic>(&blogs, "Channel9", "Oct-29").await? {
    ///     Some(post) => post,
    ///     None => context.add(&blogs, Dynamic::new("Channel9", "Oct-29"))?,
    /// };
    /// context.edit(post)?.set("Rating", 4)?;
    /// assert_eq!(context.save().await?, 1);
    /// # Ok(()) })
    /// ```
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

    /// Returns a tracked entity.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Context, Dynamic};
    /// let blogs = service.create_table("Blogs").await?;
    /// let mut context = Context::new(&service);
    /// let post = context.attach(&blogs, Dynamic::new("Channel9", "Oct-29"), None)?;
    /// assert_eq!(context.entity(post)?.row_key, "Oct-29");
    /// assert_eq!(context.pending(), 0, "reading changes nothing");
    /// # Ok(()) })
    /// ```
    pub fn entity<T: Entity>(&self, handle: Handle<T>) -> Result<&T> {
        let index = self.index_of(handle)?;
        self.slots[index].as_ref().and_then(Slot::entity).ok_or_else(no_such)
    }

    /// The known version of an entity; `None` if it was only added.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Context, Dynamic};
    /// let blogs = service.create_table("Blogs").await?;
    /// let mut context = Context::new(&service);
    /// let post = context.add(&blogs, Dynamic::new("Channel9", "Oct-29"))?;
    /// assert_eq!(context.etag(post)?, None);
    /// context.save().await?;
    /// assert!(context.etag(post)?.is_some());
    /// # Ok(()) })
    /// ```
    pub fn etag<T: Entity>(&self, handle: Handle<T>) -> Result<Option<&ETag>> {
        let index = self.index_of(handle)?;
        Ok(self.slots[index].as_ref().and_then(|slot| slot.etag.as_ref()))
    }

    /// Changes an entity with the next save.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Context, Dynamic};
    /// let blogs = service.create_table("Blogs").await?;
    /// blogs.insert(&Dynamic::new("Channel9", "Oct-29").with("Rating", 3)?).await?;
    /// let mut context = Context::new(&service);
    /// let post = context.get::<Dynamic>(&blogs, "Channel9", "Oct-29").await?;
    /// context.edit(post)?.set("Rating", 4)?;
    /// context.save().await?;
    /// assert_eq!(blogs.get::<Dynamic>("Channel9", "Oct-29").await?.value.get("Rating")?, Some(4));
    /// # Ok(()) })
    /// ```
    pub fn edit<T: Entity>(&mut self, handle: Handle<T>) -> Result<&mut T> {
        self.update(handle)?;
        let index = self.index_of(handle)?;
        self.slot_mut(index)?.entity_mut().ok_or_else(no_such)
    }

    /// Writes an entity with the next save, in its state at that time.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Context, Dynamic};
    /// let blogs = service.create_table("Blogs").await?;
    /// blogs.insert(&Dynamic::new("Channel9", "Oct-29").with("Rating", 3)?).await?;
    /// let mut context = Context::new(&service);
    /// // The object was changed before it was attached.
    /// let post = context.attach(&blogs, Dynamic::new("Channel9", "Oct-29").with("Rating", 4)?, None)?;
    /// context.update(post)?;
    /// assert_eq!(context.save().await?, 1);
    /// assert_eq!(blogs.get::<Dynamic>("Channel9", "Oct-29").await?.value.get("Rating")?, Some(4));
    /// # Ok(()) })
    /// ```
    pub fn update<T: Entity>(&mut self, handle: Handle<T>) -> Result<()> {
        let index = self.index_of(handle)?;
        let slot = self.slot_mut(index)?;
        match slot.state {
            State::Added | State::Modified => Ok(()),
            State::Deleted => Err(Error::input("the entity is marked for deletion")),
            State::Unchanged => {
                slot.state = State::Modified;
                self.await_save(What::Entity(index));
                Ok(())
            }
        }
    }

    /// Deletes an entity with the next save; an entity that was only added is removed from the context. If a
    /// save got no response, so that it is unknown whether the entity is stored, this is an error: the next
    /// save determines that.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Context, Dynamic};
    /// let blogs = service.create_table("Blogs").await?;
    /// blogs.insert(&Dynamic::new("Channel9", "Oct-29")).await?;
    /// let mut context = Context::new(&service);
    /// let post = context.get::<Dynamic>(&blogs, "Channel9", "Oct-29").await?;
    /// context.delete(post)?;
    /// context.save().await?;
    /// assert_eq!(blogs.try_get::<Dynamic>("Channel9", "Oct-29").await?, None);
    /// # Ok(()) })
    /// ```
    pub fn delete<T: Entity>(&mut self, handle: Handle<T>) -> Result<()> {
        let index = self.index_of(handle)?;
        if self.slot_mut(index)?.state == State::Added && self.is_uncertain(index) {
            // Dropping it might leave it in the table; deleting it might delete another client's entity.
            let text =
                "an earlier save may have stored the entity; save again before deleting it, or detach it";
            return Err(Error::input(text));
        }
        let slot = self.slot_mut(index)?;
        let before = std::mem::replace(&mut slot.state, State::Deleted);
        match before {
            State::Added => {
                self.forget_pending(index);
                self.drop_slot(index);
            }
            State::Unchanged => self.await_save(What::Entity(index)),
            State::Modified | State::Deleted => {}
        }
        Ok(())
    }

    /// Stops tracking an entity, drops its pending change, and returns it.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Context, Dynamic};
    /// let blogs = service.create_table("Blogs").await?;
    /// let mut context = Context::new(&service);
    /// let post = context.add(&blogs, Dynamic::new("Channel9", "Oct-29"))?;
    /// let kept = context.detach(post)?;
    /// assert_eq!((kept.row_key.as_str(), context.pending()), ("Oct-29", 0));
    /// # Ok(()) })
    /// ```
    pub fn detach<T: Entity>(&mut self, handle: Handle<T>) -> Result<T> {
        let index = self.index_of(handle)?;
        self.forget_pending(index);
        self.drop_slot(index).and_then(Slot::into_entity).ok_or_else(no_such)
    }
}
