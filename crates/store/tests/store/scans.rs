//! Reads from memory see the same rows as reads from disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use lazuli_engine::conformance::Rng;
use lazuli_engine::{Applied, Change, Condition, Engine, KeyRange, Page, Scan, TableId, Verdict, Write};
use lazuli_store::{Options, Store};

use crate::support::{TABLE, directory};

const ROWS: usize = 200;
const BALANCE: u64 = 1000;
const COMMITS: usize = 300;

fn value(balance: u64) -> Bytes {
    let mut bytes = vec![b'-'; 100];
    bytes[..8].copy_from_slice(&balance.to_be_bytes());
    bytes.into()
}

fn balance(value: &[u8]) -> u64 {
    u64::from_be_bytes(value[..8].try_into().expect("eight bytes"))
}

fn put(row: String, balance: u64) -> Write {
    Write { row: row.into(), condition: Condition::Any, change: Change::Put(value(balance)) }
}

fn delete(row: String) -> Write {
    Write { row: row.into(), condition: Condition::Exists, change: Change::Delete }
}

fn row(number: usize) -> String {
    format!("r{number:04}")
}

async fn page(store: &Store, ranges: Vec<KeyRange>, rows_max: usize) -> Page {
    let judge = Box::new(|_: lazuli_engine::RowView<'_>| Ok(Verdict::Keep));
    let scan = Scan { table: TABLE, ranges, rows_max, bytes_max: usize::MAX, judge };
    store.scan(scan).await.expect("a page")
}

/// The sum of all balances, and how many there are.
async fn sum(store: &Store) -> (u64, usize) {
    let page = page(store, vec![KeyRange::partition("p")], usize::MAX).await;
    (page.rows.iter().map(|row| balance(&row.value)).sum(), page.rows.len())
}

/// CS-04, TX-09: commits move amounts between rows far apart, and move rows. Whether a read takes rows from memory or
/// from disk, it sees no partial commit, and all commits acknowledged before it.
async fn scans_see_whole_commits(scan_cache_bytes: u64) {
    let dir = directory();
    // Small memtables, so that rows move to sorted files meanwhile.
    let options = Options { scan_cache_bytes, memtable_bytes: 60 * 1024, ..Options::default() };
    let store = Arc::new(Store::open(dir.path(), options).expect("a new store"));
    let rows = (0..ROWS).map(|number| put(row(number), BALANCE)).collect();
    store.apply(TABLE, "p", rows).await.expect("the first rows");
    store.apply(TABLE, "q", vec![put("counter".into(), 0)]).await.expect("the counter");
    let acknowledged = Arc::new(AtomicU64::new(0));
    let is_over = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..3)
        .map(|reader| {
            let (store, acknowledged) = (Arc::clone(&store), Arc::clone(&acknowledged));
            let is_over = Arc::clone(&is_over);
            tokio::spawn(async move {
                let mut scans = 0_u64;
                while !is_over.load(Ordering::SeqCst) || scans < 20 {
                    let before = acknowledged.load(Ordering::SeqCst);
                    let ranges = match reader {
                        0 => vec![KeyRange::ALL],
                        _ => vec![KeyRange::partition("p"), KeyRange::partition("q")],
                    };
                    let page = page(&store, ranges, usize::MAX).await;
                    let (counters, rows): (Vec<_>, Vec<_>) =
                        page.rows.iter().partition(|row| &*row.partition == "q");
                    assert_eq!(rows.len(), ROWS);
                    assert_eq!(
                        rows.iter().map(|row| balance(&row.value)).sum::<u64>(),
                        ROWS as u64 * BALANCE
                    );
                    assert!(page.rows.windows(2).all(|pair| {
                        (&pair[0].partition, &pair[0].row) < (&pair[1].partition, &pair[1].row)
                    }));
                    assert!(balance(&counters[0].value) >= before, "acknowledged commits are visible");
                    scans += 1;
                }
            })
        })
        .collect();
    let getter = {
        let (store, acknowledged) = (Arc::clone(&store), Arc::clone(&acknowledged));
        let is_over = Arc::clone(&is_over);
        tokio::spawn(async move {
            let mut last = 0;
            while !is_over.load(Ordering::SeqCst) {
                let before = acknowledged.load(Ordering::SeqCst);
                let rows = store.get(TABLE, "q", &["counter"]).await.expect("a read");
                let count = balance(&rows[0].as_ref().expect("it is there").value);
                assert!(count >= before && count >= last, "earlier commits stay visible");
                last = count;
                tokio::task::yield_now().await;
            }
        })
    };
    let mut rng = Rng::new(scan_cache_bytes);
    let mut places: Vec<(String, u64)> = (0..ROWS).map(|number| (row(number), BALANCE)).collect();
    for commit in 1..=COMMITS as u64 {
        let (from, to) = (rng.below(ROWS), rng.below(ROWS));
        let amount = rng.below(10).min(usize::try_from(places[from].1).expect("small")) as u64;
        let mut writes = vec![];
        if from != to {
            places[from].1 -= amount;
            places[to].1 += amount;
            writes.push(put(places[from].0.clone(), places[from].1));
            // Sometimes the row moves, too.
            if commit.is_multiple_of(3) {
                let place = format!("r{:04}-{commit}", rng.below(ROWS));
                writes.push(delete(std::mem::replace(&mut places[to].0, place)));
            }
            writes.push(put(places[to].0.clone(), places[to].1));
        }
        let applied = store.apply(TABLE, "p", writes).await.expect("a commit");
        assert!(matches!(applied, Applied::Done { .. }));
        store.apply(TABLE, "q", vec![put("counter".into(), commit)]).await.expect("a count");
        acknowledged.store(commit, Ordering::SeqCst);
    }
    is_over.store(true, Ordering::SeqCst);
    for reader in readers {
        reader.await.expect("a reader's assertions hold");
    }
    getter.await.expect("the assertions of the getting reader hold");
    assert_eq!(sum(&store).await, (ROWS as u64 * BALANCE, ROWS));
    store.close().await.expect("closed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scans_see_whole_commits_with_room_for_all() {
    scans_see_whole_commits(256 * 1024).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scans_see_whole_commits_with_room_for_some() {
    scans_see_whole_commits(24 * 1024).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scans_see_whole_commits_without_a_cache() {
    scans_see_whole_commits(0).await;
}

/// PG-05: joined pages are the complete result, wherever they begin and end, on the second scan as on the first.
#[tokio::test]
async fn pages_from_memory_equal_those_from_disk() {
    let dir = directory();
    let options = Options { scan_cache_bytes: 64 * 1024, ..Options::default() };
    let store = Store::open(dir.path(), options).expect("a new store");
    for partition in ["a", "b", "c"] {
        let rows = (0..ROWS).map(|number| put(row(number), 1)).collect();
        store.apply(TABLE, partition, rows).await.expect("rows");
    }
    let whole = page(&store, vec![KeyRange::ALL], usize::MAX).await.rows;
    assert_eq!(whole.len(), 3 * ROWS);
    for rows_max in [usize::MAX, 7, 100, 64, 7] {
        for _ in 0..3 {
            let mut joined = vec![];
            let mut range = KeyRange::ALL;
            loop {
                let page = page(&store, vec![range.clone()], rows_max).await;
                joined.extend(page.rows);
                let Some(next) = page.next else { break };
                range.start = lazuli_engine::Bound::Included(next);
            }
            assert_eq!(joined, whole, "pages of {rows_max}");
        }
    }
    let other = page(&store, vec![KeyRange::partition("bb")], usize::MAX).await;
    assert!(other.rows.is_empty() && TABLE != TableId::SYSTEM);
    store.close().await.expect("closed");
}
