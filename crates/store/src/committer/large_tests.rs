//! Commits that write far more than they send: the size of groups, and the recovery of the largest one.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::sync::mpsc;

use fjall::OwnedWriteBatch;
use lazuli_engine::conformance::upsert;
use lazuli_engine::{Change, Condition, Engine, Next, Rejected, Update, Write};

use super::*;
use crate::files::FjallLog;
use crate::limits::{COMMIT_BYTES_MAX, GROUP_BYTES_MAX, LOG_BATCH_BYTES, VALUE_BYTES_MAX, WRITE_BYTES};
use crate::preflight;
use crate::{Options, Store, keyspace};

const TABLE: TableId = TableId(3);
const MIB: usize = 1024 * 1024;

/// Computes a value of this many bytes.
struct Grow(usize);

impl Update for Grow {
    fn next(&self, _: Option<&Bytes>, _: Version) -> std::result::Result<Next, Rejected> {
        Ok(Next::Put(vec![b'.'; self.0].into()))
    }
}

fn grow(row: usize, bytes: usize) -> Write {
    let change = Change::Update(Arc::new(Grow(bytes)));
    Write { row: row.to_string().into(), condition: Condition::Any, change }
}

/// A log whose behaviour for each batch is set by the test.
struct SeamLog<F>(F);

impl<F: FnMut(OwnedWriteBatch, Durability) -> fjall::Result<()> + Send> Log for SeamLog<F> {
    fn commit(&mut self, batch: OwnedWriteBatch, durability: Durability) -> fjall::Result<()> {
        (self.0)(batch, durability)
    }
}

/// A store whose log waits for a signal before its first batch, and reports when it has reached it.
fn gated(dir: &Path) -> (Store, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let (entered, is_entered) = mpsc::channel();
    let (proceed, may_proceed) = mpsc::channel();
    let mut gate = Some((entered, may_proceed));
    let log = SeamLog(move |batch, durability| {
        if let Some((entered, may_proceed)) = gate.take() {
            entered.send(()).unwrap();
            may_proceed.recv().unwrap();
        }
        FjallLog.commit(batch, durability)
    });
    (Store::open_with(dir, Options::default(), Box::new(log)).unwrap(), is_entered, proceed)
}

/// Six commits that wait together, each of 30 updates that compute 1 MiB from nothing, became one group of 180 MiB: a
/// group counted only the bytes that its commits had sent.
#[tokio::test]
async fn finding_1_a_group_stops_growing_before_it_exceeds_its_bound() {
    let dir = tempfile::tempdir().unwrap();
    let (store, is_entered, proceed) = gated(dir.path());
    // Without tokio's cooperative budget per task.
    let apply =
        |partition, writes| Box::pin(tokio::task::unconstrained(store.apply(TABLE, partition, writes)));
    let mut commits = vec![apply("p", vec![upsert("first", "1")])];
    assert!(poll(&mut commits[0]).is_none());
    is_entered.recv().unwrap();
    for commit in 0..6 {
        let large = (0..30).map(|row| grow(row, MIB)).collect();
        commits.push(apply("large", large));
        queue_last(&store, &mut commits);
        // Small commits wait between the large ones, and share groups with each other.
        for row in 0..20 {
            let row = format!("{commit} {row}");
            commits.push(apply("small", vec![upsert(&row, "1")]));
            queue_last(&store, &mut commits);
        }
    }
    proceed.send(()).unwrap();
    let mut versions = vec![];
    for commit in commits {
        let Applied::Done { version, .. } = commit.await.unwrap() else { panic!("rejected") };
        versions.push(version);
    }
    assert!(versions.is_sorted_by(|a, b| a < b), "in the order in which they came");
    let (count, groups) = store.commits_and_groups();
    let largest = usize::try_from(store.health().largest_group()).unwrap();
    assert!((30 * MIB..30 * MIB + GROUP_BYTES_MAX).contains(&largest), "{largest} bytes in one group");
    assert_eq!((count, groups), (1 + 6 * 21, 1 + 6 * 2), "a large one alone, and the small ones after it");
    let row = store.get(TABLE, "large", &["29"]).await.unwrap().remove(0).unwrap();
    assert_eq!((row.value.len(), row.version), (MIB, versions[versions.len() - 21]));
}

/// Begins the last of some commits and waits until it is in the queue. All but the first stay there.
fn queue_last<F: Future + Unpin>(store: &Store, commits: &mut [F]) {
    let waiting = commits.len() - 1;
    assert!(commits.last_mut().is_some_and(|last| poll(last).is_none()));
    while store.waiting() < waiting {
        std::thread::yield_now();
    }
}

fn poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::Pin::new(future).poll(&mut context) {
        std::task::Poll::Ready(output) => Some(output),
        std::task::Poll::Pending => None,
    }
}

/// Copies a store as a killed process would leave it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for path in preflight::list(from).unwrap() {
        let copy = to.join(path.file_name().unwrap());
        if path.is_dir() { self::copy(&path, &copy) } else { fs::copy(&path, &copy).map(drop).unwrap() }
    }
}

/// A batch of 1,124 MiB was longer than the maximum that recovery reads, so a store that was killed while writing it
/// did not open again. The largest batch that can be written is read, whether it is whole or not.
#[tokio::test]
async fn finding_2_largest_group_is_readable_by_recovery() {
    let root = tempfile::tempdir().unwrap();
    let (dir, whole, torn) = (root.path().join("a"), root.path().join("whole"), root.path().join("torn"));
    let (from, to) = (dir.clone(), whole.clone());
    let mut batches = 0;
    let log = SeamLog(move |batch, durability| {
        batches += 1;
        FjallLog.commit(batch, durability)?;
        if batches == 2 {
            copy(&from, &to);
        }
        Ok(())
    });
    let store = Store::open_with(&dir, Options::default(), Box::new(log)).unwrap();
    store.apply(TABLE, "p", vec![upsert("before", "1")]).await.unwrap();
    // Exactly as many bytes as one commit may write.
    let fixed: usize =
        (0..10).map(|row| WRITE_BYTES + keyspace::row_key(TABLE, "p", &row.to_string()).len()).sum();
    let last = COMMIT_BYTES_MAX - fixed - 9 * VALUE_BYTES_MAX;
    let writes = |last: usize| {
        (0..10).map(|row| grow(row, if row < 9 { VALUE_BYTES_MAX } else { last })).collect::<Vec<_>>()
    };
    let over = store.apply(TABLE, "p", writes(last + 1)).await;
    assert!(matches!(over, Err(Error::TooLarge(_))), "{over:?}");
    store.apply(TABLE, "p", writes(last)).await.unwrap();
    assert_eq!(store.health().largest_group(), COMMIT_BYTES_MAX as u64);
    drop(store);

    copy(&whole, &torn);
    let log = preflight::logs(&torn.join("data")).unwrap().pop().unwrap();
    let end = crate::journal::read(&log).unwrap().end;
    let file = OpenOptions::new().write(true).open(&log).unwrap();
    file.set_len(end - 5 * MIB as u64).unwrap();
    assert!(end > (COMMIT_BYTES_MAX - LOG_BATCH_BYTES - fixed) as u64, "the batch is as large as it can be");
    for (dir, expected) in [(&whole, Some(VALUE_BYTES_MAX)), (&torn, None)] {
        let store = Store::open(dir, Options::default()).unwrap();
        let rows = store.get(TABLE, "p", &["before", "0"]).await.unwrap();
        assert!(rows[0].is_some());
        assert_eq!(rows[1].as_ref().map(|row| row.value.len()), expected);
    }
}
