//! Puts that arrive during another one share a commit, and so do deletes; each behaves as if it had one of its own.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use lazuli_model::ErrorCode;
use lazuli_model::queue::{Dequeued, Enqueued, Operation, Receipt};
use tokio::task::JoinHandle;

use crate::shared::{Shared, engine};
use crate::world::{JOBS, Time, World, queue, texts};

const PRODUCERS: usize = 20;

async fn world() -> (Arc<World>, Arc<Shared>) {
    let time = Time::new();
    let engine = Arc::new(engine(&time));
    let world = Arc::new(World::over(engine.clone(), time));
    world.create(JOBS).await;
    // The first use of a queue reads its time.
    world.put("first").await;
    engine.commits.store(0, Ordering::SeqCst);
    (world, engine)
}

/// Starts to put each text, in order. The first one gets its commit, the others wait.
fn start(world: &Arc<World>, texts: &[String]) -> Vec<JoinHandle<Enqueued>> {
    let task = |text: &String| {
        let (world, text) = (Arc::clone(world), text.clone());
        tokio::spawn(async move { world.put(&text).await })
    };
    texts.iter().map(task).collect()
}

#[tokio::test]
async fn puts_that_wait_share_a_commit_and_keep_their_order() {
    let (world, engine) = world().await;
    let expected: Vec<String> = (0..PRODUCERS).map(|n| format!("message {n}")).collect();
    let (mut ids, mut receipts) = (HashSet::new(), HashSet::new());
    for task in start(&world, &expected) {
        let enqueued = task.await.unwrap();
        ids.insert(enqueued.id.0);
        receipts.insert(format!("{:?}", enqueued.receipt));
    }
    assert_eq!((ids.len(), receipts.len()), (PRODUCERS, PRODUCERS));
    assert_eq!(engine.commits.load(Ordering::SeqCst), 2, "the first one, then all others");
    assert_eq!(texts(&world.get(32, 30).await)[1..], expected);
    assert_eq!(world.count(JOBS).await, 1 + PRODUCERS as u64);
}

/// The callers in front and between give up: the others must not wait for ever, and messages that were not sent are not
/// put.
#[tokio::test]
async fn callers_that_give_up_do_not_affect_waiting_callers() {
    let (world, engine) = world().await;
    let mut first = Box::pin(world.put("given up while it is committed"));
    let mut second = Box::pin(world.put("given up while it waits"));
    let mut third = Box::pin(world.put("third"));
    std::future::poll_fn(|context| {
        assert!(first.as_mut().poll(context).is_pending());
        assert!(second.as_mut().poll(context).is_pending());
        assert!(third.as_mut().poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
    drop(second);
    drop(first);
    third.await;
    assert_eq!(texts(&world.get(32, 30).await), ["first", "third"]);
    // The line is free again.
    engine.commits.store(0, Ordering::SeqCst);
    world.put("fourth").await;
    assert_eq!(engine.commits.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_commit_that_fails_fails_all_of_its_puts() {
    let (world, engine) = world().await;
    engine.is_full.store(true, Ordering::SeqCst);
    let tasks: Vec<_> = (0..PRODUCERS)
        .map(|_| {
            let world = Arc::clone(&world);
            let (queue, text) = (queue(JOBS), "lost".into());
            let operation = Operation::PutMessage { queue, text, visibility: 0, ttl: None };
            tokio::spawn(async move { world.try_run(operation).await.is_err() })
        })
        .collect();
    for task in tasks {
        assert!(task.await.unwrap());
    }
    engine.is_full.store(false, Ordering::SeqCst);
    world.put("later").await;
    assert_eq!(texts(&world.get(32, 30).await), ["first", "later"]);
}

/// Messages that one client holds.
async fn held(world: &World, count: usize) -> Vec<Dequeued> {
    for number in 1..count {
        world.put(&format!("message {number}")).await;
    }
    let held = world.get(32, 30).await;
    assert_eq!(held.len(), count);
    held
}

/// Starts to delete each message. The first one gets its commit, the others wait.
fn start_to_delete(
    world: &Arc<World>,
    messages: impl IntoIterator<Item = Dequeued>,
) -> Vec<JoinHandle<Result<(), ErrorCode>>> {
    let task = |message: Dequeued| {
        let world = Arc::clone(world);
        tokio::spawn(async move { world.delete(message.message.id, message.receipt).await })
    };
    messages.into_iter().map(task).collect()
}

#[tokio::test]
async fn deletes_that_wait_share_a_commit() {
    let (world, engine) = world().await;
    let held = held(&world, PRODUCERS).await;
    engine.commits.store(0, Ordering::SeqCst);
    for task in start_to_delete(&world, held) {
        assert_eq!(task.await.unwrap(), Ok(()));
    }
    assert_eq!(engine.commits.load(Ordering::SeqCst), 2, "the first one, then all others");
    assert_eq!(world.count(JOBS).await, 0);
}

/// QU-03: of deletes that share a commit, each succeeds or fails by its own receipt, even if a message is named twice.
#[tokio::test]
async fn a_wrong_receipt_fails_only_the_delete_that_has_it() {
    let (world, _) = world().await;
    let held = held(&world, PRODUCERS).await;
    let (kept, deleted) = held.split_first().unwrap();
    let wrong = |receipt: Receipt| {
        let message = kept.message.clone();
        Dequeued { message, receipt }
    };
    let forged = wrong(Receipt { nonce: kept.receipt.nonce ^ 1, ..kept.receipt });
    let of_another = wrong(deleted[0].receipt);
    let unknown = wrong(Receipt { sequence: kept.receipt.sequence ^ 1, ..kept.receipt });
    let mut all = deleted.to_vec();
    all.extend([forged, of_another, unknown, deleted[7].clone()]);
    let mut done = Vec::new();
    for task in start_to_delete(&world, all) {
        done.push(task.await.unwrap());
    }
    let missing = Err(ErrorCode::MessageNotFound);
    let last = done.split_off(deleted.len());
    assert_eq!(last[..3], [missing, missing, missing]);
    // One of the two requests that name the same message has deleted it.
    let mut twice = [done.remove(7), last[3]];
    twice.sort_by_key(Result::is_err);
    assert_eq!(twice, [Ok(()), missing]);
    assert!(done.iter().all(Result::is_ok), "{done:?}");
    assert_eq!(world.count(JOBS).await, 1);
    world.delete(kept.message.id, kept.receipt).await.unwrap();
}

/// A delete that its caller gives up while it waits may or may not happen; the others are not affected.
#[tokio::test]
async fn callers_that_give_up_do_not_affect_the_deletes_of_others() {
    let (world, _) = world().await;
    let held = held(&world, 3).await;
    let delete = |at: usize| Box::pin(world.delete(held[at].message.id, held[at].receipt));
    let (mut first, mut second, mut third) = (delete(0), delete(1), delete(2));
    std::future::poll_fn(|context| {
        assert!(first.as_mut().poll(context).is_pending());
        assert!(second.as_mut().poll(context).is_pending());
        assert!(third.as_mut().poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
    drop(second);
    drop(first);
    assert_eq!(third.await, Ok(()));
    assert_eq!(delete(1).await, Ok(()), "it was not sent");
}

/// A runtime that is shut down while puts wait must not leave a line in which the puts of another runtime wait for ever.
#[test]
fn a_runtime_that_shuts_down_leaves_the_line_free() {
    let runtime = || tokio::runtime::Builder::new_current_thread().build().unwrap();
    let first = runtime();
    let world = first.block_on(async {
        let (world, _) = world().await;
        start(&world, &["in progress".to_owned(), "waits".to_owned()]);
        tokio::task::yield_now().await;
        world
    });
    drop(first);
    runtime().block_on(async {
        let put = start(&world, &["later".to_owned()]);
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        assert!(put[0].is_finished());
    });
}
