//! Messages: put, get, peek, update, delete.
//!
//! Every change is one commit. Its conditions are the version of each row that it replaces, and the absence of
//! each row that it inserts. So a message has one holder at a time, and no message replaces another: if two
//! clients take a message, or use its receipt, one commit is rejected.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lazuli_engine::{Applied, Change, Condition, Row, Scan, TableId, Verdict, Write};
use lazuli_model::ErrorCode;
use lazuli_model::queue::operation::MessageTarget;
use lazuli_model::queue::{Dequeued, Message, Outcome, QueueName};
use lazuli_model::time::TICKS_PER_SECOND;

use super::deletes::{Deleter, JointDeletion, MessageDeletion};
use super::puts::{NewMessage, Putter};
use super::record::{MessageRecord, PARTITION, corrupt, message_key, parse_key, visible};
use super::window::{Reading, Window};
use crate::usage::QueueCounts;
use crate::{ATTEMPTS_MAX, Result, Services};

/// Maximum bytes of messages that Peek Messages reads.
const PEEK_BYTES_MAX: usize = 4 * 1024 * 1024;

impl Services {
    /// The front of a queue, once the time of the queue is known.
    pub(super) async fn window(&self, queue: TableId) -> Result<Arc<Window>> {
        self.queues.window(&*self.engine, queue, (self.options.elapsed)(), self.is_shared()).await
    }

    pub(super) async fn put_message(
        &self,
        home: &str,
        queue: &QueueName,
        text: Box<str>,
        visibility: u32,
        ttl: Option<u32>,
    ) -> Result<Outcome> {
        let live = self.find_queue(home, queue).await?;
        let window = self.window(live.record.id).await?;
        let putter = || Putter {
            engine: self.engine.clone(),
            queues: self.queues.clone(),
            queue: live.record.id,
            window: window.clone(),
        };
        let record = MessageRecord::new(text);
        let message = NewMessage { record, delay: ticks(visibility), ttl: ttl.map(ticks) };
        let enqueued = window.puts.commit(message, putter).await?;
        self.usage.handled(live.slot, QueueCounts { put: 1, ..QueueCounts::default() });
        Ok(Outcome::MessagePut(enqueued))
    }

    /// QU-01, QU-02: returns messages and hides them.
    pub(super) async fn get_messages(
        &self,
        home: &str,
        queue: &QueueName,
        count: u32,
        visibility: u32,
    ) -> Result<Outcome> {
        let live = self.find_queue(home, queue).await?;
        let table = live.record.id;
        let window = self.window(table).await?;
        let delay = ticks(visibility);
        for _ in 0..ATTEMPTS_MAX {
            let reading = self.reading(table);
            let next = || self.queues.tickets.next();
            let mut taken = window.take(reading, count as usize, &next).await?;
            let Some(version) = taken.rows.iter().map(|row| row.version).max() else {
                return Ok(Outcome::Messages(Vec::new()));
            };
            self.queues.tickets.observe(version);
            let (now, _placing) = window.place(delay, next);
            let (writes, dequeued) = self.dequeue(&taken.rows, now + delay)?;
            // Otherwise another client with a receipt, or another front end, has changed the messages: read
            // again.
            if self.apply_messages(table, now, writes).await? {
                taken.settled = true;
                let count = dequeued.len() as u64;
                self.usage.handled(live.slot, QueueCounts { dequeued: count, ..QueueCounts::default() });
                return Ok(Outcome::Messages(dequeued));
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }

    pub(super) fn reading(&self, queue: TableId) -> Reading<'_> {
        Reading {
            engine: &*self.engine,
            queue,
            is_shared: self.is_shared(),
            elapsed: (self.options.elapsed)(),
            random: self.queues.tickets.nonce(),
        }
    }

    /// The writes that hide messages until a time, and the messages as returned to their new holder.
    fn dequeue(&self, rows: &[Row], next_visible: u64) -> Result<(Vec<Write>, Vec<Dequeued>)> {
        let mut writes = Vec::with_capacity(2 * rows.len());
        let mut dequeued = Vec::with_capacity(rows.len());
        // The times are one tick apart, so that the messages keep their order, and two messages from different
        // front ends with the same sequence number get different keys.
        for (row, next_visible) in rows.iter().zip(next_visible..) {
            let (_, sequence) = parse_key(&row.row).ok_or_else(corrupt)?;
            let mut record = MessageRecord::decode(&row.value)?;
            record.dequeue_count = record.dequeue_count.saturating_add(1);
            record.nonce = self.queues.tickets.nonce();
            writes.push(remove(row));
            writes.push(put(next_visible, sequence, &record));
            let receipt = record.receipt(next_visible, sequence)?;
            dequeued.push(Dequeued { message: record.message()?, receipt });
        }
        Ok((writes, dequeued))
    }

    pub(super) async fn peek_messages(&self, home: &str, queue: &QueueName, count: u32) -> Result<Outcome> {
        let live = self.find_queue(home, queue).await?;
        let elapsed = (self.options.elapsed)();
        let window =
            self.queues.window_to_read(&*self.engine, live.record.id, elapsed, self.is_shared()).await?;
        if let Some(messages) = self.peek_known(live.record.id, &window, count).await? {
            return Ok(Outcome::Peeked(messages));
        }
        let start =
            window.start_for_peek(self.reading(live.record.id), &|| self.queues.tickets.next()).await?;
        let now = self.queues.tickets.now();
        let passed: Arc<AtomicU64> = Arc::default();
        let counter = passed.clone();
        let scan = Scan {
            table: live.record.id,
            ranges: vec![visible(&start, now)],
            rows_max: count as usize,
            bytes_max: PEEK_BYTES_MAX,
            judge: Box::new(move |row| {
                if MessageRecord::expiry_of(row.value)? > now {
                    return Ok(Verdict::Keep);
                }
                counter.fetch_add(1, Ordering::Relaxed);
                Ok(Verdict::Skip)
            }),
        };
        let page = self.engine.scan(scan).await?;
        window.met_expired(passed.load(Ordering::Relaxed));
        let messages = page.rows.iter().map(|row| MessageRecord::decode(&row.value)?.message());
        Ok(Outcome::Peeked(messages.collect::<lazuli_engine::Result<_>>()?))
    }

    /// The first messages, if they are known and unchanged since they were read, so that no search is needed.
    async fn peek_known(&self, queue: TableId, window: &Window, count: u32) -> Result<Option<Vec<Message>>> {
        let now = self.queues.tickets.now();
        let Some(known) = window.first_known(self.reading(queue), count as usize, now) else {
            return Ok(None);
        };
        let rows: Vec<&str> = known.iter().map(|(row, _)| &**row).collect();
        let found = self.engine.get(queue, PARTITION, &rows).await?;
        let unchanged = found.into_iter().zip(&known);
        let unchanged = unchanged.map(|(row, (_, version))| row.filter(|row| row.version == *version));
        let Some(rows) = unchanged.collect::<Option<Vec<Row>>>() else { return Ok(None) };
        let messages = rows.iter().map(|row| MessageRecord::decode(&row.value)?.message());
        Ok(Some(messages.collect::<lazuli_engine::Result<_>>()?))
    }

    /// The receipt contains the row key, so no search is needed.
    pub(super) async fn update_message(
        &self,
        home: &str,
        target: &MessageTarget,
        visibility: u32,
        text: Option<Box<str>>,
    ) -> Result<Outcome> {
        let live = self.find_queue(home, &target.queue).await?;
        let table = live.record.id;
        let window = self.window(table).await?;
        let sequence = target.receipt.sequence;
        let key = message_key(target.receipt.next_visible.ticks(), sequence);
        let delay = ticks(visibility);
        for _ in 0..ATTEMPTS_MAX {
            let found = self.engine.get(table, PARTITION, &[&key]).await?;
            let row = found.into_iter().next().flatten().ok_or(ErrorCode::MessageNotFound)?;
            self.queues.tickets.observe(row.version);
            let mut record = MessageRecord::decode(&row.value)?;
            let (now, _placing) = window.place(delay, || self.queues.tickets.next());
            let matches = record.id == target.id && record.nonce == target.receipt.nonce;
            if !matches || record.expires <= now {
                return Err(ErrorCode::MessageNotFound.into());
            }
            if let Some(text) = &text {
                record.text = text.clone();
            }
            record.nonce = self.queues.tickets.nonce();
            let writes = vec![remove(&row), put(now + delay, sequence, &record)];
            if self.apply_messages(table, now, writes).await? {
                return Ok(Outcome::MessageUpdated { receipt: record.receipt(now + delay, sequence)? });
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }

    /// QU-03: only the receipt of the current state is accepted.
    pub(super) async fn delete_message(&self, home: &str, target: &MessageTarget) -> Result<Outcome> {
        let live = self.find_queue(home, &target.queue).await?;
        let queue = live.record.id;
        let window = self.window(queue).await?;
        let deleter = || Deleter {
            engine: self.engine.clone(),
            queues: self.queues.clone(),
            queue,
            window: window.clone(),
        };
        let deletion = MessageDeletion::of(target);
        if window.deletes.commit(deletion, deleter).await? == JointDeletion::Undecided {
            self.queues.delete(&*self.engine, queue, deletion).await?;
        }
        self.usage.handled(live.slot, QueueCounts { deleted: 1, ..QueueCounts::default() });
        Ok(Outcome::MessageDeleted)
    }

    /// Applies changes that were prepared at a time of the queue; `false` if a concurrent change won and
    /// nothing was changed.
    pub(super) async fn apply_messages(&self, table: TableId, now: u64, writes: Vec<Write>) -> Result<bool> {
        let applied = self.queues.apply(&*self.engine, table, now, writes).await?;
        Ok(matches!(applied, Applied::Done { .. }))
    }
}

/// Seconds in ticks.
fn ticks(seconds: u32) -> u64 {
    u64::from(seconds) * TICKS_PER_SECOND
}

/// Inserts a message, on condition that its row does not exist.
pub fn put(next_visible: u64, sequence: u64, record: &MessageRecord) -> Write {
    let row = message_key(next_visible, sequence).into();
    Write { row, condition: Condition::Absent, change: Change::Put(record.encode()) }
}

/// Removes a row, on condition that it has not changed since it was read.
pub fn remove(row: &Row) -> Write {
    Write { row: row.row.clone(), condition: Condition::Version(row.version), change: Change::Delete }
}
