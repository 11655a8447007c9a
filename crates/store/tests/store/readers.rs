//! Readers and writers do not wait for each other.

use std::sync::mpsc;

use bytes::Bytes;
use lazuli_engine::{Applied, Change, Condition, Engine, KeyRange, Scan, TableId, Verdict, Write};
use lazuli_store::{Options, Store};

fn put(row: &str) -> Vec<Write> {
    vec![Write {
        row: row.into(),
        condition: Condition::Any,
        change: Change::Put(Bytes::from_static(b"value")),
    }]
}

/// CS-04: commits are made while a scan is paused, and the scan does not see them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_scan_blocks_no_commit() {
    let directory = tempfile::tempdir().expect("a directory for the store");
    let store = std::sync::Arc::new(Store::open(directory.path(), Options::default()).expect("a new store"));
    let table = store.fresh_table().await.expect("an id");
    store.apply(table, "p", put("1")).await.expect("the first row");
    let (reached, at_first_row) = mpsc::channel();
    let (proceed, may_proceed) = mpsc::channel::<()>();
    let scan = Scan {
        table,
        ranges: vec![KeyRange::ALL],
        rows_max: 100,
        bytes_max: usize::MAX,
        judge: Box::new(move |_| {
            let _ = reached.send(());
            let _ = may_proceed.recv();
            Ok(Verdict::Keep)
        }),
    };
    let scanning = tokio::spawn({
        let store = store.clone();
        async move { store.scan(scan).await }
    });
    tokio::task::spawn_blocking(move || at_first_row.recv())
        .await
        .expect("it runs")
        .expect("the scan begins");
    for row in ["2", "3"] {
        let applied = store.apply(table, "p", put(row)).await.expect("a commit beside the scan");
        assert!(matches!(applied, Applied::Done { .. }));
    }
    assert_eq!(store.get(table, "p", &["3"]).await.expect("a read").len(), 1);
    drop(proceed);
    let page = scanning.await.expect("it ends").expect("a page");
    assert_eq!(page.rows.len(), 1, "the scan sees the state of its start");
    assert_ne!(table, TableId::SYSTEM);
    store.close().await.expect("closed");
}
