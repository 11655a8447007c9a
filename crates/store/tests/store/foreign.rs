//! A store that was changed from outside: missing files, wrong checksums, open directories. The store reports the
//! problem or rejects the data; it never serves a wrong row and never removes the remaining files.

use std::fs;
use std::path::Path;

use lazuli_engine::conformance::insert;
use lazuli_engine::{Bound, Engine, Error, KeyPosition, KeyRange, RowView, Scan, Verdict};
use lazuli_store::{Options, Store};

use crate::damage::{make, options, originals, read_all, write};
use crate::support::{TABLE, directory};

/// Missing files are noticed before the sorted store mistakes the rest for a store whose creation was never finished,
/// and removes the rest.
#[tokio::test]
async fn missing_files_are_reported() {
    let original = directory();
    let (store, expected) = make(original.path()).await;
    store.close().await.unwrap();
    let files = originals(original.path(), original.path());
    for was_closed in [true, false] {
        for missing in [
            "data/version",
            "data/0.jnl",
            "data/keyspaces",
            "data/keyspaces/0",
            "data/keyspaces/0/current",
            "data/keyspaces/0/tables",
            "data/keyspaces/1",
            "data/keyspaces/1/current",
            "data/keyspaces/1/tables",
            "data",
            "format",
        ] {
            let damaged = directory();
            write(&files, damaged.path(), Path::new(""), 0);
            if !was_closed {
                fs::remove_file(damaged.path().join("closed")).unwrap();
            }
            let path = damaged.path().join(missing);
            if path.is_dir() {
                fs::remove_dir_all(&path).unwrap()
            } else {
                fs::remove_file(&path).unwrap()
            }
            // Every opening removes older lists of files.
            let count = || {
                let files = originals(damaged.path(), damaged.path());
                files.iter().filter(|file| file.name.parent() != Some(Path::new("data/keyspaces/0"))).count()
            };
            let before = count();
            let found = read_all(damaged.path()).await;
            assert!(found.is_err(), "{missing}, closed: {was_closed}: {} rows", found.unwrap().len());
            assert!(count() >= before, "{missing}: files were removed");
        }
    }
    assert_eq!(read_all(original.path()).await.as_ref(), Ok(&expected.rows));
}

/// A store whose creation was interrupted by a crash is created again.
#[tokio::test]
async fn an_unfinished_store_is_created_again() {
    let dir = directory();
    drop(Store::open(dir.path(), options()).unwrap());
    fs::remove_file(dir.path().join("closed")).unwrap();
    // Written last, it proves that all other files existed.
    fs::remove_file(dir.path().join("acknowledged")).unwrap();
    // The files of the sorted store, in reverse order of creation.
    for made_after in
        ["data/keyspaces/1", "data/keyspaces/0", "data/version", "data/keyspaces", "data/0.jnl", "data/lock"]
    {
        let path = dir.path().join(made_after);
        if path.is_dir() {
            fs::remove_dir_all(&path).unwrap()
        } else {
            fs::remove_file(&path).unwrap()
        }
        let copy = directory();
        write(&originals(dir.path(), dir.path()), copy.path(), Path::new(""), 0);
        if dir.path().join("data/keyspaces").exists() {
            fs::create_dir_all(copy.path().join("data/keyspaces")).unwrap();
        }
        let store =
            Store::open(copy.path(), options()).unwrap_or_else(|e| panic!("without {made_after}: {e}"));
        crate::support::set(&store, "a", "1").await;
        assert_eq!(crate::support::get(&store, "a").await.as_deref(), Some("1"));
    }
}

/// Damage that only the store's own checksum can detect is never served, is found by a check, and can be overwritten.
#[tokio::test]
async fn a_row_with_a_wrong_checksum_is_never_served() {
    let dir = directory();
    let store = Store::open(dir.path(), options()).unwrap();
    crate::support::set(&store, "good", "1").await;
    crate::support::set(&store, "bad", "1").await;
    drop(store);
    let key = b"\x02\0\0\0\0\0\0\0\x07p\0bad";
    {
        let db = fjall::Database::builder(dir.path().join("data")).open().unwrap();
        let rows = db.keyspace("rows", fjall::KeyspaceCreateOptions::default).unwrap();
        let mut stored = rows.get(key).unwrap().unwrap().to_vec();
        stored[0] ^= 1;
        rows.insert(key, stored).unwrap();
        db.persist(fjall::PersistMode::SyncAll).unwrap();
    }
    let store = Store::open(dir.path(), options()).unwrap();
    let is_corrupt = |result: Result<_, Error>| matches!(result, Err(Error::Corrupt(_)));
    assert!(is_corrupt(store.get(TABLE, "p", &["bad"]).await.map(drop)));
    assert!(is_corrupt(store.get(TABLE, "p", &["good", "bad"]).await.map(drop)));
    assert_eq!(crate::support::get(&store, "good").await.as_deref(), Some("1"));
    let place = || Bound::Included(KeyPosition { partition: "p".into(), row: "bad".into() });
    for range in [KeyRange::ALL, KeyRange { start: place(), end: place() }] {
        let judge = Box::new(|_: RowView<'_>| Ok(Verdict::Skip));
        let scan = Scan { table: TABLE, ranges: vec![range], rows_max: 9, bytes_max: 9, judge };
        assert!(is_corrupt(store.scan(scan).await.map(drop)));
    }
    assert!(is_corrupt(store.apply(TABLE, "p", vec![insert("bad", "2")]).await.map(drop)));
    let report = store.check().await.unwrap();
    assert_eq!(report.findings, 1, "{report:?}");
    crate::support::set(&store, "bad", "3").await;
    assert_eq!(crate::support::get(&store, "bad").await.as_deref(), Some("3"));
    assert!(store.check().await.unwrap().is_clean());
}

/// A log that was damaged under a store whose commits waited for the disk is rejected, even when the store is opened
/// with relaxed durability, which would otherwise cut off everything after the damage.
#[tokio::test]
async fn a_relaxed_opening_does_not_cut_what_was_synced() {
    let temporary = directory();
    let (crashed, copy) = (temporary.path().join("crashed"), temporary.path().join("copy"));
    let (store, _) = make(&crashed).await;
    let files = originals(&crashed, &crashed);
    let log = files.iter().rfind(|file| file.name.extension().is_some_and(|name| name == "jnl")).unwrap();
    // In the first batch of the last log, far from its end.
    write(&files, &copy, &log.name, 8 * 60);
    drop(store);
    let relaxed = Options { durability: lazuli_store::Durability::Relaxed, ..options() };
    for _ in 0..2 {
        let error = Store::open(&copy, relaxed.clone()).err().expect("a damaged log is rejected").to_string();
        assert!(error.contains("unreadable"), "{error}");
    }
    assert!(!copy.join("relaxed").exists(), "a rejected opening changes nothing");
}

/// The data contains account keys: users who may read the directory around it may not read it.
#[tokio::test]
async fn data_in_an_open_directory_is_for_its_owner() {
    use std::os::unix::fs::PermissionsExt as _;
    let temporary = directory();
    fs::set_permissions(temporary.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for _ in 0..2 {
        let store = Store::open(temporary.path(), options()).unwrap();
        store.close().await.unwrap();
        let data = temporary.path().join("data");
        assert_eq!(fs::metadata(&data).unwrap().permissions().mode() & 0o777, 0o700);
        fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).unwrap();
    }
}
