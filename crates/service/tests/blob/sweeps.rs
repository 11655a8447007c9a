//! Sweeps during changes: content that a row refers to stays, whatever changes while the sweep runs.

use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use lazuli_engine::content::MemoryContent;
use lazuli_engine::memory::Memory;
use lazuli_engine::{Applied, Engine, EngineFuture, Error, Layer, Page, Scan, TableId, Write};
use lazuli_model::ErrorCode;
use lazuli_model::blob::container::ContainerAction;
use lazuli_model::blob::operation::BlobAction;
use lazuli_model::blob::{ContainerName, Outcome};
use lazuli_service::access::Authorized;
use lazuli_service::blob::Supply;
use lazuli_service::stream::Whole;
use tokio::sync::{Notify, watch};

use crate::deleted::deleted_containers;
use crate::world::{CONTAINER, Features, START_TICKS, World, blob, body, bytes_of, clock, container};

/// Rows that a sweep reads at a time.
const PAGE_ROWS: usize = 2000;

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;
/// Work, and after which scan it is done.
type Meanwhile = (Box<dyn Fn(TableId, &Page) -> bool + Send>, Work);

/// A commit: its table, partition and writes.
type Commit = (TableId, String, Vec<Write>);

/// The effect of a failed sync on an engine.
#[derive(Default)]
enum Sync {
    #[default]
    Fine,
    /// The next one fails.
    Fails,
    /// It has failed. This commit is in the log, and is found at the next start; nothing more is accepted until then.
    Failed(Commit),
}

/// An engine that triggers an event between two scans, and whose commits wait at a gate, one after the other.
pub struct Eventful {
    below: Arc<dyn Engine>,
    pub meanwhile: Mutex<Option<Meanwhile>>,
    is_open: watch::Sender<bool>,
    /// A commit has arrived at the gate.
    arrived: Notify,
    turn: Arc<tokio::sync::Mutex<()>>,
    sync: Mutex<Sync>,
}

impl Layer for Eventful {
    fn below(&self) -> &dyn Engine {
        &*self.below
    }

    fn scan(&self, scan: Scan) -> EngineFuture<'_, Page> {
        Box::pin(async move {
            let table = scan.table;
            let page = self.below.scan(scan).await?;
            let due = self.meanwhile.lock().unwrap().take_if(|(is_due, _)| is_due(table, &page));
            if let Some((_, work)) = due {
                work.await;
            }
            Ok(page)
        })
    }

    /// As in a store, a commit is applied even if its caller no longer waits.
    fn apply<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        writes: Vec<Write>,
    ) -> EngineFuture<'a, Applied> {
        let (below, turn, partition) = (self.below.clone(), self.turn.clone(), partition.to_owned());
        let mut sync = self.sync.lock().unwrap();
        match *sync {
            Sync::Fine => {}
            Sync::Fails => {
                *sync = Sync::Failed((table, partition, writes));
                return Box::pin(ready(Err(Error::Unknown("a sync failed".into()))));
            }
            Sync::Failed(_) => return Box::pin(ready(Err(Error::Poisoned("a sync failed".into())))),
        }
        drop(sync);
        let mut is_open = self.is_open.subscribe();
        self.arrived.notify_one();
        let applied = tokio::spawn(async move {
            let _turn = turn.lock().await;
            is_open.wait_for(|is_open| *is_open).await.unwrap();
            below.apply(table, &partition, writes).await
        });
        Box::pin(async { applied.await.unwrap() })
    }
}

/// A world with a container over such an engine.
async fn world(features: Features) -> (World, Arc<Eventful>) {
    world_with(features, 20).await
}

/// The same with content up to this many bytes in rows.
pub async fn world_with(features: Features, inline_max: usize) -> (World, Arc<Eventful>) {
    let ticks = Arc::new(AtomicU64::new(START_TICKS));
    let engine = Arc::new(Eventful {
        below: Arc::new(Memory::new(clock(&ticks))),
        meanwhile: Mutex::default(),
        is_open: watch::Sender::new(true),
        arrived: Notify::new(),
        turn: Arc::default(),
        sync: Mutex::default(),
    });
    let memory = MemoryContent::default();
    let world = World::over_with(engine.clone(), memory, ticks, inline_max, None, Arc::default(), features);
    world.create_container(CONTAINER).await.unwrap();
    (world, engine)
}

/// The sweep after a start reads rows page by page. Where a page ended right before the tail of an append blob, and an append
/// folded the tail before the next page was read, the sweep missed the folded run and freed its content.
#[tokio::test]
async fn content_of_a_tail_that_is_folded_during_a_scan_stays() {
    let (world, engine) = world(Features::default()).await;
    // The head of the log is the last row of the first page.
    for n in 1..PAGE_ROWS {
        world.put(&format!("a{n}"), vec![1]).await.unwrap();
    }
    world.create_append("log").await.unwrap();
    let mut expected = Vec::new();
    for n in 0..63 {
        world.append("log", bytes_of(n, 100)).await.unwrap();
        expected.extend_from_slice(&bytes_of(n, 100));
    }
    let mut world = world.restarted();
    let (blobs, grant) = (world.blobs.clone(), world.grant.clone());
    let append = async move {
        let bytes = bytes_of(63, 100);
        let action = BlobAction::AppendBlock(body(&bytes), Default::default());
        let mut source = Whole::from(bytes);
        let append = Authorized::new(&grant, blob("log", action)).unwrap();
        blobs.execute(append, Supply::Body(&mut source)).await.unwrap();
    };
    let is_due = |_, page: &Page| page.rows_read >= PAGE_ROWS as u64;
    *engine.meanwhile.lock().unwrap() = Some((Box::new(is_due), Box::pin(append)));
    world.settle().await;
    assert!(engine.meanwhile.lock().unwrap().is_none(), "it was folded");
    expected.extend_from_slice(&bytes_of(63, 100));
    assert!(world.read("log").await == Ok(expected));
}

/// The sweep after a start reads the catalog page by page. A container that was deleted, so that it could be restored, after the
/// page with deleted containers and before the page with its name was in neither, and its content was freed.
#[tokio::test]
async fn content_of_a_container_that_is_deleted_during_a_scan_can_be_restored() {
    let (world, engine) = world(Features { versions: true, ..Features::default() }).await;
    for n in 0..PAGE_ROWS {
        world.create_container(&format!("a{n:04}")).await.unwrap();
    }
    let content = bytes_of(1, 100);
    world.put("b", content.clone()).await.unwrap();
    let mut world = world.restarted();
    let (blobs, grant) = (world.blobs.clone(), world.grant.clone());
    let delete = async move {
        let delete = container(CONTAINER, ContainerAction::Delete);
        let delete = Authorized::new(&grant, delete).unwrap();
        blobs.execute(delete, Supply::Nothing).await.unwrap();
    };
    let is_due = |table, _: &Page| table == TableId::SYSTEM;
    *engine.meanwhile.lock().unwrap() = Some((Box::new(is_due), Box::pin(delete)));
    world.settle().await;
    assert!(engine.meanwhile.lock().unwrap().is_none(), "it was deleted");
    let deleted = deleted_containers(&world).await;
    let [(name, version)] = &deleted[..] else { panic!("{deleted:?}") };
    let restore = ContainerAction::Restore {
        deleted_name: ContainerName::new(name).unwrap(),
        deleted_version: version.clone(),
    };
    assert_eq!(world.on_container(CONTAINER, restore).await, Ok(Outcome::ContainerRestored));
    assert_eq!(world.read("b").await, Ok(content.to_vec()));
}

/// An upload whose request had timed out while the disk was stuck was considered failed after two minutes, and its content
/// was freed. The commit that named the content came afterwards: the blob had lost both its old content and its new one.
#[tokio::test]
async fn content_of_a_commit_that_takes_very_long_stays() {
    let (mut world, engine) = world(Features::default()).await;
    world.put("b", bytes_of(1, 100)).await.unwrap();
    world.settle().await;
    engine.is_open.send_replace(false);
    // The request times out while its commit waits for the disk.
    engine.arrived.notified().await;
    tokio::select! {
        biased;
        () = engine.arrived.notified() => {}
        done = world.put("b", bytes_of(2, 100)) => panic!("{done:?}"),
    }
    world.pass(1000);
    let open = async {
        // The sweep gets as far as it can.
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        engine.is_open.send_replace(true);
    };
    let (swept, ()) = tokio::join!(world.reclaim.round(), open);
    swept.unwrap();
    // Commits take turns: the one of the upload is done.
    drop(engine.turn.lock().await);
    world.settle().await;
    assert_eq!(world.read("b").await, Ok(bytes_of(2, 100).to_vec()));
}

/// The same after a failed sync: the commit was in the log, and the next start found it.
#[tokio::test]
async fn content_of_a_commit_whose_sync_failed_stays_until_the_next_start() {
    let (mut world, engine) = world(Features::default()).await;
    world.put("b", bytes_of(1, 100)).await.unwrap();
    world.settle().await;
    *engine.sync.lock().unwrap() = Sync::Fails;
    assert_eq!(world.put("b", bytes_of(2, 100)).await, Err(ErrorCode::OperationTimedOut));
    world.pass(1000);
    assert!(world.reclaim.round().await.is_err(), "nothing is accepted any more");
    let Sync::Failed((table, partition, writes)) = std::mem::take(&mut *engine.sync.lock().unwrap()) else {
        panic!()
    };
    engine.below.apply(table, &partition, writes).await.unwrap();
    let mut world = world.restarted();
    world.settle().await;
    assert_eq!(world.read("b").await, Ok(bytes_of(2, 100).to_vec()));
}
