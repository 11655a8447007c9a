//! Which operations change an ETag, which settings each write keeps and clears, and which errors report missing
//! resources.

use lazuli_model::blob::operation::{BlobAction, GetBlob, SetProperties};
use lazuli_model::blob::write::WriteSettings;
use lazuli_model::blob::{AccessTier, ContentHeaders, Outcome, Tags};
use lazuli_model::{ErrorCode, Metadata};
use lazuli_service::access::Authorized;
use lazuli_service::blob::Supply;
use lazuli_service::stream::Whole;

use crate::world::{BLOCKS_MAX, Ran, World, blob, body, bytes_of};

fn metadata(value: &str) -> Metadata {
    let mut metadata = Metadata::default();
    metadata.insert("Name", value).unwrap();
    metadata
}

fn tags(value: &str) -> Tags {
    let mut tags = Tags::default();
    tags.insert("tag", value).unwrap();
    tags
}

fn headers(content_type: &str) -> ContentHeaders {
    ContentHeaders { content_type: Some(content_type.into()), ..ContentHeaders::default() }
}

async fn put_with(world: &World, settings: WriteSettings) -> Ran {
    let content = bytes_of(1, 10);
    let action = BlobAction::PutBlob(body(&content), Box::new(settings));
    world.run_with(blob("b", action), Supply::Body(&mut Whole::from(content))).await
}

/// BL-01, BL-08: operations that give a blob a new ETag, and others that do not.
#[tokio::test]
async fn operations_that_change_the_etag() {
    let world = World::new().await;
    world.put("b", "x").await.unwrap();
    let set_headers = || SetProperties { headers: Some(headers("a/b")), ..SetProperties::default() };
    let changing = [
        BlobAction::SetMetadata(metadata("x")),
        BlobAction::SetProperties(Box::new(set_headers())),
        BlobAction::PutBlockList(Vec::new(), Box::default()),
    ];
    for action in changing {
        let before = world.stamp("b").await;
        world.pass(1);
        world.on("b", action.clone()).await.unwrap();
        let after = world.stamp("b").await;
        assert_ne!(after.etag, before.etag, "{action:?}");
        assert_eq!(after.last_modified, world.now(), "{action:?}");
    }
    let before = world.stamp("b").await;
    world.put("b", "x").await.unwrap();
    assert_ne!(world.stamp("b").await.etag, before.etag, "even if the clock stands still");
    let before = world.stamp("b").await;
    world.pass(1);
    world.stage("b", "id", "x").await.unwrap();
    for action in [
        BlobAction::Snapshot(None),
        BlobAction::Snapshot(Some(metadata("y"))),
        BlobAction::SetTags(tags("x")),
        BlobAction::SetTier(AccessTier::Cool, Default::default()),
        BlobAction::Get(GetBlob::default()),
    ] {
        world.on("b", action.clone()).await.unwrap();
        assert_eq!(world.stamp("b").await, before, "{action:?}");
    }
}

#[tokio::test]
async fn a_write_replaces_all_settings() {
    let world = World::new().await;
    let settings = || WriteSettings {
        headers: headers("text/plain"),
        metadata: metadata("x"),
        tags: tags("x"),
        tier: Some(AccessTier::Cool),
        ..WriteSettings::default()
    };
    for clear in [true, false] {
        put_with(&world, settings()).await.unwrap();
        let created = world.properties("b").await.unwrap().created;
        let found = world.properties("b").await.unwrap();
        assert_eq!((found.metadata, found.tag_count), (metadata("x"), 1));
        assert_eq!(found.headers.content_type.as_deref(), Some("text/plain"));
        assert_eq!(found.tier.map(|tier| (tier.tier, tier.is_inferred)), Some((AccessTier::Cool, false)));
        world.pass(5);
        if clear {
            put_with(&world, WriteSettings::default()).await.unwrap();
        } else {
            world.commit("b", &[]).await.unwrap();
        }
        let found = world.properties("b").await.unwrap();
        assert_eq!((found.metadata, found.tag_count), (Metadata::default(), 0));
        assert_eq!(found.headers.content_type.as_deref(), Some("application/octet-stream"));
        assert_eq!(found.tier.map(|tier| (tier.tier, tier.is_inferred)), Some((AccessTier::Hot, true)));
        assert_eq!(found.created, created, "a blob that is overwritten keeps its time of creation");
    }
}

#[tokio::test]
async fn settings_are_changed_one_by_one() {
    let world = World::new().await;
    put_with(&world, WriteSettings { headers: headers("text/plain"), ..WriteSettings::default() })
        .await
        .unwrap();
    world.on("b", BlobAction::SetMetadata(metadata("x"))).await.unwrap();
    world.on("b", BlobAction::SetTags(tags("x"))).await.unwrap();
    let Ok(Outcome::Tags(found)) = world.on("b", BlobAction::GetTags).await else { panic!() };
    assert_eq!(found, tags("x"));
    let Ok(Outcome::Metadata(_, found)) = world.on("b", BlobAction::GetMetadata).await else { panic!() };
    assert_eq!(found, metadata("x"));
    let headers = ContentHeaders { cache_control: Some("no-store".into()), ..ContentHeaders::default() };
    let change = SetProperties { headers: Some(headers.clone()), ..SetProperties::default() };
    world.on("b", BlobAction::SetProperties(Box::new(change))).await.unwrap();
    let found = world.properties("b").await.unwrap();
    assert_eq!((found.headers, found.metadata), (headers, metadata("x")));
}

#[tokio::test]
async fn archived_blobs_cannot_be_read() {
    let world = World::new().await;
    world.put("b", "x").await.unwrap();
    world.on("b", BlobAction::SetTier(AccessTier::Archive, Default::default())).await.unwrap();
    assert_eq!(world.read("b").await, Err(ErrorCode::BlobArchived));
    assert!(world.properties("b").await.is_ok());
    let thawed = world.on("b", BlobAction::SetTier(AccessTier::Hot, Default::default())).await;
    assert_eq!(thawed, Ok(Outcome::TierSet { is_pending: true }));
    let unfit = world.on("b", BlobAction::SetTier(AccessTier::P10, Default::default())).await;
    assert_eq!(unfit, Err(ErrorCode::AccessTierNotSupportedForBlobType));
}

/// Every future that contains this one grows with it. With more than 100 KiB, a debug build overflowed its stack.
#[tokio::test]
async fn the_future_of_an_operation_is_small() {
    const BYTES_MAX: usize = 8 * 1024;
    let world = World::new().await;
    let operation = blob("b", BlobAction::GetProperties);
    let authorized = Authorized::new(&world.grant, operation).unwrap();
    let future = world.blobs.execute(authorized, lazuli_service::blob::Supply::Nothing);
    let bytes = std::mem::size_of_val(&future);
    assert!(bytes <= BYTES_MAX, "{bytes} bytes");
}

#[tokio::test]
async fn failures_of_missing_resources() {
    let world = World::new().await;
    let actions: [fn() -> BlobAction; 9] = [
        || BlobAction::Get(GetBlob::default()),
        || BlobAction::GetProperties,
        || BlobAction::GetMetadata,
        || BlobAction::GetTags,
        || BlobAction::GetBlockList(Default::default()),
        || BlobAction::SetMetadata(Metadata::default()),
        || BlobAction::Snapshot(None),
        || BlobAction::Delete { snapshots: Default::default(), is_permanent: false },
        || BlobAction::AbortCopy(lazuli_model::Guid([1; 16])),
    ];
    for action in actions {
        assert_eq!(world.on("none", action()).await, Err(ErrorCode::BlobNotFound), "{:?}", action());
        let elsewhere = crate::world::with(blob("none", action()), |request| {
            request.container = lazuli_model::blob::ContainerName::new("nowhere").unwrap();
        });
        assert_eq!(world.run(elsewhere).await, Err(ErrorCode::ContainerNotFound), "{:?}", action());
    }
}

/// Names are taken as they are: nothing is folded, trimmed or joined.
#[tokio::test]
async fn names_are_exact() {
    let world = World::new().await;
    let names = [
        "a",
        "A",
        "a/",
        "a//",
        "/a",
        "é",
        "e\u{301}",
        "a b",
        "a%20b",
        "\u{1}",
        "😀",
        "x".repeat(1024).leak(),
    ];
    for (n, name) in names.iter().enumerate() {
        world.put(name, n.to_string()).await.unwrap();
    }
    for (n, name) in names.iter().enumerate() {
        assert_eq!(world.read(name).await.unwrap(), n.to_string().as_bytes(), "{name}");
    }
}

/// Documented: a blob can have at most 100,000 uncommitted blocks; here 1000.
#[tokio::test]
async fn uncommitted_blocks_are_limited() {
    let world = World::new().await;
    world.stage("b", "0000", "x").await.unwrap();
    // A process that has not seen the upload of a block counts it.
    let world = world.restarted();
    for n in 1..BLOCKS_MAX {
        world.stage("b", &format!("{n:04}"), "x").await.unwrap();
    }
    for world in [&world, &world.restarted()] {
        assert_eq!(world.stage("b", "new0", "x").await, Err(ErrorCode::BlockCountExceedsLimit));
        world.stage("b", "0007", "y").await.unwrap();
        assert_eq!(world.stage("b", "new1", "x").await, Err(ErrorCode::BlockCountExceedsLimit));
    }
    world.commit("b", &["0007"]).await.unwrap();
    world.stage("b", "new0", "x").await.unwrap();
    assert_eq!(world.read("b").await.unwrap(), b"y");
}
