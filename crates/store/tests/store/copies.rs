//! Copies of everything: consistent however much is written in the meantime, and loaded back into a store.

use lazuli_engine::conformance::{delete, upsert};
use lazuli_engine::{Clock, Condition, Dump, Engine, Error, Marks, Stored, TableId, Version};
use lazuli_store::{Loader, OpenError, Options, Store};

use crate::support::{TABLE, directory, get, open, open_at, set};

fn options() -> Options {
    Options { memtable_bytes: 50 * 1024, cache_bytes: 1 << 20, ..Options::default() }
}

async fn all(dump: &mut dyn Dump) -> Vec<Stored> {
    let mut all = Vec::new();
    loop {
        let rows = dump.next(5000).await.unwrap();
        if rows.is_empty() {
            return all;
        }
        all.extend(rows);
    }
}

async fn rewrite(store: &Store, round: usize) {
    for part in 0..10 {
        let value = format!("{round} {}", "x".repeat(400));
        let writes = (0..50).map(|row| upsert(&format!("{part}-{row:02}"), &value)).collect();
        store.apply(TABLE, "p", writes).await.unwrap();
    }
}

/// Everything is written many times over and files are merged away while the copy is half done: it still shows its own
/// moment, and does not keep later writes in memory.
#[tokio::test]
async fn a_copy_outlives_the_files_of_its_moment() {
    let dir = directory();
    let store = Store::open(dir.path(), options()).unwrap();
    rewrite(&store, 0).await;
    let wanted = all(&mut *store.dump().await.unwrap()).await;
    assert_eq!(wanted.len(), 500);
    let mut dump = store.dump().await.unwrap();
    let mut found = dump.next(20_000).await.unwrap();
    for round in 1..30 {
        rewrite(&store, round).await;
    }
    store.apply(TABLE, "p", vec![delete("9-49", Condition::Any)]).await.unwrap();
    found.extend(all(&mut *dump).await);
    assert_eq!(found, wanted);
    assert!(store.check().await.unwrap().is_clean());
}

/// A copy holds files, so closing the store ends it.
#[tokio::test]
async fn a_copy_ends_with_its_store() {
    let dir = directory();
    for closes in [true, false] {
        let store = open(&dir);
        set(&store, "a", "1").await;
        let mut dump = store.dump().await.unwrap();
        if closes {
            store.close().await.unwrap();
        }
        drop(store);
        assert!(matches!(dump.next(1).await, Err(Error::Unavailable(_))));
        drop(open(&dir));
    }
}

#[tokio::test]
async fn concurrent_copies_are_limited() {
    let dir = directory();
    let store = open(&dir);
    let held = (store.dump().await.unwrap(), store.dump().await.unwrap());
    assert!(matches!(store.dump().await.map(drop), Err(Error::Unavailable(_))));
    drop(held);
    assert!(store.dump().await.is_ok());
}

#[tokio::test]
async fn a_copy_makes_an_equal_store_whose_versions_continue() {
    let source = directory();
    let store = Store::open(source.path(), options()).unwrap();
    rewrite(&store, 0).await;
    set(&store, "odd \u{10000}\0", "").await;
    let fresh = store.fresh_table().await.unwrap();
    let mut dump = store.dump().await.unwrap();
    let (rows, marks) = (all(&mut *dump).await, dump.marks());
    assert_eq!(marks.last_table, fresh);

    let target = directory();
    let path = target.path().join("new/store");
    let mut loader = Loader::create(&path, &options()).unwrap();
    for rows in rows.chunks(70) {
        loader.put(rows).unwrap();
    }
    let loaded = loader.seal(marks).unwrap();
    let mut found = Vec::new();
    assert_eq!(loaded.read_back(|rows| found.extend(rows)).unwrap(), marks);
    assert_eq!(found, rows);
    loaded.publish().unwrap();

    // The clock has gone back a thousand years in the meantime.
    let copy = Store::open(&path, Options { clock: Clock::new(|| 1), ..options() }).unwrap();
    let mut dump = copy.dump().await.unwrap();
    assert_eq!((all(&mut *dump).await, dump.marks()), (rows, marks));
    assert!(copy.check().await.unwrap().is_clean());
    assert!(set(&copy, "later", "").await > marks.last_version);
    assert!(copy.fresh_table().await.unwrap() > fresh);
}

/// A load that was interrupted leaves no valid store, at every step.
#[tokio::test]
async fn an_unfinished_load_is_not_a_store() {
    let root = directory();
    let marks = Marks { last_version: Version(9), last_table: TableId(9) };
    let is_rejected = |path: &std::path::Path| {
        let opened = Store::open(path, options()).map(drop);
        assert!(matches!(opened, Err(OpenError::Unfinished(_))), "{opened:?}");
        assert!(matches!(Loader::create(path, &options()).map(drop), Err(OpenError::NotEmpty(_))));
    };
    let begun = root.path().join("begun");
    drop(Loader::create(&begun, &options()).unwrap());
    is_rejected(&begun);
    let sealed = root.path().join("sealed");
    drop(Loader::create(&sealed, &options()).unwrap().seal(marks).unwrap());
    is_rejected(&sealed);
}

/// Existing files are never touched.
#[tokio::test]
async fn a_load_needs_an_empty_directory() {
    let dir = directory();
    let store = open_at(&dir, Clock::system());
    set(&store, "a", "1").await;
    drop(store);
    assert!(matches!(Loader::create(dir.path(), &options()).map(drop), Err(OpenError::NotEmpty(_))));
    assert_eq!(get(&open(&dir), "a").await.as_deref(), Some("1"));
}
