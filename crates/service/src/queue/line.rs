//! Changes of one kind that are made to one queue at the same time share a commit.
//!
//! Each of them needs a commit of several rows, and all of these commits change the counter of the queue: one more row each
//! and, in a shared database, a row that the next one waits for until this one is synced. So changes that arrive while
//! another one is being committed wait, and the next commit takes all of them.
//!
//! Invariants:
//! - A change that finds no other one is committed at once, by its caller.
//! - Callers that wait do not depend on the caller in front of them, which may give up: a task commits for them.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lazuli_engine::Error;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::Result;

/// Maximum changes in one commit.
const BATCH_CHANGES_MAX: usize = 128;
/// A commit takes no further changes once it has this many bytes.
const BATCH_BYTES_MAX: usize = 1024 * 1024;

/// The changes of one kind to one queue that wait for the commit in progress.
pub struct ChangeLine<C: JointCommit>(Mutex<State<C>>);

/// Commits changes of one kind to one queue.
pub trait JointCommit: Clone + Send + Sync + 'static {
    /// A change.
    type Change: Send + 'static;
    /// Its outcome.
    type Done: Send + 'static;

    /// Where the changes wait.
    fn line(&self) -> &ChangeLine<Self>;

    /// Bytes that a change adds to its commit.
    fn bytes(change: &Self::Change) -> usize;

    /// Makes one commit of some changes; returns the outcome of each, in order.
    fn commit(
        &self,
        changes: &mut [&mut Self::Change],
    ) -> impl Future<Output = Result<Vec<Self::Done>>> + Send;
}

struct State<C: JointCommit> {
    /// A commit is in progress.
    is_busy: bool,
    waiting: VecDeque<Waiting<C>>,
}

struct Waiting<C: JointCommit> {
    change: C::Change,
    reply: oneshot::Sender<Result<C::Done>>,
}

/// What a change does first.
enum Entered<C: JointCommit> {
    /// No commit is in progress: it starts one.
    First(C::Change),
    Waits(oneshot::Receiver<Result<C::Done>>),
}

impl<C: JointCommit> Default for State<C> {
    fn default() -> Self {
        Self { is_busy: false, waiting: VecDeque::new() }
    }
}

impl<C: JointCommit> Default for ChangeLine<C> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<C: JointCommit> ChangeLine<C> {
    /// Commits a change, together with others if there are any. `committer` is called if it starts a commit.
    pub async fn commit(&self, change: C::Change, committer: impl FnOnce() -> C) -> Result<C::Done> {
        match self.enter(change) {
            Entered::First(mut change) => {
                let turn = Turn(committer());
                let done = turn.0.commit(&mut [&mut change]).await;
                drop(turn);
                Ok(done?.remove(0))
            }
            Entered::Waits(replied) => replied
                .await
                .unwrap_or_else(|_| Err(Error::Unknown("the task that commits has ended".into()).into())),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<C>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, change: C::Change) -> Entered<C> {
        let mut line = self.lock();
        if !line.is_busy {
            line.is_busy = true;
            return Entered::First(change);
        }
        let (reply, replied) = oneshot::channel();
        // While a commit takes long, callers may give up and try again: abandoned changes are dropped from time to time.
        if line.waiting.len().is_power_of_two() {
            line.waiting.retain(|waiting| !waiting.reply.is_closed());
        }
        line.waiting.push_back(Waiting { change, reply });
        Entered::Waits(replied)
    }

    /// The changes of the next commit. If there are none, the next change starts a commit.
    fn next(&self) -> Option<Vec<Waiting<C>>> {
        let mut line = self.lock();
        let (mut batch, mut bytes) = (Vec::with_capacity(line.waiting.len().min(BATCH_CHANGES_MAX)), 0);
        while batch.len() < BATCH_CHANGES_MAX && bytes < BATCH_BYTES_MAX {
            let Some(waiting) = line.waiting.pop_front() else { break };
            // Nothing was sent yet, so a change whose caller no longer waits is left out.
            if !waiting.reply.is_closed() {
                bytes += C::bytes(&waiting.change);
                batch.push(waiting);
            }
        }
        line.is_busy = !batch.is_empty();
        line.is_busy.then_some(batch)
    }

    /// Drops the changes that wait; their callers learn that the outcome is unknown.
    fn clear(&self) {
        *self.lock() = State::default();
    }
}

/// Commits the changes that wait, until none is left.
async fn commit_waiting<C: JointCommit>(mut task: Task<C>, first: Vec<Waiting<C>>) {
    let mut next = Some(first);
    while let Some(mut batch) = next {
        let mut changes: Vec<_> = batch.iter_mut().map(|waiting| &mut waiting.change).collect();
        match task.committer.commit(&mut changes).await {
            Ok(done) => {
                for (waiting, done) in batch.into_iter().zip(done) {
                    // A caller that no longer waits needs no outcome.
                    let _ = waiting.reply.send(Ok(done));
                }
            }
            Err(error) => {
                for waiting in batch {
                    let _ = waiting.reply.send(Err(error.clone()));
                }
            }
        }
        next = task.committer.line().next();
    }
    task.has_ended = true;
}

/// The commit of a caller. When it ends, or its caller gives up, a task commits the changes that have arrived since.
struct Turn<C: JointCommit>(C);

impl<C: JointCommit> Drop for Turn<C> {
    fn drop(&mut self) {
        let Some(batch) = self.0.line().next() else { return };
        // Created before the task is spawned: a runtime that is shutting down drops the task without starting it.
        let task = Task { committer: self.0.clone(), has_ended: false };
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(commit_waiting(task, batch));
        }
    }
}

/// Lets the next change start a commit if the task panics or is dropped.
struct Task<C: JointCommit> {
    committer: C,
    has_ended: bool,
}

impl<C: JointCommit> Drop for Task<C> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.committer.line().clear();
        }
    }
}
