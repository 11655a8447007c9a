//! The streams: which of them belongs to which front end (recorded in `lazuli_stream`), and where the next piece goes.
//!
//! Content in an object store uses the same streams: then `lazuli_meta` has the number of that store under `objects`. With
//! content in chunks it is 0 there, so that two front ends never store content in two places.
//!
//! Invariant: while a front end can commit references to pieces in a stream, no other process takes the stream,
//! even if the clock of the database is wrong. `watch.rs` explains why.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use lazuli_engine::content::{ContentHold, ContentLedger, Left, STREAM_MAX, Spot, Streams};
use lazuli_engine::{EngineFuture, Error, Result};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_postgres::types::Type;

use super::calls::{Parameter, signed, unsigned};
use super::hold::HoldBook;
use super::watch::RenewalWatch;
use crate::engine::{Core, incomplete};

/// The value of the mark for content in chunks.
const IN_CHUNKS: i64 = 0;

/// A new stream number, never used before.
const NEXT: &str = "UPDATE lazuli_meta SET value = value + 1 WHERE name = 'streams' RETURNING value";

const TAKE: &str = "INSERT INTO lazuli_stream (stream, holder, seen, live, swept) VALUES ($1, $2, now(), 0, false) \
     ON CONFLICT (stream) DO UPDATE SET holder = excluded.holder, seen = excluded.seen";

const RENEW: &str = "UPDATE lazuli_stream SET seen = now() WHERE holder = $1 RETURNING stream";

const OWN: &str = "SELECT stream FROM lazuli_stream WHERE holder = $1 AND stream = ANY($2)";

const COUNT: &str = "UPDATE lazuli_stream SET live = live + $2 WHERE stream = $1 RETURNING stream";

const LEAVE: &str = "UPDATE lazuli_stream SET holder = '' WHERE holder = $1 OR holder = $2";

const LIVE: &str = "SELECT coalesce(sum(live), 0)::int8 FROM lazuli_stream";

/// Marks a stream number as used.
const REACH: &str = "UPDATE lazuli_meta SET value = greatest(value, $1) WHERE name = 'streams'";

/// Protects the stream from sweeps until this front end gives it up, unless another front end owns it.
const CLAIM: &str = "INSERT INTO lazuli_stream (stream, holder, seen, live, swept) VALUES ($1, $2, now(), 0, false) \
     ON CONFLICT (stream) DO UPDATE SET holder = excluded.holder, seen = excluded.seen, swept = false \
     WHERE lazuli_stream.holder = '' OR lazuli_stream.holder = excluded.holder RETURNING stream";

const TAKE_OVER: &str = "UPDATE lazuli_stream SET holder = $1, seen = now() WHERE holder <> $1";

/// Streams of other front ends that were not seen for a day, by the clock of the database.
const SILENT: &str = "SELECT stream, seen FROM lazuli_stream \
     WHERE holder <> '' AND holder <> $1 AND seen < now() - interval '86400 seconds'";

/// A front end that resumes finds that it has lost its streams, and takes new ones.
const FENCE: &str = "UPDATE lazuli_stream SET holder = '' WHERE stream = $1 AND holder <> '' AND seen = $2";

const COVERED: &str =
    "SELECT stream, swept FROM lazuli_stream WHERE holder = '' ORDER BY swept, stream LIMIT $1";

const UNOWNED: &str = "SELECT stream FROM lazuli_stream WHERE holder = '' ORDER BY stream";

/// The sweep is the holder. It is not renewed: if it takes longer than a day, another sweep of the same stream is harmless.
const BEGIN_SWEEP: &str = "UPDATE lazuli_stream SET holder = $2, seen = now() \
     WHERE stream = $1 AND (holder = '' OR holder = $2) RETURNING stream";

const SETTLE: &str =
    "UPDATE lazuli_stream SET holder = '', live = $3, swept = true WHERE stream = $1 AND holder = $2";

const FORGET: &str = "DELETE FROM lazuli_stream WHERE stream = $1 AND holder = $2";

const ABANDON_SWEEP: &str = "UPDATE lazuli_stream SET holder = '' WHERE stream = $1 AND holder = $2";

/// Databases without the mark are older, and their content is in chunks.
const MARK: &str = "INSERT INTO lazuli_meta (name, value) SELECT 'objects', $1 \
     WHERE $1 = 0 OR NOT EXISTS (SELECT 1 FROM lazuli_stream) ON CONFLICT (name) DO NOTHING";

const MARKED: &str = "SELECT value FROM lazuli_meta WHERE name = 'objects'";

/// The streams of this front end and of all others.
pub struct StreamLedger {
    core: Arc<Core>,
    /// Maximum connections that content may use at the same time, so that some are left for rows.
    pub(super) connections: Semaphore,
    /// The current stream. Only one task at a time may claim a new one.
    current: tokio::sync::Mutex<Streams>,
    /// Streams that uploads of this process have written to.
    own: Mutex<HashSet<u64>>,
    /// Streams that were not seen for a day.
    watch: Mutex<RenewalWatch<i64, SystemTime>>,
    /// Holds of this process and of others.
    pub(super) holds: HoldBook,
    /// Has this process imported streams of other stores?
    has_adopted: AtomicBool,
    /// The database confirms that content is in the store that this process uses.
    is_marked: AtomicBool,
    /// Bytes stored minus bytes released, per stream, since the last report to the database.
    changes: Mutex<HashMap<u64, i64>>,
}

impl StreamLedger {
    /// The streams in the database of an engine.
    pub fn new(core: &Arc<Core>) -> Self {
        Self {
            core: Arc::clone(core),
            connections: Semaphore::new((core.pool.url.pool / 2).max(1)),
            current: tokio::sync::Mutex::default(),
            own: Mutex::default(),
            watch: Mutex::default(),
            holds: HoldBook::default(),
            has_adopted: AtomicBool::new(false),
            is_marked: AtomicBool::new(false),
            changes: Mutex::default(),
        }
    }

    /// State that all parts of the engine share.
    pub fn core(&self) -> &Core {
        &self.core
    }

    fn own(&self) -> MutexGuard<'_, HashSet<u64>> {
        locked(&self.own)
    }

    fn changes(&self) -> MutexGuard<'_, HashMap<u64, i64>> {
        locked(&self.changes)
    }

    /// Does this front end own streams?
    fn has_any(&self) -> bool {
        self.has_adopted.load(Ordering::Relaxed) || !self.own().is_empty()
    }

    /// The number of the object store with the content; `None` if content is in chunks, or nowhere yet.
    pub async fn object_store(&self) -> Result<Option<u64>> {
        let rows = self.call(MARKED, &[]).await?;
        rows.first()
            .map(|row| unsigned(row.get(0)))
            .transpose()
            .map(|found| found.filter(|number| *number > 0))
    }

    /// Records the number of the object store that holds the content, unless one is recorded already. Returns the
    /// recorded number.
    pub async fn mark_objects(&self, number: u64) -> Result<u64> {
        self.call(MARK, &[(&signed(number), Type::INT8)]).await?;
        let found = self.object_store().await?.ok_or_else(|| {
            Error::Unavailable(
                "the content of this database is in the database itself; move it with lazuli engine copy"
                    .into(),
            )
        })?;
        self.is_marked.store(true, Ordering::Relaxed);
        Ok(found)
    }

    /// Records, before anything is stored, that the content of this database is in chunks.
    async fn mark_chunks(&self) -> Result<()> {
        if self.is_marked.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.call(MARK, &[(&IN_CHUNKS, Type::INT8)]).await?;
        if self.object_store().await?.is_some() {
            return Err(in_objects());
        }
        self.is_marked.store(true, Ordering::Relaxed);
        Ok(())
    }

    async fn take_place(&self, length: u32) -> Result<Spot> {
        let mut streams = self.current.lock().await;
        if let Some(spot) = streams.place(length) {
            return Ok(spot);
        }
        self.mark_chunks().await?;
        let row = self.call(NEXT, &[]).await?;
        let number = unsigned(row.first().ok_or_else(incomplete)?.get(0))?;
        if number > STREAM_MAX {
            return Err(Error::Unavailable("all stream numbers are used up".into()));
        }
        let parameters: [Parameter<'_>; 2] = [(&signed(number), Type::INT8), (&self.core.holder, Type::TEXT)];
        self.call(TAKE, &parameters).await?;
        self.own().insert(number);
        streams.enter(number);
        streams.place(length).ok_or_else(|| Error::Unavailable("a new stream has no room".into()))
    }

    async fn take_claim(&self, stream: u64) -> Result<bool> {
        self.mark_chunks().await?;
        let parameters: [Parameter<'_>; 2] = [(&signed(stream), Type::INT8), (&self.core.holder, Type::TEXT)];
        self.call(REACH, &parameters[..1]).await?;
        if self.own().contains(&stream) || self.call(CLAIM, &parameters).await?.is_empty() {
            return Ok(false);
        }
        self.has_adopted.store(true, Ordering::Relaxed);
        Ok(true)
    }

    /// Takes over all streams of processes that have certainly ended.
    pub async fn take_over(&self) -> Result<()> {
        self.call(TAKE_OVER, &[(&self.core.holder, Type::TEXT)]).await?;
        self.has_adopted.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Reports that this front end is alive. After an error it must not trust that it still has its streams.
    pub async fn renew(&self) -> Result<()> {
        if !self.has_any() {
            return Ok(());
        }
        // Read the list before the statement: a stream that is taken in the meantime is not among its results.
        let own = self.own().clone();
        let held = self.call(RENEW, &[(&self.core.holder, Type::TEXT)]).await?;
        let held: HashSet<u64> = held.iter().map(|row| unsigned(row.get(0))).collect::<Result<_>>()?;
        let lost: Vec<u64> = own.difference(&held).copied().collect();
        if !lost.is_empty() {
            tracing::warn!(
                "this front end was not seen for a day, and another one took its streams: uploads in progress fail"
            );
            self.lose(&lost).await;
        }
        Ok(())
    }

    /// Ensures that no commit refers to pieces in streams that this front end has lost. Uploads that are sealed
    /// from now on fail, since the database says that the streams are lost.
    async fn lose(&self, streams: &[u64]) {
        // Uploads that were sealed before now may be in a commit: no commit succeeds for a while, so theirs fail.
        self.core.versions.hold();
        self.current.lock().await.leave();
        self.own().retain(|stream| !streams.contains(stream));
    }

    /// Reports how many bytes this front end has stored and released.
    pub async fn report(&self) -> Result<()> {
        let changes = std::mem::take(&mut *self.changes());
        for (stream, change) in changes {
            let parameters: [Parameter<'_>; 2] = [(&signed(stream), Type::INT8), (&change, Type::INT8)];
            // If this fails, a sweep corrects it later.
            self.call(COUNT, &parameters).await?;
        }
        Ok(())
    }

    /// Takes streams away from front ends that have ended, so that the next sweep covers them.
    pub async fn fence(&self, now: Instant) -> Result<()> {
        let rows = self.call(SILENT, &[(&self.core.holder, Type::TEXT)]).await?;
        let silent: HashMap<i64, SystemTime> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        let gone = locked(&self.watch).observe(silent, now);
        for (stream, seen) in gone {
            self.call(FENCE, &[(&stream, Type::INT8), (&seen, Type::TIMESTAMPTZ)]).await?;
        }
        Ok(())
    }

    /// Gives up all streams.
    pub async fn leave(&self) -> Result<()> {
        self.current.lock().await.leave();
        let told = self.report().await.and(self.end_all_holds().await);
        if self.has_any() {
            let parameters: [Parameter<'_>; 2] =
                [(&self.core.holder, Type::TEXT), (&self.sweeper(), Type::TEXT)];
            self.call(LEAVE, &parameters).await?;
        }
        told
    }

    async fn cover(&self, max: usize) -> Result<Left> {
        let rows = self.call(COVERED, &[(&signed(max as u64 + 1), Type::INT8)]).await?;
        let is_partial = rows.get(max).is_some_and(|row| !row.get::<_, bool>(1));
        let streams = rows.iter().take(max).map(|row| unsigned(row.get(0))).collect::<Result<_>>()?;
        Ok(Left { streams, is_partial })
    }

    async fn all_unowned(&self) -> Result<Vec<u64>> {
        let rows = self.call(UNOWNED, &[]).await?;
        rows.iter().map(|row| unsigned(row.get(0))).collect()
    }

    /// The holder of streams that this process sweeps. It must not have them as its own: uploads that wrote to a stream before
    /// it was lost would seem to be safe.
    fn sweeper(&self) -> String {
        format!("sweep {}", self.core.holder)
    }

    async fn take_for_sweep(&self, stream: u64) -> Result<bool> {
        // It is given up when the process ends.
        self.has_adopted.store(true, Ordering::Relaxed);
        let parameters: [Parameter<'_>; 2] = [(&signed(stream), Type::INT8), (&self.sweeper(), Type::TEXT)];
        Ok(!self.call(BEGIN_SWEEP, &parameters).await?.is_empty())
    }

    async fn tell(&self, stream: u64, live: Option<u64>) -> Result<()> {
        let live_bytes = signed(live.unwrap_or_default());
        let parameters: [Parameter<'_>; 3] =
            [(&signed(stream), Type::INT8), (&self.sweeper(), Type::TEXT), (&live_bytes, Type::INT8)];
        match live {
            None => self.call(ABANDON_SWEEP, &parameters[..2]).await?,
            Some(0) => self.call(FORGET, &parameters[..2]).await?,
            Some(_) => self.call(SETTLE, &parameters).await?,
        };
        if live.is_some() {
            self.changes().remove(&stream);
        }
        Ok(())
    }

    async fn all_live(&self) -> Result<u64> {
        let rows = self.call(LIVE, &[]).await?;
        let told: i64 = rows.first().ok_or_else(incomplete)?.get(0);
        let untold: i64 = self.changes().values().sum();
        Ok(told.saturating_add(untold).max(0).unsigned_abs())
    }
}

/// Locks a mutex whose holders do not panic.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The error for a process that would store content in chunks.
pub fn in_objects() -> Error {
    Error::Unavailable("the content of this database is in an object store; pass it with --content".into())
}

impl ContentLedger for StreamLedger {
    fn place(&self, length: u32) -> EngineFuture<'_, Spot> {
        Box::pin(self.take_place(length))
    }

    fn owns<'a>(&'a self, streams: &'a HashSet<u64>) -> EngineFuture<'a, bool> {
        Box::pin(async {
            let numbers: Vec<i64> = streams.iter().map(|stream| signed(*stream)).collect();
            let parameters: [Parameter<'_>; 2] =
                [(&self.core.holder, Type::TEXT), (&numbers, Type::INT8_ARRAY)];
            Ok(self.call(OWN, &parameters).await?.len() == numbers.len())
        })
    }

    fn claim(&self, stream: u64) -> EngineFuture<'_, bool> {
        Box::pin(self.take_claim(stream))
    }

    fn count(&self, stream: u64, bytes: i64) {
        *self.changes().entry(stream).or_default() += bytes;
    }

    fn left(&self, max: usize) -> EngineFuture<'_, Left> {
        Box::pin(self.cover(max))
    }

    fn unowned(&self) -> EngineFuture<'_, Vec<u64>> {
        Box::pin(self.all_unowned())
    }

    fn begin_sweep(&self, stream: u64) -> EngineFuture<'_, bool> {
        Box::pin(self.take_for_sweep(stream))
    }

    fn end_sweep(&self, stream: u64, live: Option<u64>) -> EngineFuture<'_, ()> {
        Box::pin(self.tell(stream, live))
    }

    fn live(&self) -> EngineFuture<'_, u64> {
        Box::pin(self.all_live())
    }

    fn hold(self: Arc<Self>) -> EngineFuture<'static, Box<dyn ContentHold>> {
        Box::pin(self.begin_hold())
    }

    fn is_held(&self) -> EngineFuture<'_, bool> {
        Box::pin(async { Ok(!self.proven_holds().await?.is_empty()) })
    }
}
