//! Conditional requests: their effect on each operation, and that concurrent ones exclude each other.

use std::sync::Arc;

use lazuli_model::blob::block::BlockListFilter;
use lazuli_model::blob::condition::{ETags, TierConditions};
use lazuli_model::blob::operation::{BlobAction, GetBlob, SetProperties};
use lazuli_model::blob::tag::TagExpression;
use lazuli_model::blob::{Conditions, ETag, Outcome};
use lazuli_model::{ErrorCode, Metadata};

use crate::world::{Ran, World, blob, if_match, if_none_match_any, with};

async fn run(world: &World, name: &str, action: BlobAction, conditions: Conditions) -> Ran {
    world.run(with(blob(name, action), |request| request.conditions = conditions)).await
}

fn none_match(etag: ETag) -> Conditions {
    Conditions { if_none_match: Some(ETags::Listed(vec![etag])), ..Conditions::default() }
}

const OTHER: ETag = ETag::new(1);

/// BL-04, BL-06: a blob that has only uncommitted blocks counts as missing, even when it is deleted. The conditions were
/// ignored.
#[tokio::test]
async fn uncommitted_blocks_meet_conditions_like_a_missing_blob() {
    let world = World::new().await;
    world.stage("b", "id", "x").await.unwrap();
    let delete = || BlobAction::Delete { snapshots: Default::default(), is_permanent: false };
    let list = || BlobAction::GetBlockList(BlockListFilter::All);
    let tagged = || Conditions {
        if_tags: Some(TagExpression::parse("\"k\" = 'v'").unwrap()),
        ..Conditions::default()
    };
    let chosen = || {
        let tier = TierConditions { if_modified_since: Some(world.now()), ..TierConditions::default() };
        Conditions { tier, ..Conditions::default() }
    };
    let any = || Conditions { if_match: Some(ETags::Any), ..Conditions::default() };
    for conditions in [if_match(OTHER), any(), tagged()] {
        let rejected = run(&world, "b", delete(), conditions).await;
        assert_eq!(rejected, Err(ErrorCode::ConditionNotMet));
    }
    let rejected = run(&world, "b", delete(), chosen()).await;
    assert_eq!(rejected, Err(ErrorCode::AccessTierChangeTimeConditionNotMet));
    assert_eq!(run(&world, "b", list(), tagged()).await, Err(ErrorCode::ConditionNotMet));
    assert!(run(&world, "b", list(), Conditions::default()).await.is_ok());
    assert!(run(&world, "b", delete(), if_none_match_any()).await.is_ok());
    assert_eq!(run(&world, "b", list(), Conditions::default()).await, Err(ErrorCode::BlobNotFound));
}

/// BL-02, BL-04, BL-06: reads fail with 304 or 412, changes with 412, creations with 409 for `*`.
#[tokio::test]
async fn failures_by_operation() {
    let world = World::new().await;
    world.put("b", "content").await.unwrap();
    let reads: [fn() -> BlobAction; 3] =
        [|| BlobAction::Get(GetBlob::default()), || BlobAction::GetProperties, || BlobAction::GetMetadata];
    let changes: [fn() -> BlobAction; 4] = [
        || BlobAction::SetMetadata(Metadata::default()),
        || {
            BlobAction::SetProperties(Box::new(SetProperties {
                headers: Some(Default::default()),
                ..Default::default()
            }))
        },
        || BlobAction::Snapshot(None),
        || BlobAction::PutBlockList(Vec::new(), Box::default()),
    ];
    for action in reads {
        let etag = world.stamp("b").await.etag;
        assert!(run(&world, "b", action(), if_match(etag)).await.is_ok());
        assert_eq!(run(&world, "b", action(), if_match(OTHER)).await, Err(ErrorCode::ConditionNotMet));
        assert_eq!(run(&world, "b", action(), none_match(etag)).await, Err(ErrorCode::NotModified));
        assert_eq!(run(&world, "none", action(), if_match(etag)).await, Err(ErrorCode::BlobNotFound));
    }
    // Get Blob Tags is a read whose conditions fail like those of a change.
    let etag = world.stamp("b").await.etag;
    let unchanged = run(&world, "b", BlobAction::GetTags, none_match(etag)).await;
    assert_eq!(unchanged, Err(ErrorCode::ConditionNotMet));
    assert!(run(&world, "b", BlobAction::GetTags, if_match(etag)).await.is_ok());
    for action in changes {
        let etag = world.stamp("b").await.etag;
        assert_eq!(run(&world, "b", action(), if_match(OTHER)).await, Err(ErrorCode::ConditionNotMet));
        assert_eq!(run(&world, "b", action(), none_match(etag)).await, Err(ErrorCode::ConditionNotMet));
        assert_eq!(run(&world, "none", action(), if_match(etag)).await, Err(ErrorCode::ConditionNotMet));
        assert!(run(&world, "b", action(), if_match(etag)).await.is_ok(), "{:?}", action());
    }
    let exists = world.put_if("b", "x", None, if_none_match_any()).await;
    assert_eq!(exists, Err(ErrorCode::BlobAlreadyExists));
    let list = || BlobAction::PutBlockList(Vec::new(), Box::default());
    assert_eq!(run(&world, "b", list(), if_none_match_any()).await, Err(ErrorCode::BlobAlreadyExists));
    // A blob that has only uncommitted blocks does not exist.
    world.stage("staged", "id", "x").await.unwrap();
    assert!(run(&world, "staged", list(), if_none_match_any()).await.is_ok());
    let deletion = || BlobAction::Delete { snapshots: Default::default(), is_permanent: false };
    assert_eq!(run(&world, "b", deletion(), if_match(OTHER)).await, Err(ErrorCode::ConditionNotMet));
    // Before 3.5's type and existence checks.
    assert_eq!(run(&world, "none", deletion(), if_match(OTHER)).await, Err(ErrorCode::ConditionNotMet));
    assert_eq!(run(&world, "none", deletion(), none_match(OTHER)).await, Err(ErrorCode::BlobNotFound));
}

/// BL-10, CC-11: the first demonstration of the concurrency article.
#[tokio::test]
async fn optimistic_concurrency() {
    let world = World::new().await;
    world.put("b", "first").await.unwrap();
    let first = world.stamp("b").await.etag;
    world.put("b", "a third party's").await.unwrap();
    let rejected = world.put_if("b", "mine", None, if_match(first)).await;
    assert_eq!(rejected, Err(ErrorCode::ConditionNotMet));
    let second = world.stamp("b").await.etag;
    assert!(world.put_if("b", "mine", None, if_match(second)).await.is_ok());
    // BL-03: without a condition, the last one wins.
    assert!(world.put("b", "last").await.is_ok());
    assert_eq!(world.read("b").await.unwrap(), b"last");
}

/// Exactly one of many creations with `If-None-Match: *` succeeds, small or large.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn only_one_of_many_creations_succeeds() {
    for size in [3, 5000] {
        let world = Arc::new(World::with_inline(16).await);
        let tasks: Vec<_> = (0..24)
            .map(|n| {
                let world = world.clone();
                let content = crate::world::bytes_of(n, size);
                tokio::spawn(async move { (n, world.put_if("b", content, None, if_none_match_any()).await) })
            })
            .collect();
        let mut winners = Vec::new();
        for task in tasks {
            match task.await.unwrap() {
                (n, Ok(_)) => winners.push(n),
                (_, Err(code)) => assert_eq!(code, ErrorCode::BlobAlreadyExists),
            }
        }
        assert_eq!(winners.len(), 1);
        assert!(world.read("b").await.unwrap() == crate::world::bytes_of(winners[0], size));
    }
}

/// Many read, change and write with `If-Match`: no change is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn conditional_writers_lose_nothing() {
    const WRITERS: usize = 6;
    const ROUNDS: usize = 15;
    let world = Arc::new(World::with_inline(16).await);
    world.put("counter", "0").await.unwrap();
    let tasks: Vec<_> = (0..WRITERS)
        .map(|_| {
            let world = world.clone();
            tokio::spawn(async move {
                for _ in 0..ROUNDS {
                    increment(&world).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let total = String::from_utf8(world.read("counter").await.unwrap()).unwrap();
    assert_eq!(total.trim_start(), (WRITERS * ROUNDS).to_string());
}

async fn increment(world: &World) {
    loop {
        let get = blob("counter", BlobAction::Get(GetBlob::default()));
        let (outcome, reader) = world.try_run(get, lazuli_service::blob::Supply::Nothing).await.unwrap();
        let Outcome::Content(content) = outcome else { panic!() };
        let text = crate::world::drain(&mut reader.unwrap()).await.unwrap();
        let number: usize = std::str::from_utf8(&text).unwrap().trim_start().parse().unwrap();
        // Every second value is long enough to have rows of its own.
        let width = if number.is_multiple_of(2) { 40 } else { 1 };
        let next = format!("{:>width$}", number + 1);
        match world.put_if("counter", next, None, if_match(content.properties.stamp.etag)).await {
            Ok(_) => return,
            Err(code) => assert_eq!(code, ErrorCode::ConditionNotMet),
        }
    }
}
