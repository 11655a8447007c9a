//! Reads from a slow disk: only these reads wait.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::ThreadId;

use lazuli_engine::conformance::{append, delete, insert, put, range, upsert};
use lazuli_engine::{Applied, Bound, Condition, Engine, KeyPosition, Page, Reason, Scan, TableId, Verdict};

use crate::keyspace;
use crate::{Options, Store};

const TABLE: TableId = TableId(3);

/// Blocks reads of some rows from files.
#[derive(Default)]
pub struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    closed_for: HashSet<Vec<u8>>,
    waiting: usize,
    /// A thread that must never wait.
    served_by: Option<ThreadId>,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gate")
    }
}

impl Gate {
    /// Waits while the gate is closed for this row.
    pub fn pass(&self, key: &[u8]) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.closed_for.contains(key) {
            return;
        }
        assert!(state.served_by != Some(std::thread::current().id()), "a connection waits for the disk");
        state.waiting += 1;
        self.changed.notify_all();
        while state.closed_for.contains(key) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting -= 1;
    }

    fn close(&self, rows: &[&str]) {
        let mut state = self.state.lock().unwrap();
        state.closed_for.extend(rows.iter().map(|row| keyspace::row_key(TABLE, "p", row)));
        state.served_by = Some(std::thread::current().id());
    }

    fn open(&self) {
        self.state.lock().unwrap().closed_for.clear();
        self.changed.notify_all();
    }

    fn wait_for(&self, waiting: usize) {
        let mut state = self.state.lock().unwrap();
        while state.waiting < waiting {
            state = self.changed.wait(state).unwrap();
        }
    }
}

/// Opens the gate at the end, even of a failed test: the runtime waits for all reads.
struct Opener<'a>(&'a Gate);

impl Drop for Opener<'_> {
    fn drop(&mut self) {
        self.0.open();
    }
}

/// A store with one row that is only in a file, and another that is in the cache.
async fn store_with_files(dir: &std::path::Path, reads_max: usize) -> Arc<Store> {
    let store = Arc::new(Store::open(dir, Options { reads_max, ..Options::default() }).unwrap());
    store
        .apply(TABLE, "p", vec![upsert("hot", "1"), upsert("cold", "1"), upsert("other", "1")])
        .await
        .unwrap();
    let view = store.published().view().unwrap();
    view.files().write_out();
    while !view.files().is_all_written() {
        std::thread::yield_now();
    }
    drop(view);
    // A view taken from now on has the current memtables.
    store.apply(TABLE, "p", vec![upsert("later", "1")]).await.unwrap();
    for _ in 0..3 {
        assert!(store.get(TABLE, "p", &["hot"]).await.unwrap()[0].is_some());
    }
    store
}

fn point(row: &str) -> Scan {
    let at = Bound::Included(KeyPosition { partition: "p".into(), row: row.into() });
    Scan {
        table: TABLE,
        ranges: vec![range(at.clone(), at)],
        rows_max: 10,
        bytes_max: usize::MAX,
        judge: Box::new(|_| Ok(Verdict::Keep)),
    }
}

/// Reads of single rows, and of rows that a commit depends on, were done by the threads that serve connections:
/// with 100 ms per read, health checks took 600 ms. Here the only such thread must never wait for a file, and
/// requests that need no file complete while blocked reads hold all permits.
#[tokio::test]
async fn finding_6_slow_reads_delay_no_others() {
    const READS: usize = 4;
    let dir = tempfile::tempdir().unwrap();
    let store = store_with_files(dir.path(), READS).await;
    let view = store.published().view().unwrap();
    let gate = &view.files().gate;
    gate.close(&["cold", "other"]);
    let opener = Opener(gate);

    let mut reads = vec![];
    let mut commits = vec![];
    let mut scans = vec![];
    for _ in 0..READS {
        let of = |store: &Arc<Store>| Arc::clone(store);
        let (a, b, c) = (of(&store), of(&store), of(&store));
        reads.push(tokio::spawn(async move { a.get(TABLE, "p", &["hot", "cold"]).await }));
        scans.push(tokio::spawn(async move { b.scan(point("cold")).await }));
        commits.push(tokio::spawn(async move { c.apply(TABLE, "p", vec![append("other", "+")]).await }));
    }
    while gate.state.lock().unwrap().waiting < READS {
        tokio::task::yield_now().await;
    }
    gate.wait_for(READS);

    assert!(store.get(TABLE, "p", &["hot", "hot"]).await.unwrap()[1].is_some());
    assert_eq!(rows(&store.scan(point("hot")).await.unwrap()), ["hot"]);
    assert_eq!(store.status().await.unwrap().poisoned, None);
    let done = |applied| matches!(applied, Ok(Applied::Done { .. }));
    assert!(done(
        store.apply(TABLE, "p", vec![upsert("new", "1"), put("hot", Condition::Exists, "2")]).await
    ));
    // From now on these are in memory, where conditions find them too, the last one because it was deleted.
    assert!(done(store.apply(TABLE, "p", vec![append("new", "2"), delete("hot", Condition::Exists)]).await));
    let rejected = store.apply(TABLE, "p", vec![put("hot", Condition::Exists, "3")]).await;
    assert_eq!(rejected, Ok(Applied::Rejected { index: 0, reason: Reason::Missing }));
    assert_eq!(store.get(TABLE, "p", &["new"]).await.unwrap()[0].as_ref().unwrap().value, "12");

    // The filters of the files show that a row is new.
    assert_eq!(store.get(TABLE, "p", &["none"]).await, Ok(vec![None]));
    assert!(done(store.apply(TABLE, "p", vec![insert("none", "1")]).await));

    assert!(!reads.iter().any(|task| task.is_finished()));
    assert!(!scans.iter().any(|task| task.is_finished()));
    assert!(!commits.iter().any(|task| task.is_finished()));
    drop(opener);
    for read in reads {
        let found = read.await.unwrap().unwrap();
        assert!(found[1].is_some());
    }
    for scan in scans {
        assert_eq!(rows(&scan.await.unwrap().unwrap()), ["cold"]);
    }
    for commit in commits {
        assert!(done(commit.await.unwrap()));
    }
    let other = store.get(TABLE, "p", &["other"]).await.unwrap().remove(0).unwrap();
    assert_eq!(other.value, format!("1{}", "+".repeat(READS)));
    let rejected = store.apply(TABLE, "p", vec![insert("cold", "2")]).await;
    assert_eq!(rejected, Ok(Applied::Rejected { index: 0, reason: Reason::Exists }));
    drop(view);
    store.close().await.unwrap();
}

fn rows(page: &Page) -> Vec<&str> {
    page.rows.iter().map(|row| &*row.row).collect()
}
