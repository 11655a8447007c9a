//! Commits that compete for the same rows: those that cannot succeed do not wait for the disk, and all that
//! wait get a result.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use lazuli_engine::conformance::insert;
use lazuli_engine::{Change, Condition, Engine, Reason, Write};

use super::tests::{Fault, TABLE, open, set};
use super::*;
use crate::Store;

fn replace(row: &str, version: Version) -> Write {
    let change = Change::Put(Bytes::from_static(b"next"));
    Write { row: row.into(), condition: Condition::Version(version), change }
}

async fn put(store: &Store, row: &str) -> Version {
    match set(store, row, "value").await.unwrap() {
        Applied::Done { version, .. } => version,
        rejected @ Applied::Rejected { .. } => panic!("{rejected:?}"),
    }
}

/// The result of a commit that does not wait for others; `None` if it waits.
fn at_once(store: &Store, writes: Vec<Write>) -> Option<Applied> {
    let commit = pin!(tokio::task::unconstrained(store.apply(TABLE, "p", writes)));
    match commit.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(applied) => Some(applied.unwrap()),
        Poll::Pending => None,
    }
}

/// All clients that had read an older state of a hot row waited for a sync, only to be rejected.
#[tokio::test]
async fn commits_that_cannot_succeed_do_not_wait_for_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let (store, switch) = open(dir.path());
    let (old, other) = (put(&store, "a").await, put(&store, "b").await);
    let new = put(&store, "a").await;
    let rejected = |index, reason| Some(Applied::Rejected { index, reason });
    {
        // The disk blocks while this is held.
        let _hang = switch.lock().unwrap();
        assert_eq!(at_once(&store, vec![insert("x", "1")]), None);
        assert_eq!(at_once(&store, vec![replace("a", old)]), rejected(0, Reason::Mismatch));
        assert_eq!(at_once(&store, vec![insert("a", "1")]), rejected(0, Reason::Exists));
        assert_eq!(at_once(&store, vec![replace("c", old)]), rejected(0, Reason::Missing));
        // The first write that fails determines the result.
        let writes = vec![replace("b", other), insert("d", "1"), replace("a", old), replace("c", old)];
        assert_eq!(at_once(&store, writes), rejected(2, Reason::Mismatch));
        // A write that depends on another one of the same commit.
        assert_eq!(at_once(&store, vec![insert("e", "1"), insert("e", "2")]), None);
        // These may succeed or fail, depending on the disk.
        assert_eq!(at_once(&store, vec![insert("x", "2")]), None);
        assert_eq!(at_once(&store, vec![replace("a", new)]), None);
        assert_eq!(at_once(&store, vec![replace("a", new)]), None);
    }
    // Their results are dropped, but both are decided: one replacement succeeded, the other was rejected.
    put(&store, "y").await;
    assert_eq!(at_once(&store, vec![replace("a", new)]), rejected(0, Reason::Mismatch));
    assert_eq!(at_once(&store, vec![insert("x", "3")]), rejected(0, Reason::Exists));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_commits_that_compete_one_wins_and_all_get_a_result() {
    const CLIENTS: usize = 200;
    let dir = tempfile::tempdir().unwrap();
    let (store, switch) = open(dir.path());
    let store = Arc::new(store);
    let version = put(&store, "a").await;
    let hang = switch.lock().unwrap();
    let mut commits: Vec<_> =
        (0..CLIENTS).map(|_| Box::pin(store.apply(TABLE, "p", vec![replace("a", version)]))).collect();
    for commit in &mut commits {
        let polled = pin!(tokio::task::unconstrained(commit)).poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending());
    }
    drop(hang);
    let mut won = 0;
    for commit in commits {
        match commit.await.unwrap() {
            Applied::Done { .. } => won += 1,
            rejected => assert_eq!(rejected, Applied::Rejected { index: 0, reason: Reason::Mismatch }),
        }
    }
    assert_eq!(won, 1);
    store.close().await.unwrap();
}

/// A commit was rejected because of another one whose sync had failed: after a restart, that commit is not visible.
#[tokio::test]
async fn a_commit_does_not_lose_against_one_that_failed() {
    let dir = tempfile::tempdir().unwrap();
    let (store, switch) = open(dir.path());
    let version = put(&store, "a").await;
    let mut commits: Vec<_> =
        (0..20).map(|_| Box::pin(store.apply(TABLE, "p", vec![replace("a", version)]))).collect();
    {
        // The disk blocks while this is held.
        let mut hang = switch.lock().unwrap();
        for commit in &mut commits {
            let polled =
                pin!(tokio::task::unconstrained(commit)).poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending());
        }
        *hang = Some(Fault::Sync);
    }
    for commit in commits {
        let outcome = commit.await;
        assert!(outcome.is_err(), "{outcome:?}");
    }
}

/// Rejections that wait to be sent when the store is closed are sent before it is.
#[tokio::test]
async fn a_close_sends_all_waiting_rejections() {
    let dir = tempfile::tempdir().unwrap();
    let (store, switch) = open(dir.path());
    let version = put(&store, "a").await;
    let hang = switch.lock().unwrap();
    let mut commits: Vec<_> =
        (0..50).map(|_| Box::pin(store.apply(TABLE, "p", vec![replace("a", version)]))).collect();
    for commit in &mut commits {
        let polled = pin!(tokio::task::unconstrained(commit)).poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending());
    }
    drop(hang);
    store.close().await.unwrap();
    for commit in commits {
        assert!(commit.await.is_ok());
    }
}
