//! A blob service over memory, with a clock that only the test moves and restarts that lose everything but the stores.

#![allow(dead_code, reason = "each group of tests uses some of it")]

use std::future::Future;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use lazuli_engine::content::{
    Content, ContentReader, ContentStatus, ContentSweep, ContentWriter, ExtentPage, Fold, MemoryContent,
    Piece, Pinned, Spot,
};
use lazuli_engine::memory::Memory;
use lazuli_engine::{Clock, Engine, EngineFuture, Layer, Page, Scan, TableId};
use lazuli_model::blob::container::{ContainerAction, DefaultScope, PublicAccess};
use lazuli_model::blob::list::{FindBlobs, FoundBlob};
use lazuli_model::blob::operation::{BlobAction, GetBlob, Operation, Revision};
use lazuli_model::blob::tag::TagQuery;
use lazuli_model::blob::write::WriteSettings;
use lazuli_model::blob::{BlobProperties, Conditions, Outcome, Stamp, Tags};
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_model::{DateTime, DeleteRetention, ErrorCode, Guid, Metadata, PropertiesUpdate};
use lazuli_service::access::Authorized;
use lazuli_service::access::blob::AuthorizedSource;
use lazuli_service::blob::{BlobOptions, BlobReader, Blobs, EnabledFor, Reclaim, Supply};
use lazuli_service::stream::Whole;
use lazuli_service::{Error, Grant, Options, Services, Sweep};

pub use crate::requests::*;

/// 2020-01-01.
pub const START_TICKS: u64 = 637_134_336_000_000_000;
pub const ACCOUNT: &str = "account";
/// Another account, whose events are in the second lane.
pub const OTHER: &str = "other";
pub const CONTAINER: &str = "things";
/// How long a blob takes to leave the archive.
pub const REHYDRATION: Duration = Duration::from_secs(100);

/// Memory content in which almost nothing is small, so that tests need few bytes.
pub struct Tiny(pub Arc<dyn Content>, pub usize);

impl Content for Tiny {
    fn inline_max(&self) -> usize {
        self.1
    }
    fn begin(&self, expected: Option<u64>, fold: Option<Fold>) -> Box<dyn ContentWriter> {
        self.0.begin(expected, fold)
    }
    fn read(&self, piece: &Piece, range: Range<u64>) -> Box<dyn ContentReader> {
        self.0.read(piece, range)
    }
    fn pin(&self, pieces: &[Piece]) -> Pinned {
        self.0.pin(pieces)
    }
    fn pin_all(&self) -> Pinned {
        self.0.pin_all()
    }
    fn is_held(&self) -> EngineFuture<'_, bool> {
        self.0.is_held()
    }
    fn release(&self, pieces: Vec<Piece>) -> EngineFuture<'_, Vec<Piece>> {
        self.0.release(pieces)
    }
    fn adopt(&self, piece: Piece, bytes: Bytes) -> EngineFuture<'_, ()> {
        self.0.adopt(piece, bytes)
    }
    fn list(&self, from: Spot) -> EngineFuture<'_, ExtentPage> {
        self.0.list(from)
    }
    fn sweep(&self) -> EngineFuture<'_, Box<dyn ContentSweep>> {
        self.0.sweep()
    }
    fn status(&self) -> EngineFuture<'_, ContentStatus> {
        self.0.status()
    }
}

/// A service with everything around it.
pub struct World {
    pub blobs: Blobs,
    pub service: Arc<Services>,
    pub engine: Arc<dyn Engine>,
    pub content: MemoryContent,
    pub inline_max: usize,
    pub copy_at_once_max: u64,
    pub ticks: Arc<AtomicU64>,
    /// How far each reading of the stopwatch advances it, in seconds.
    pub step: Arc<AtomicU64>,
    pub grant: Grant,
    pub reclaim: Reclaim,
    pub sweep: Sweep,
    ids: Arc<AtomicU64>,
    rows_read: Arc<AtomicU64>,
    features: Features,
}

/// Counts the rows that scans read.
struct Counting(Arc<dyn Engine>, Arc<AtomicU64>);

impl Layer for Counting {
    fn below(&self) -> &dyn Engine {
        &*self.0
    }

    fn scan(&self, scan: Scan) -> EngineFuture<'_, Page> {
        Box::pin(async {
            let page = self.0.scan(scan).await?;
            self.1.fetch_add(page.rows_read, Ordering::SeqCst);
            Ok(page)
        })
    }
}

pub type Ran = Result<Outcome, ErrorCode>;

/// Maximum uncommitted blocks of a blob.
pub const BLOCKS_MAX: usize = 1000;

impl World {
    /// With a container.
    pub async fn new() -> Self {
        Self::with_inline(8 * 1024).await
    }

    /// With a container, and content up to this many bytes in rows.
    pub async fn with_inline(inline_max: usize) -> Self {
        let ticks = Arc::new(AtomicU64::new(START_TICKS));
        let engine = Arc::new(Memory::new(clock(&ticks)));
        let world = Self::over(engine, MemoryContent::default(), ticks, inline_max, None, Arc::default());
        world.create_container(CONTAINER).await.unwrap();
        world
    }

    pub fn over(
        engine: Arc<dyn Engine>,
        memory: MemoryContent,
        ticks: Arc<AtomicU64>,
        inline_max: usize,
        content: Option<Arc<dyn Content>>,
        ids: Arc<AtomicU64>,
    ) -> Self {
        Self::over_with(engine, memory, ticks, inline_max, content, ids, Features::default())
    }

    pub fn over_with(
        engine: Arc<dyn Engine>,
        memory: MemoryContent,
        ticks: Arc<AtomicU64>,
        inline_max: usize,
        content: Option<Arc<dyn Content>>,
        ids: Arc<AtomicU64>,
        features: Features,
    ) -> Self {
        let step = Arc::new(AtomicU64::new(0));
        let elapsed = {
            let (step, total) = (step.clone(), AtomicU64::new(0));
            move || Duration::from_secs(total.fetch_add(step.load(Ordering::SeqCst), Ordering::SeqCst))
        };
        let options = Options {
            clock: clock(&ticks),
            elapsed: Arc::new(elapsed),
            query_time_max: Duration::from_secs(5),
            name_hold: Duration::ZERO,
            secret: [1; 16],
        };
        let rows_read = Arc::new(AtomicU64::new(0));
        let counting = Arc::new(Counting(engine.clone(), rows_read.clone()));
        let service = Arc::new(Services::new(counting, options));
        let content = content.unwrap_or_else(|| Arc::new(memory.clone()));
        let copy_at_once_max = features.copy_at_once_max.unwrap_or(1024 * 1024);
        let options = BlobOptions {
            entropy: entropy(ids.clone()),
            versions: EnabledFor::Accounts(features.versions.then(|| ACCOUNT.into()).into_iter().collect()),
            last_access: EnabledFor::Accounts(
                features.last_access.then(|| ACCOUNT.into()).into_iter().collect(),
            ),
            rehydration: REHYDRATION,
            container_days: u16::from(features.versions) * 3,
            copy_at_once_max,
            uncommitted_blocks_max: BLOCKS_MAX,
            fetch: Some(Arc::new(crate::remote::Elsewhere)),
            events: if features.events {
                [ACCOUNT, OTHER].map(|account| EnabledFor::Accounts(vec![account.into()])).into()
            } else {
                Vec::new()
            },
        };
        let blobs = Blobs::new(service.clone(), Arc::new(Tiny(content, inline_max)), options);
        let (reclaim, sweep) = (blobs.reclaim(), service.sweep().with_release(Arc::new(blobs.clone())));
        let grant = Grant::everything(ACCOUNT);
        Self {
            blobs,
            service,
            engine,
            content: memory,
            inline_max,
            copy_at_once_max,
            ticks,
            step,
            grant,
            reclaim,
            sweep,
            ids,
            rows_read,
            features,
        }
    }

    /// With a container, in an account with versions.
    pub async fn versioned() -> Self {
        Self::with_features(Features { versions: true, ..Features::default() }).await
    }

    /// With a container and such features.
    pub async fn with_features(features: Features) -> Self {
        let ticks = Arc::new(AtomicU64::new(START_TICKS));
        let engine = Arc::new(Memory::new(clock(&ticks)));
        let memory = MemoryContent::default();
        let world = Self::over_with(engine, memory, ticks, 20, None, Arc::default(), features);
        world.create_container(CONTAINER).await.unwrap();
        world
    }

    /// Keeps deleted blobs for some days, or not at all.
    pub async fn retain(&self, days: Option<u16>) {
        self.try_retain(days).await.unwrap();
    }

    pub async fn try_retain(&self, days: Option<u16>) -> Ran {
        let delete_retention = Some(DeleteRetention { days, allow_permanent_delete: true });
        let update = PropertiesUpdate { delete_retention, ..PropertiesUpdate::default() };
        self.run(Operation::SetProperties(Box::new(update))).await
    }

    /// The same stores, as a newly started process finds them.
    pub fn restarted(&self) -> Self {
        let content = self.content.reopened();
        let (ticks, ids) = (self.ticks.clone(), self.ids.clone());
        Self::over_with(self.engine.clone(), content, ticks, self.inline_max, None, ids, self.features)
    }

    /// The same service, for a client that works at the same time.
    pub fn peer(&self) -> Self {
        let (blobs, service) = (self.blobs.clone(), self.service.clone());
        let sweep = service.sweep().with_release(Arc::new(blobs.clone()));
        Self {
            reclaim: blobs.reclaim(),
            sweep,
            blobs,
            service,
            engine: self.engine.clone(),
            content: self.content.clone(),
            inline_max: self.inline_max,
            copy_at_once_max: self.copy_at_once_max,
            ticks: self.ticks.clone(),
            step: self.step.clone(),
            grant: self.grant.clone(),
            ids: self.ids.clone(),
            rows_read: self.rows_read.clone(),
            features: self.features,
        }
    }

    pub fn pass(&self, seconds: u64) {
        self.ticks.fetch_add(seconds * TICKS_PER_SECOND, Ordering::SeqCst);
    }

    pub fn now(&self) -> DateTime {
        DateTime::from_ticks(self.ticks.load(Ordering::SeqCst)).unwrap()
    }

    pub async fn run(&self, operation: Operation) -> Ran {
        self.run_with(operation, Supply::Nothing).await
    }

    pub async fn run_with(&self, operation: Operation, supply: Supply<'_>) -> Ran {
        self.try_run(operation, supply).await.map(|(outcome, _)| outcome).map_err(code)
    }

    pub async fn try_run(
        &self,
        operation: Operation,
        supply: Supply<'_>,
    ) -> Result<(Outcome, Option<BlobReader>), Error> {
        self.blobs.execute(Authorized::new(&self.grant, operation)?, supply).await
    }

    /// An operation whose source is a blob of this server.
    pub async fn run_local(&self, operation: Operation) -> Ran {
        let source = AuthorizedSource::new(self.grant.clone(), &operation, source_of(&operation)).unwrap();
        self.run_with(operation, Supply::Local(Box::new(source))).await
    }

    pub async fn on(&self, name: &str, action: BlobAction) -> Ran {
        self.run(blob(name, action)).await
    }

    pub async fn create_container(&self, name: &str) -> Ran {
        let action = ContainerAction::Create {
            metadata: Metadata::default(),
            public_access: PublicAccess::None,
            scope: DefaultScope::default(),
        };
        self.on_container(name, action).await
    }

    pub async fn on_container(&self, name: &str, action: ContainerAction) -> Ran {
        self.run(container(name, action)).await
    }

    pub async fn put(&self, name: &str, content: impl Into<Bytes>) -> Ran {
        self.put_if(name, content, None, Conditions::default()).await
    }

    pub async fn put_if(
        &self,
        name: &str,
        content: impl Into<Bytes>,
        lease: Option<Guid>,
        conditions: Conditions,
    ) -> Ran {
        let content = content.into();
        let action = BlobAction::PutBlob(body(&content), Box::default());
        let mut source = Whole::from(content);
        let operation = with(blob(name, action), |request| {
            request.lease = lease;
            request.conditions = conditions;
        });
        self.run_with(operation, Supply::Body(&mut source)).await
    }

    pub async fn put_with(&self, name: &str, content: impl Into<Bytes>, settings: WriteSettings) -> Ran {
        let content = content.into();
        let action = BlobAction::PutBlob(body(&content), Box::new(settings));
        self.run_with(blob(name, action), Supply::Body(&mut Whole::from(content))).await
    }

    pub async fn tags(&self, name: &str) -> Result<Tags, ErrorCode> {
        match self.on(name, BlobAction::GetTags).await? {
            Outcome::Tags(tags) => Ok(tags),
            other => panic!("{other:?}"),
        }
    }

    /// The names of the blobs of all pages of a search in the container of the tests.
    pub async fn find(&self, text: &str) -> Vec<String> {
        self.find_paged(text, 5000).await.into_iter().map(|found| found.blob).collect()
    }

    /// The blobs of all pages of a search, in pages of this size.
    pub async fn find_paged(&self, text: &str, max_results: u32) -> Vec<FoundBlob> {
        let mut find = FindBlobs { query: TagQuery::parse(text).unwrap(), from: None, max_results };
        let mut all = Vec::new();
        loop {
            let operation = Operation::FindBlobs(None, Box::new(find.clone()));
            let Outcome::Found(page) = self.run(operation).await.unwrap() else { panic!() };
            assert!(page.items.len() <= max_results as usize);
            all.extend(page.items);
            let Some(next) = page.next else { return all };
            assert!(find.from.as_ref() != Some(&next), "the search does not continue: {next:?}");
            find.from = Some(next);
        }
    }

    pub async fn stage(&self, name: &str, id: &str, content: impl Into<Bytes>) -> Ran {
        let content = content.into();
        let action = BlobAction::PutBlock(block_id(id), body(&content));
        self.run_with(blob(name, action), Supply::Body(&mut Whole::from(content))).await
    }

    /// Commits blocks: `-id` is committed, `+id` uncommitted, anything else the latest.
    pub async fn commit(&self, name: &str, ids: &[&str]) -> Ran {
        let list = ids.iter().map(|id| block_ref(id)).collect();
        self.on(name, BlobAction::PutBlockList(list, Box::<WriteSettings>::default())).await
    }

    pub async fn read(&self, name: &str) -> Result<Vec<u8>, ErrorCode> {
        self.read_of(name, Revision::Current).await
    }

    pub async fn read_of(&self, name: &str, revision: Revision) -> Result<Vec<u8>, ErrorCode> {
        let mut reader = self.open(name, revision).await?;
        drain(&mut reader).await.map_err(code)
    }

    pub async fn open(&self, name: &str, revision: Revision) -> Result<BlobReader, ErrorCode> {
        let operation =
            with(blob(name, BlobAction::Get(GetBlob::default())), |request| request.revision = revision);
        let (_, reader) = self.try_run(operation, Supply::Nothing).await.map_err(code)?;
        Ok(reader.unwrap())
    }

    pub async fn properties(&self, name: &str) -> Result<BlobProperties, ErrorCode> {
        match self.on(name, BlobAction::GetProperties).await? {
            Outcome::Blob(properties) => Ok(*properties),
            other => panic!("{other:?}"),
        }
    }

    pub async fn stamp(&self, name: &str) -> Stamp {
        self.properties(name).await.unwrap().stamp
    }

    /// Sweeps until there is nothing more to do.
    pub async fn settle(&mut self) {
        for _ in 0..4 {
            while self.reclaim.round().await.unwrap() {}
            self.sweep.round().await.unwrap();
        }
    }

    /// The number of rows in the tables of all containers.
    pub async fn rows(&self) -> usize {
        let mut dump = self.engine.dump().await.unwrap();
        let mut rows = 0;
        loop {
            let page = dump.next(1 << 20).await.unwrap();
            if page.is_empty() {
                return rows;
            }
            rows += page.iter().filter(|stored| stored.table != TableId::SYSTEM).count();
        }
    }

    /// The result, and the number of scanned rows.
    pub async fn counting<T>(&self, work: impl Future<Output = T>) -> (T, u64) {
        let before = self.rows_read.load(Ordering::SeqCst);
        let result = work.await;
        (result, self.rows_read.load(Ordering::SeqCst) - before)
    }

    /// The number of pieces that the content store has.
    pub async fn pieces(&self) -> usize {
        self.content.list(Spot::START).await.unwrap().extents.len()
    }
}

pub fn clock(ticks: &Arc<AtomicU64>) -> Clock {
    let ticks = ticks.clone();
    Clock::new(move || ticks.load(Ordering::SeqCst))
}

pub fn code(error: Error) -> ErrorCode {
    error.failure().code
}
