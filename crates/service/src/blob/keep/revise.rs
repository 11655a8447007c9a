//! Changes of one snapshot or version: its tags, its tier, its protection, its deletion.
//!
//! The commit covers the head and the row. The head decides whether the row exists; the commit requires that
//! the row has not changed since it was read.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use lazuli_engine::{Change, Condition, Next, Rejected, Update, Version, Write};
use lazuli_model::ErrorCode;
use lazuli_model::blob::operation::Revision as Which;

use super::{ATTEMPTS_MAX, Life};
use crate::blob::commit::{Decided, Step};
use crate::blob::core::{At, Core};
use crate::blob::keyspace;
use crate::blob::record::{Head, Revision};
use crate::{Error, Result};

/// A snapshot or version that is being changed.
pub struct Revised<'a> {
    /// The head of its blob.
    pub head: &'a mut Head,
    /// Its state; `None` removes the row.
    pub row: &'a mut Option<Revision>,
    /// Whether it exists.
    pub life: Life,
    /// The version of the commit.
    pub version: u64,
}

/// The next value of the row, provided by the rule of the head.
#[derive(Clone, Default)]
struct Value(Arc<Mutex<Option<Next>>>);

impl Update for Value {
    fn next(&self, _: Option<&Bytes>, _: Version) -> std::result::Result<Next, Rejected> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone().ok_or(Rejected(0))
    }
}

/// The row of a snapshot or version; `None` for the blob itself.
pub fn row_of(which: Which) -> Option<String> {
    match which {
        Which::Current => None,
        Which::Snapshot(time) => Some(keyspace::snapshot(time.ticks())),
        Which::Version(time) => Some(keyspace::version(time.ticks())),
    }
}

/// Does a snapshot or version with this row exist?
pub fn life_of(which: Which, head: &Head, row: &Revision, now: u64) -> Life {
    match which {
        Which::Snapshot(time) => Life::of_snapshot(&head.marks, head.blob.is_some(), time.ticks(), row, now),
        Which::Version(_) => Life::of_version(&head.marks, row, now),
        Which::Current => Life::Live,
    }
}

impl Core {
    /// Changes a snapshot or version.
    pub async fn revise<T: Send + 'static>(
        &self,
        at: &At,
        which: Which,
        change: impl Fn(Revised<'_>) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        let key = row_of(which).ok_or(ErrorCode::BlobNotFound)?;
        let change = Arc::new(change);
        for _ in 0..ATTEMPTS_MAX {
            let found = self.row(at, &key).await?.ok_or(ErrorCode::BlobNotFound)?;
            let before = Head::decode(&found.value)?.blob;
            let value = Value::default();
            let (next, change) = (value.clone(), change.clone());
            let rule = move |head: Option<Head>, version: u64| {
                let mut head = head.unwrap_or_default();
                let mut row = before.clone();
                row.iter_mut().for_each(|row| row.settle(version));
                let life = row.as_ref().map_or(Life::Gone, |row| life_of(which, &head, row, version));
                let result = change(Revised { head: &mut head, row: &mut row, life, version })?;
                if row.is_none() {
                    head.blob.iter_mut().for_each(|blob| blob.content.outlive());
                }
                let after = row.map_or(Next::Delete, |row| Next::Put(Head::of(row).encode()));
                *next.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(after);
                Ok((Step::put_or_delete(head), result))
            };
            let write = Write {
                row: key.clone().into(),
                condition: Condition::Version(found.version),
                change: Change::Update(Arc::new(value)),
            };
            match self.decide(at, rule, vec![write]).await {
                Ok(Decided::Done(result)) => return Ok(result),
                Ok(Decided::Rejected) | Err(Error::Engine(lazuli_engine::Error::Conflict)) => {}
                Err(error) => return Err(error),
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }
}
