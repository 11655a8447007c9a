//! Immutability policies and legal holds of snapshots, versions and containers.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use lazuli_engine::content::MemoryContent;
use lazuli_engine::memory::Memory;
use lazuli_engine::{Applied, Engine, EngineFuture, Layer, Row, TableId, Write};
use lazuli_model::ErrorCode;
use lazuli_model::blob::Outcome;
use lazuli_model::blob::container::ContainerAction;
use lazuli_model::blob::operation::{BlobAction, Revision};
use lazuli_model::blob::protection::{Immutability, ImmutabilityMode, ImmutabilityPolicy};
use lazuli_model::blob::write::{DeleteSnapshots, WriteSettings};

use crate::between::Two;
use crate::world::{CONTAINER, Features, Ran, START_TICKS, World, blob, bytes_of, clock, with};

const DAY: u64 = 24 * 60 * 60;

fn delete(snapshots: DeleteSnapshots) -> BlobAction {
    BlobAction::Delete { snapshots, is_permanent: false }
}

async fn snapshot(world: &World, name: &str) -> Revision {
    world.pass(1);
    let Ok(Outcome::SnapshotMade { snapshot, .. }) = world.on(name, BlobAction::Snapshot(None)).await else {
        panic!()
    };
    Revision::Snapshot(snapshot)
}

async fn at(world: &World, name: &str, revision: Revision, action: BlobAction) -> Ran {
    world.run(with(blob(name, action), |request| request.revision = revision)).await
}

fn until(world: &World, seconds: u64) -> ImmutabilityPolicy {
    let ticks = world.now().ticks() + seconds * 10_000_000;
    let until = lazuli_model::DateTime::from_ticks(ticks).unwrap();
    ImmutabilityPolicy { until, mode: ImmutabilityMode::Locked }
}

#[tokio::test]
async fn a_held_snapshot_is_not_deleted_with_the_others() {
    for (days, which) in [
        (None, DeleteSnapshots::Only),
        (None, DeleteSnapshots::Include),
        (Some(2), DeleteSnapshots::Only),
        (Some(2), DeleteSnapshots::Include),
    ] {
        let world = World::new().await;
        world.retain(days).await;
        world.put("a", "1").await.unwrap();
        let (one, two) = (snapshot(&world, "a").await, snapshot(&world, "a").await);
        at(&world, "a", one, BlobAction::SetLegalHold(true)).await.unwrap();
        assert_eq!(world.on("a", delete(which)).await, Err(ErrorCode::BlobImmutableDueToLegalHold));
        for revision in [Revision::Current, one, two] {
            assert_eq!(world.read_of("a", revision).await.unwrap(), b"1", "{which:?} {days:?}");
        }
        at(&world, "a", one, BlobAction::SetLegalHold(false)).await.unwrap();
        assert!(world.on("a", delete(which)).await.is_ok(), "{which:?} {days:?}");
        for revision in [one, two] {
            assert_eq!(world.read_of("a", revision).await, Err(ErrorCode::BlobNotFound));
        }
        assert_eq!(world.read("a").await.is_ok(), which == DeleteSnapshots::Only);
    }
}

#[tokio::test]
async fn a_snapshot_with_a_policy_is_not_deleted_before_its_time() {
    for which in [DeleteSnapshots::Only, DeleteSnapshots::Include] {
        let world = World::new().await;
        world.put("a", "1").await.unwrap();
        let one = snapshot(&world, "a").await;
        at(&world, "a", one, BlobAction::SetImmutability(until(&world, DAY))).await.unwrap();
        assert_eq!(world.on("a", delete(which)).await, Err(ErrorCode::BlobImmutableDueToPolicy));
        world.pass(DAY + 1);
        assert!(world.on("a", delete(which)).await.is_ok(), "{which:?}");
    }
}

/// A snapshot that was deleted already protects nothing.
#[tokio::test]
async fn a_snapshot_that_expired_before_its_deletion_prevents_no_other() {
    let world = World::new().await;
    world.retain(Some(2)).await;
    world.put("a", "1").await.unwrap();
    let one = snapshot(&world, "a").await;
    at(&world, "a", one, BlobAction::SetImmutability(until(&world, DAY))).await.unwrap();
    world.pass(DAY + 1);
    world.on("a", delete(DeleteSnapshots::Only)).await.unwrap();
    snapshot(&world, "a").await;
    assert!(world.on("a", delete(DeleteSnapshots::Include)).await.is_ok());
}

/// An acknowledged hold is effective, whatever its timing relative to a deletion.
#[tokio::test]
async fn a_hold_that_arrives_during_a_deletion_is_seen() {
    let mut has_met = 0;
    for which in [DeleteSnapshots::Only, DeleteSnapshots::Include] {
        for n in 1..=4 {
            let two = Two::new(Features::default()).await;
            two.world.put("a", "1").await.unwrap();
            let one = snapshot(&two.world, "a").await;
            let hold = |other: std::sync::Arc<World>| async move {
                at(&other, "a", one, BlobAction::SetLegalHold(true)).await
            };
            let (deleted, held) = two.run(n, hold, two.world.on("a", delete(which))).await;
            if let Some(held) = held {
                held.unwrap();
                has_met += 1;
                assert_eq!(deleted, Err(ErrorCode::BlobImmutableDueToLegalHold), "{which:?} {n}");
                assert!(two.world.read_of("a", one).await.is_ok());
            }
        }
    }
    assert!(has_met >= 4, "{has_met}");
}

async fn delete_container(world: &World) -> Ran {
    world.on_container(CONTAINER, ContainerAction::Delete).await
}

const PROTECTED: Ran = Err(ErrorCode::ContainerImmutableStorageWithVersioningEnabled);

#[tokio::test]
async fn a_container_with_a_held_blob_is_not_deleted() {
    for features in [Features::default(), Features { versions: true, ..Features::default() }] {
        let world = World::with_features(features).await;
        world.put("a", bytes_of(1, 100)).await.unwrap();
        let (one, two) = (snapshot(&world, "a").await, snapshot(&world, "a").await);
        world.put("b", "2").await.unwrap();
        for (name, revision) in [("b", Revision::Current), ("a", one), ("a", two)] {
            at(&world, name, revision, BlobAction::SetLegalHold(true)).await.unwrap();
            assert_eq!(delete_container(&world).await, PROTECTED);
            at(&world, name, revision, BlobAction::SetLegalHold(false)).await.unwrap();
        }
        assert_eq!(world.read("b").await.unwrap(), b"2");
        assert_eq!(delete_container(&world).await, Ok(Outcome::ContainerDeleted));
    }
}

#[tokio::test]
async fn a_container_with_an_old_version_that_has_a_policy_is_not_deleted() {
    let world = World::versioned().await;
    let Ok(Outcome::Created(written)) = world.put("a", bytes_of(1, 100)).await else { panic!() };
    let old = Revision::Version(written.version.unwrap());
    world.put("a", bytes_of(2, 100)).await.unwrap();
    at(&world, "a", old, BlobAction::SetImmutability(until(&world, DAY))).await.unwrap();
    world.on("a", delete(DeleteSnapshots::Unspecified)).await.unwrap();
    assert_eq!(delete_container(&world).await, PROTECTED);
    world.pass(DAY + 1);
    assert_eq!(delete_container(&world).await, Ok(Outcome::ContainerDeleted));
}

/// Writes can protect what they create.
#[tokio::test]
async fn a_container_with_a_blob_that_was_created_with_a_hold_is_not_deleted() {
    let world = World::new().await;
    let before = world.on_container(CONTAINER, ContainerAction::GetProperties).await;
    let immutability = Immutability { legal_hold: Some(true), policy: None };
    let settings = || WriteSettings { immutability, ..WriteSettings::default() };
    world.put_with("a", "1", settings()).await.unwrap();
    assert_eq!(delete_container(&world).await, PROTECTED);
    assert_eq!(world.on_container(CONTAINER, ContainerAction::GetProperties).await, before);
    world.on("a", BlobAction::SetLegalHold(false)).await.unwrap();
    world.on("b", BlobAction::CreateAppend(Box::new(settings()))).await.unwrap();
    assert_eq!(delete_container(&world).await, PROTECTED);
}

#[tokio::test]
async fn the_deletion_of_a_container_reads_blobs_only_if_they_can_be_protected() {
    for has_holds in [false, true] {
        let world = World::with_inline(20).await;
        for name in 0..50 {
            world.put(&name.to_string(), bytes_of(name, 100)).await.unwrap();
        }
        if has_holds {
            world.on("7", BlobAction::SetLegalHold(true)).await.unwrap();
            world.on("7", BlobAction::SetLegalHold(false)).await.unwrap();
        }
        let (deleted, rows) = world.counting(delete_container(&world)).await;
        assert_eq!(deleted, Ok(Outcome::ContainerDeleted));
        assert_eq!(rows > 0, has_holds, "{rows}");
    }
}

/// The mark in the record of the container may come between the check and the commit.
#[tokio::test]
async fn a_first_hold_that_arrives_during_the_deletion_of_its_container_is_seen() {
    let two = Two::new(Features::default()).await;
    two.world.put("a", "1").await.unwrap();
    let hold =
        |other: std::sync::Arc<World>| async move { other.on("a", BlobAction::SetLegalHold(true)).await };
    let (deleted, held) = two.run_at_catalog(1, hold, delete_container(&two.world)).await;
    assert!(held.unwrap().is_ok());
    assert_eq!(deleted, PROTECTED);
    assert!(two.world.read("a").await.is_ok());
}

/// An engine that counts reads of the catalog, and whose commits there take a while.
struct Slow {
    below: Memory,
    reads: AtomicU64,
}

impl Layer for Slow {
    fn below(&self) -> &dyn Engine {
        &self.below
    }

    fn get<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        rows: &'a [&'a str],
    ) -> EngineFuture<'a, Vec<Option<Row>>> {
        self.reads.fetch_add(u64::from(table == TableId::SYSTEM), Ordering::SeqCst);
        self.below.get(table, partition, rows)
    }

    fn apply<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        writes: Vec<Write>,
    ) -> EngineFuture<'a, Applied> {
        Box::pin(async move {
            if table == TableId::SYSTEM {
                tokio::task::yield_now().await;
            }
            self.below.apply(table, partition, writes).await
        })
    }
}

/// The first hold in a container changes the record of the container. If its request ran out of time during that change, the
/// record was never cached again.
#[tokio::test]
async fn a_container_is_cached_although_its_first_hold_was_cancelled() {
    let ticks = Arc::new(AtomicU64::new(START_TICKS));
    let engine = Arc::new(Slow { below: Memory::new(clock(&ticks)), reads: AtomicU64::new(0) });
    let memory = MemoryContent::default();
    let world = World::over(engine.clone(), memory, ticks, 20, None, Arc::default());
    world.create_container(CONTAINER).await.unwrap();
    world.put("a", "1").await.unwrap();
    let mut hold = Box::pin(world.on("a", BlobAction::SetLegalHold(true)));
    let is_done = poll_fn(|context| Poll::Ready(hold.as_mut().poll(context).is_ready())).await;
    assert!(!is_done);
    drop(hold);
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    world.read("a").await.unwrap();
    engine.reads.store(0, Ordering::SeqCst);
    world.read("a").await.unwrap();
    assert_eq!(engine.reads.load(Ordering::SeqCst), 0);
}
