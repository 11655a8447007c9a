//! Puts that arrive during another one share a commit, and each behaves as if it had one of its own.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use lazuli_model::queue::{Enqueued, Operation};
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

/// The callers in front and between give up: the others must not wait for ever, and what was not sent is not put.
#[tokio::test]
async fn callers_that_give_up_do_not_affect_those_who_wait() {
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
