//! Soft delete: which states are kept, listed and restored, and which are removed after the retention
//! period.

use lazuli_model::ErrorCode;
use lazuli_model::blob::container::ContainerAction;
use lazuli_model::blob::list::{ContainerItem, Include, ListContainers};
use lazuli_model::blob::operation::{BlobAction, Operation, Revision};
use lazuli_model::blob::write::DeleteSnapshots;
use lazuli_model::blob::{AccessTier, ContainerName, Outcome};
use lazuli_service::blob::Supply;

use crate::world::{CONTAINER, World, blob, bytes_of, tagged, with};

const DAY: u64 = 24 * 60 * 60;
const DELETE: BlobAction =
    BlobAction::Delete { snapshots: DeleteSnapshots::Unspecified, is_permanent: false };
const WITH_SNAPSHOTS: BlobAction =
    BlobAction::Delete { snapshots: DeleteSnapshots::Include, is_permanent: false };
const KEPT: Outcome = Outcome::Deleted { is_permanent: false };
const FINAL: Outcome = Outcome::Deleted { is_permanent: true };

fn all() -> Include {
    Include { snapshots: true, deleted: true, ..Include::default() }
}

async fn world(days: u16) -> World {
    let world = World::with_inline(20).await;
    world.retain(Some(days)).await;
    world
}

async fn snapshot(world: &World, name: &str) -> Revision {
    world.pass(1);
    match world.on(name, BlobAction::Snapshot(None)).await.unwrap() {
        Outcome::SnapshotMade { snapshot, .. } => Revision::Snapshot(snapshot),
        other => panic!("{other:?}"),
    }
}

async fn delete_of(world: &World, name: &str, revision: Revision, is_permanent: bool) -> crate::world::Ran {
    let delete = BlobAction::Delete { snapshots: DeleteSnapshots::Unspecified, is_permanent };
    world.run(with(blob(name, delete), |request| request.revision = revision)).await
}

#[tokio::test]
async fn a_deleted_blob_is_hidden_and_can_be_restored() {
    let mut world = world(2).await;
    let content = bytes_of(1, 100);
    world.put_with("a", content.clone(), tagged(&[("k", "1")])).await.unwrap();
    let etag = world.stamp("a").await.etag;
    assert_eq!(world.on("a", DELETE).await, Ok(KEPT));
    assert_eq!(world.read("a").await, Err(ErrorCode::BlobNotFound));
    assert_eq!(world.on("a", DELETE).await, Err(ErrorCode::BlobNotFound));
    assert!(world.listed(Include::default()).await.is_empty() && world.find("k='1'").await.is_empty());
    assert_eq!(world.listed(all()).await, ["a-"]);
    world.pass(DAY);
    world.settle().await;
    assert_eq!(world.on("a", BlobAction::Undelete).await, Ok(Outcome::Undeleted));
    assert_eq!((world.read("a").await.unwrap(), world.stamp("a").await.etag), (content.to_vec(), etag));
    assert_eq!(world.find("k='1'").await, ["a"]);
    // Restoring a blob that is not deleted changes nothing.
    assert_eq!(world.on("a", BlobAction::Undelete).await, Ok(Outcome::Undeleted));
    assert_eq!(world.on("none", BlobAction::Undelete).await, Err(ErrorCode::BlobNotFound));
}

#[tokio::test]
async fn a_deleted_blob_is_removed_after_its_retention_period() {
    let mut world = world(2).await;
    world.put("a", bytes_of(1, 100)).await.unwrap();
    snapshot(&world, "a").await;
    world.put("a", bytes_of(2, 100)).await.unwrap();
    world.on("a", WITH_SNAPSHOTS).await.unwrap();
    world.settle().await;
    assert_eq!((world.listed(all()).await.len(), world.pieces().await), (3, 2));
    // The policy at the time of the deletion counts.
    world.retain(None).await;
    world.pass(2 * DAY - 1);
    world.settle().await;
    assert_eq!(world.listed(all()).await.len(), 3);
    world.pass(2);
    assert!(world.listed(all()).await.is_empty(), "also before the sweep");
    assert_eq!(world.on("a", BlobAction::Undelete).await, Err(ErrorCode::BlobNotFound));
    world.settle().await;
    assert_eq!((world.pieces().await, world.rows().await), (0, 0));
}

#[tokio::test]
async fn a_restart_does_not_keep_deleted_blobs_forever() {
    let mut world = world(1).await;
    world.put("a", bytes_of(1, 100)).await.unwrap();
    world.on("a", DELETE).await.unwrap();
    world.settle().await;
    let mut world = world.restarted();
    world.settle().await;
    assert_eq!(world.listed(all()).await, ["a-"]);
    world.pass(DAY + 1);
    world.settle().await;
    assert_eq!((world.pieces().await, world.rows().await), (0, 0));
}

#[tokio::test]
async fn snapshots_are_deleted_and_restored_with_their_blob() {
    let mut world = world(2).await;
    world.put("a", bytes_of(1, 100)).await.unwrap();
    let first = snapshot(&world, "a").await;
    world.put("a", bytes_of(2, 100)).await.unwrap();
    let second = snapshot(&world, "a").await;
    assert_eq!(world.on("a", DELETE).await, Err(ErrorCode::SnapshotsPresent));
    assert_eq!(world.on("a", WITH_SNAPSHOTS).await, Ok(KEPT));
    for revision in [first, second] {
        assert_eq!(world.read_of("a", revision).await, Err(ErrorCode::BlobNotFound));
    }
    world.settle().await;
    world.on("a", BlobAction::Undelete).await.unwrap();
    assert_eq!(world.read_of("a", first).await.unwrap(), bytes_of(1, 100));
    assert_eq!(world.read_of("a", second).await.unwrap(), bytes_of(2, 100));
    assert_eq!(world.on("a", DELETE).await, Err(ErrorCode::SnapshotsPresent), "restored snapshots count");
}

#[tokio::test]
async fn one_snapshot_is_deleted_and_restored() {
    let world = world(2).await;
    world.put("a", "1").await.unwrap();
    let first = snapshot(&world, "a").await;
    let second = snapshot(&world, "a").await;
    assert_eq!(delete_of(&world, "a", first, false).await, Ok(KEPT));
    assert_eq!(delete_of(&world, "a", first, false).await, Err(ErrorCode::BlobNotFound));
    assert_eq!(world.read_of("a", first).await, Err(ErrorCode::BlobNotFound));
    assert!(world.read_of("a", second).await.is_ok());
    assert_eq!(world.listed(all()).await.iter().filter(|entry| entry.ends_with('-')).count(), 1);
    world.on("a", BlobAction::Undelete).await.unwrap();
    assert!(world.read_of("a", first).await.is_ok());
}

/// Without versions, the state that a write replaces becomes a deleted snapshot.
#[tokio::test]
async fn an_overwritten_state_is_kept_as_a_deleted_snapshot() {
    let world = world(2).await;
    world.put("a", bytes_of(1, 100)).await.unwrap();
    world.pass(1);
    world.put("a", bytes_of(2, 100)).await.unwrap();
    world.stage("a", "1", "x").await.unwrap();
    world.pass(1);
    world.commit("a", &["1"]).await.unwrap();
    assert_eq!(world.listed(Include { snapshots: true, ..Include::default() }).await, ["a"]);
    let listed = world.listed(all()).await;
    assert_eq!((listed.len(), listed.iter().filter(|entry| entry.ends_with('-')).count()), (3, 2));
    assert_eq!(world.on("a", DELETE).await, Ok(KEPT), "kept states are no snapshots");
    world.on("a", BlobAction::Undelete).await.unwrap();
    assert_eq!(world.listed(Include { snapshots: true, ..Include::default() }).await.len(), 3);
    assert_eq!(world.read("a").await.unwrap(), b"x");
}

#[tokio::test]
async fn a_new_blob_keeps_the_deleted_one_of_its_name() {
    for is_off in [false, true] {
        let mut world = world(2).await;
        world.put("a", bytes_of(1, 100)).await.unwrap();
        world.on("a", DELETE).await.unwrap();
        if is_off {
            world.retain(None).await;
        }
        world.pass(1);
        world.put("a", bytes_of(2, 100)).await.unwrap();
        let listed = world.listed(all()).await;
        assert_eq!((listed.len(), listed[0].ends_with('-'), listed[1].as_str()), (2, true, "a"));
        world.settle().await;
        world.on("a", BlobAction::Undelete).await.unwrap();
        assert_eq!(world.read("a").await.unwrap(), bytes_of(2, 100));
        assert_eq!(world.listed(Include { snapshots: true, ..Include::default() }).await.len(), 2);
    }
}

#[tokio::test]
async fn deleted_snapshots_can_be_deleted_permanently() {
    let mut world = world(2).await;
    world.put("a", bytes_of(1, 100)).await.unwrap();
    let first = snapshot(&world, "a").await;
    assert_eq!(delete_of(&world, "a", first, true).await, Err(ErrorCode::InvalidOperation), "it exists");
    delete_of(&world, "a", first, false).await.unwrap();
    assert_eq!(delete_of(&world, "a", first, true).await, Ok(FINAL));
    world.on("a", BlobAction::Undelete).await.unwrap();
    assert_eq!(world.listed(all()).await, ["a"]);
    world.put("a", bytes_of(2, 100)).await.unwrap();
    world.settle().await;
    assert_eq!(world.pieces().await, 2);
}

#[tokio::test]
async fn without_a_policy_a_deletion_is_final() {
    let mut world = World::with_inline(20).await;
    world.put("a", bytes_of(1, 100)).await.unwrap();
    assert_eq!(world.on("a", DELETE).await, Ok(FINAL));
    world.settle().await;
    assert_eq!((world.pieces().await, world.rows().await, world.listed(all()).await.len()), (0, 0, 0));
}

/// A deleted container is restored with everything that is in it, and is removed after the retention period.
#[tokio::test]
async fn a_deleted_container_can_be_restored() {
    let mut world = World::versioned().await;
    world.put_with("a", bytes_of(1, 100), tagged(&[("k", "1")])).await.unwrap();
    world.on_container(CONTAINER, ContainerAction::Delete).await.unwrap();
    assert_eq!(world.read("a").await, Err(ErrorCode::ContainerNotFound));
    let deleted = deleted_containers(&world).await;
    let [(name, version)] = &deleted[..] else { panic!("{deleted:?}") };
    world.settle().await;
    let restore = |version: &str| ContainerAction::Restore {
        deleted_name: ContainerName::new(CONTAINER).unwrap(),
        deleted_version: version.to_owned(),
    };
    assert_eq!(world.on_container(CONTAINER, restore("7F")).await, Err(ErrorCode::ContainerNotFound));
    world.create_container(CONTAINER).await.unwrap();
    assert_eq!(world.on_container(CONTAINER, restore(version)).await, Err(ErrorCode::ContainerAlreadyExists));
    assert_eq!(world.on_container("another", restore(version)).await, Ok(Outcome::ContainerRestored));
    assert_eq!((name.as_str(), world.find("k='1'").await), (CONTAINER, vec!["a".to_owned()]));
    assert!(deleted_containers(&world).await.is_empty());
    // A second time, until the retention period is over.
    world.on_container("another", ContainerAction::Delete).await.unwrap();
    let mut world = world.restarted();
    world.settle().await;
    assert_eq!((deleted_containers(&world).await.len(), world.pieces().await), (1, 1));
    world.pass(3 * DAY + 1);
    assert!(deleted_containers(&world).await.is_empty(), "also before the sweep");
    world.settle().await;
    world.pass(1000);
    world.settle().await;
    assert_eq!((world.pieces().await, world.rows().await), (0, 0));
}

pub async fn deleted_containers(world: &World) -> Vec<(String, String)> {
    let list = ListContainers {
        prefix: String::new(),
        from: None,
        max_results: 5000,
        has_metadata: false,
        has_deleted: true,
        has_system: false,
    };
    let Outcome::Containers(page) = world.run(Operation::ListContainers(list)).await.unwrap() else {
        panic!()
    };
    let deleted = |item: ContainerItem| Some((item.name, item.properties.deleted?.1));
    page.items.into_iter().filter_map(deleted).collect()
}

/// A hold protects against deletion, soft or not.
#[tokio::test]
async fn a_legal_hold_prevents_deletion_and_overwriting() {
    for days in [None, Some(2)] {
        let world = World::new().await;
        world.retain(days).await;
        world.put("a", "1").await.unwrap();
        world.on("a", BlobAction::SetLegalHold(true)).await.unwrap();
        assert_eq!(world.on("a", DELETE).await, Err(ErrorCode::BlobImmutableDueToLegalHold));
        assert_eq!(world.put("a", "2").await, Err(ErrorCode::BlobImmutableDueToLegalHold));
        assert!(world.on("a", BlobAction::SetTier(AccessTier::Cool, Default::default())).await.is_ok());
        world.on("a", BlobAction::SetLegalHold(false)).await.unwrap();
        assert!(world.on("a", DELETE).await.is_ok());
    }
}

/// No state is lost when writers overtake each other.
#[tokio::test]
async fn concurrent_writers_keep_every_state() {
    let world = std::sync::Arc::new(world(2).await);
    world.put("a", "0").await.unwrap();
    let writers: Vec<_> = (0..8)
        .map(|number| {
            let world = world.clone();
            tokio::spawn(async move { world.put("a", number.to_string()).await.unwrap() })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(world.listed(all()).await.len(), 9, "eight states were replaced");
}

/// Recorded for snapshots and versions, never for the blob itself.
#[tokio::test]
async fn reads_report_that_a_snapshot_can_be_restored() {
    let world = world(2).await;
    world.put("a", bytes_of(1, 100)).await.unwrap();
    let one = snapshot(&world, "a").await;
    assert_eq!(delete_of(&world, "a", one, false).await, Ok(KEPT));
    let details = async |name: &str, revision| {
        let get = with(blob(name, BlobAction::GetProperties), |request| request.revision = revision);
        let failure = world.try_run(get, Supply::Nothing).await.map(drop).unwrap_err().failure();
        (failure.code, failure.details.len())
    };
    assert_eq!(details("a", one).await, (ErrorCode::BlobNotFound, 1));
    assert_eq!(details("b", one).await, (ErrorCode::BlobNotFound, 0));
    assert_eq!(world.on("a", DELETE).await, Ok(KEPT));
    assert_eq!(details("a", Revision::Current).await, (ErrorCode::BlobNotFound, 0));
    world.pass(2 * DAY + 1);
    assert_eq!(details("a", one).await, (ErrorCode::BlobNotFound, 0));
}
