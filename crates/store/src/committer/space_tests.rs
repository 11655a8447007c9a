//! A disk that fills up and gets free space again: writes stop before the log fails, and continue without a
//! restart.

use std::path::Path;
use std::sync::Mutex;

use fjall::OwnedWriteBatch;
use lazuli_engine::conformance::upsert;
use lazuli_engine::{Change, Condition, Engine, Write};

use super::*;
use crate::files::FjallLog;
use crate::{Options, Store};

const TABLE: TableId = TableId(3);
const MIB: u64 = 1 << 20;
/// The size of the disk: large enough for the maximum reserve.
const SIZE: u64 = 1 << 40;
/// Less than the reserve, more than half of it.
const LITTLE: u64 = 40 * MIB;

/// A log on a disk whose free space is set by the test.
struct SmallDisk(Arc<Mutex<u64>>);

impl Log for SmallDisk {
    fn commit(&mut self, batch: OwnedWriteBatch, durability: Durability) -> fjall::Result<()> {
        FjallLog.commit(batch, durability)
    }

    fn space(&self, _: &Path) -> Space {
        Space { free: *self.0.lock().unwrap(), size: SIZE }
    }
}

fn open(dir: &Path) -> (Store, Arc<Mutex<u64>>) {
    let free = Arc::new(Mutex::new(SIZE));
    let store = Store::open_with(dir, Options::default(), Box::new(SmallDisk(Arc::clone(&free)))).unwrap();
    (store, free)
}

async fn set(store: &Store, row: &str, value: &str) -> Result<Applied> {
    store.apply(TABLE, "p", vec![upsert(row, value)]).await
}

async fn delete(store: &Store, row: &str) -> Result<Applied> {
    let write = Write { row: row.into(), condition: Condition::Any, change: Change::Delete };
    store.apply(TABLE, "p", vec![write]).await
}

/// Finding 4 of the security review: once the disk was full, every write failed until a restart, even after space was
/// free again.
#[tokio::test]
async fn finding_4_writes_resume_without_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let (store, free) = open(dir.path());
    set(&store, "a", "1").await.unwrap();

    *free.lock().unwrap() = 0;
    for _ in 0..3 {
        assert!(matches!(set(&store, "a", "2").await, Err(Error::Unavailable(_))));
        assert!(matches!(delete(&store, "a").await, Err(Error::Unavailable(_))));
        assert!(matches!(store.fresh_table().await, Err(Error::Unavailable(_))));
        assert!(matches!(store.erase(TABLE).await, Err(Error::Unavailable(_))));
    }
    let found = store.get(TABLE, "p", &["a"]).await.unwrap().remove(0).unwrap();
    assert_eq!(found.value, "1", "reads work, and nothing was applied");

    *free.lock().unwrap() = SIZE;
    set(&store, "a", "3").await.unwrap();
    let first = store.fresh_table().await.unwrap();
    assert_eq!(store.fresh_table().await.unwrap().0, first.0 + 1);
    store.close().await.unwrap();
    drop(store);
    let (store, _) = open(dir.path());
    assert_eq!(store.get(TABLE, "p", &["a"]).await.unwrap().remove(0).unwrap().value, "3");
    assert!(store.check().await.unwrap().is_clean());
}

/// Deletions free space, so they work a little longer than other writes.
#[tokio::test]
async fn deletions_may_use_half_of_the_reserve() {
    let dir = tempfile::tempdir().unwrap();
    let (store, free) = open(dir.path());
    set(&store, "a", "1").await.unwrap();
    *free.lock().unwrap() = LITTLE;
    assert!(matches!(set(&store, "b", "1").await, Err(Error::Unavailable(_))));
    assert!(matches!(delete(&store, "a").await, Ok(Applied::Done { .. })));
    assert_eq!(store.get(TABLE, "p", &["a"]).await.unwrap(), [None]);
}

/// A rejected commit does not affect the checks of later commits in the same group.
#[tokio::test]
async fn a_rejected_commit_is_not_remembered() {
    let dir = tempfile::tempdir().unwrap();
    let (store, free) = open(dir.path());
    *free.lock().unwrap() = 0;
    assert!(matches!(set(&store, "a", "1").await, Err(Error::Unavailable(_))));
    *free.lock().unwrap() = SIZE;
    let insert = Write { condition: Condition::Absent, ..upsert("a", "2") };
    assert!(matches!(store.apply(TABLE, "p", vec![insert]).await, Ok(Applied::Done { .. })));
}
