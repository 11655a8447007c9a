//! Properties that must hold from one opening to the next.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lazuli_engine::{Adopted, Clock, Engine, Error, Row, Version};
use lazuli_store::{OpenError, Options, Store};

use crate::damage::{originals, write};
use crate::support::{TABLE, directory, get, open, open_at, set};

/// A second opening of the same directory is rejected while the first is open, with the process that holds it.
#[tokio::test]
async fn a_second_opening_is_rejected() {
    let dir = directory();
    let store = open(&dir);
    let rejected = Store::open(dir.path(), Options::default()).err().unwrap();
    let text = rejected.to_string();
    assert!(matches!(rejected, OpenError::InUse { .. }), "{text}");
    assert!(text.contains(&std::process::id().to_string()), "{text}");
    store.close().await.unwrap();
    let store = open(&dir);
    drop(store);
    open(&dir).close().await.unwrap();
}

/// CS-06: everything acknowledged is present again, with or without a clean close.
#[tokio::test]
async fn rows_survive_closing_and_dropping() {
    let dir = directory();
    for round in 0..6_u32 {
        let store = open(&dir);
        for earlier in 0..round {
            assert_eq!(get(&store, &earlier.to_string()).await, Some(format!("round {earlier}")));
        }
        set(&store, &round.to_string(), &format!("round {round}")).await;
        if round % 2 == 0 {
            store.close().await.unwrap();
        }
    }
    let report = open(&dir).check().await.unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!((report.rows, report.tables), (6, 1));
}

/// The log of a killed process has blocks of zeros behind its last batch, and no batch is missing. What is written after
/// the restart is appended to them.
#[tokio::test]
async fn a_log_with_blocks_written_ahead_loses_nothing() {
    let (dir, killed) = (directory(), directory());
    let (store, text) = (open(&dir), "x".repeat(50_000));
    // Several times as many bytes as are written ahead at a time.
    for row in 0..80 {
        set(&store, &row.to_string(), &text).await;
    }
    write(&originals(dir.path(), dir.path()), killed.path(), Path::new(""), 0);
    drop(store);
    for round in 0..2 {
        let store = open(&killed);
        set(&store, &format!("after {round}"), "1").await;
        let files = originals(killed.path(), killed.path());
        drop(store);
        // As after another kill.
        write(&files, killed.path(), Path::new(""), 0);
    }
    let report = open(&killed).check().await.unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!((report.rows, report.tables), (82, 1));
}

/// A closed store returns an error; it does not hang or panic.
#[tokio::test]
async fn a_closed_store_returns_errors() {
    let dir = directory();
    let store = open(&dir);
    set(&store, "a", "1").await;
    store.close().await.unwrap();
    assert_eq!(store.close().await, Ok(()));
    assert!(matches!(store.get(TABLE, "p", &["a"]).await, Err(Error::Unavailable(_))));
    assert!(matches!(store.apply(TABLE, "p", vec![]).await, Err(Error::Unavailable(_))));
    assert!(matches!(store.fresh_table().await, Err(Error::Unavailable(_))));
    assert!(matches!(store.status().await, Err(Error::Unavailable(_))));
}

/// Versions and table ids never decrease, even if the clock was set back while the store was closed and the row with
/// the last version was deleted.
#[tokio::test]
async fn versions_and_table_ids_never_decrease() {
    let dir = directory();
    let now = Arc::new(AtomicU64::new(0));
    let mut last = Version(0);
    let mut tables = vec![];
    for ticks in [5_000, 4_000, 0, 1, 9_000, 8_999] {
        now.store(ticks, Ordering::SeqCst);
        let now = Arc::clone(&now);
        let store = open_at(&dir, Clock::new(move || now.load(Ordering::SeqCst)));
        tables.push(store.fresh_table().await.unwrap());
        for _ in 0..3 {
            let version = set(&store, "a", "1").await;
            assert!(version > last, "{version:?} after {last:?}");
            last = version;
        }
        let write = lazuli_engine::conformance::delete("a", lazuli_engine::Condition::Exists);
        let Ok(lazuli_engine::Applied::Done { version, .. }) = store.apply(TABLE, "p", vec![write]).await
        else {
            panic!("not deleted")
        };
        assert!(version > last);
        last = version;
    }
    assert!(tables.is_sorted_by(|a, b| a < b), "{tables:?}");
}

/// Many writers at once share syncs.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_commits_share_a_sync() {
    let dir = directory();
    let store = Arc::new(open(&dir));
    let tasks: Vec<_> = (0..32)
        .map(|writer| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                for round in 0..20 {
                    set(&store, &format!("{writer} {round}"), "x").await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let (commits, groups) = store.commits_and_groups();
    assert_eq!(commits, 640);
    assert!(groups * 2 < commits, "{groups} syncs for {commits} commits");
}

/// Rows that were loaded with their versions are present again, and no later change gets that version, even if the
/// clock was set back while the store was closed or killed.
#[tokio::test]
async fn loaded_versions_are_never_assigned_again() {
    for closes in [true, false] {
        let dir = directory();
        let store = open_at(&dir, Clock::new(|| 1000));
        let row = Row { partition: "p".into(), row: "a".into(), version: Version(1000), value: "x".into() };
        assert_eq!(store.adopt(TABLE, vec![row.clone()]).await, Ok(Adopted::Done));
        if closes {
            store.close().await.unwrap();
        }
        drop(store);
        let store = open_at(&dir, Clock::new(|| 7));
        assert_eq!(store.get(TABLE, "p", &["a"]).await, Ok(vec![Some(row)]));
        assert_eq!(set(&store, "b", "y").await, Version(1001));
        assert!(store.check().await.unwrap().is_clean());
    }
}
