//! Versions: every write makes one, reads and deletions by id, promotion, and soft delete of versions.

use lazuli_model::ErrorCode;
use lazuli_model::blob::copy::{CopySource, SourceBlob};
use lazuli_model::blob::list::{BlobEntry, BlobItem, Include, ListedState};
use lazuli_model::blob::operation::{BlobAction, CopyBlob, Revision};
use lazuli_model::blob::write::{DeleteSnapshots, TagOption};
use lazuli_model::blob::{AccessTier, BlobName, BlobProperties, ContainerName, Outcome};
use lazuli_model::{DateTime, Metadata};
use lazuli_service::Grant;

use crate::between::Two;
use crate::world::{ACCOUNT, CONTAINER, Features, Ran, World, blob, bytes_of, tags_of, with};

const DAY: u64 = 24 * 60 * 60;
const DELETE: BlobAction =
    BlobAction::Delete { snapshots: DeleteSnapshots::Unspecified, is_permanent: false };

fn all() -> Include {
    Include { versions: true, deleted: true, snapshots: true, ..Include::default() }
}

fn versions() -> Include {
    Include { versions: true, ..Include::default() }
}

fn id(outcome: Outcome) -> DateTime {
    match outcome {
        Outcome::Created(written) | Outcome::MetadataSet(written) => written.version.unwrap(),
        Outcome::Copied { written, .. } | Outcome::SnapshotMade { written, .. } => written.version.unwrap(),
        other => panic!("{other:?}"),
    }
}

async fn put(world: &World, number: u64) -> DateTime {
    world.pass(1);
    id(world.put("a", bytes_of(number, 100)).await.unwrap())
}

async fn at(world: &World, version: DateTime, action: BlobAction) -> Ran {
    world.run(with(blob("a", action), |request| request.revision = Revision::Version(version))).await
}

#[tokio::test]
async fn only_the_named_accounts_keep_versions() {
    let mut world = World::versioned().await;
    put(&world, 1).await;
    world.grant = Grant::everything("other");
    world.create_container(CONTAINER).await.unwrap();
    for number in [2, 3] {
        world.pass(1);
        let Ok(Outcome::Created(written)) = world.put("a", bytes_of(number, 100)).await else { panic!() };
        assert_eq!(written.version, None);
    }
    assert_eq!(world.listed(versions()).await, ["a"]);
}

#[tokio::test]
async fn every_write_makes_a_version() {
    let mut world = World::versioned().await;
    let first = put(&world, 1).await;
    let second = put(&world, 2).await;
    world.pass(1);
    let third = id(world.on("a", BlobAction::SetMetadata(Metadata::default())).await.unwrap());
    world.stage("a", "1", bytes_of(4, 100)).await.unwrap();
    world.pass(1);
    let fourth = id(world.commit("a", &["1"]).await.unwrap());
    assert!(first < second && second < third && third < fourth);
    world.settle().await;
    for (version, number) in [(first, 1), (second, 2), (third, 2), (fourth, 4)] {
        let found = world.read_of("a", Revision::Version(version)).await.unwrap();
        assert_eq!(found, bytes_of(number, 100), "{number}");
    }
    let Ok(Outcome::Blob(found)) = at(&world, fourth, BlobAction::GetProperties).await else { panic!() };
    assert!(found.version.is_some_and(|version| version.is_current && version.id == fourth));
    let Ok(Outcome::Blob(found)) = at(&world, first, BlobAction::GetProperties).await else { panic!() };
    assert!(found.version.is_some_and(|version| !version.is_current) && found.lease.is_none());
    assert_eq!(world.listed(versions()).await.len(), 4);
    assert_eq!(world.listed(versions()).await.last().map(String::as_str), Some("a*"));
    assert_eq!(world.listed(Include::default()).await, ["a"]);
    assert_eq!(at(&world, DateTime::MAX, BlobAction::GetProperties).await, Err(ErrorCode::BlobNotFound));
}

/// A deleted blob has no current version, but all its versions.
#[tokio::test]
async fn a_deleted_blob_keeps_its_versions() {
    let mut world = World::versioned().await;
    let first = put(&world, 1).await;
    let second = put(&world, 2).await;
    assert_eq!(world.on("a", DELETE).await, Ok(Outcome::Deleted { is_permanent: false }));
    assert_eq!(world.read("a").await, Err(ErrorCode::BlobNotFound));
    world.settle().await;
    assert!(world.listed(Include::default()).await.is_empty());
    assert_eq!(world.listed(versions()).await.len(), 2);
    assert_eq!(world.read_of("a", Revision::Version(second)).await.unwrap(), bytes_of(2, 100));
    for version in [first, second] {
        assert_eq!(at(&world, version, DELETE).await, Ok(Outcome::Deleted { is_permanent: true }));
        assert_eq!(at(&world, version, DELETE).await, Err(ErrorCode::BlobNotFound));
    }
    world.settle().await;
    assert_eq!((world.pieces().await, world.rows().await), (0, 0));
}

/// `include=deletedwithversions` lists blobs of which only versions exist, as their latest version. It was parsed and had no
/// effect.
#[tokio::test]
async fn deleted_blobs_with_versions_are_listed_on_request() {
    let mut world = World::versioned().await;
    let with_versions = Include { deleted_with_versions: true, ..Include::default() };
    for number in [1, 2, 3] {
        put(&world, number).await;
    }
    let latest = put(&world, 4).await;
    assert_eq!(world.listed(with_versions).await, ["a"], "a blob that exists is not marked");
    world.on("a", DELETE).await.unwrap();
    for name in ["b", "c"] {
        world.put(name, bytes_of(1, 10)).await.unwrap();
    }
    world.settle().await;
    assert_eq!(world.listed(Include::default()).await, ["b", "c"]);
    assert_eq!(world.listed(with_versions).await, ["a!", "b", "c"]);
    let entries = world.entries(with_versions).await;
    let BlobEntry::Blob(BlobItem { state: ListedState::Committed(shown), .. }) = &entries[0] else {
        panic!()
    };
    let Ok(Outcome::Blob(found)) = at(&world, latest, BlobAction::GetProperties).await else { panic!() };
    assert_eq!((shown.stamp, shown.size, shown.version), (found.stamp, found.size, None));
    // Together with the versions, on pages of any size.
    let both = Include { versions: true, ..with_versions };
    let expected = world.listed(both).await;
    assert_eq!((expected.len(), expected[4].as_str()), (7, "a!"), "{expected:?}");
    for (include, expected) in [(both, expected), (with_versions, vec!["a!".into(), "b".into(), "c".into()])]
    {
        for max_results in 1..8 {
            assert_eq!(world.listed_by(include, max_results).await, expected, "{max_results}");
        }
    }
    // The blob is listed as long as one version is left; deleting the last version removes it.
    for entry in world.entries(versions()).await {
        let BlobEntry::Blob(BlobItem { revision: Revision::Version(id), .. }) = entry else { continue };
        assert_eq!(world.listed(with_versions).await.len(), 3);
        at(&world, id, DELETE).await.unwrap();
    }
    assert_eq!(world.listed(with_versions).await, ["b", "c"]);
}

#[tokio::test]
async fn the_current_version_is_deleted_only_without_its_id() {
    let world = World::versioned().await;
    let current = put(&world, 1).await;
    assert_eq!(at(&world, current, DELETE).await, Err(ErrorCode::OperationNotAllowedOnRootBlob));
    assert!(world.read("a").await.is_ok());
}

/// With soft delete as well, a deleted version can be restored, and is removed after the retention period.
#[tokio::test]
async fn versions_are_deleted_softly() {
    let mut world = World::versioned().await;
    world.retain(Some(2)).await;
    let first = put(&world, 1).await;
    put(&world, 2).await;
    assert_eq!(at(&world, first, DELETE).await, Ok(Outcome::Deleted { is_permanent: false }));
    assert_eq!(world.read_of("a", Revision::Version(first)).await, Err(ErrorCode::BlobNotFound));
    assert_eq!(world.listed(versions()).await, ["a*"]);
    assert_eq!(world.listed(all()).await.len(), 2);
    world.settle().await;
    world.on("a", BlobAction::Undelete).await.unwrap();
    assert_eq!(world.read_of("a", Revision::Version(first)).await.unwrap(), bytes_of(1, 100));
    at(&world, first, DELETE).await.unwrap();
    world.pass(2 * DAY + 1);
    world.settle().await;
    assert_eq!((world.listed(all()).await, world.pieces().await), (vec!["a*".to_owned()], 1));
}

fn copy_from(version: DateTime) -> BlobAction {
    let blob = SourceBlob {
        authority: "host".into(),
        is_same_host: true,
        account: ACCOUNT.into(),
        container: ContainerName::new(CONTAINER).unwrap(),
        blob: BlobName::new("a").unwrap(),
        revision: Revision::Version(version),
        query: String::new(),
    };
    let source = CopySource {
        url: "http://host/account/things/a".into(),
        blob: Some(blob),
        bearer: None,
        key: None,
        conditions: Default::default(),
        range: None,
        length_max: None,
        expected: Default::default(),
    };
    BlobAction::Copy(Box::new(CopyBlob {
        source,
        is_sync: false,
        metadata: None,
        tags: Default::default(),
        tag_option: TagOption::Replace,
        tier: None,
        priority: Default::default(),
        seals: None,
        immutability: Default::default(),
        digests: Default::default(),
    }))
}

#[tokio::test]
async fn a_version_is_promoted_by_copying_it() {
    let mut world = World::versioned().await;
    let first = put(&world, 1).await;
    put(&world, 2).await;
    world.on("a", DELETE).await.unwrap();
    world.pass(1);
    let promote = || blob("a", copy_from(first));
    let promoted = id(world.run_local(promote()).await.unwrap());
    assert!(promoted > first);
    assert_eq!(world.read("a").await.unwrap(), bytes_of(1, 100));
    world.settle().await;
    assert_eq!(world.read_of("a", Revision::Version(first)).await.unwrap(), bytes_of(1, 100));
    assert_eq!(world.listed(versions()).await.len(), 3);
}

#[tokio::test]
async fn tags_of_a_version_are_its_own() {
    let world = World::versioned().await;
    let first = put(&world, 1).await;
    put(&world, 2).await;
    at(&world, first, BlobAction::SetTags(tags_of(&[("k", "1")]))).await.unwrap();
    assert_eq!(at(&world, first, BlobAction::GetTags).await, Ok(Outcome::Tags(tags_of(&[("k", "1")]))));
    assert!(world.tags("a").await.unwrap().is_empty());
    assert!(world.find("k='1'").await.is_empty(), "searches look at current versions");
}

#[tokio::test]
async fn a_snapshot_makes_a_version_too() {
    let world = World::versioned().await;
    let first = put(&world, 1).await;
    world.pass(1);
    let second = id(world.on("a", BlobAction::Snapshot(None)).await.unwrap());
    assert!(second > first);
    assert_eq!(world.listed(all()).await.len(), 3, "a snapshot, a version and the blob");
    assert!(world.read_of("a", Revision::Version(first)).await.is_ok());
}

/// No version is lost when writers overtake each other.
#[tokio::test]
async fn concurrent_writers_make_one_version_each() {
    let world = std::sync::Arc::new(World::versioned().await);
    let writers: Vec<_> = (0..8)
        .map(|number| {
            let world = world.clone();
            tokio::spawn(async move { id(world.put("a", number.to_string()).await.unwrap()) })
        })
        .collect();
    let mut ids = Vec::new();
    for writer in writers {
        ids.push(writer.await.unwrap());
    }
    ids.sort();
    ids.dedup();
    assert_eq!((ids.len(), world.listed(versions()).await.len()), (8, 8));
    for id in ids {
        assert!(world.read_of("a", Revision::Version(id)).await.is_ok());
    }
}

/// Two processes on an account with versions, and a blob of one version.
async fn two_with_a_version() -> (Two, DateTime) {
    let two = Two::new(Features { versions: true, ..Features::default() }).await;
    let version = put(&two.world, 1).await;
    two.world.pass(1);
    (two, version)
}

/// A version is the same state before and after it is replaced, so a read of it never shows another one.
#[tokio::test]
async fn a_read_of_a_version_that_is_replaced_meanwhile_returns_that_version() {
    for deletes in [false, true] {
        for n in 1..=2 {
            let (two, version) = two_with_a_version().await;
            let change = |other: std::sync::Arc<World>| async move {
                if deletes { other.on("a", DELETE).await } else { other.put("a", bytes_of(2, 100)).await }
            };
            let read = two.world.read_of("a", Revision::Version(version));
            let (read, changed) = two.run(n, change, read).await;
            assert!(changed.is_none_or(|changed| changed.is_ok()));
            assert_eq!(read.unwrap(), bytes_of(1, 100), "{deletes} {n}");
        }
    }
}

/// The same for changes: none hits the version that replaces the one that the request names.
#[tokio::test]
async fn a_change_of_a_version_that_is_replaced_meanwhile_hits_that_version() {
    let changes = [
        BlobAction::SetLegalHold(true),
        BlobAction::SetTags(tags_of(&[("k", "v")])),
        BlobAction::SetTier(AccessTier::Cool, Default::default()),
    ];
    for (deletes, action, n) in [false, true]
        .into_iter()
        .flat_map(|d| changes.iter().flat_map(move |a| (1..=3).map(move |n| (d, a, n))))
    {
        let (two, version) = two_with_a_version().await;
        let change = |other: std::sync::Arc<World>| async move {
            if deletes { other.on("a", DELETE).await } else { other.put("a", bytes_of(2, 100)).await }
        };
        let request = at(&two.world, version, action.clone());
        let (ran, changed) = two.run(n, change, request).await;
        ran.unwrap();
        let Some(Ok(_)) = changed else { continue };
        let Ok(Outcome::Blob(old)) = at(&two.world, version, BlobAction::GetProperties).await else {
            panic!()
        };
        let has_changed = |of: &BlobProperties| {
            of.legal_hold || of.tag_count > 0 || of.tier.is_some_and(|tier| tier.tier == AccessTier::Cool)
        };
        assert!(has_changed(&old), "{action:?} {n}");
        if !deletes {
            assert!(!has_changed(&two.world.properties("a").await.unwrap()), "{action:?} {n}");
        }
        assert!(two.world.find("k='v'").await.is_empty(), "{action:?} {n}");
    }
}

/// A promotion failed with 503 when the version that it names was the blob itself and was replaced meanwhile.
#[tokio::test]
async fn a_promotion_of_a_version_that_is_replaced_meanwhile_copies_that_version() {
    let mut has_met = 0;
    for (deletes, n) in [false, true].into_iter().flat_map(|deletes| (1..=6).map(move |n| (deletes, n))) {
        let (two, version) = two_with_a_version().await;
        let change = |other: std::sync::Arc<World>| async move {
            if deletes { other.on("a", DELETE).await } else { other.put("a", bytes_of(2, 100)).await }
        };
        let promotion = two.world.run_local(blob("a", copy_from(version)));
        let (promoted, changed) = two.run(n, change, promotion).await;
        assert!(promoted.is_ok(), "{deletes} {n} {promoted:?}");
        has_met += u32::from(changed.is_some());
        assert_eq!(two.world.read("a").await.unwrap(), bytes_of(1, 100), "{deletes} {n}");
        assert_eq!(two.world.read_of("a", Revision::Version(version)).await.unwrap(), bytes_of(1, 100));
    }
    assert!(has_met >= 6, "{has_met}");
}
