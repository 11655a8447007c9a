//! Measures the store: `cargo run --release -p lazuli-store --example load -- [rows] [seconds] [dir] [phases]`.
//!
//! The phases are `new`, `write`, `fill`, `read`, `miss` (only those reads that the caches do not hold), `scan`, `open`
//! and `check`; the default is all of them. A later run can use the store that is left in `dir`. `CACHE_MIB` in the
//! environment is the memory for caches (64). The disk's own rate of syncs is measured between the other measurements,
//! as the baseline to compare them with.
//!
//! Prints durable commits per second with 1, 16 and 64 writers, CPU time for each commit, point read and scanned row,
//! how long opening takes, and memory. Rows have 1 KB that does not compress well.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::disallowed_methods, reason = "a measuring tool")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use lazuli_engine::conformance::Rng;
use lazuli_engine::{Applied, Change, Condition, Engine, KeyRange, Scan, TableId, Verdict, Write};
use lazuli_store::{Options, Store};

const VALUE_BYTES: usize = 1024;
const TABLE: TableId = TableId(1);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rows: usize = arguments.first().map_or(1_000_000, |text| text.parse().unwrap());
    let seconds: f64 = arguments.get(1).map_or(4.0, |text| text.parse().unwrap());
    let (dir, _temporary) = match arguments.get(2) {
        Some(dir) => (PathBuf::from(dir), None),
        None => {
            let temporary = tempfile::tempdir().unwrap();
            (temporary.path().to_owned(), Some(temporary))
        }
    };
    let phases = arguments.get(3).map_or("new,write,fill,read,scan,open,check", String::as_str);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(run(&dir, rows, seconds, phases));
}

async fn run(dir: &Path, rows: usize, seconds: f64, phases: &str) {
    println!("memory before: {} MB", rss_mb());
    let has = |phase: &str| phases.split(',').any(|given| given == phase);
    if has("new") {
        new(dir).await;
    }
    let dir = &dir.join("store");
    let store = Arc::new(open(dir));
    if has("write") {
        for round in 0..2 {
            for writers in [1, 16, 64] {
                sync_disk(dir, seconds / 4.0);
                write(&store, writers, seconds, round).await;
            }
        }
    }
    if has("fill") {
        fill(&store, rows).await;
    }
    if has("read") {
        for (name, among) in [("1000 rows", 1000), ("10000 rows", 10_000), ("all rows", rows)] {
            read(&store, name, among.min(rows), seconds).await;
        }
    }
    if has("miss") {
        read(&store, "all rows", rows, seconds).await;
    }
    if has("scan") {
        scan(&store, rows).await;
    }
    println!("memory after work: {} MB, on disk {} MB", rss_mb(), disk_mb(&store).await);
    let (closed, took) = timed_async(store.close()).await;
    closed.unwrap();
    drop(store);
    println!("close: {took:.1?}; memory {} MB", rss_mb());
    if has("open") {
        for _ in 0..3 {
            let (store, took) = timed(|| open(dir));
            println!("open: {took:.1?}; memory {} MB, on disk {} MB", rss_mb(), disk_mb(&store).await);
            store.close().await.unwrap();
        }
    }
    if has("check") {
        let store = open(dir);
        let (report, took) = timed_async(store.check()).await;
        println!("check: {} in {took:.1?}", report.unwrap());
    }
}

async fn new(dir: &Path) {
    for _ in 0..3 {
        let empty = tempfile::tempdir_in(dir).unwrap();
        let (store, took) = timed(|| open(empty.path()));
        println!("open, new: {took:.1?}; memory {} MB", rss_mb());
        store.close().await.unwrap();
        drop(store);
        let (store, took) = timed(|| open(empty.path()));
        println!("open, empty: {took:.1?}");
        store.close().await.unwrap();
    }
}

async fn write(store: &Arc<Store>, writers: usize, seconds: f64, round: usize) {
    let (_, groups_before) = store.commits_and_groups();
    let cpu_before = cpu();
    let start = Instant::now();
    let end = start + Duration::from_secs_f64(seconds);
    let slowest = Arc::new(AtomicU64::new(0));
    let tasks: Vec<_> = (0..writers)
        .map(|writer| {
            let (store, slowest) = (Arc::clone(store), Arc::clone(&slowest));
            tokio::spawn(async move {
                let mut rng = Rng::new((round * 1000 + writer * 10 + writers) as u64);
                let mut latencies = vec![];
                while Instant::now() < end {
                    let partition = format!("w{:03}", rng.below(1000));
                    let row = format!("{:016x}", rng.next_u64());
                    let write = Write {
                        row: row.into(),
                        condition: Condition::Absent,
                        change: Change::Put(value(&mut rng)),
                    };
                    let begin = Instant::now();
                    let applied = store.apply(TABLE, &partition, vec![write]).await.unwrap();
                    assert!(matches!(applied, Applied::Done { .. }));
                    let took = u64::try_from(begin.elapsed().as_micros()).unwrap();
                    slowest.fetch_max(took, Ordering::Relaxed);
                    latencies.push(took);
                }
                latencies
            })
        })
        .collect();
    let mut latencies = vec![];
    for task in tasks {
        latencies.extend(task.await.unwrap());
    }
    latencies.sort_unstable();
    let count = latencies.len();
    let percentile = |p: usize| latencies[(count * p / 100).min(count - 1)];
    let (_, groups) = store.commits_and_groups();
    println!(
        "write, {writers} writers: {:.0} commits/s, {:.1} a sync, p50 {} us, p99 {} us, max {} us, CPU {:.1} us each",
        count as f64 / start.elapsed().as_secs_f64(),
        count as f64 / (groups - groups_before) as f64,
        percentile(50),
        percentile(99),
        slowest.load(Ordering::Relaxed),
        (cpu() - cpu_before).as_secs_f64() * 1e6 / count as f64,
    );
}

/// Appends to a file and syncs it, and nothing else.
fn sync_disk(dir: &Path, seconds: f64) {
    let path = dir.join("sync");
    let mut file = std::fs::File::create(&path).unwrap();
    file.set_len(64 << 20).unwrap();
    file.sync_all().unwrap();
    let start = Instant::now();
    let mut count = 0;
    while start.elapsed().as_secs_f64() < seconds {
        file.write_all(&[7; VALUE_BYTES + 100]).unwrap();
        file.sync_data().unwrap();
        count += 1;
    }
    println!("disk: {:.0} syncs/s", f64::from(count) / start.elapsed().as_secs_f64());
    std::fs::remove_file(path).unwrap();
}

async fn fill(store: &Store, rows: usize) {
    let cpu_before = cpu();
    let start = Instant::now();
    let mut rng = Rng::new(77);
    for first in (0..rows).step_by(100) {
        let writes = (first..first + 100).map(|n| Write {
            row: format!("{n:09}").into(),
            condition: Condition::Any,
            change: Change::Put(value(&mut rng)),
        });
        store.apply(TABLE, partition_of(first), writes.collect()).await.unwrap();
    }
    println!(
        "fill with {rows} rows in commits of 100: {:.0} rows/s, CPU {:.1} us a row; memory {} MB",
        rows as f64 / start.elapsed().as_secs_f64(),
        (cpu() - cpu_before).as_secs_f64() * 1e6 / rows as f64,
        rss_mb(),
    );
}

fn partition_of(row: usize) -> &'static str {
    ["f0", "f1", "f2", "f3"][row / 10_000 % 4]
}

async fn read(store: &Store, name: &str, among: usize, seconds: f64) {
    let mut rng = Rng::new(3);
    for warm in [true, false] {
        let cpu_before = cpu();
        let start = Instant::now();
        let mut count = 0;
        while start.elapsed().as_secs_f64() < seconds / 2.0 {
            for _ in 0..100 {
                let n = rng.below(among);
                let found = store.get(TABLE, partition_of(n), &[&format!("{n:09}")]).await.unwrap();
                assert_eq!(found[0].as_ref().unwrap().value.len(), VALUE_BYTES);
                count += 1;
            }
        }
        if !warm {
            println!(
                "get, among {name}: CPU {:.2} us each",
                (cpu() - cpu_before).as_secs_f64() * 1e6 / f64::from(count)
            );
        }
    }
}

async fn scan(store: &Store, rows: usize) {
    for (name, ranges) in
        [("a partition", vec![KeyRange::partition("f0")]), ("the table", vec![KeyRange::ALL])]
    {
        for _ in 0..2 {
            let cpu_before = cpu();
            let start = Instant::now();
            let scan = Scan {
                table: TABLE,
                ranges: ranges.clone(),
                rows_max: 1000,
                bytes_max: 4 << 20,
                judge: Box::new(|_| Ok(Verdict::Skip)),
            };
            let page = store.scan(scan).await.unwrap();
            println!(
                "scan of {name} that keeps nothing, {} rows: {:.2} us a row, CPU {:.2} us",
                page.rows_read,
                start.elapsed().as_secs_f64() * 1e6 / page.rows_read as f64,
                (cpu() - cpu_before).as_secs_f64() * 1e6 / page.rows_read as f64,
            );
        }
    }
    let mut rng = Rng::new(4);
    let cpu_before = cpu();
    let start = Instant::now();
    for _ in 0..200 {
        let n = rng.below(rows);
        let start = lazuli_engine::Bound::Included(lazuli_engine::KeyPosition {
            partition: partition_of(n).into(),
            row: format!("{n:09}"),
        });
        let scan = Scan {
            table: TABLE,
            ranges: vec![KeyRange { start, end: lazuli_engine::Bound::Open }],
            rows_max: 1000,
            bytes_max: 4 << 20,
            judge: Box::new(|_| Ok(Verdict::Keep)),
        };
        store.scan(scan).await.unwrap();
    }
    println!(
        "scan of pages of 1000: {:.0} us a page, CPU {:.0} us",
        start.elapsed().as_secs_f64() * 1e6 / 200.0,
        (cpu() - cpu_before).as_secs_f64() * 1e6 / 200.0
    );
}

fn value(rng: &mut Rng) -> Bytes {
    let mut bytes = Vec::with_capacity(VALUE_BYTES);
    while bytes.len() < VALUE_BYTES {
        bytes.extend_from_slice(format!("{:016x}", rng.next_u64()).as_bytes());
    }
    bytes.into()
}

fn open(dir: &Path) -> Store {
    let cache_bytes = std::env::var("CACHE_MIB").map_or(64, |mib| mib.parse::<u64>().unwrap()) << 20;
    Store::open(dir, Options::default().with_caches(cache_bytes)).unwrap()
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

async fn timed_async<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let start = Instant::now();
    let result = work.await;
    (result, start.elapsed())
}

async fn disk_mb(store: &Store) -> u64 {
    store.status().await.unwrap().disk_bytes.unwrap_or(0) >> 20
}

fn rss_mb() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) >> 10
}

/// CPU time of this process so far, of user and system together.
fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |n: usize| fields.get(n).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    Duration::from_millis((ticks(11) + ticks(12)) * 10)
}
