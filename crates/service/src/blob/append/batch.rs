//! Appends that wait for the same blob are committed together.
//!
//! Every commit rewrites the tail, so separate commits for many concurrent appends would rewrite it many times.
//! One task per blob takes all waiting appends, commits them together, and repeats this until none are left.
//!
//! Invariants:
//! - Each append is checked against the state after the previous ones, and has its own offset and ETag, as if
//!   it were committed alone.
//! - The task owns the content until the outcome is known, so the caller may give up waiting.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lazuli_model::ErrorCode;
use lazuli_model::blob::Outcome;
use lazuli_model::blob::outcome::Written;
use lazuli_model::blob::protection::EncryptionView;
use tokio::sync::oneshot;

use super::tail::{Fill, Grow};
use super::{ATTEMPTS_MAX, Append, Target, parts_of};
use crate::blob::commit::Step;
use crate::blob::core::{At, Core};
use crate::blob::record::{Head, Revision, Stored, stamp};
use crate::blob::segment::SegmentPart;
use crate::blob::upload::Received;
use crate::{Error, Result};

/// Maximum appends in one commit.
const BATCH_APPENDS_MAX: usize = 256;
/// Once the small appends of a commit exceed this many bytes, it takes no more.
const BATCH_BYTES_MAX: usize = 256 * 1024;

/// The waiting appends of each blob that has a task.
#[derive(Default)]
pub struct Appends(Mutex<HashMap<At, VecDeque<Waiting>>>);

/// An append that is waiting for its commit.
struct Waiting {
    append: Append,
    received: Received,
    parts: Vec<SegmentPart>,
    reply: oneshot::Sender<Result<Outcome>>,
}

/// An append for which a commit decides the outcome.
struct Candidate {
    append: Append,
    parts: Vec<SegmentPart>,
    length: u64,
}

/// The outcome of each append, in order.
type Decisions = Vec<Result<Accepted>>;

/// An append that was accepted.
struct Accepted {
    offset: u64,
    committed_blocks: u32,
    version: u64,
    encryption: EncryptionView,
}

impl Appends {
    fn lock(&self) -> MutexGuard<'_, HashMap<At, VecDeque<Waiting>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an append; `true` if the blob has no task yet.
    fn push(&self, at: &At, waiting: Waiting) -> bool {
        let mut queues = self.lock();
        if let Some(queue) = queues.get_mut(at) {
            // During a slow commit, callers may give up and retry: their abandoned appends are dropped from
            // time to time.
            if queue.len().is_power_of_two() {
                queue.retain(|waiting| !waiting.reply.is_closed());
            }
            queue.push_back(waiting);
            return false;
        }
        queues.insert(at.clone(), VecDeque::from([waiting]));
        true
    }

    /// Takes the appends of the next commit; `None` if there are none, and the task ends.
    fn take(&self, at: &At) -> Option<VecDeque<Waiting>> {
        let mut queues = self.lock();
        let queue = queues.get_mut(at)?;
        if queue.is_empty() {
            queues.remove(at);
            return None;
        }
        let mut bytes = 0;
        let is_full = |waiting: &Waiting| {
            bytes += waiting.parts.iter().map(SegmentPart::inline_bytes).sum::<usize>();
            bytes > BATCH_BYTES_MAX
        };
        let fitting = queue.iter().position(is_full).unwrap_or(queue.len());
        Some(queue.drain(..fitting.clamp(1, BATCH_APPENDS_MAX).min(queue.len())).collect())
    }
}

/// Lets a later append start a new task if this one panics or is dropped.
struct Task {
    core: Arc<Core>,
    at: At,
    has_ended: bool,
}

impl Task {
    async fn run(mut self) {
        while let Some(batch) = self.core.appends.take(&self.at) {
            self.core.append_batch(&self.at, batch).await;
        }
        self.has_ended = true;
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if !self.has_ended {
            self.core.appends.lock().remove(&self.at);
        }
    }
}

impl Core {
    /// Appends received bytes.
    pub async fn append_received(
        self: &Arc<Self>,
        at: &At,
        append: Append,
        received: Received,
    ) -> Result<Outcome> {
        let parts = parts_of(&received.body);
        let (reply, replied) = oneshot::channel();
        if self.appends.push(at, Waiting { append, received, parts, reply }) {
            // Created before the task is spawned: a runtime that is shutting down drops a task without starting
            // it.
            let task = Task { core: Arc::clone(self), at: at.clone(), has_ended: false };
            tokio::spawn(task.run());
        }
        replied.await.unwrap_or_else(|_| {
            Err(lazuli_engine::Error::Unknown("the task that appends has ended".into()).into())
        })
    }

    /// Commits appends and reports the outcome to their callers.
    async fn append_batch(&self, at: &At, mut batch: VecDeque<Waiting>) {
        let mut attempts = 0;
        loop {
            // Nothing was sent yet, so appends whose callers have given up are omitted.
            let (left, waiting): (VecDeque<_>, VecDeque<_>) =
                batch.into_iter().partition(|waiting| waiting.reply.is_closed());
            fail(left, &ErrorCode::OperationTimedOut.into());
            batch = waiting;
            if batch.is_empty() {
                return;
            }
            let target = match self.target(at).await {
                Ok(target) => target,
                Err(error) => return fail(batch, &error),
            };
            // The first append to a blob without runs creates them.
            let count = if target.is_new { 1 } else { batch.len() };
            let now = self.clock().ticks();
            batch.iter_mut().take(count).for_each(|waiting| waiting.received.body.committing(now));
            match self.append_once(at, target, batch.iter().take(count)).await {
                Ok(Some((decided, fill))) => {
                    attempts = 0;
                    for (waiting, accepted) in batch.drain(..decided.len()).zip(decided) {
                        waiting.finish(accepted);
                    }
                    self.fold_if_due(at, target.generation, fill).await;
                }
                // Only the append to a new blob can reject the whole commit.
                Err(Error::Rejected(failure)) => {
                    attempts = 0;
                    fail(batch.drain(..1), &Error::Rejected(failure));
                }
                Ok(None) | Err(Error::Engine(lazuli_engine::Error::Conflict)) if attempts < ATTEMPTS_MAX => {
                    attempts += 1;
                }
                Ok(None) => return fail(batch, &lazuli_engine::Error::Conflict.into()),
                Err(error) => return fail(batch, &error),
            }
        }
    }

    /// Executes one commit. Returns the outcomes of the first appends, for all that it decided on, and the fill
    /// level of the tail; `None` if the blob has other runs by now.
    async fn append_once(
        &self,
        at: &At,
        target: Target,
        batch: impl Iterator<Item = &Waiting>,
    ) -> Result<Option<(Decisions, Fill)>> {
        let candidates: Vec<Candidate> = batch.map(Waiting::candidate).collect();
        let first = candidates.first().map(|first| first.parts.clone()).unwrap_or_default();
        let grow = Arc::new(Grow::new(first, self.content.inline_max()));
        let rule = batch_rule(candidates, target, Arc::clone(&grow));
        let decided = self.grow(at, target, &grow, rule).await?;
        Ok(decided.map(|decided| (decided, grow.fill())))
    }
}

impl Waiting {
    fn candidate(&self) -> Candidate {
        Candidate { append: self.append.clone(), parts: self.parts.clone(), length: self.received.length }
    }

    fn finish(self, accepted: Result<Accepted>) {
        let Received { body, digested, .. } = self.received;
        body.settle(&accepted);
        let outcome = accepted.map(|Accepted { offset, committed_blocks, version, encryption }| {
            let written = Box::new(Written { encryption, digested, ..Written::new(stamp(version)) });
            Outcome::Appended { written, offset, committed_blocks }
        });
        // A caller that no longer waits needs no outcome.
        let _ = self.reply.send(outcome);
    }
}

fn fail(batch: impl IntoIterator<Item = Waiting>, error: &Error) {
    batch.into_iter().for_each(|waiting| waiting.finish(Err(error.clone())));
}

/// Decides on the head, one append at a time. Rejects the commit with `Conflict` if the blob no longer has
/// these runs.
fn batch_rule(
    candidates: Vec<Candidate>,
    target: Target,
    grow: Arc<Grow>,
) -> impl Fn(Option<Head>, u64) -> Result<(Step, Decisions)> + Send + Sync + 'static {
    move |head, version| {
        let mut head = head.unwrap_or_default();
        // Each append needs its own version: greater than those of the last change and the last snapshot, and
        // at most that of the commit.
        let changed = head.blob.as_ref().map_or(0, |blob| blob.changed).max(head.marks.shape);
        let count = version.saturating_sub(changed).clamp(1, candidates.len() as u64);
        let (mut decided, mut parts) = (Vec::with_capacity(candidates.len()), Vec::new());
        for (candidate, version) in candidates.iter().zip(version + 1 - count..=version) {
            match candidate.next(head.blob.as_ref(), target, version) {
                Ok((blob, accepted)) => {
                    parts.extend(candidate.parts.iter().cloned());
                    head.blob = Some(blob);
                    decided.push(Ok(accepted));
                }
                Err(Error::Rejected(failure)) if !target.is_new => decided.push(Err(failure.into())),
                Err(error) => return Err(error),
            }
        }
        grow.set(parts);
        if decided.iter().all(Result::is_err) {
            return Ok((Step::Keep, decided));
        }
        if target.is_new {
            head.marks.shape = version;
        }
        Ok((Step::Put(Box::new(head)), decided))
    }
}

impl Candidate {
    /// The blob after this append.
    fn next(&self, blob: Option<&Revision>, target: Target, version: u64) -> Result<(Revision, Accepted)> {
        let mut blob = self.append.guard.change(blob.cloned())?;
        self.append.check(&blob, self.length)?;
        let expected = Some(target.generation).filter(|_| !target.is_new);
        if blob.content.generation() != expected {
            return Err(lazuli_engine::Error::Conflict.into());
        }
        if target.is_new {
            blob.content = Stored::Runs(target.generation);
        }
        let offset = blob.size;
        blob.size = offset.saturating_add(self.length);
        blob.appends += 1;
        blob.copy = None;
        blob.touch(self.append.kind, version);
        let encryption = blob.encryption.clone();
        let accepted = Accepted { offset, committed_blocks: blob.appends, version, encryption };
        Ok((blob, accepted))
    }
}
