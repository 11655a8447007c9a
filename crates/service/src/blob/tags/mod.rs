//! Tags of blobs: Set Blob Tags, and the index that searches use.
//!
//! The index of a container is a separate engine table, because a commit touches only one partition. Three
//! rules ensure that no crash leads to a wrong search result (see docs/decisions/0012-tag-index.md):
//!
//! 1. Announce: the rows of new tags are durable before the commit that gives the blob those tags.
//! 2. Verify: a search reads the head of each blob in the index, and returns those whose tags match.
//! 3. Clean: the sweep removes a row only if the blob does not have the tag, no announcement can still be in
//!    progress, and the row has not been announced again in the meantime.
//!
//! So the index may contain too many blobs, but never too few.

mod find;
pub mod key;

use std::sync::Arc;

use lazuli_engine::{Change, Clock, Condition, Write};
use lazuli_model::OperationKind;
use lazuli_model::blob::operation::Revision as Which;
use lazuli_model::blob::{Outcome, Tags};

use super::commit::{Step, is_conflict};
use super::core::{At, Core};
use super::guard::{Guard, not_pending};
use super::keep::ATTEMPTS_MAX;
use super::pins::Pin;
use super::protect::Subject;
use super::record::Revision;
use super::todo::Todo;
use crate::Result;

/// Names and values of tags.
pub type Pairs = Vec<(Box<str>, Box<str>)>;

/// Tags that are in the index, and about to be set on a blob. If that does not happen, dropping this value
/// notifies the sweep.
#[must_use = "dropping it means that the tags were not set"]
pub struct Announced {
    at: At,
    pairs: Pairs,
    todo: Arc<Todo>,
    clock: Clock,
    /// Prevents the sweep from removing the rows.
    _pin: Option<Pin>,
}

impl Announced {
    /// Reports that the blob has the tags, and no longer has the retired ones.
    pub fn committed(mut self, retired: Pairs) {
        // The sweep handles the dropped tags.
        self.pairs = retired;
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        if !self.pairs.is_empty() {
            let pairs = std::mem::take(&mut self.pairs);
            self.todo.tags(&self.at, pairs, self.clock.ticks());
        }
    }
}

impl Core {
    /// Puts tags into the index, before the commit that sets them on the blob.
    pub async fn announce_tags(&self, at: &At, tags: &Tags) -> Result<Announced> {
        let pairs = pairs(tags);
        let pin = (!pairs.is_empty()).then(|| self.pins.blob(at.tables.blobs, &at.name));
        let (todo, clock) = (self.todo.clone(), self.clock().clone());
        let announced = Announced { at: at.clone(), pairs, todo, clock, _pin: pin };
        if !announced.pairs.is_empty() {
            let put = |(name, value): &(Box<str>, Box<str>)| Write {
                row: key::row(name, value, &at.name).into(),
                condition: Condition::Any,
                change: Change::Put(key::VALUE),
            };
            let writes = announced.pairs.iter().map(put).collect();
            self.engine().apply(at.tables.tags, key::PARTITION, writes).await?;
        }
        Ok(announced)
    }

    /// Reports that the blob no longer has these tags.
    pub fn retire(&self, at: &At, retired: Pairs) {
        if !retired.is_empty() {
            self.todo.tags(at, retired, self.clock().ticks());
        }
    }

    /// Set Blob Tags.
    pub async fn set_tags(&self, at: &At, guard: Guard, which: Which, tags: Tags) -> Result<Outcome> {
        for _ in 0..ATTEMPTS_MAX {
            match self.subject(at, which, &guard).await? {
                Subject::Blob(guard) => {
                    let set = self.set_current_tags(at, *guard, tags.clone()).await;
                    if which == Which::Current || !is_conflict(&set) {
                        return set;
                    }
                }
                Subject::Past(which) => {
                    // Searches consider only current blobs, so the index does not change.
                    let kind = OperationKind::SetBlobTags;
                    let change = move |row: &mut Revision, _, _| {
                        row.tags = tags.clone();
                        Ok(Outcome::TagsSet)
                    };
                    return self.amend(at, guard, which, kind, change).await;
                }
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }

    async fn set_current_tags(&self, at: &At, guard: Guard, tags: Tags) -> Result<Outcome> {
        // Announcing tags for a blob that does not exist would only leave work for the sweep.
        let head = self.head(at).await?;
        guard.change(head.and_then(|head| head.blob))?;
        let announced = self.announce_tags(at, &tags).await?;
        let retired = self.change(at, move |head, _| {
            let mut head = head.unwrap_or_default();
            let mut blob = guard.change(head.blob.take())?;
            not_pending(&blob)?;
            let retired = retired(Some(&blob), &tags);
            blob.tags = tags.clone();
            head.blob = Some(blob);
            Ok((Step::Put(Box::new(head)), retired))
        });
        announced.committed(retired.await?);
        Ok(Outcome::TagsSet)
    }
}

/// The tags of a blob that the new tags do not contain.
pub fn retired(old: Option<&Revision>, new: &Tags) -> Pairs {
    let Some(old) = old else { return Pairs::new() };
    let gone = old.tags.iter().filter(|(name, value)| new.get(name) != Some(*value));
    gone.map(|(name, value)| (name.into(), value.into())).collect()
}

fn pairs(tags: &Tags) -> Pairs {
    tags.iter().map(|(name, value)| (name.into(), value.into())).collect()
}
