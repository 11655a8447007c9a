//! Messages that are put into one queue concurrently share a commit: see [`super::line`].
//!
//! Invariant: each message has a unique time, taken when its commit is prepared, so acknowledged
//! messages keep their order.

use std::sync::Arc;

use lazuli_engine::{Applied, Engine, Error, TableId};
use lazuli_model::queue::Enqueued;

use super::QueueState;
use super::line::{ChangeLine, JointCommit};
use super::messages::put;
use super::record::{MessageRecord, time};
use super::update::count;
use super::window::Window;
use crate::{ATTEMPTS_MAX, Result};

/// A message to put.
pub struct NewMessage {
    /// Its text. The other fields are set when its commit is prepared.
    pub record: MessageRecord,
    /// Ticks until it becomes visible.
    pub delay: u64,
    /// Ticks until it expires.
    pub ttl: Option<u64>,
}

/// Puts messages into one queue.
#[derive(Clone)]
pub struct Putter {
    pub engine: Arc<dyn Engine>,
    pub queues: Arc<QueueState>,
    pub queue: TableId,
    pub window: Arc<Window>,
}

impl JointCommit for Putter {
    type Change = NewMessage;
    type Done = Enqueued;

    fn line(&self) -> &ChangeLine<Self> {
        &self.window.puts
    }

    fn bytes(message: &NewMessage) -> usize {
        message.record.text.len()
    }

    async fn commit(&self, messages: &mut [&mut NewMessage]) -> Result<Vec<Enqueued>> {
        let tickets = &self.queues.tickets;
        let added = i64::try_from(messages.len()).unwrap_or(i64::MAX);
        for _ in 0..ATTEMPTS_MAX {
            // Includes room for the counter and the time of the queue.
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
