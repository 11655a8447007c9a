//! Failing logs, panicking updates, and views while memtables are written out.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, mpsc};

use fjall::OwnedWriteBatch;
use lazuli_engine::conformance::{insert, upsert};
use lazuli_engine::{
    Change, Condition, Engine, KeyRange, Next, Reason, Rejected, Scan, Update, Verdict, Write,
};

use super::*;
use crate::files::FjallLog;
use crate::limits::{COMMIT_BYTES_MIN, QUEUE_BYTES_MAX};
use crate::{Options, Store, keyspace};

pub(super) const TABLE: TableId = TableId(3);

/// How writing fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Nothing reaches the log.
    Append,
    /// The log has the batch, but syncing it failed.
    Sync,
    /// The sorted store rejects the batch, because its background work has failed.
    Background,
}

/// A log that fails on demand.
struct FailingLog(Arc<Mutex<Option<Fault>>>);

impl Log for FailingLog {
    fn commit(&mut self, batch: OwnedWriteBatch, durability: Durability) -> fjall::Result<()> {
        let broken = || fjall::Error::Io(std::io::Error::other("the disk is broken"));
        match *self.0.lock().unwrap() {
            None => FjallLog.commit(batch, durability),
            Some(Fault::Append) => Err(broken()),
            Some(Fault::Sync) => {
                FjallLog.commit(batch, Durability::Relaxed)?;
                Err(broken())
            }
            Some(Fault::Background) => Err(fjall::Error::Poisoned),
        }
    }
}

pub(super) fn open(dir: &Path) -> (Store, Arc<Mutex<Option<Fault>>>) {
    let fault = Arc::new(Mutex::new(None));
    let store = Store::open_with(dir, Options::default(), Box::new(FailingLog(Arc::clone(&fault)))).unwrap();
    (store, fault)
}

async fn get(store: &Store, row: &str) -> Option<Bytes> {
    store.get(TABLE, "p", &[row]).await.unwrap().remove(0).map(|row| row.value)
}

pub(super) async fn set(store: &Store, row: &str, value: &str) -> Result<Applied> {
    store.apply(TABLE, "p", vec![upsert(row, value)]).await
}

/// After a failed append or sync nothing more is acknowledged or published, reads continue, and after opening again the
/// commit in question is present completely or not at all.
#[tokio::test]
async fn after_one_failure_nothing_is_acknowledged() {
    for fault in [Fault::Append, Fault::Sync, Fault::Background] {
        let dir = tempfile::tempdir().unwrap();
        let (store, switch) = open(dir.path());
        set(&store, "before", "1").await.unwrap();

        *switch.lock().unwrap() = Some(fault);
        let failed = store.apply(TABLE, "p", vec![upsert("a", "1"), upsert("before", "2")]).await;
        match fault {
            Fault::Append | Fault::Sync => assert!(matches!(failed, Err(Error::Unknown(_))), "{failed:?}"),
            Fault::Background => assert!(matches!(failed, Err(Error::Poisoned(_))), "{failed:?}"),
        }
        assert_eq!(
            (get(&store, "a").await, get(&store, "before").await),
            (None, Some("1".into())),
            "{fault:?}"
        );

        // This holds even if the disk works again.
        *switch.lock().unwrap() = None;
        assert!(matches!(set(&store, "b", "1").await, Err(Error::Poisoned(_))));
        assert!(matches!(store.fresh_table().await, Err(Error::Poisoned(_))));
        assert!(matches!(store.erase(TABLE).await, Err(Error::Poisoned(_))));
        assert_eq!((get(&store, "a").await, get(&store, "b").await), (None, None), "{fault:?}");
        assert!(store.status().await.unwrap().poisoned.is_some());
        store.close().await.unwrap();
        drop(store);

        let (store, _) = open(dir.path());
        let expected = if fault == Fault::Sync {
            (Some("1".into()), Some("2".into()))
        } else {
            (None, Some("1".into()))
        };
        assert_eq!((get(&store, "a").await, get(&store, "before").await), expected, "{fault:?}");
        assert_eq!(get(&store, "b").await, None);
        set(&store, "b", "1").await.unwrap();
        assert!(store.check().await.unwrap().is_clean());
    }
}

/// A log that fails once, when the test lets it continue, and works before and after.
struct HeldLog {
    entered: mpsc::Sender<()>,
    proceed: mpsc::Receiver<()>,
    is_armed: Arc<AtomicBool>,
}

impl Log for HeldLog {
    fn commit(&mut self, batch: OwnedWriteBatch, durability: Durability) -> fjall::Result<()> {
        if !self.is_armed.swap(false, Ordering::SeqCst) {
            return FjallLog.commit(batch, durability);
        }
        self.entered.send(()).unwrap();
        self.proceed.recv().unwrap();
        Err(fjall::Error::Io(std::io::Error::other("the disk is broken")))
    }
}

/// A commit that was waiting when the one before it failed is not acknowledged either, even if the disk works again.
#[tokio::test]
async fn commits_behind_a_failed_one_are_not_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let (entered, is_entered) = mpsc::channel();
    let (proceed, may_proceed) = mpsc::channel();
    let is_armed = Arc::new(AtomicBool::new(false));
    let log = HeldLog { entered, proceed: may_proceed, is_armed: Arc::clone(&is_armed) };
    let store = Store::open_with(dir.path(), Options::default(), Box::new(log)).unwrap();
    set(&store, "before", "1").await.unwrap();
    is_armed.store(true, Ordering::SeqCst);
    let mut failing = Box::pin(set(&store, "a", "1"));
    let mut waiting = Box::pin(set(&store, "b", "1"));
    assert!(queued(&mut failing).await);
    is_entered.recv().unwrap();
    assert!(queued(&mut waiting).await);
    proceed.send(()).unwrap();
    assert!(matches!(failing.await, Err(Error::Unknown(_))));
    let waited = waiting.await;
    assert!(matches!(waited, Err(Error::Poisoned(_))), "{waited:?}");
    assert_eq!((get(&store, "a").await, get(&store, "b").await), (None, None));
}

/// Polls a commit until it is in the queue; `false` if it is complete already.
async fn queued(commit: &mut (impl Future + Unpin)) -> bool {
    tokio::select! {
        biased;
        _ = commit => false,
        () = std::future::ready(()) => true,
    }
}

/// In a group that fails, a rejected commit gets an error that says that nothing was applied; the outcome of the others
/// is unknown.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rejected_commits_of_a_failed_group_are_not_unknown() {
    let dir = tempfile::tempdir().unwrap();
    let (store, switch) = open(dir.path());
    let store = Arc::new(store);
    set(&store, "exists", "1").await.unwrap();
    *switch.lock().unwrap() = Some(Fault::Sync);
    let tasks: Vec<_> = (0..40)
        .map(|n| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let write = if n % 2 == 0 { upsert("a", "1") } else { insert("exists", "2") };
                (n, store.apply(TABLE, "p", vec![write]).await)
            })
        })
        .collect();
    for task in tasks {
        match task.await.unwrap() {
            (_, Err(Error::Poisoned(_))) => {}
            (n, Err(Error::Unknown(_))) => assert_eq!(n % 2, 0),
            // Rejected before the failure, based on durable state.
            (n, Ok(Applied::Rejected { reason: Reason::Exists, .. })) => assert_eq!(n % 2, 1),
            other => panic!("{other:?}"),
        }
    }
}

struct Panicking;

impl Update for Panicking {
    fn next(&self, _: Option<&Bytes>, _: Version) -> std::result::Result<Next, Rejected> {
        panic!("a bad update")
    }
}

/// An update that panics fails only its own commit.
#[tokio::test]
async fn a_panicking_update_fails_only_its_own_commit() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let bad =
        Write { row: "a".into(), condition: Condition::Any, change: Change::Update(Arc::new(Panicking)) };
    let failed = store.apply(TABLE, "p", vec![upsert("b", "1"), bad]).await;
    assert!(matches!(failed, Err(Error::Unavailable(_))), "{failed:?}");
    set(&store, "c", "1").await.unwrap();
    assert_eq!((get(&store, "b").await, get(&store, "c").await), (None, Some("1".into())));
}

/// Readers see whole commits, even while memtables are written out and files merged, which changes the sorted store's
/// own notion of the latest state in the middle of a commit.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn commits_are_whole_while_memtables_are_written_out() {
    const ROWS: usize = 60;
    let dir = tempfile::tempdir().unwrap();
    let options = Options { memtable_bytes: 64 * 1024, ..Options::default() };
    let store = Arc::new(Store::open(dir.path(), options).unwrap());
    let rows: Vec<String> = (0..ROWS).map(|n| format!("{n:03}")).collect();
    let writes = |round: usize| {
        let value = format!("{round:0300}");
        rows.iter().map(|row| upsert(row, &value)).collect::<Vec<_>>()
    };
    store.apply(TABLE, "p", writes(0)).await.unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..3)
        .map(|reader| {
            let (store, rows, is_over) = (Arc::clone(&store), rows.clone(), Arc::clone(&is_over));
            tokio::spawn(async move {
                let names: Vec<&str> = rows.iter().map(String::as_str).collect();
                while !is_over.load(Ordering::SeqCst) {
                    let found: Vec<_> = if reader == 0 {
                        let scan = Scan {
                            table: TABLE,
                            ranges: vec![KeyRange::ALL],
                            rows_max: usize::MAX,
                            bytes_max: usize::MAX,
                            judge: Box::new(|_| Ok(Verdict::Keep)),
                        };
                        store.scan(scan).await.unwrap().rows
                    } else {
                        store.get(TABLE, "p", &names).await.unwrap().into_iter().flatten().collect()
                    };
                    assert_eq!(found.len(), ROWS);
                    assert!(found.iter().all(|row| row.value == found[0].value), "part of a commit");
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for round in 1..400 {
        store.apply(TABLE, "p", writes(round)).await.unwrap();
    }
    is_over.store(true, Ordering::SeqCst);
    for reader in readers {
        reader.await.unwrap();
    }
    let report = store.check().await.unwrap();
    assert!(report.is_clean(), "{report:?}");
}

/// Keys and values go into the sorted store and come out of it without being copied.
#[test]
fn slices_are_shared() {
    let bytes = Bytes::from(vec![1, 2, 3]);
    let slice = Slice::from(bytes.clone());
    assert_eq!(slice.as_ptr(), bytes.as_ptr());
    assert_eq!(Bytes::from(slice).as_ptr(), bytes.as_ptr());
}

/// A log that records the durability requested for each batch, and the view of readers at that moment.
struct RecordingLog {
    durabilities: Arc<Mutex<Vec<Durability>>>,
    view: Arc<OnceLock<Arc<Published>>>,
}

impl Log for RecordingLog {
    fn commit(&mut self, batch: OwnedWriteBatch, durability: Durability) -> fjall::Result<()> {
        self.durabilities.lock().unwrap().push(durability);
        FjallLog.commit(batch, durability)?;
        if let Some(published) = self.view.get() {
            let view = published.view().unwrap();
            assert!(
                view.cell(&keyspace::row_key(TABLE, "p", "late")).unwrap().is_none(),
                "a reader sees it before it is durable"
            );
        }
        Ok(())
    }
}

/// Every batch waits for the disk, unless the options say that none does. Erasures did not wait: a loss of
/// power could leave a hole in one of them before a synced commit, and the store was reported as damaged.
#[tokio::test]
async fn commits_and_erasures_wait_for_the_disk() {
    for asked in [Durability::Full, Durability::Relaxed] {
        let dir = tempfile::tempdir().unwrap();
        let durabilities = Arc::new(Mutex::new(vec![]));
        let view = Arc::new(OnceLock::new());
        let log = RecordingLog { durabilities: Arc::clone(&durabilities), view: Arc::clone(&view) };
        let options = Options { durability: asked, ..Options::default() };
        let store = Store::open_with(dir.path(), options, Box::new(log)).unwrap();
        set(&store, "a", "1").await.unwrap();
        store.fresh_table().await.unwrap();
        assert_eq!(store.erase(TABLE).await, Ok(false));
        assert_eq!(*durabilities.lock().unwrap(), [asked, asked, asked]);
        // A commit that is rejected based on durable state writes nothing.
        let rejected = store.apply(TABLE, "p", vec![exists("a")]).await.unwrap();
        assert!(matches!(rejected, Applied::Rejected { .. }));
        assert_eq!(durabilities.lock().unwrap().len(), 3);

        view.set(store.published()).ok().unwrap();
        set(&store, "late", "1").await.unwrap();
        assert!(get(&store, "late").await.is_some());
    }
}

fn exists(row: &str) -> Write {
    Write { row: row.into(), condition: Condition::Exists, change: Change::Delete }
}

/// Requests allocate table ids, and a request that times out leaves its job in the queue.
#[tokio::test]
async fn the_queue_is_bounded_for_table_ids_too() {
    let permits = (QUEUE_BYTES_MAX / COMMIT_BYTES_MIN) as u64;
    let dir = tempfile::tempdir().unwrap();
    let (store, switch) = open(dir.path());
    {
        // The disk blocks while this is held.
        let _hang = switch.lock().unwrap();
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        for _ in 0..permits + 100 {
            // Without tokio's cooperative budget per task.
            let asked = std::pin::pin!(tokio::task::unconstrained(store.fresh_table()));
            assert!(asked.poll(&mut context).is_pending());
        }
    }
    assert_eq!(store.fresh_table().await.unwrap(), TableId(permits + 1));
}
