//! Messages that are put into one queue at the same time share a commit.
//!
//! Every put changes a counter of its queue: one more row in each commit and, in a shared database, a row that the next put
//! waits for until this one is synced. So puts that arrive while another one is being committed wait, and the next commit
//! takes all of them.
//!
//! What must stay true:
//! - A put that finds no other one is committed at once, by its caller.
//! - Callers that wait do not depend on the caller in front of them, which may give up: a task commits for them.
//! - Each message has a time of its own, taken when its commit is prepared, so acknowledged messages keep their order.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lazuli_engine::{Applied, Engine, Error, TableId};
use lazuli_model::queue::Enqueued;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::QueueState;
use super::messages::put;
use super::record::{MessageRecord, time};
use super::update::count;
use super::window::Window;
use crate::{ATTEMPTS_MAX, Result};

/// Messages of one commit.
const BATCH_MESSAGES_MAX: usize = 128;
/// A commit takes no more messages beyond this many bytes of text.
const BATCH_BYTES_MAX: usize = 1024 * 1024;

/// A message to put.
pub struct NewMessage {
    /// Its text. Everything else is filled in when its commit is prepared.
    pub record: MessageRecord,
    /// Ticks until it becomes visible.
    pub delay: u64,
    /// Ticks until it expires.
    pub ttl: Option<u64>,
}

/// The puts of one queue that wait for the commit in progress.
#[derive(Default)]
pub struct PutLine(Mutex<Line>);

#[derive(Default)]
struct Line {
    /// A commit is in progress.
    is_busy: bool,
    waiting: VecDeque<Waiting>,
}

struct Waiting {
    message: NewMessage,
    reply: oneshot::Sender<Result<Enqueued>>,
}

/// What a put does first.
enum Entered {
    /// No commit is in progress: it starts one.
    First(NewMessage),
    Waits(oneshot::Receiver<Result<Enqueued>>),
}

impl PutLine {
    fn lock(&self) -> MutexGuard<'_, Line> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, message: NewMessage) -> Entered {
        let mut line = self.lock();
        if !line.is_busy {
            line.is_busy = true;
            return Entered::First(message);
        }
        let (reply, replied) = oneshot::channel();
        // While a commit takes long, callers may give up and try again: abandoned puts are dropped from time to time.
        if line.waiting.len().is_power_of_two() {
            line.waiting.retain(|waiting| !waiting.reply.is_closed());
        }
        line.waiting.push_back(Waiting { message, reply });
        Entered::Waits(replied)
    }

    /// The puts of the next commit. If there are none, the next put starts a commit.
    fn next(&self) -> Option<Vec<Waiting>> {
        let mut line = self.lock();
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < BATCH_MESSAGES_MAX && bytes < BATCH_BYTES_MAX {
            let Some(waiting) = line.waiting.pop_front() else { break };
            // Nothing was sent yet, so a put whose caller no longer waits is left out.
            if !waiting.reply.is_closed() {
                bytes += waiting.message.record.text.len();
                batch.push(waiting);
            }
        }
        line.is_busy = !batch.is_empty();
        line.is_busy.then_some(batch)
    }

    /// Drops the puts that wait; their callers learn that the outcome is unknown.
    fn clear(&self) {
        *self.lock() = Line::default();
    }
}

/// Puts messages into one queue.
#[derive(Clone)]
pub struct Putter {
    pub engine: Arc<dyn Engine>,
    pub queues: Arc<QueueState>,
    pub queue: TableId,
    pub window: Arc<Window>,
}

impl Putter {
    /// Puts a message, together with others if there are any.
    pub async fn put(self, message: NewMessage) -> Result<Enqueued> {
        match self.window.puts.enter(message) {
            Entered::First(mut message) => {
                let turn = Turn(&self);
                let enqueued = self.commit(&mut [&mut message]).await;
                drop(turn);
                Ok(enqueued?.remove(0))
            }
            Entered::Waits(replied) => replied.await.unwrap_or_else(|_| {
                Err(Error::Unknown("the task that puts messages has ended".into()).into())
            }),
        }
    }

    /// Commits the puts that wait, until none is left.
    async fn put_waiting(self, first: Vec<Waiting>) {
        let mut task = Task { line: &self.window.puts, has_ended: false };
        let mut next = Some(first);
        while let Some(mut batch) = next {
            let mut messages: Vec<_> = batch.iter_mut().map(|waiting| &mut waiting.message).collect();
            match self.commit(&mut messages).await {
                Ok(enqueued) => {
                    for (waiting, enqueued) in batch.into_iter().zip(enqueued) {
                        // A caller that no longer waits needs no outcome.
                        let _ = waiting.reply.send(Ok(enqueued));
                    }
                }
                Err(error) => {
                    for waiting in batch {
                        let _ = waiting.reply.send(Err(error.clone()));
                    }
                }
            }
            next = self.window.puts.next();
        }
        task.has_ended = true;
    }

    /// One commit.
    async fn commit(&self, messages: &mut [&mut NewMessage]) -> Result<Vec<Enqueued>> {
        let tickets = &self.queues.tickets;
        let added = i64::try_from(messages.len()).unwrap_or(i64::MAX);
        for _ in 0..ATTEMPTS_MAX {
            // With room for the counter and the time of the queue.
            let mut writes = Vec::with_capacity(messages.len() + 2);
            let mut placed = Vec::with_capacity(messages.len());
            let mut enqueued = Vec::with_capacity(messages.len());
            let mut latest = 0;
            for NewMessage { record, delay, ttl } in messages.iter_mut().map(|message| &mut **message) {
                let (now, placing) = self.window.place(*delay, || tickets.next());
                placed.push(placing);
                record.inserted = now;
                record.expires = ttl.map_or(u64::MAX, |ttl| now.saturating_add(ttl));
                record.id = tickets.id();
                record.nonce = tickets.nonce();
                // The time is unique in this process. Another front end may have chosen the same.
                writes.push(put(now + *delay, now, record));
                let receipt = record.receipt(now + *delay, now)?;
                let (inserted, expires) = (time(now)?, time(record.expires)?);
                enqueued.push(Enqueued { id: record.id, inserted, expires, receipt });
                latest = now;
            }
            writes.push(count(latest, added));
            let applied = self.queues.apply(&*self.engine, self.queue, latest, writes).await?;
            if matches!(applied, Applied::Done { .. }) {
                return Ok(enqueued);
            }
        }
        Err(Error::Conflict.into())
    }
}

/// The commit of a caller. When it ends, or its caller gives up, a task commits the puts that have arrived since.
struct Turn<'a>(&'a Putter);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let line = &self.0.window.puts;
        let Some(batch) = line.next() else { return };
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(self.0.clone().put_waiting(batch))),
            // The runtime is gone, and with it everyone who waits.
            Err(_) => line.clear(),
        }
    }
}

/// Lets the next put start a commit if the task panics or is dropped.
struct Task<'a> {
    line: &'a PutLine,
    has_ended: bool,
}

impl Drop for Task<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.line.clear();
        }
    }
}
