//! Decides on the head of a blob inside the commit that changes it.
//!
//! Conditions, leases and types are checked against the state at the time of the commit, not against one that
//! was read earlier. So of two writers with the same `If-Match` exactly one succeeds.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use lazuli_engine::{Applied, Change, Condition, Next, Reason, Rejected, Update, Version, Write};

use super::core::{At, Core};
use super::keyspace;
use super::record::Head;
use crate::{Error, Result};

/// The change of a head.
#[derive(Debug)]
pub enum Step {
    /// It is replaced.
    Put(Box<Head>),
    /// It is removed.
    Delete,
    /// It stays.
    Keep,
}

impl Step {
    /// Replaces the head, or removes it if it is empty.
    pub fn put_or_delete(head: Head) -> Self {
        if head == Head::default() { Step::Delete } else { Step::Put(Box::new(head)) }
    }
}

/// The outcome of a commit that was decided on.
#[derive(Debug)]
pub enum Decided<T> {
    /// It is durable.
    Done(T),
    /// A condition on another row than the head was not met.
    Rejected,
}

type Rule<T> = Box<dyn Fn(Option<Head>, u64) -> Result<(Step, T)> + Send + Sync>;

/// A rule that runs inside a commit. It may run several times; the last run counts.
struct Decide<T> {
    rule: Rule<T>,
    ruled: Mutex<Option<Result<T>>>,
}

impl<T> Decide<T> {
    fn slot(&self) -> MutexGuard<'_, Option<Result<T>>> {
        self.ruled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Send> Update for Decide<T> {
    fn next(&self, current: Option<&Bytes>, version: Version) -> std::result::Result<Next, Rejected> {
        let mut head = current.map(Head::decode).transpose().map_err(Error::from);
        head.iter_mut().flatten().for_each(|head| head.settle(version.0));
        match head.and_then(|head| (self.rule)(head, version.0)) {
            Ok((step, result)) => {
                *self.slot() = Some(Ok(result));
                Ok(match step {
                    Step::Put(head) => Next::Put(head.encode()),
                    Step::Delete => Next::Delete,
                    Step::Keep => Next::Keep,
                })
            }
            Err(error) => {
                *self.slot() = Some(Err(error));
                Err(Rejected(0))
            }
        }
    }
}

/// A row whose value an earlier rule of the same commit provides.
#[derive(Clone, Debug, Default)]
pub struct Followed(Arc<Mutex<Option<Bytes>>>);

impl Followed {
    /// Sets the value.
    pub fn set(&self, value: Bytes) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    }

    /// The write of the row.
    pub fn write(&self, row: String, condition: Condition) -> Write {
        Write { row: row.into(), condition, change: Change::Update(Arc::new(self.clone())) }
    }
}

impl Update for Followed {
    fn next(&self, _: Option<&Bytes>, _: Version) -> std::result::Result<Next, Rejected> {
        let value = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        value.map(Next::Put).ok_or(Rejected(0))
    }
}

/// Requires that a row exists, and does not change it.
pub fn demand(row: String) -> Write {
    struct Keep;
    impl Update for Keep {
        fn next(&self, _: Option<&Bytes>, _: Version) -> std::result::Result<Next, Rejected> {
            Ok(Next::Keep)
        }
    }
    Write { row: row.into(), condition: Condition::Exists, change: Change::Update(Arc::new(Keep)) }
}

/// Puts a row that must not exist.
pub fn insert(row: String, value: Bytes) -> Write {
    Write { row: row.into(), condition: Condition::Absent, change: Change::Put(value) }
}

/// Removes a row, whether or not it exists.
pub fn remove(row: impl Into<Box<str>>) -> Write {
    Write { row: row.into(), condition: Condition::Any, change: Change::Delete }
}

/// Did a rule or the engine find a state that differs from the one that was read earlier?
pub fn is_conflict<T>(outcome: &Result<T>) -> bool {
    matches!(outcome, Err(Error::Engine(lazuli_engine::Error::Conflict)))
}

impl Core {
    /// Commits a change of the head and of further rows of the same blob. The rule sees the head as it is at that moment
    /// and the version of the commit. Its error rejects the commit.
    pub async fn decide<T: Send + 'static>(
        &self,
        at: &At,
        rule: impl Fn(Option<Head>, u64) -> Result<(Step, T)> + Send + Sync + 'static,
        more: Vec<Write>,
    ) -> Result<Decided<T>> {
        let decide = Arc::new(Decide { rule: Box::new(rule), ruled: Mutex::new(None) });
        let head = Write {
            row: keyspace::HEAD.into(),
            condition: Condition::Any,
            change: Change::Update(decide.clone()),
        };
        let writes = std::iter::once(head).chain(more).collect();
        let applied = self.engine().apply(at.tables.blobs, &at.name, writes).await?;
        let ruled = decide.slot().take();
        match (applied, ruled) {
            (Applied::Done { .. }, Some(Ok(result))) => Ok(Decided::Done(result)),
            (Applied::Rejected { index: 0, reason: Reason::Rejected(_) }, Some(Err(error))) => Err(error),
            (Applied::Rejected { index, .. }, _) if index > 0 => Ok(Decided::Rejected),
            (applied, _) => {
                let what = format!("an engine applied a commit without its rule: {applied:?}");
                Err(lazuli_engine::Error::Unknown(what).into())
            }
        }
    }

    /// Commits a change of the head alone.
    pub async fn change<T: Send + 'static>(
        &self,
        at: &At,
        rule: impl Fn(Option<Head>, u64) -> Result<(Step, T)> + Send + Sync + 'static,
    ) -> Result<T> {
        match self.decide(at, rule, Vec::new()).await? {
            Decided::Done(result) => Ok(result),
            Decided::Rejected => Err(lazuli_engine::Error::Conflict.into()),
        }
    }
}
