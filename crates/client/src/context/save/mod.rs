//! Sends pending changes: one by one, as one batch, or as batches grouped by table and partition.

mod error;
mod options;

use super::tracked::{Slot, State};
use super::{Context, What};
use crate::batch::Batch;
use crate::error::{Applied, Error, Result};
use crate::table::Table;
use crate::versioned::ETag;
use crate::write::{Change, ChangeKind};
pub use error::{FailedChange, SaveError};
pub use options::{SaveMode, SaveOptions};

/// Changes that are sent together: positions in the list of pending changes.
enum Step {
    One(usize),
    Batch(Table, Vec<usize>),
}

impl Context {
    /// Sends pending changes one by one; changed entities are merged (CL-03). Returns the number of saved changes.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Context, Dynamic};
    /// let blogs = service.create_table("Blogs").await?;
    /// let mut context = Context::new(&service);
    /// let post = context.add(&blogs, Dynamic::new("Channel9", "a").with("Rating", 3)?)?;
    /// context.add(&blogs, Dynamic::new("Channel8", "a"))?;
    /// assert_eq!(context.save().await?, 2);
    /// context.edit(post)?.set("Rating", 4)?;
    /// assert_eq!(context.save().await?, 1);
    /// # Ok(()) })
    /// ```
    pub async fn save(&mut self) -> Result<usize, SaveError> {
        self.save_with(SaveOptions::default()).await
    }

    /// Like [`Context::save`], but replaces changed entities.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Context, Dynamic};
    /// let blogs = service.create_table("Blogs").await?;
    /// let mut context = Context::new(&service);
    /// let post = context.add(&blogs, Dynamic::new("Channel9", "a").with("Draft", true)?)?;
    /// context.save().await?;
    /// // A merge would leave the property in place.
    /// context.edit(post)?.set("Draft", None::<bool>)?;
    /// context.save_replace().await?;
    /// assert_eq!(blogs.get::<Dynamic>("Channel9", "a").await?.value.get::<bool>("Draft")?, None);
    /// # Ok(()) })
    /// ```
    pub async fn save_replace(&mut self) -> Result<usize, SaveError> {
        self.save_with(SaveOptions { replace: true, ..SaveOptions::default() }).await
    }

    /// Sends all pending changes as one batch.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Context, Dynamic};
    /// let blogs = service.create_table("Blogs").await?;
    /// blogs.insert(&Dynamic::new("Channel9", "b")).await?;
    /// let mut context = Context::new(&service);
    /// context.add(&blogs, Dynamic::new("Channel9", "a"))?;
    /// context.add(&blogs, Dynamic::new("Channel9", "b"))?;
    /// // The second entity exists, so the first is not added either.
    /// assert!(context.save_batch().await.is_err());
    /// assert_eq!(blogs.try_get::<Dynamic>("Channel9", "a").await?, None);
    /// # Ok(()) })
    /// ```
    pub async fn save_batch(&mut self) -> Result<usize, SaveError> {
        self.save_with(SaveOptions { mode: SaveMode::OneBatch, ..SaveOptions::default() }).await
    }

    /// Sends pending changes.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Context, Dynamic, SaveMode, SaveOptions};
    /// let blogs = service.create_table("Blogs").await?;
    /// let mut context = Context::new(&service);
    /// for n in 0..250 {
    ///     context.add(&blogs, Dynamic::new("Channel9", format!("{n:03}")))?;
    /// }
    /// // Three requests, since a batch holds a hundred changes.
    /// let options = SaveOptions { mode: SaveMode::Batches, replace: true, ..SaveOptions::default() };
    /// assert_eq!(context.save_with(options).await?, 250);
    /// # Ok(()) })
    /// ```
    pub async fn save_with(&mut self, options: SaveOptions) -> Result<usize, SaveError> {
        // Left over from a save that was dropped before its end.
        self.pending.retain(|pending| !pending.saved);
        let mut outcome = SaveError { saved: 0, failed: Vec::new() };
        match self.steps(options) {
            Err((position, error)) => outcome.failed.push(self.failed(position, error)),
            Ok(steps) => {
                for step in steps {
                    match self.run(&step, options).await {
                        Ok(()) => step.positions().for_each(|position| {
                            self.pending[position].saved = true;
                            outcome.saved += 1;
                        }),
                        Err((position, error)) => outcome.failed.push(self.failed(position, error)),
                    }
                    if !outcome.failed.is_empty() && !options.continue_on_error {
                        break;
                    }
                }
            }
        }
        self.pending.retain(|pending| !pending.saved);
        if outcome.failed.is_empty() { Ok(outcome.saved) } else { Err(outcome) }
    }

    fn failed(&self, position: usize, error: Error) -> FailedChange {
        let (table, key) = match self.pending.get(position).map(|pending| &pending.what) {
            Some(What::CreateTable(table) | What::DeleteTable(table)) => (table.name().to_owned(), None),
            Some(What::Entity(index)) => match self.slots.get(*index).and_then(Option::as_ref) {
                Some(slot) => (slot.table.name().to_owned(), Some(slot.key.clone())),
                None => (String::new(), None),
            },
            None => (String::new(), None),
        };
        FailedChange { table, key, error }
    }

    /// The steps of a save, in order. Nothing is moved across a change of a table.
    fn steps(&self, options: SaveOptions) -> Result<Vec<Step>, (usize, Error)> {
        if options.mode == SaveMode::Each {
            return Ok((0..self.pending.len()).map(Step::One).collect());
        }
        let mut steps: Vec<Step> = Vec::new();
        let mut open: Vec<(usize, Batch)> = Vec::new();
        for (position, pending) in self.pending.iter().enumerate() {
            let What::Entity(index) = pending.what else {
                open.clear();
                steps.push(Step::One(position));
                continue;
            };
            let found = self.slot(index).and_then(|slot| Ok((slot, slot.change(options.replace)?)));
            let (slot, change) = match found {
                Ok(found) => found,
                Err(error) if options.mode == SaveMode::OneBatch => return Err((position, error)),
                // Fails on its own, when its step is reached.
                Err(_) => {
                    steps.push(Step::One(position));
                    continue;
                }
            };
            let place = open.iter_mut().find(|(_, batch)| batch.is_for(&slot.table, &change));
            match place {
                Some((step, batch)) if batch.has_room_for(&change) && !batch.has_row(&change) => {
                    batch.push(change).map_err(|error| (position, error))?;
                    if let Step::Batch(_, positions) = &mut steps[*step] {
                        positions.push(position);
                    }
                }
                _ => {
                    open.retain(|(_, batch)| !batch.is_for(&slot.table, &change));
                    let mut batch = Batch::new(slot.table.clone(), change.key.partition.clone());
                    batch.push(change).map_err(|error| (position, error))?;
                    open.push((steps.len(), batch));
                    steps.push(Step::Batch(slot.table.clone(), vec![position]));
                }
            }
        }
        match (options.mode, steps.get(1)) {
            (SaveMode::OneBatch, Some(second)) => {
                let text =
                    "the changes do not fit into one batch: they span tables or partitions, or are too many";
                Err((second.positions().next().unwrap_or(0), Error::input(text)))
            }
            _ => Ok(steps),
        }
    }

    fn slot(&self, index: usize) -> Result<&Slot> {
        self.slots.get(index).and_then(Option::as_ref).ok_or_else(super::no_such)
    }

    async fn run(&mut self, step: &Step, options: SaveOptions) -> Result<(), (usize, Error)> {
        match step {
            Step::One(position) => {
                self.run_one(*position, options.replace).await.map_err(|error| (*position, error))
            }
            Step::Batch(table, positions) => self.run_batch(table, positions, options.replace).await,
        }
    }

    async fn run_one(&mut self, position: usize, replace: bool) -> Result<()> {
        let index = match self.pending[position].what.clone() {
            What::CreateTable(table) => {
                let created = table.create_after(self.begin(&[position])).await;
                return self.end(&[position], created);
            }
            What::DeleteTable(table) => {
                let deleted = table.delete_after(self.begin(&[position])).await;
                return self.end(&[position], deleted);
            }
            What::Entity(index) => index,
        };
        let slot = self.slot(index)?;
        let change = slot.change(replace)?;
        let table = slot.table.clone();
        let uncertain = self.begin(&[position]);
        let etag = match change.kind {
            ChangeKind::Delete => table.apply_delete(&change, uncertain).await.map(|()| None),
            ChangeKind::Write(_) => table.apply(&change, uncertain).await.map(Some),
        };
        let etag = self.end(&[position], etag)?;
        self.saved(index, etag);
        Ok(())
    }

    async fn run_batch(
        &mut self,
        table: &Table,
        positions: &[usize],
        replace: bool,
    ) -> Result<(), (usize, Error)> {
        let first = positions.first().copied().unwrap_or(0);
        let at =
            |place: Option<usize>| place.and_then(|place| positions.get(place)).copied().unwrap_or(first);
        let mut indexes = Vec::with_capacity(positions.len());
        let mut changes: Vec<Change> = Vec::with_capacity(positions.len());
        for &position in positions {
            let What::Entity(index) = self.pending[position].what else { continue };
            let change = self.slot(index).and_then(|slot| slot.change(replace));
            changes.push(change.map_err(|error| (position, error))?);
            indexes.push(index);
        }
        let Some(change) = changes.first() else { return Ok(()) };
        let mut batch = Batch::new(table.clone(), change.key.partition.clone());
        for (place, change) in changes.into_iter().enumerate() {
            batch.push(change).map_err(|error| (at(Some(place)), error))?;
        }
        let done = batch.after(self.begin(positions)).execute().await;
        let etags = self.end(positions, done).map_err(|error| (at(error.batch_index()), error))?;
        for (index, etag) in indexes.into_iter().zip(etags) {
            self.saved(index, etag);
        }
        Ok(())
    }

    /// From here on the outcome is unknown until a response arrives, even if the save is dropped. Returns whether it was
    /// unknown before.
    fn begin(&mut self, positions: &[usize]) -> bool {
        let mut before = false;
        for &position in positions {
            before |= std::mem::replace(&mut self.pending[position].uncertain, true);
        }
        before
    }

    /// Records the outcome.
    fn end<T>(&mut self, positions: &[usize], result: Result<T>) -> Result<T> {
        let uncertain = result.as_ref().is_err_and(|error| error.applied() != Applied::No);
        for &position in positions {
            self.pending[position].uncertain = uncertain;
        }
        result
    }

    /// The service has accepted the change.
    fn saved(&mut self, index: usize, etag: Option<ETag>) {
        let Some(slot) = self.slots.get_mut(index).and_then(Option::as_mut) else { return };
        if slot.state == State::Deleted {
            self.drop_slot(index);
        } else {
            slot.state = State::Unchanged;
            slot.etag = etag;
        }
    }
}

impl Step {
    fn positions(&self) -> impl Iterator<Item = usize> {
        match self {
            Step::One(position) => std::slice::from_ref(position).iter().copied(),
            Step::Batch(_, positions) => positions.iter().copied(),
        }
    }
}
