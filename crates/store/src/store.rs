//! The store as an engine: reads from memory on the caller's thread, from files on others, and writes through the committer.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use bytes::Bytes;
use lazuli_engine::{
    Adopted, Applied, Content, Dump, Engine, EngineFuture, Error, Page, Result, Row, Scan, Status, TableId,
    Write,
};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::spawn_blocking;

use crate::acknowledged::Acknowledged;
use crate::adopt::Adoption;
use crate::ahead::Ahead;
use crate::check::CheckReport;
use crate::commit::Commit;
use crate::committer::{Committer, Job, Late, PanicGuard};
use crate::content::PackContent;
use crate::directory;
use crate::dump::Dumps;
use crate::error::{OpenError, closed, poisoned};
use crate::files::{Files, FjallLog, Log};
use crate::group::erase_bytes;
use crate::health::Health;
use crate::keyspace;
use crate::limits::{ERASE_ROWS_MAX, ERASE_TABLES_MAX};
use crate::metrics::metrics;
use crate::missing;
use crate::options::{Durability, Options};
use crate::permit::Permits;
use crate::queue::{Callers, queue};
use crate::readers::Readers;
use crate::reads::{Look, ReadSource, caught};
use crate::recent::Recent;
use crate::scan;
use crate::space::Space;
use crate::state::State;
use crate::view::{Published, View};

/// A durable engine in one directory of this machine.
///
/// It needs a tokio runtime around it.
pub struct Store {
    place: String,
    published: Arc<Published>,
    health: Arc<Health>,
    jobs: Callers,
    /// Permits for waiting jobs.
    permits: Permits,
    scans: Arc<Semaphore>,
    scans_max: u32,
    readers: Readers,
    memory_bytes_max: u64,
    /// The position of `erase` in each table.
    erasing: Mutex<HashMap<TableId, Bytes>>,
    dumps: Arc<Dumps>,
    content: PackContent,
    committer: Mutex<Option<JoinHandle<()>>>,
}

impl Store {
    /// Opens the store in `dir`, or creates one in an empty or missing directory.
    pub fn open(dir: impl AsRef<Path>, options: Options) -> std::result::Result<Self, OpenError> {
        Self::open_with(dir.as_ref(), options, Box::new(FjallLog))
    }

    /// Opens the store with the given log.
    pub(crate) fn open_with(
        dir: &Path,
        options: Options,
        log: Box<dyn Log>,
    ) -> std::result::Result<Self, OpenError> {
        let files = Arc::new(Files::open(dir, &options)?);
        let memory_bytes_max = options.memory_bytes_max();
        let view = View::take(&files, 0);
        let state = State::load(&view).map_err(|e| OpenError::Corrupt(e.to_string()))?;
        missing::verify(&files.directory, state.last_version, options.accept_data_loss)?;
        let content = PackContent::open(dir, options.durability)?;
        let acknowledged = Acknowledged::begin(files.directory.path(), state.last_version)?;
        files.directory.mark_open()?;
        let ahead = (options.durability == Durability::Full).then(|| Ahead::new(files.directory.data()));

        let published = Arc::new(Published::new(view));
        let health = Arc::new(Health::default());
        let (jobs, waiting) = queue();
        let committer = Committer {
            jobs: waiting,
            files,
            log,
            published: Arc::clone(&published),
            health: Arc::clone(&health),
            unwritten_bytes_max: options.unwritten_bytes_max(),
            clock: options.clock,
            durability: options.durability,
            memtable_bytes: options.memtable_bytes,
            state,
            recent: Recent::default(),
            number: 0,
            carried: None,
            late: Late::default(),
            acknowledged,
            ahead,
            space: Space::UNKNOWN,
            is_short: false,
        };
        let scans_max = u32::try_from(options.scans_max.clamp(1, 1024)).unwrap_or(1);
        Ok(Self {
            place: dir.display().to_string(),
            published,
            jobs,
            permits: Permits::new(),
            scans: Arc::new(Semaphore::new(scans_max as usize)),
            scans_max,
            readers: Readers::new(options.reads_max),
            memory_bytes_max,
            erasing: Mutex::default(),
            dumps: Arc::default(),
            content,
            committer: Mutex::new(Some(start(committer, Arc::clone(&health), dir)?)),
            health,
        })
    }

    /// The current view, for tests.
    #[cfg(test)]
    pub(crate) fn published(&self) -> Arc<Published> {
        Arc::clone(&self.published)
    }

    /// Number of jobs that wait for the committer, for tests.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.jobs.waiting()
    }

    /// The committer's counters, for tests.
    #[cfg(test)]
    pub(crate) fn health(&self) -> &Health {
        &self.health
    }

    /// Reads everything and verifies checksums and the order of keys.
    pub async fn check(&self) -> Result<CheckReport> {
        let view = self.published.view()?;
        blocking(move || Ok(CheckReport::of(&view, &mut |_, _| {}))).await
    }

    /// How many commits were made since the store was opened, and in how many batches.
    pub fn commits_and_groups(&self) -> (u64, u64) {
        self.health.commits_and_groups()
    }

    /// Reads from the latest view on this thread, from memory only.
    fn glance<T>(&self, look: impl FnOnce(&View) -> Result<Look<T>>) -> Result<Look<T>> {
        let view = self.published.view()?;
        caught(|| look(&view))
    }

    /// Reads from the latest view on a thread that may block.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&View) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, replied) = oneshot::channel();
        let published = Arc::clone(&self.published);
        self.readers.begin(move || {
            let found = published.view().and_then(|view| caught(|| read(&view)));
            // A caller that no longer waits needs no result.
            let _ = reply.send(found);
        })?;
        self.readers.watch(replied).await.unwrap_or_else(|_| Err(closed()))
    }

    /// Reads rows that are not all in memory.
    async fn get_cold(&self, table: TableId, partition: &str, rows: &[&str]) -> Result<Vec<Option<Row>>> {
        let partition: Box<str> = partition.into();
        let rows: Vec<Box<str>> = rows.iter().map(|&row| row.into()).collect();
        self.read(move |view| view.get(table, &partition, &rows, ReadSource::Files)?.certain()).await
    }

    async fn scan_points(&self, scan: Scan) -> Result<Page> {
        if let Look::Found(found) =
            self.glance(|view| scan::look_for_points(view, &scan, ReadSource::Memory))?
        {
            return scan::page_of_points(found, scan);
        }
        let read = move |view: &View| {
            let found = scan::look_for_points(view, &scan, ReadSource::Files)?.certain()?;
            scan::page_of_points(found, scan)
        };
        self.read(read).await
    }

    fn check_writable(&self) -> Result<()> {
        self.health.poison().map_or(Ok(()), |why| Err(poisoned(why)))
    }

    async fn submit(&self, mut commit: Commit) -> Result<Applied> {
        // Before anything is read or copied, so that waiting callers hold little.
        let mut permit = self.permits.take(commit.bytes).await?;
        let (reply, replied) = oneshot::channel();
        if let Look::Found(()) = self.glance(|view| commit.look(view, &mut permit, ReadSource::Memory))? {
            if let Some((index, reason)) = commit.rejection() {
                return Ok(Applied::Rejected { index, reason });
            }
            commit.lay_out();
            self.send(Job::Commit { commit, reply, permit })?;
            return self.wait_for(replied).await;
        }
        let (published, jobs) = (Arc::clone(&self.published), self.jobs.clone());
        // Queued from that thread, so that this one need not be woken.
        self.readers.begin(move || {
            let looked = published
                .view()
                .and_then(|view| caught(|| commit.look(&view, &mut permit, ReadSource::Files)?.certain()));
            match looked.map(|()| commit.rejection()) {
                Ok(None) => {
                    commit.lay_out();
                    let _ = jobs.send(Job::Commit { commit, reply, permit });
                }
                Ok(Some((index, reason))) => drop(reply.send(Ok(Applied::Rejected { index, reason }))),
                Err(error) => drop(reply.send(Err(error))),
            }
        })?;
        self.readers.watch(self.wait_for(replied)).await
    }

    fn send(&self, job: Job) -> Result<()> {
        if self.jobs.send(job) { Ok(()) } else { Err(closed()) }
    }

    async fn wait_for<T>(&self, replied: oneshot::Receiver<Result<T>>) -> Result<T> {
        replied.await.unwrap_or_else(|_| match self.health.poison() {
            Some(why) => Err(Error::Unknown(why.into())),
            // The committer ended cleanly before it reached this job.
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
            // Only a scan from the very start shows that nothing is left.
            return Ok(start.is_none());
        }
        let permit = self.permits.take(erase_bytes(&keys)).await?;
        let (reply, replied) = oneshot::channel();
        self.send(Job::Erase { keys, reply, permit })?;
        self.wait_for(replied).await?;
        Ok(false)
    }

    fn erase_start(&self, table: TableId) -> Option<Bytes> {
        self.erasing.lock().unwrap_or_else(PoisonError::into_inner).get(&table).cloned()
    }

    /// Remembers where to continue, so that rows already removed are not read again.
    fn set_erase_start(&self, table: TableId, start: Option<Bytes>) {
        let mut erasing = self.erasing.lock().unwrap_or_else(PoisonError::into_inner);
        match start {
            Some(start) if erasing.len() < ERASE_TABLES_MAX || erasing.contains_key(&table) => {
                drop(erasing.insert(table, start));
            }
            _ => drop(erasing.remove(&table)),
        }
    }

    /// Ends the committer after all waiting jobs.
    fn stop(&self) -> Option<JoinHandle<()>> {
        // If this fails, the committer has ended already.
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
        match self.glance(|view| view.get(table, partition, rows, ReadSource::Memory)) {
            Ok(Look::Found(found)) => Box::pin(std::future::ready(Ok(found))),
            Ok(Look::Cold) => Box::pin(self.get_cold(table, partition, rows)),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn scan(&self, scan: Scan) -> EngineFuture<'_, Page> {
        Box::pin(async move {
            if scan::is_of_points(&scan) {
                return self.scan_points(scan).await;
            }
            let slot = Arc::clone(&self.scans).acquire_owned().await.map_err(|_| closed())?;
            let view = self.published.view()?;
            blocking(move || {
                let page = scan::scan(&view, scan);
                // Once all permits are taken, no view is in use.
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
            self.submit(Commit::new(table, partition, writes)?).await
        })
    }

    fn adopt(&self, table: TableId, rows: Vec<Row>) -> EngineFuture<'_, Adopted> {
        Box::pin(async move {
            self.check_writable()?;
            let adoption = Adoption::prepare(table, rows)?;
            let permit = self.permits.take(adoption.bytes).await?;
            let (reply, replied) = oneshot::channel();
            self.send(Job::Adopt { adoption, reply, permit })?;
            self.wait_for(replied).await
        })
    }

    fn fresh_table(&self) -> EngineFuture<'_, TableId> {
        Box::pin(async {
            self.check_writable()?;
            let permit = self.permits.take(0).await?;
            let (reply, replied) = oneshot::channel();
            self.send(Job::FreshTable { reply, permit })?;
            self.wait_for(replied).await
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

    fn memory_bytes_max(&self) -> u64 {
        self.memory_bytes_max
    }

    fn status(&self) -> EngineFuture<'_, Status> {
        Box::pin(async {
            let view = self.published.view()?;
            let health = Arc::clone(&self.health);
            let (disk_bytes, shortage, mut metrics) = blocking(move || {
                let files = view.files();
                if files.is_dead() {
                    health.set_poison("writing sorted files has failed".into());
                }
                let path = files.directory.path();
                let space = Space::of(path);
                let shortage = space.check(files.unwritten_bytes(), space.reserve()).err();
                Ok((directory::disk_bytes(path).ok(), shortage, metrics(&health, files)))
            })
            .await?;
            metrics.extend(self.content.status().await?.metrics());
            let shortage = shortage.map(|error| error.to_string());
            let poisoned = self.health.poison().map(Into::into).or(shortage);
            Ok(Status { place: self.place.clone(), disk_bytes, poisoned, metrics })
        })
    }

    fn dump(&self) -> EngineFuture<'_, Box<dyn Dump>> {
        Box::pin(async {
            let (dumps, scans) = (Arc::clone(&self.dumps), Arc::clone(&self.scans));
            let dump = self.read(move |view| dumps.begin(view, &scans)).await?;
            Ok(Box::new(dump) as Box<dyn Dump>)
        })
    }

    fn content(&self) -> Option<Arc<dyn Content>> {
        Some(Arc::new(self.content.clone()))
    }

    fn close(&self) -> EngineFuture<'_, ()> {
        Box::pin(async {
            let Some(committer) = self.stop() else { return Ok(()) };
            self.content.close().await?;
            // Running reads still hold the files.
            let scans = self.scans.acquire_many(self.scans_max).await;
            self.readers.close().await;
            self.scans.close();
            self.permits.close();
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
        self.content.stop();
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

/// Runs `work` where it may block.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    spawn_blocking(work).await.unwrap_or_else(|e| Err(Error::Unavailable(format!("a read panicked: {e}"))))
}
