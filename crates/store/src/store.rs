//! The store as an engine: reads on the caller's thread or a bounded pool, writes through the committer.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use bytes::Bytes;
use lazuli_engine::figure::COUNTS;
use lazuli_engine::{
    Adopted, Applied, Bound, Dump, Engine, EngineFuture, Error, Figure, KeyRange, Page, Result, Row, Scan,
    Status, TableId, Version, Write,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::spawn_blocking;

use crate::adopt::Adoption;
use crate::check::Report;
use crate::commit::Commit;
use crate::committer::{Committer, Health, Job, PanicGuard};
use crate::directory;
use crate::dump::Dumps;
use crate::error::{OpenError, closed, poisoned};
use crate::files::{Files, FjallLog, Log, panic_text};
use crate::keyspace;
use crate::limits::{
    COMMIT_BYTES_MIN, ERASE_ROWS_MAX, ERASE_TABLES_MAX, INLINE_POINTS_MAX, QUEUE_BYTES_MAX, QUEUE_UNIT_BYTES,
};
use crate::options::Options;
use crate::queue::{Callers, queue};
use crate::recent::Recent;
use crate::scan;
use crate::state::State;
use crate::view::{Published, View};

/// A durable engine in one directory of this machine.
///
/// Scans, `status`, `check` and `close` need a tokio runtime around them.
pub struct Store {
    place: String,
    published: Arc<Published>,
    health: Arc<Health>,
    jobs: Callers,
    /// Room for jobs that wait, in units of [`QUEUE_UNIT_BYTES`].
    queue: Arc<Semaphore>,
    scans: Arc<Semaphore>,
    scans_max: u32,
    /// Where `erase` goes on in each table.
    erasing: Mutex<HashMap<TableId, Bytes>>,
    dumps: Dumps,
    committer: Mutex<Option<JoinHandle<()>>>,
}

impl Store {
    /// Opens the store in `dir`, or makes one of an empty or missing directory.
    pub fn open(dir: impl AsRef<Path>, options: Options) -> std::result::Result<Self, OpenError> {
        Self::open_with(dir.as_ref(), options, Box::new(FjallLog))
    }

    /// Opens the store with a log of the caller's choice.
    pub(crate) fn open_with(
        dir: &Path,
        options: Options,
        log: Box<dyn Log>,
    ) -> std::result::Result<Self, OpenError> {
        let files = Arc::new(Files::open(dir, &options)?);
        let view = View::take(&files, 0);
        let state = State::load(&view).map_err(|e| OpenError::Corrupt(e.to_string()))?;
        check_nothing_is_missing(&files, state)?;
        files.directory.mark_open()?;

        let published = Arc::new(Published::new(view));
        let health = Arc::new(Health::default());
        let (jobs, waiting) = queue();
        let committer = Committer {
            jobs: waiting,
            files,
            log,
            published: Arc::clone(&published),
            health: Arc::clone(&health),
            clock: options.clock,
            durability: options.durability,
            memtable_bytes: options.memtable_bytes,
            state,
            recent: Recent::default(),
            number: 0,
        };
        let scans_max = u32::try_from(options.scans_max.clamp(1, 1024)).unwrap_or(1);
        Ok(Self {
            place: dir.display().to_string(),
            published,
            jobs,
            queue: Arc::new(Semaphore::new(QUEUE_BYTES_MAX / QUEUE_UNIT_BYTES)),
            scans: Arc::new(Semaphore::new(scans_max as usize)),
            scans_max,
            erasing: Mutex::default(),
            dumps: Dumps::default(),
            committer: Mutex::new(Some(start(committer, Arc::clone(&health), dir)?)),
            health,
        })
    }

    /// What readers see, for tests that look at it from inside.
    #[cfg(test)]
    pub(crate) fn published(&self) -> Arc<Published> {
        Arc::clone(&self.published)
    }

    /// Walks through everything, verifying checksums and the order of keys.
    pub async fn check(&self) -> Result<Report> {
        let view = self.published.view()?;
        blocking(move || Ok(Report::of(&view, &mut |_, _| {}))).await
    }

    /// How many commits were made since the store was opened, and in how many batches.
    pub fn commits_and_groups(&self) -> (u64, u64) {
        self.health.commits_and_groups()
    }

    /// Reads from the latest view on this thread. A panic of the sorted store, which asserts some of what it finds in its
    /// files, is an error of this read alone.
    fn read<T>(&self, read: impl FnOnce(&View) -> Result<T>) -> Result<T> {
        let view = self.published.view()?;
        catch_unwind(AssertUnwindSafe(|| read(&view)))
            .unwrap_or_else(|panic| Err(Error::Corrupt(format!("a read panicked: {}", panic_text(&*panic)))))
    }

    fn check_writable(&self) -> Result<()> {
        self.health.poison().map_or(Ok(()), |why| Err(poisoned(why)))
    }

    /// A place in the queue for a job of so many bytes.
    async fn place(&self, bytes: usize) -> Result<OwnedSemaphorePermit> {
        let units = bytes.max(COMMIT_BYTES_MIN).div_ceil(QUEUE_UNIT_BYTES);
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        Arc::clone(&self.queue).acquire_many_owned(units).await.map_err(|_| closed())
    }

    async fn submit(&self, commit: Commit) -> Result<Applied> {
        let place = self.place(commit.bytes).await?;
        let (answer, answered) = oneshot::channel();
        self.send(Job::Commit { commit, answer, place })?;
        self.wait_for(answered).await
    }

    fn send(&self, job: Job) -> Result<()> {
        if self.jobs.send(job) { Ok(()) } else { Err(closed()) }
    }

    async fn wait_for<T>(&self, answered: oneshot::Receiver<Result<T>>) -> Result<T> {
        answered.await.unwrap_or_else(|_| match self.health.poison() {
            Some(why) => Err(Error::Unknown(why.into())),
            // It ended in good order without having looked at this job.
            None => Err(closed()),
        })
    }

    async fn erase_some(&self, table: TableId) -> Result<bool> {
        self.check_writable()?;
        let view = self.published.view()?;
        let start = self.erase_start(table);
        let from = start.clone().unwrap_or_else(|| keyspace::table_prefix(table).to_vec().into());
        let keys = blocking(move || view.table_keys(table, &from, ERASE_ROWS_MAX)).await?;
        self.set_erase_start(table, keys.last().cloned());
        if keys.is_empty() {
            // Only a look from the very start tells that nothing is left.
            return Ok(start.is_none());
        }
        let place = self.place(keys.iter().map(Bytes::len).sum()).await?;
        let (answer, answered) = oneshot::channel();
        self.send(Job::Erase { keys, answer, place })?;
        self.wait_for(answered).await?;
        Ok(false)
    }

    fn erase_start(&self, table: TableId) -> Option<Bytes> {
        self.erasing.lock().unwrap_or_else(PoisonError::into_inner).get(&table).cloned()
    }

    /// Remembers where to go on, so that rows already removed are not walked over again and again.
    fn set_erase_start(&self, table: TableId, start: Option<Bytes>) {
        let mut erasing = self.erasing.lock().unwrap_or_else(PoisonError::into_inner);
        match start {
            Some(start) if erasing.len() < ERASE_TABLES_MAX || erasing.contains_key(&table) => {
                drop(erasing.insert(table, start));
            }
            _ => drop(erasing.remove(&table)),
        }
    }

    /// Ends the committer, after what waits for it is done.
    fn stop(&self) -> Option<JoinHandle<()>> {
        // It is gone already if this fails.
        let _ = self.jobs.send(Job::Stop);
        self.committer.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Engine for Store {
    fn get<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        rows: &'a [&'a str],
    ) -> EngineFuture<'a, Vec<Option<Row>>> {
        Box::pin(std::future::ready(self.read(|view| view.get(table, partition, rows))))
    }

    fn scan(&self, scan: Scan) -> EngineFuture<'_, Page> {
        Box::pin(async move {
            if scan.ranges.len() <= INLINE_POINTS_MAX && scan.ranges.iter().all(is_point) {
                return self.read(|view| scan::scan(view, scan));
            }
            let slot = Arc::clone(&self.scans).acquire_owned().await.map_err(|_| closed())?;
            let view = self.published.view()?;
            blocking(move || {
                let page = scan::scan(&view, scan);
                // Whoever gets all slots finds no view in use.
                drop(view);
                drop(slot);
                page
            })
            .await
        })
    }

    fn apply<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        writes: Vec<Write>,
    ) -> EngineFuture<'a, Applied> {
        Box::pin(async move {
            self.check_writable()?;
            let commit = self.read(|view| Commit::prepare(view, table, partition, writes))?;
            self.submit(commit).await
        })
    }

    fn adopt(&self, table: TableId, rows: Vec<Row>) -> EngineFuture<'_, Adopted> {
        Box::pin(async move {
            self.check_writable()?;
            let adoption = Adoption::prepare(table, rows)?;
            let place = self.place(adoption.bytes).await?;
            let (answer, answered) = oneshot::channel();
            self.send(Job::Adopt { adoption, answer, place })?;
            self.wait_for(answered).await
        })
    }

    fn fresh_table(&self) -> EngineFuture<'_, TableId> {
        Box::pin(async {
            self.check_writable()?;
            let place = self.place(0).await?;
            let (answer, answered) = oneshot::channel();
            self.send(Job::FreshTable { answer, place })?;
            self.wait_for(answered).await
        })
    }

    fn erase(&self, table: TableId) -> EngineFuture<'_, bool> {
        Box::pin(async move {
            if table == TableId::SYSTEM {
                return Err(Error::Unavailable("the system's own table is never erased".into()));
            }
            self.erase_some(table).await
        })
    }

    fn status(&self) -> EngineFuture<'_, Status> {
        Box::pin(async {
            let view = self.published.view()?;
            let health = Arc::clone(&self.health);
            let (disk_bytes, figures) = blocking(move || {
                let files = view.files();
                if files.is_dead() {
                    health.set_poison("writing sorted files has failed".into());
                }
                Ok((directory::disk_bytes(files.directory.path()).ok(), figures(&health, files)))
            })
            .await?;
            let poisoned = self.health.poison().map(Into::into);
            Ok(Status { place: self.place.clone(), disk_bytes, poisoned, figures })
        })
    }

    fn dump(&self) -> EngineFuture<'_, Box<dyn Dump>> {
        let begun = self.read(|view| self.dumps.begin(view, &self.scans));
        Box::pin(std::future::ready(begun.map(|dump| Box::new(dump) as Box<dyn Dump>)))
    }

    fn close(&self) -> EngineFuture<'_, ()> {
        Box::pin(async {
            let Some(committer) = self.stop() else { return Ok(()) };
            // Scans that run still hold the files.
            let scans = self.scans.acquire_many(self.scans_max).await;
            self.scans.close();
            self.queue.close();
            self.dumps.close();
            drop(scans);
            let published = Arc::clone(&self.published);
            blocking(move || {
                let ended = committer.join();
                published.close();
                ended.map_err(|_| Error::Unknown("the committer panicked".into()))
            })
            .await
        })
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Some(committer) = self.stop() {
            // A panic has been noted where it happened.
            let _ = committer.join();
        }
        self.dumps.close();
        self.published.close();
    }
}

fn start(
    committer: Committer,
    health: Arc<Health>,
    dir: &Path,
) -> std::result::Result<JoinHandle<()>, OpenError> {
    let run = move || {
        let _guard = PanicGuard(health);
        committer.run();
    };
    let thread = std::thread::Builder::new().name("lazuli-committer".into());
    thread.spawn(run).map_err(OpenError::io("start the committer of", dir))
}

/// A store that was closed in good order must open with what it had then: a log cut short in between is damage.
fn check_nothing_is_missing(files: &Files, state: State) -> std::result::Result<(), OpenError> {
    match files.directory.closed_at()? {
        Some(Version(closed)) if state.last_version.0 < closed => Err(OpenError::Corrupt(format!(
            "it was closed at version {closed}, but only version {} is found",
            state.last_version.0
        ))),
        _ => Ok(()),
    }
}

/// What there is to tell about the store. How often the cache of blocks helps is not counted: it would cost every read
/// of a block.
fn figures(health: &Health, files: &Files) -> Vec<Figure> {
    let (commits, groups) = health.commits_and_groups();
    vec![
        Figure::counter("commits_total", "Commits made.", commits),
        Figure::counter("commit_groups_total", "Batches in which commits were made durable.", groups),
        Figure::histogram(
            "commit_group_commits",
            "Commits that shared one sync.",
            health.group_commits.distribution(&COUNTS, 1.0),
        ),
        Figure::histogram(
            "sync_seconds",
            "Time to make a group of commits durable, waiting for background work included.",
            health.sync_time.times(),
        ),
        Figure::gauge("cache_bytes", "Blocks of sorted files and rows held in memory.", files.cached_bytes()),
        Figure::gauge("cache_capacity_bytes", "Most that is held of them.", files.cached_bytes_max()),
        Figure::gauge(
            "write_buffer_bytes",
            "Rows that are in no sorted file yet.",
            files.db.write_buffer_size(),
        ),
        Figure::gauge("journal_bytes", "The log of changes.", files.db.journal_disk_space().unwrap_or(0)),
        Figure::gauge("sorted_files", "Sorted files.", files.rows.table_count() as u64),
        Figure::gauge(
            "unmerged_files",
            "Sorted files that wait to be merged; writes wait when there are too many.",
            files.rows.l0_table_count() as u64,
        ),
        Figure::counter(
            "merges_total",
            "Times that sorted files were merged.",
            files.db.compactions_completed() as u64,
        ),
        Figure::counter("merge_seconds_total", "Time spent on it.", files.db.time_compacting().as_secs()),
    ]
}

fn is_point(range: &KeyRange) -> bool {
    matches!(range.start, Bound::Included(_)) && range.start == range.end
}

/// Runs `work` where it may block.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    spawn_blocking(work).await.unwrap_or_else(|e| Err(Error::Unavailable(format!("a read panicked: {e}"))))
}
