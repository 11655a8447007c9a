//! The front of each queue in memory: messages that were read and are not taken by a client yet.
//!
//! Several consumers of one queue would all read its first messages and compete for them. Instead, one of them
//! reads a few hundred, and each takes some: a message that was taken is not offered again until the commit of
//! its taker has succeeded or failed. Reading continues at a cursor, so that messages that were taken, deleted
//! or have expired are not read again and again.
//!
//! Invariant: below the cursor there is no message that can be taken, except those in memory. The
//! cursor never passes a message that is being put: its time, which decides where it is in the queue, and the
//! list of messages that are being put change under one lock; a reader notes the lowest of them before it
//! reads, and the cursor stops there. Other front ends may put messages below the cursor, so the cursor is
//! moved back periodically. All this is only a hint: every commit checks the versions of its rows, so a wrong
//! hint costs a retry or a delay, but never a message.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use lazuli_engine::{Engine, Page, Row, Scan, TableId, Verdict, Version};
use lazuli_model::time::TICKS_PER_SECOND;

use super::deletes::Deleter;
use super::line::ChangeLine;
use super::puts::Putter;
use super::record::{self, MessageRecord, message_key};
use crate::Result;

/// Number of queues whose fronts are kept in memory. Beyond it, idle ones are dropped.
const QUEUES_MAX: usize = 256;
/// Number of messages read at a time.
const WINDOW_ROWS_MAX: usize = 256;
/// Maximum bytes read at a time.
const WINDOW_BYTES_MAX: usize = 128 * 1024;
/// Upper bound of the memory of all fronts, apart from those that requests in progress hold.
pub const FRONTS_BYTES_MAX: usize = QUEUES_MAX * (WINDOW_BYTES_MAX + WINDOW_ROWS_MAX * 256);
/// Maximum rows per scan. Expired messages that are not removed yet are skipped in steps of this size.
const SCAN_ROWS_MAX: u64 = 10_000;
/// If other processes use the engine, the cursor moves back this often, ...
const BACK_EVERY: Duration = Duration::from_millis(250);
/// ... by this much: more than the difference between the clocks of front ends, plus the duration of a commit.
const BACK_TICKS: u64 = 60 * TICKS_PER_SECOND;
/// Interval for reading a queue from its start, regardless of the cursor.
const START_EVERY: Duration = Duration::from_secs(300);

/// The fronts of all queues.
#[derive(Default)]
pub struct Windows(Mutex<HashMap<TableId, Arc<Window>>>);

impl Windows {
    /// The front of a queue.
    pub fn of(&self, queue: TableId) -> Arc<Window> {
        let mut all = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if all.len() >= QUEUES_MAX && !all.contains_key(&queue) {
            all.retain(|_, window| Arc::strong_count(window) > 1);
        }
        all.entry(queue).or_default().clone()
    }

    /// The queues in which readers have found expired messages since the last call.
    pub fn with_expired(&self) -> Vec<TableId> {
        let all = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let met = all.iter().filter(|(_, window)| window.expired.swap(0, Ordering::Relaxed) > 0);
        met.map(|(&queue, _)| queue).collect()
    }
}

/// The front of one queue.
#[derive(Default)]
pub struct Window {
    front: Mutex<Front>,
    /// Held by the task that reads more.
    reading: tokio::sync::Mutex<()>,
    /// Expired messages that readers have skipped.
    expired: AtomicU64,
    /// The time of the queue was read: see [`record::TIME`].
    pub has_time: tokio::sync::OnceCell<()>,
    /// Messages waiting for the commit that puts them.
    pub puts: ChangeLine<Putter>,
    /// Messages waiting for the commit that deletes them.
    pub deletes: ChangeLine<Deleter>,
}

#[derive(Default)]
struct Front {
    rows: VecDeque<Row>,
    /// The row at which reading continues; empty for the start.
    cursor: String,
    /// Messages that were taken, and whose commit has not completed yet.
    taken: HashSet<Box<str>>,
    /// Messages whose taking ended after the current reader started: it may still find their old rows.
    released: HashSet<Box<str>>,
    is_being_read: bool,
    /// Times of messages that are being put, each with their number.
    placing: BTreeMap<u64, usize>,
    /// The time when the cursor last moved back, and when it last moved back to the start.
    went_back: Option<(Duration, Duration)>,
    /// Was the last commit rejected? Then another front end is taking the same messages.
    is_contended: bool,
    /// Counts how often the cursor was moved back, so that a reader does not undo it.
    rewinds: u64,
}

/// A message that is being put into a queue. Dropped when that has succeeded or failed.
pub struct Placing {
    window: Arc<Window>,
    time: u64,
}

impl Drop for Placing {
    fn drop(&mut self) {
        let mut front = self.window.lock();
        if let Some(count) = front.placing.get_mut(&self.time) {
            *count -= 1;
            if *count == 0 {
                front.placing.remove(&self.time);
            }
        }
    }
}

/// Messages that one client is taking. Dropped when the commit has succeeded or failed.
pub struct Taken {
    window: Arc<Window>,
    pub rows: Vec<Row>,
    /// Marks them as committed: they need not be read again.
    pub settled: bool,
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut front = self.window.lock();
        if !self.settled && !self.rows.is_empty() {
            front.read_again();
            front.is_contended = true;
        }
        let is_being_read = front.is_being_read;
        for row in &self.rows {
            let released = front.taken.take(&row.row).filter(|_| is_being_read);
            front.released.extend(released);
        }
    }
}

/// The way to read a queue.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    pub engine: &'a dyn Engine,
    pub queue: TableId,
    /// Can other processes put messages?
    pub is_shared: bool,
    /// A monotonic time.
    pub elapsed: Duration,
    /// A random number.
    pub random: u64,
}

impl Window {
    fn lock(&self) -> MutexGuard<'_, Front> {
        self.front.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Announces a message that becomes visible `delay` ticks after the time that `next` returns; returns that time.
    pub fn place(self: &Arc<Self>, delay: u64, next: impl FnOnce() -> u64) -> (u64, Placing) {
        let mut front = self.lock();
        let now = next();
        let time = now.saturating_add(delay);
        *front.placing.entry(time).or_default() += 1;
        (now, Placing { window: self.clone(), time })
    }

    /// Takes up to `count` visible messages; none if there are none. `next` returns a time that is unique.
    pub async fn take(
        self: &Arc<Self>,
        reading: Reading<'_>,
        count: usize,
        next: &(dyn Fn() -> u64 + Send + Sync),
    ) -> Result<Taken> {
        let mut taken = Taken { window: self.clone(), rows: Vec::new(), settled: false };
        let mut is_end = false;
        while !self.take_known(&mut taken, reading, count, next()) && !is_end {
            let _turn = self.reading.lock().await;
            // Another task may have read more in the meantime.
            if self.take_known(&mut taken, reading, count, next()) {
                break;
            }
            is_end = self.read_more(reading, next).await?;
        }
        Ok(taken)
    }

    /// Takes messages that are in memory; `true` if there are as many as requested.
    fn take_known(&self, taken: &mut Taken, reading: Reading<'_>, count: usize, now: u64) -> bool {
        let mut front = self.lock();
        // Front ends that all took the first messages would constantly reject each other's commits.
        let places = front.rows.len().saturating_sub(count) + 1;
        let skip = if reading.is_shared && std::mem::take(&mut front.is_contended) {
            usize::try_from(reading.random).unwrap_or_default() % places
        } else {
            0
        };
        while taken.rows.len() < count {
            let Some(row) = front.rows.remove(skip) else { return false };
            let expired = MessageRecord::expiry_of(&row.value).is_ok_and(|expires| expires <= now);
            if !expired && front.taken.insert(row.row.clone()) {
                taken.rows.push(row);
            }
        }
        true
    }

    /// Reads more messages; `true` if there are no more than those in memory.
    async fn read_more(&self, reading: Reading<'_>, next: &(dyn Fn() -> u64 + Send + Sync)) -> Result<bool> {
        // Only one task at a time may read.
        let _reader = Reader(self);
        loop {
            let start = self.lock().start_reading(reading, next());
            let (scan, expired) = visible_rows(reading.queue, &start.from, start.time);
            let page = reading.engine.scan(scan).await?;
            self.expired.fetch_add(expired.load(Ordering::Relaxed), Ordering::Relaxed);
            let is_end = page.next.is_none();
            let mut front = self.lock();
            if front.rewinds != start.rewinds {
                continue;
            }
            front.add(&start, page);
            if !front.rows.is_empty() || is_end {
                return Ok(is_end);
            }
        }
    }

    /// The first messages, by their rows and versions, if they are in memory and no message can be before or between them:
    /// no other process puts messages, and none is being taken, which could fail. They may have changed since.
    pub fn first_known(
        &self,
        reading: Reading<'_>,
        count: usize,
        now: u64,
    ) -> Option<Vec<(Box<str>, Version)>> {
        let front = self.lock();
        if reading.is_shared || !front.taken.is_empty() || front.is_due(reading) {
            return None;
        }
        // A message that is being put may sort before rows beyond the cursor.
        let known = front.rows.iter().take_while(|row| *row.row < *front.cursor);
        let is_live = |row: &&Row| MessageRecord::expiry_of(&row.value).is_ok_and(|expires| expires > now);
        let live = known.filter(is_live).take(count);
        let first: Vec<_> = live.map(|row| (row.row.clone(), row.version)).collect();
        (first.len() == count).then_some(first)
    }

    /// The first row that may hold a message: a scan from here finds every visible one. If nothing is in
    /// memory, the queue is read first, so that expired messages are skipped once and not by every Peek
    /// Messages.
    pub async fn start_for_peek(
        &self,
        reading: Reading<'_>,
        next: &(dyn Fn() -> u64 + Send + Sync),
    ) -> Result<String> {
        if self.lock().is_due(reading) {
            let _turn = self.reading.lock().await;
            if self.lock().is_due(reading) {
                self.read_more(reading, next).await?;
            }
        }
        Ok(self.lock().lowest())
    }

    /// Records that expired messages were skipped.
    pub fn met_expired(&self, count: u64) {
        self.expired.fetch_add(count, Ordering::Relaxed);
    }
}

/// Reads more messages. Dropped when that is done, has failed or was cancelled.
struct Reader<'a>(&'a Window);

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        let mut front = self.0.lock();
        front.is_being_read = false;
        front.released = HashSet::new();
    }
}

/// The state of a front when a reader starts.
struct Start {
    from: String,
    time: u64,
    /// The smallest time of a message that is being put.
    lowest: Option<u64>,
    rewinds: u64,
}

impl Front {
    /// Is there nothing in memory, or is it time to read from the start?
    fn is_due(&self, reading: Reading<'_>) -> bool {
        let is_recent =
            |(_, start): (Duration, Duration)| reading.elapsed.saturating_sub(start) < START_EVERY;
        self.rows.is_empty() || !self.went_back.is_some_and(is_recent)
    }

    /// The first row of a message that can be taken now, or if a taker fails.
    fn lowest(&self) -> String {
        let known = self.rows.front().map(|row| &*row.row).into_iter();
        let lowest = known.chain(self.taken.iter().map(|row| &**row)).min();
        lowest.filter(|row| **row < *self.cursor).map_or_else(|| self.cursor.clone(), str::to_owned)
    }

    fn read_again(&mut self) {
        self.cursor = self.lowest();
        self.rows.clear();
        self.rewinds += 1;
    }

    fn start_reading(&mut self, reading: Reading<'_>, time: u64) -> Start {
        self.go_back(reading, time);
        self.is_being_read = true;
        self.released.clear();
        Start {
            from: self.cursor.clone(),
            time,
            lowest: self.placing.keys().next().copied(),
            rewinds: self.rewinds,
        }
    }

    /// Adds the rows that a reader has found.
    fn add(&mut self, start: &Start, page: Page) {
        // Messages that are put from now on have later times.
        let reached = page.next.map_or_else(|| message_key(start.time + 1, 0), |place| place.row);
        self.cursor = match start.lowest.map(|lowest| message_key(lowest, 0)) {
            Some(lowest) if lowest < reached => lowest,
            _ => reached,
        };
        let is_free = |row: &Row| !self.taken.contains(&row.row) && !self.released.contains(&row.row);
        let free: Vec<Row> = page.rows.into_iter().filter(is_free).collect();
        self.rows.extend(free);
    }

    /// Moves the cursor back if it is time to.
    fn go_back(&mut self, reading: Reading<'_>, time: u64) {
        let since = |last: Duration| reading.elapsed.saturating_sub(last);
        match self.went_back {
            Some((_, start)) if since(start) < START_EVERY => {
                if reading.is_shared && self.went_back.is_some_and(|(last, _)| since(last) >= BACK_EVERY) {
                    self.read_again();
                    let back = message_key(time.saturating_sub(BACK_TICKS), 0);
                    self.cursor = std::mem::take(&mut self.cursor).min(back);
                    self.went_back = Some((reading.elapsed, start));
                }
            }
            _ => {
                self.rows.clear();
                self.cursor.clear();
                self.went_back = Some((reading.elapsed, reading.elapsed));
            }
        }
    }
}

/// Visible, unexpired messages from a row onwards, and the number of expired ones that the scan skips.
fn visible_rows(queue: TableId, from: &str, now: u64) -> (Scan, Arc<AtomicU64>) {
    let passed: Arc<AtomicU64> = Arc::default();
    let counter = passed.clone();
    let mut looked_at = 0;
    let scan = Scan {
        table: queue,
        ranges: vec![record::visible(from, now)],
        rows_max: WINDOW_ROWS_MAX,
        bytes_max: WINDOW_BYTES_MAX,
        judge: Box::new(move |row| {
            looked_at += 1;
            if looked_at > SCAN_ROWS_MAX {
                return Ok(Verdict::Stop);
            }
            if MessageRecord::expiry_of(row.value)? > now {
                return Ok(Verdict::Keep);
            }
            counter.fetch_add(1, Ordering::Relaxed);
            Ok(Verdict::Skip)
        }),
    };
    (scan, passed)
}

#[cfg(test)]
mod tests {
    use lazuli_engine::{Clock, Memory, Version};
    use lazuli_model::Guid;

    use super::*;

    /// Peek Messages must not skip a message that is acknowledged when later ones are already in memory.
    #[test]
    fn messages_after_an_unfinished_put_are_not_known() {
        let record = MessageRecord {
            expires: u64::MAX,
            inserted: 15,
            id: Guid([7; 16]),
            dequeue_count: 0,
            nonce: 1,
            text: "later".into(),
        };
        let row = Row {
            partition: record::PARTITION.into(),
            row: message_key(15, 15).into(),
            version: Version(15),
            value: record.encode(),
        };
        let memory = Memory::new(Clock::system());
        let reading = Reading {
            engine: &memory,
            queue: TableId(1),
            is_shared: false,
            elapsed: Duration::ZERO,
            random: 0,
        };
        for (lowest, is_known) in [(None, true), (Some(10), false), (Some(18), true)] {
            let window = Window::default();
            let mut front = window.lock();
            let start = Start { lowest, ..front.start_reading(reading, 20) };
            front.add(&start, Page { rows: vec![row.clone()], ..Page::default() });
            drop(front);
            assert_eq!(window.first_known(reading, 1, 20).is_some(), is_known, "{lowest:?}");
        }
    }
}
