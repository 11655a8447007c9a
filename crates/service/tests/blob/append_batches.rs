//! Appends that are committed together behave as if each were a commit of its own.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use lazuli_model::blob::condition::AppendConditions;
use lazuli_model::blob::operation::BlobAction;
use lazuli_model::blob::{Conditions, ETag, Outcome};
use lazuli_model::{ErrorCode, Metadata};

use crate::world::{Ran, World, bytes_of, if_match};

const WRITERS: u64 = 20;

/// Appends at the same time, in order.
async fn append_all(world: &Arc<World>, conditions: fn(u64) -> AppendConditions) -> Vec<Ran> {
    let tasks: Vec<_> = (0..WRITERS)
        .map(|n| {
            let (world, content) = (Arc::clone(world), bytes_of(n, 10));
            tokio::spawn(async move {
                world.append_if("log", content, conditions(n), Conditions::default()).await
            })
        })
        .collect();
    let mut outcomes = Vec::new();
    for task in tasks {
        outcomes.push(task.await.unwrap());
    }
    outcomes
}

fn offset_and_etag(outcome: &Ran) -> (u64, ETag) {
    match outcome {
        Ok(Outcome::Appended { offset, written, .. }) => (*offset, written.stamp.etag),
        other => panic!("{other:?}"),
    }
}

/// The clock leaves room for all of them in one commit, or for one only.
#[tokio::test]
async fn appends_of_one_commit_have_etags_of_their_own() {
    for seconds in [0, 1] {
        let world = Arc::new(World::new().await);
        world.create_append("log").await.unwrap();
        world.pass(seconds);
        let done = append_all(&world, |_| AppendConditions::default()).await;
        let done: Vec<_> = done.iter().map(offset_and_etag).collect();
        let offsets: Vec<u64> = done.iter().map(|(offset, _)| *offset).collect();
        assert_eq!(offsets, (0..WRITERS).map(|n| n * 10).collect::<Vec<_>>());
        let mut etags: Vec<_> = done.iter().map(|(_, etag)| *etag).collect();
        let last = *etags.last().unwrap();
        assert_eq!(world.stamp("log").await.etag, last);
        etags.dedup();
        assert_eq!(etags.len() as u64, WRITERS);
        for stale in &etags[..etags.len() - 1] {
            let conditions = if_match(*stale);
            let late = world.append_if("log", vec![1], AppendConditions::default(), conditions).await;
            assert_eq!(late, Err(ErrorCode::ConditionNotMet));
        }
        world.append_if("log", vec![1], AppendConditions::default(), if_match(last)).await.unwrap();
        if seconds > 0 {
            let now = world.ticks.load(Ordering::SeqCst);
            assert_eq!(last, ETag::new(now), "one commit, which has the version of the last append");
        }
    }
}

#[tokio::test]
async fn an_append_that_is_rejected_does_not_affect_the_others() {
    let world = Arc::new(World::new().await);
    world.create_append("log").await.unwrap();
    world.pass(1);
    // Every fourth one demands to be the first.
    let first = |n: u64| AppendConditions { position: n.is_multiple_of(4).then_some(0), max_size: None };
    let done = append_all(&world, first).await;
    let mut expected = Vec::new();
    for (n, outcome) in (0..).zip(&done) {
        if n > 0 && n % 4 == 0 {
            assert_eq!(outcome, &Err(ErrorCode::AppendPositionConditionNotMet), "{n}");
            continue;
        }
        assert_eq!(offset_and_etag(outcome).0, expected.len() as u64, "{n}");
        expected.extend(bytes_of(n, 10));
    }
    assert_eq!(world.read("log").await, Ok(expected));
}

#[tokio::test]
async fn a_batch_of_rejected_appends_changes_nothing() {
    let world = Arc::new(World::new().await);
    world.create_append("log").await.unwrap();
    let before = world.stamp("log").await;
    world.pass(1);
    let done = append_all(&world, |_| AppendConditions { position: Some(7), max_size: None }).await;
    assert!(done.iter().all(|outcome| *outcome == Err(ErrorCode::AppendPositionConditionNotMet)));
    assert_eq!((world.stamp("log").await, world.read("log").await), (before, Ok(vec![])));
}

/// Appends, large ones too, whose callers disconnect before the commit. Content that the commit names must stay.
#[tokio::test]
async fn an_append_whose_caller_has_left_is_complete_or_absent() {
    let mut world = Arc::new(World::with_inline(20).await);
    world.create_append("log").await.unwrap();
    world.pass(1);
    let lengths = [10, 100, 10, 100, 10];
    for (n, length) in (0..).zip(lengths) {
        let world = Arc::clone(&world);
        let task = tokio::spawn(async move { world.append("log", bytes_of(n, length)).await });
        // It runs until it waits for its commit.
        tokio::task::yield_now().await;
        task.abort();
    }
    let last = world.append("log", bytes_of(9, 10)).await;
    let (start, _) = offset_and_etag(&last);
    Arc::get_mut(&mut world).unwrap().settle().await;
    let content = world.read("log").await.unwrap();
    assert_eq!(content.len() as u64, start + 10);
    let mut rest = &content[..];
    for (n, length) in (0..).zip(lengths) {
        rest = rest.strip_prefix(&bytes_of(n, length)[..]).unwrap_or(rest);
    }
    assert_eq!(rest, bytes_of(9, 10), "only complete appends, in order");
}

/// An append is discarded if its caller leaves before the commit is sent. So a client that retries appends once.
#[tokio::test]
async fn an_append_that_was_given_up_is_not_committed() {
    let world = World::new().await;
    world.create_append("log").await.unwrap();
    world.pass(1);
    {
        let mut given_up = std::pin::pin!(world.append("log", bytes_of(1, 10)));
        // Until it waits for its commit. No other task runs meanwhile.
        std::future::poll_fn(|context| {
            assert!((0..100).all(|_| given_up.as_mut().poll(context).is_pending()));
            Poll::Ready(())
        })
        .await;
    }
    assert_eq!(offset_and_etag(&world.append("log", bytes_of(2, 10)).await).0, 0);
    assert_eq!(world.read("log").await, Ok(bytes_of(2, 10).to_vec()));
}

/// A snapshot with metadata of its own has an ETag of its own, which no append gets.
#[tokio::test]
async fn appends_after_a_snapshot_do_not_reuse_its_etag() {
    let world = Arc::new(World::new().await);
    world.create_append("log").await.unwrap();
    let before = world.stamp("log").await.etag;
    let mut metadata = Metadata::default();
    metadata.insert("a", "b").unwrap();
    let taken = world.on("log", BlobAction::Snapshot(Some(metadata))).await.unwrap();
    let Outcome::SnapshotMade { written, .. } = taken else { panic!("{taken:?}") };
    let etag = written.stamp.etag;
    assert_ne!(etag, before);
    let done = append_all(&world, |_| AppendConditions::default()).await;
    assert!(done.iter().all(|outcome| offset_and_etag(outcome).1 != etag));
}

/// An embedded service can outlive the runtime that its clients use. If that ended before the task of an append had begun, all
/// later appends to the blob waited for ever.
#[test]
fn a_log_is_usable_after_the_runtime_of_its_clients_has_ended() {
    let runtime = || tokio::runtime::Builder::new_current_thread().build().unwrap();
    let first = runtime();
    let world = first.block_on(async {
        let world = World::new().await;
        world.create_append("log").await.unwrap();
        let mut append = Box::pin(world.append("log", vec![1; 10]));
        poll_fn(|context| {
            assert!(append.as_mut().poll(context).is_pending());
            Poll::Ready(())
        })
        .await;
        drop(append);
        world
    });
    drop(first);
    runtime().block_on(async {
        let mut append = Box::pin(world.append("log", vec![2; 10]));
        for _ in 0..1000 {
            if poll_fn(|context| Poll::Ready(append.as_mut().poll(context).is_ready())).await {
                return;
            }
            tokio::task::yield_now().await;
        }
        panic!("it waits forever");
    });
}
