//! Events: which changes have them, their order, and that none is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use lazuli_engine::Engine;
use lazuli_engine::content::MemoryContent;
use lazuli_engine::memory::Memory;
use lazuli_model::blob::container::ContainerAction;
use lazuli_model::blob::event::{Event, EventKind};
use lazuli_model::blob::operation::{BlobAction, Revision};
use lazuli_model::blob::write::DeleteSnapshots;
use lazuli_model::blob::{AccessTier, BlobKind};
use lazuli_service::Grant;
use lazuli_service::blob::Events;

use crate::appends::{copy_of, source};
use crate::fused::{Fault, Fuse, FusedContent, FusedEngine};
use crate::world::{ACCOUNT, CONTAINER, Features, OTHER, REHYDRATION, START_TICKS, World, blob, clock};

const WITH_EVENTS: Features =
    Features { versions: false, events: true, last_access: false, copy_at_once_max: None };

async fn world() -> World {
    World::with_features(WITH_EVENTS).await
}

fn delete() -> BlobAction {
    BlobAction::Delete { snapshots: DeleteSnapshots::Unspecified, is_permanent: false }
}

fn to(tier: AccessTier) -> BlobAction {
    BlobAction::SetTier(tier, Default::default())
}

/// Delivers all waiting events.
async fn deliver(events: &Events) -> Vec<Event> {
    let mut all = Vec::new();
    while let Some(batch) = events.next().await.unwrap() {
        all.extend(batch.events.clone());
        events.delivered(batch).await.unwrap();
    }
    all
}

fn told(events: &[Event]) -> Vec<(EventKind, &str, &str)> {
    events.iter().map(|event| (event.kind, event.api.as_str(), event.blob.as_str())).collect()
}

#[tokio::test]
async fn changes_of_blobs_have_events() {
    use EventKind::{Created, Deleted, TierChanged};
    let mut world = world().await;
    let events = world.blobs.events().unwrap();
    world.put("a", "hello").await.unwrap();
    world.stage("a", "0", "block").await.unwrap();
    world.commit("a", &["0"]).await.unwrap();
    world.on("a", BlobAction::SetMetadata(Default::default())).await.unwrap();
    world.on("a", to(AccessTier::Cool)).await.unwrap();
    world.on("a", to(AccessTier::Cool)).await.unwrap();
    world.on("a", delete()).await.unwrap();
    assert!(world.on("a", delete()).await.is_err());
    let found = deliver(&events).await;
    let expected = [
        (Created, "PutBlob", "a"),
        (Created, "PutBlockList", "a"),
        (TierChanged, "SetBlobTier", "a"),
        (Deleted, "DeleteBlob", "a"),
    ];
    assert_eq!(told(&found), expected);
    assert!(found.is_sorted_by(|a, b| a.time < b.time));
    let first = &found[0];
    assert_eq!((first.size, first.blob_kind, first.container.as_str()), (5, BlobKind::Block, CONTAINER));

    world.put("b", "x").await.unwrap();
    let copy = blob("c", copy_of(source("b", Revision::Current)));
    world.run_local(copy).await.unwrap();
    world.create_append("log").await.unwrap();
    world.append("log", vec![1; 10]).await.unwrap();
    let found = deliver(&events).await;
    let expected = [(Created, "PutBlob", "b"), (Created, "CopyBlob", "c"), (Created, "PutBlob", "log")];
    assert_eq!(told(&found), expected);
    assert_eq!(deliver(&events).await, []);
    world.settle().await;
    assert_eq!(deliver(&events).await, [], "delivered events are forgotten");
}

/// Nothing is stored if events are off.
#[tokio::test]
async fn without_events_nothing_is_stored() {
    let (plain, with_events) = (World::new().await, world().await);
    for world in [&plain, &with_events] {
        world.put("a", "x").await.unwrap();
    }
    assert!(plain.blobs.events().is_none());
    assert_eq!(with_events.rows().await, plain.rows().await + 1);
    deliver(&with_events.blobs.events().unwrap()).await;
    assert_eq!(with_events.rows().await, plain.rows().await);
}

#[tokio::test]
async fn a_blob_that_leaves_the_archive_has_its_event_at_that_time() {
    let world = world().await;
    let events = world.blobs.events().unwrap();
    for name in ["stays", "goes"] {
        world.put(name, "x").await.unwrap();
        world.on(name, to(AccessTier::Archive)).await.unwrap();
        world.on(name, to(AccessTier::Hot)).await.unwrap();
    }
    assert_eq!(deliver(&events).await.len(), 4);
    world.on("goes", delete()).await.unwrap();
    assert_eq!(deliver(&events).await.len(), 1);
    world.pass(REHYDRATION.as_secs() + 1);
    let found = deliver(&events).await;
    assert_eq!(told(&found), [(EventKind::TierChanged, "SetBlobTier", "stays")]);
    assert_eq!(found[0].tier, AccessTier::Hot);
}

/// A blob that had left the archive lost its event if it was deleted, replaced or moved to another tier before the
/// delivery.
#[tokio::test]
async fn later_changes_do_not_cancel_the_event_of_a_blob_that_left_the_archive() {
    use EventKind::{Created, Deleted, TierChanged};
    let world = world().await;
    let events = world.blobs.events().unwrap();
    for name in ["deleted", "replaced", "moved"] {
        world.put(name, "x").await.unwrap();
        world.on(name, to(AccessTier::Archive)).await.unwrap();
        world.on(name, to(AccessTier::Hot)).await.unwrap();
    }
    assert_eq!(deliver(&events).await.len(), 6);
    world.pass(REHYDRATION.as_secs() + 1);
    world.on("deleted", delete()).await.unwrap();
    world.put("replaced", "y").await.unwrap();
    world.on("moved", to(AccessTier::Archive)).await.unwrap();
    // It leaves the archive for the second time before the first time is delivered.
    world.on("moved", to(AccessTier::Cool)).await.unwrap();
    let mut found = deliver(&events).await;
    found.sort_by(|a, b| a.blob.cmp(&b.blob));
    let tiers: Vec<_> = found.iter().map(|event| (event.kind, &*event.blob, event.tier)).collect();
    let expected = [
        (TierChanged, "deleted", AccessTier::Hot),
        (Deleted, "deleted", AccessTier::Hot),
        (TierChanged, "moved", AccessTier::Hot),
        (TierChanged, "moved", AccessTier::Archive),
        (TierChanged, "replaced", AccessTier::Hot),
        (Created, "replaced", AccessTier::Hot),
    ];
    assert_eq!(tiers, expected);
    world.on("moved", delete()).await.unwrap();
    assert_eq!(told(&deliver(&events).await), [(Deleted, "DeleteBlob", "moved")]);
    world.pass(REHYDRATION.as_secs() + 1);
    assert_eq!(deliver(&events).await, [], "it was deleted in the archive");
}

/// A blob that is deleted in the archive has no event at the time at which it would have left it, even if there is a blob
/// of its name then, and even if that time has come when the deletion is delivered.
#[tokio::test]
async fn a_blob_that_is_deleted_in_the_archive_does_not_leave_it() {
    use EventKind::{Created, Deleted};
    for delivers in [true, false] {
        let world = world().await;
        let events = world.blobs.events().unwrap();
        world.put("a", "x").await.unwrap();
        world.on("a", to(AccessTier::Archive)).await.unwrap();
        let rows = world.rows().await;
        world.on("a", to(AccessTier::Hot)).await.unwrap();
        world.on("a", delete()).await.unwrap();
        let mut found = if delivers { deliver(&events).await } else { Vec::new() };
        world.put("a", "y").await.unwrap();
        world.pass(REHYDRATION.as_secs() + 1);
        found.extend(deliver(&events).await);
        let last: Vec<_> = found.iter().rev().take(2).map(|event| event.kind).collect();
        assert_eq!((found.len(), last), (4, vec![Created, Deleted]));
        assert_eq!(world.rows().await, rows - 2, "no row of an event is left");
    }
}

/// After a failure in the middle of a batch, everything that had been delivered was sent again, with every attempt.
#[tokio::test]
async fn a_failure_in_a_batch_does_not_repeat_what_was_delivered() {
    let world = world().await;
    let events = world.blobs.events().unwrap();
    for n in 0..70 {
        world.put("a", format!("{n}")).await.unwrap();
    }
    let batch = events.next().await.unwrap().unwrap();
    let all = batch.events.clone();
    assert_eq!(all.len(), 64);
    events.failed(&batch, 63).await.unwrap();
    let batch = events.next().await.unwrap().unwrap();
    assert_eq!((batch.events.len(), &batch.events[0]), (7, &all[63]));
    events.failed(&batch, 0).await.unwrap();
    assert_eq!(deliver(&events).await.len(), 7);
}

#[tokio::test]
async fn events_survive_a_restart_and_failed_deliveries() {
    let world = world().await;
    for n in 0..100 {
        world.put("a", format!("{n}")).await.unwrap();
    }
    let batch = world.blobs.events().unwrap().next().await.unwrap().unwrap();
    assert_eq!(batch.events.len(), 64, "a batch has a bound");
    let mut world = world.restarted();
    let events = world.blobs.events().unwrap();
    assert_eq!(deliver(&events).await, [], "nothing is known before the scan");
    world.reclaim.round().await.unwrap();
    let failed = events.next().await.unwrap().unwrap();
    let first = failed.events[0].clone();
    events.failed(&failed, 0).await.unwrap();
    let found = deliver(&events).await;
    assert_eq!((found.len(), &found[0]), (100, &first));
    assert!(found.is_sorted_by(|a, b| a.time < b.time));
    events.drained().await;
}

/// Events of two accounts are delivered independently of each other, and a third account has none.
#[tokio::test]
async fn accounts_have_lanes_of_their_own() {
    let mut world = world().await;
    let none = world.rows().await;
    for account in [OTHER, "third", ACCOUNT] {
        world.grant = Grant::everything(account);
        if account != ACCOUNT {
            world.create_container(CONTAINER).await.unwrap();
        }
        world.put("a", account).await.unwrap();
    }
    assert_eq!(world.rows().await, none + 3 + 2, "the third account has no event");
    let first = world.blobs.events().unwrap();
    let stuck = first.next().await.unwrap().unwrap();
    assert_eq!(stuck.events.iter().map(|event| &*event.home).collect::<Vec<_>>(), [ACCOUNT]);
    let second = first.lane(1);
    let found = deliver(&second).await;
    assert_eq!(found.iter().map(|event| &*event.home).collect::<Vec<_>>(), [OTHER]);
    assert_eq!(first.waiting(), 1);
    first.failed(&stuck, 0).await.unwrap();
    assert!(second.next().await.unwrap().is_none());
    assert_eq!(deliver(&first).await, stuck.events);
    let mut world = world.restarted();
    world.reclaim.round().await.unwrap();
    world.blobs.events().unwrap().drained().await;
}

/// The rows of a deleted container stay until its events are delivered.
#[tokio::test]
async fn a_deleted_container_keeps_its_events() {
    let mut world = world().await;
    world.put("a", "x").await.unwrap();
    world.on_container(CONTAINER, ContainerAction::Delete).await.unwrap();
    world.pass(1000);
    world.settle().await;
    let events = world.blobs.events().unwrap();
    assert_eq!(told(&deliver(&events).await), [(EventKind::Created, "PutBlob", "a")]);
    world.settle().await;
    assert_eq!(world.rows().await, 0, "now they are erased");
}

/// After a restart, the events of a deleted container still go to the target of its account.
#[tokio::test]
async fn events_of_a_deleted_container_keep_their_lane() {
    let mut world = world().await;
    world.grant = Grant::everything(OTHER);
    world.create_container(CONTAINER).await.unwrap();
    world.put("a", "x").await.unwrap();
    world.on_container(CONTAINER, ContainerAction::Delete).await.unwrap();
    let mut world = world.restarted();
    world.reclaim.round().await.unwrap();
    let first = world.blobs.events().unwrap();
    assert!(first.next().await.unwrap().is_none());
    let found = deliver(&first.lane(1)).await;
    assert_eq!(found.iter().map(|event| &*event.home).collect::<Vec<_>>(), [OTHER]);
}

/// Every acknowledged change has its event, wherever the process crashes; a change without a response has one if it was
/// applied.
#[tokio::test]
async fn no_event_is_lost_in_a_crash() {
    for carries_out in [false, true] {
        let mut n = 0;
        while crash_at(n, carries_out).await {
            n += 1;
        }
        assert!(n >= 5, "every operation makes a call");
    }
}

async fn crash_at(n: i64, carries_out: bool) -> bool {
    let ticks = Arc::new(AtomicU64::new(START_TICKS));
    let engine: Arc<dyn Engine> = Arc::new(Memory::new(clock(&ticks)));
    let (memory, ids) = (MemoryContent::default(), Arc::new(AtomicU64::new(0)));
    let fuse = Fuse { left: Arc::new(AtomicI64::new(i64::MAX)), fault: Fault::Crash, carries_out };
    let left = fuse.left.clone();
    let fused: Arc<dyn Engine> = Arc::new(FusedEngine(engine.clone(), fuse.clone()));
    let content = Arc::new(FusedContent(memory.clone(), fuse));
    let world =
        World::over_with(fused, memory.clone(), ticks.clone(), 20, Some(content), ids.clone(), WITH_EVENTS);
    world.create_container(CONTAINER).await.unwrap();
    left.store(n, Ordering::SeqCst);
    let mut acknowledged = Vec::new();
    let long = "long enough for the content store".repeat(4);
    for (kind, name, content) in [
        (EventKind::Created, "a", "short"),
        (EventKind::Created, "b", &long),
        (EventKind::Created, "a", &long),
        (EventKind::Deleted, "a", ""),
        (EventKind::Deleted, "b", ""),
    ] {
        let done = match kind {
            EventKind::Deleted => world.on(name, delete()).await,
            _ => world.put(name, content.to_owned()).await,
        };
        if done.is_ok() {
            acknowledged.push((kind, name));
        }
    }
    let has_burnt = left.load(Ordering::SeqCst) < 0;
    let mut world = World::over_with(engine, memory.reopened(), ticks, 20, None, ids, WITH_EVENTS);
    world.reclaim.round().await.unwrap();
    let found = deliver(&world.blobs.events().unwrap()).await;
    for name in ["a", "b"] {
        let of = |kind: &EventKind, blob: &str| (blob == name).then_some(*kind);
        let expected: Vec<_> = acknowledged.iter().filter_map(|(kind, blob)| of(kind, blob)).collect();
        let found: Vec<_> = found.iter().filter_map(|event| of(&event.kind, &event.blob)).collect();
        assert!(
            found.starts_with(&expected),
            "call {n}, {name}: found {found:?}, expected it to start with {expected:?}"
        );
        assert!(
            found.len() <= expected.len() + 1,
            "call {n}, {name}: found {found:?}, more than one event after {expected:?}"
        );
        let exists = world.read(name).await.is_ok();
        assert_eq!(found.last() == Some(&EventKind::Created), exists, "call {n}, {name}: {found:?}");
    }
    has_burnt
}
