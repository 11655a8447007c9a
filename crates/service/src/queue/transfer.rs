//! Moves messages from one queue to another so that a crash neither loses nor duplicates any.
//!
//! Two queues are two tables of the engine, and a commit changes one. So messages are moved in three steps:
//!
//! 1. In the first queue, one commit replaces some messages by a row `x/<token>` that contains them and the id
//!    of the second queue.
//! 2. In the second queue, one commit puts the messages and a row `y/<token>`, unless there is such a row.
//! 3. In the first queue, the row `x/<token>` is deleted.
//!
//! Any process that finds a row `x/<token>` can continue at step 2, even if another one is doing so: the row
//! `y/<token>` ensures that the messages are put only once. It is deleted in the background when `x/<token>` no
//! longer exists and no process can still be at step 2.
//!
//! If the second queue was deleted or cleared before step 2, the messages return to the first. If it was deleted or cleared
//! after step 2, they do not: before the sweep erases a row `y/<token>`, it does step 3.

use std::time::Duration;

use bytes::Bytes;
use lazuli_engine::{
    Applied, Bound, Change, Condition, Engine, KeyPosition, KeyRange, Row, Scan, TableId, Verdict, Write,
};
use lazuli_model::ErrorCode;
use lazuli_model::queue::QueueName;
use lazuli_model::queue::limits::MESSAGES_PER_GET_MAX;

use super::QueueState;
use super::expire::{Keeper, counts};
use super::messages::{put, remove};
use super::record::{MessageRecord, PARTITION, corrupt, parse_key};
use crate::catalog::{Catalog, Name};
use crate::record::{RecordReader, RecordWriter};
use crate::usage::QueueCounts;
use crate::{ATTEMPTS_MAX, Result, Services, sweep};

/// A move gives up before step 2 if step 1 was this long ago. It is then finished in the background.
const STEP_TIME_MAX: Duration = Duration::from_secs(60);
const _: () = assert!(STEP_TIME_MAX.as_secs() < sweep::GRACE.as_secs());
/// Maximum rows of moves read at a time.
const PAGE_ROWS_MAX: usize = 64;
/// Maximum traces of finished moves processed in one visit of a queue. The others wait for a later one.
const TRACES_MAX: usize = 10_000;

/// Messages that are being moved to another queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The engine table of the other queue.
    to: TableId,
    /// The home of its account.
    home: String,
    /// Its name.
    name: String,
    /// The messages with their sequence numbers, in order.
    messages: Vec<(u64, MessageRecord)>,
}

impl Transfer {
    pub fn encode(&self) -> Bytes {
        RecordWriter::new()
            .number(self.to.0)
            .bytes(self.home.as_bytes())
            .bytes(self.name.as_bytes())
            .list(&self.messages, |writer, (sequence, message)| {
                writer.number(*sequence).long_bytes(&message.encode())
            })
            .finish()
    }

    pub fn decode(bytes: &[u8]) -> lazuli_engine::Result<Self> {
        let mut reader = RecordReader::new(bytes)?;
        let transfer = Self {
            to: TableId(reader.number()?),
            home: reader.text()?,
            name: reader.text()?,
            messages: reader
                .list(|reader| Ok((reader.number()?, MessageRecord::decode(reader.long_bytes()?)?)))?,
        };
        reader.finish(transfer)
    }

    /// The number of messages.
    pub fn count(&self) -> u64 {
        self.messages.len() as u64
    }

    fn sequences(&self) -> impl Iterator<Item = u64> {
        self.messages.iter().map(|(sequence, _)| *sequence)
    }
}

/// The steps of a move.
struct Steps<'a> {
    engine: &'a dyn Engine,
    catalog: &'a Catalog,
    queues: &'a QueueState,
}

impl Services {
    /// Moves up to `max` visible messages from one queue to the back of another, and returns how many were
    /// moved. Their ids, contents and expiry times stay; their dequeue counts start at 0.
    pub(super) async fn move_messages(
        &self,
        home: &str,
        from: &QueueName,
        to: &QueueName,
        max: u64,
    ) -> Result<u64> {
        if from == to {
            return Err(ErrorCode::InvalidInput.into());
        }
        let emptied = self.find_queue(home, from).await?;
        let source = emptied.record.id;
        let steps = Steps { engine: &*self.engine, catalog: &self.catalog, queues: &self.queues };
        steps.finish_all(source).await?;
        let mut moved = 0;
        while moved < max {
            let filled = self.find_queue(home, to).await?;
            let target = filled.record.id;
            self.window(target).await?;
            let count = u64::from(MESSAGES_PER_GET_MAX).min(max - moved);
            let started = (self.options.elapsed)();
            let Some((row, transfer)) = self.detach(home, source, (to, target), count).await? else { break };
            if (self.options.elapsed)().saturating_sub(started) > STEP_TIME_MAX {
                return Err(ErrorCode::OperationTimedOut.into());
            }
            let count = steps.finish(source, &row, &transfer).await?;
            self.usage.handled(emptied.slot, QueueCounts { deleted: count, ..QueueCounts::default() });
            self.usage.handled(filled.slot, QueueCounts { put: count, ..QueueCounts::default() });
            moved += count;
        }
        Ok(moved)
    }

    /// Step 1; returns the row of the move, or `None` if no message is visible.
    async fn detach(
        &self,
        home: &str,
        source: TableId,
        (to, target): (&QueueName, TableId),
        count: u64,
    ) -> Result<Option<(String, Transfer)>> {
        let window = self.window(source).await?;
        let next = || self.queues.tickets.next();
        for _ in 0..ATTEMPTS_MAX {
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            let mut taken = window.take(self.reading(source), count, &next).await?;
            if taken.rows.is_empty() {
                return Ok(None);
            }
            let read = |row: &Row| {
                let (_, sequence) = parse_key(&row.row).ok_or_else(corrupt)?;
                Ok((sequence, MessageRecord::decode(&row.value)?))
            };
            let messages = taken.rows.iter().map(read).collect::<lazuli_engine::Result<_>>()?;
            let (home, name) = (home.to_owned(), to.as_str().to_owned());
            let transfer = Transfer { to: target, home, name, messages };
            let now = next();
            let row = format!("x/{}", token(source, now));
            let mut writes: Vec<Write> = taken.rows.iter().map(remove).collect();
            writes.push(put_row(&row, transfer.encode()));
            if self.apply_messages(source, now, writes).await? {
                taken.settled = true;
                return Ok(Some((row, transfer)));
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }
}

impl Keeper {
    /// Finishes moves from a queue that were interrupted, and deletes the traces of moves to it.
    pub(super) async fn finish_moves(&self, queue: TableId) -> Result<()> {
        let steps = Steps { engine: &*self.engine, catalog: &self.catalog, queues: &self.queues };
        steps.finish_all(queue).await?;
        steps.forget_all(queue).await
    }

    /// Ends the moves to a queue that no longer exists, before its rows are erased. May be called again for the
    /// same queue.
    pub(crate) async fn end_moves(&self, queue: TableId) -> Result<()> {
        let steps = Steps { engine: &*self.engine, catalog: &self.catalog, queues: &self.queues };
        steps.end_all(queue).await
    }
}

impl Steps<'_> {
    /// Finishes all moves from a queue.
    async fn finish_all(&self, source: TableId) -> Result<()> {
        loop {
            let rows = self.rows(source, "x/", "x0", PAGE_ROWS_MAX).await?;
            for row in &rows {
                self.finish(source, &row.row, &Transfer::decode(&row.value)?).await?;
            }
            if rows.len() < PAGE_ROWS_MAX {
                return Ok(());
            }
        }
    }

    /// Steps 2 and 3; returns the number of messages that were moved.
    async fn finish(&self, source: TableId, row: &str, transfer: &Transfer) -> Result<u64> {
        let name =
            Name { service: lazuli_model::Service::Queue, home: &transfer.home, folded: &transfer.name };
        // The catalog is read first. In the other order, another process could put the messages after the first read, and
        // the queue could be emptied and cleared before the second one: then they would seem not to have been put.
        let live = self.catalog.read(name).await?;
        let is_gone = live.is_none_or(|live| live.record.id != transfer.to);
        if !self.exists(transfer.to, &marker(row)).await? {
            if is_gone {
                self.give_back(source, row, transfer).await?;
                return Ok(0);
            }
            self.deliver(row, transfer).await?;
        }
        self.end(source, row, transfer).await?;
        Ok(transfer.count())
    }

    /// Step 3.
    async fn end(&self, source: TableId, row: &str, transfer: &Transfer) -> Result<()> {
        let mut writes =
            vec![Write { row: row.into(), condition: Condition::Exists, change: Change::Delete }];
        writes.extend(counts(transfer.sequences(), -1));
        // If it is rejected, another process has put them.
        self.engine.apply(source, PARTITION, writes).await?;
        Ok(())
    }

    /// Step 3 of all moves that have put messages into a queue that no longer exists: without the rows
    /// `y/<token>`, the messages would seem not to have been put.
    async fn end_all(&self, target: TableId) -> Result<()> {
        let mut from = "y/".to_owned();
        loop {
            let rows = self.rows(target, &from, "y0", PAGE_ROWS_MAX).await?;
            for row in &rows {
                let origin = row.row.strip_prefix("y/").and_then(origin).ok_or_else(corrupt)?;
                let source_row = row.row.replacen('y', "x", 1);
                let found = self.engine.get(origin, PARTITION, &[&source_row]).await?;
                if let Some(found) = found.into_iter().flatten().next() {
                    self.end(origin, &source_row, &Transfer::decode(&found.value)?).await?;
                }
            }
            match rows.last() {
                // The next key after it.
                Some(last) if rows.len() == PAGE_ROWS_MAX => from = format!("{}\0", last.row),
                _ => return Ok(()),
            }
        }
    }

    async fn exists(&self, queue: TableId, row: &str) -> Result<bool> {
        let found = self.engine.get(queue, PARTITION, &[row]).await?;
        Ok(found.into_iter().flatten().next().is_some())
    }

    /// Step 2.
    async fn deliver(&self, row: &str, transfer: &Transfer) -> Result<()> {
        let window = self.queues.windows.of(transfer.to);
        for _ in 0..ATTEMPTS_MAX {
            let (first, _placing) = window.place(0, || self.queues.tickets.next());
            let times: Vec<u64> = std::iter::once(first)
                .chain(std::iter::repeat_with(|| self.queues.tickets.next()))
                .take(transfer.messages.len())
                .collect();
            let mut writes = vec![put_row(&marker(row), Bytes::new())];
            for (&time, (_, message)) in times.iter().zip(&transfer.messages) {
                let nonce = self.queues.tickets.nonce();
                let message = MessageRecord { dequeue_count: 0, nonce, ..message.clone() };
                writes.push(put(time, time, &message));
            }
            writes.extend(counts(times, 1));
            match self.queues.apply(self.engine, transfer.to, first, writes).await? {
                // If the first write is rejected, another process has put the messages.
                Applied::Done { .. } | Applied::Rejected { index: 0, .. } => return Ok(()),
                // A message of another front end has the same time and sequence number.
                Applied::Rejected { .. } => {}
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }

    /// Returns messages to their original queue.
    async fn give_back(&self, source: TableId, row: &str, transfer: &Transfer) -> Result<()> {
        let window = self.queues.windows.of(source);
        for _ in 0..ATTEMPTS_MAX {
            let (now, _placing) = window.place(0, || self.queues.tickets.next());
            let delete = Write { row: row.into(), condition: Condition::Exists, change: Change::Delete };
            let messages = transfer.messages.iter().zip(now..);
            let back = messages.map(|((sequence, message), time)| put(time, *sequence, message));
            let writes = std::iter::once(delete).chain(back).collect();
            match self.queues.apply(self.engine, source, now, writes).await? {
                // If it is rejected, another process has finished the move.
                Applied::Done { .. } | Applied::Rejected { index: 0, .. } => return Ok(()),
                Applied::Rejected { .. } => {}
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }

    /// Deletes the rows that finished moves have left in a queue.
    async fn forget_all(&self, target: TableId) -> Result<()> {
        let now = self.queues.tickets.now();
        for row in self.rows(target, "y/", "y0", TRACES_MAX).await? {
            let origin = row.row.strip_prefix("y/").and_then(origin).ok_or_else(corrupt)?;
            let is_old = row.version.0.saturating_add(sweep::GRACE_TICKS) < now;
            let source_row = row.row.replacen('y', "x", 1);
            if is_old && !self.exists(origin, &source_row).await? {
                self.engine.apply(target, PARTITION, vec![remove(&row)]).await?;
            }
        }
        Ok(())
    }

    /// The rows of a queue from one row up to another.
    async fn rows(&self, queue: TableId, from: &str, before: &str, rows_max: usize) -> Result<Vec<Row>> {
        let place = |row: &str| KeyPosition { partition: PARTITION.into(), row: row.into() };
        let scan = Scan {
            table: queue,
            ranges: vec![KeyRange {
                start: Bound::Included(place(from)),
                end: Bound::Excluded(place(before)),
            }],
            rows_max,
            bytes_max: usize::MAX,
            judge: Box::new(|_| Ok(Verdict::Keep)),
        };
        Ok(self.engine.scan(scan).await?.rows)
    }
}

fn put_row(row: &str, value: Bytes) -> Write {
    Write { row: row.into(), condition: Condition::Absent, change: Change::Put(value) }
}

/// Identifies a move from a queue.
fn token(source: TableId, time: u64) -> String {
    format!("{:020}/{time:020}", source.0)
}

/// The queue from which messages are moved.
pub fn origin(token: &str) -> Option<TableId> {
    let (source, time) = token.split_once('/')?;
    time.parse::<u64>().ok()?;
    source.parse().ok().map(TableId)
}

/// The row that a move leaves in the second queue, given its row in the first.
fn marker(row: &str) -> String {
    row.replacen('x', "y", 1)
}
