//! The time of the last access: what counts, how often it is recorded, and what recording it leaves alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use lazuli_engine::Engine;
use lazuli_engine::content::MemoryContent;
use lazuli_engine::memory::Memory;
use lazuli_model::DateTime;
use lazuli_model::blob::container::ContainerAction;
use lazuli_model::blob::lease::{LeaseAction, LeaseDuration};
use lazuli_model::blob::list::{BlobEntry, Include, ListBlobs, ListedState};
use lazuli_model::blob::operation::{BlobAction, Revision};
use lazuli_model::blob::{Outcome, Stamp};

use crate::appends::{copy_of, source};
use crate::fused::{Fault, Fuse, FusedEngine};
use crate::world::{CONTAINER, Features, START_TICKS, World, blob, clock};

/// A day, and a second: versions of commits are ahead of a clock that stands still.
const DAY: u64 = 24 * 60 * 60 + 1;
const TRACKING: Features =
    Features { versions: false, events: false, last_access: true, copy_at_once_max: None };

/// With the blob `a`.
async fn world(features: Features) -> World {
    let world = World::with_features(features).await;
    world.put("a", "hello").await.unwrap();
    world
}

async fn last_access(world: &World, name: &str) -> Option<DateTime> {
    world.properties(name).await.unwrap().last_accessed
}

async fn listed(world: &World) -> Vec<(Revision, Option<DateTime>)> {
    let list = ListBlobs {
        prefix: String::new(),
        delimiter: None,
        from: None,
        start_from: None,
        end_before: None,
        max_results: 100,
        include: Include { snapshots: true, ..Include::default() },
    };
    let listed = world.on_container(CONTAINER, ContainerAction::ListBlobs(Box::new(list))).await.unwrap();
    let Outcome::Blobs(page) = listed else { panic!("{listed:?}") };
    let entries = page.entries.into_iter().filter_map(|entry| match entry {
        BlobEntry::Blob(item) => match item.state {
            ListedState::Committed(found) => Some((item.revision, found.last_accessed)),
            ListedState::Uncommitted(_) => None,
        },
        BlobEntry::Prefix(_) => None,
    });
    entries.collect()
}

#[tokio::test]
async fn a_read_is_recorded_once_a_day() {
    let world = world(TRACKING).await;
    let accesses = world.blobs.accesses();
    let Stamp { last_modified: written, .. } = world.stamp("a").await;
    assert_eq!(last_access(&world, "a").await, Some(written), "a write is an access");
    world.pass(DAY - 2);
    world.read("a").await.unwrap();
    accesses.round().await.unwrap();
    assert_eq!(last_access(&world, "a").await, Some(written), "less than a day ago");
    world.pass(2);
    world.read("a").await.unwrap();
    let first = world.now();
    assert_eq!(last_access(&world, "a").await, Some(written), "the read does not wait for the record");
    world.pass(10);
    world.read("a").await.unwrap();
    accesses.wait().await;
    accesses.round().await.unwrap();
    assert_eq!(last_access(&world, "a").await, Some(first));
    assert_eq!(listed(&world).await, [(Revision::Current, Some(first))]);
    let world = world.restarted();
    assert_eq!(last_access(&world, "a").await, Some(first), "it is stored");
    let accesses = world.blobs.accesses();
    world.pass(DAY - 12);
    world.read("a").await.unwrap();
    accesses.round().await.unwrap();
    assert_eq!(last_access(&world, "a").await, Some(first));
    world.put("a", "new").await.unwrap();
    assert_eq!(last_access(&world, "a").await, Some(world.stamp("a").await.last_modified));
}

#[tokio::test]
async fn recording_changes_nothing_else() {
    let features = Features { versions: true, events: true, last_access: true, copy_at_once_max: None };
    let world = world(features).await;
    let acquire = LeaseAction::Acquire { proposed: None, duration: LeaseDuration::Infinite };
    world.on("a", BlobAction::Lease(acquire)).await.unwrap();
    let before = world.properties("a").await.unwrap();
    let (rows, waiting) = (world.rows().await, world.blobs.events().unwrap().waiting());
    world.pass(DAY);
    world.read("a").await.unwrap();
    world.blobs.accesses().round().await.unwrap();
    let after = world.properties("a").await.unwrap();
    assert_eq!(after.last_accessed, Some(world.now()));
    assert_eq!(lazuli_model::blob::BlobProperties { last_accessed: before.last_accessed, ..after }, before);
    assert_eq!((world.rows().await, world.blobs.events().unwrap().waiting()), (rows, waiting));
}

#[tokio::test]
async fn only_reads_of_the_content_count() {
    let mut world = world(TRACKING).await;
    let snapshot = world.on("a", BlobAction::Snapshot(None)).await.unwrap();
    let Outcome::SnapshotMade { snapshot, .. } = snapshot else { panic!("{snapshot:?}") };
    world.on("append", BlobAction::CreateAppend(Box::default())).await.unwrap();
    let written = last_access(&world, "a").await;
    world.pass(DAY);
    for action in [BlobAction::GetProperties, BlobAction::GetMetadata, BlobAction::GetTags] {
        world.on("a", action).await.unwrap();
    }
    world.read_of("a", Revision::Snapshot(snapshot)).await.unwrap();
    world.read("append").await.unwrap();
    let expected =
        [(Revision::Snapshot(snapshot), None), (Revision::Current, written), (Revision::Current, None)];
    assert_eq!(listed(&world).await, expected, "only block blobs have the time");
    world.grant.read_only = true;
    world.read("a").await.unwrap();
    world.grant.read_only = false;
    world.blobs.accesses().round().await.unwrap();
    assert_eq!(listed(&world).await, expected, "none of these was an access");
    let copy = blob("b", copy_of(source("a", Revision::Current)));
    world.run_local(copy).await.unwrap();
    world.blobs.accesses().round().await.unwrap();
    assert_eq!(last_access(&world, "a").await, Some(world.now()), "the source of a copy");
}

#[tokio::test]
async fn an_account_without_tracking_stores_and_shows_nothing() {
    let world = world(Features::default()).await;
    world.pass(DAY);
    let before = world.engine.dump().await.unwrap().next(1 << 20).await.unwrap();
    world.read("a").await.unwrap();
    world.blobs.accesses().round().await.unwrap();
    assert_eq!(last_access(&world, "a").await, None);
    assert_eq!(listed(&world).await, [(Revision::Current, None)]);
    let after = world.engine.dump().await.unwrap().next(1 << 20).await.unwrap();
    assert!(before == after, "no row was written");
}

/// A blob that is written or deleted between the read and its record keeps its newer state.
#[tokio::test]
async fn a_read_that_was_overtaken_is_not_recorded() {
    let world = world(TRACKING).await;
    world.put("b", "hello").await.unwrap();
    world.pass(DAY);
    world.read("a").await.unwrap();
    world.read("b").await.unwrap();
    world.pass(10);
    world.put("a", "new").await.unwrap();
    let delete = BlobAction::Delete { snapshots: Default::default(), is_permanent: false };
    world.on("b", delete).await.unwrap();
    world.blobs.accesses().round().await.unwrap();
    assert_eq!(last_access(&world, "a").await, Some(world.stamp("a").await.last_modified));
    assert!(world.properties("b").await.is_err());
}

#[tokio::test]
async fn a_record_that_fails_leaves_the_read_alone() {
    let ticks = Arc::new(START_TICKS.into());
    let left = Arc::new(AtomicI64::new(i64::MAX));
    let fuse = Fuse { left: left.clone(), fault: Fault::Failure, carries_out: false };
    let engine: Arc<dyn Engine> = Arc::new(FusedEngine(Arc::new(Memory::new(clock(&ticks))), fuse));
    let memory = MemoryContent::default();
    let world = World::over_with(engine, memory, ticks, 20, None, Arc::default(), TRACKING);
    world.create_container(CONTAINER).await.unwrap();
    world.put("a", "hello").await.unwrap();
    world.pass(DAY);
    left.store(0, Ordering::SeqCst);
    assert_eq!(world.read("a").await.unwrap(), b"hello");
    assert!(world.blobs.accesses().round().await.is_err());
    assert_eq!(world.read("a").await.unwrap(), b"hello");
    world.blobs.accesses().round().await.unwrap();
    assert_eq!(last_access(&world, "a").await, Some(world.now()), "the next read was recorded");
}
