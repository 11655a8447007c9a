//! Measures content in packs: `cargo run --release -p lazuli-store --example content -- [seconds] [dir]`.
//!
//! Prints durable uploads per second, each followed by the commit of a row that names it; downloads of content in the
//! page cache; ranges; and how fast space is freed. For comparison, one thread writes the same bytes to a plain file
//! and syncs after each write. CPU time is that of the whole process.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::disallowed_methods, reason = "a measuring tool")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use lazuli_engine::conformance::Rng;
use lazuli_engine::content::conformance::{bytes_of, settled};
use lazuli_engine::content::{Content, Piece};
use lazuli_engine::{Applied, Change, Condition, Engine, TableId, Write};
use lazuli_store::{Options, Store};

const TABLE: TableId = TableId(1);
const KIB: usize = 1024;
/// The chunk size that the server passes on.
const PART_BYTES: usize = 64 * KIB;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let seconds: f64 = arguments.first().map_or(2.0, |text| text.parse().unwrap());
    let (dir, _temporary) = match arguments.get(1) {
        Some(dir) => (PathBuf::from(dir), None),
        None => {
            let temporary = tempfile::tempdir().unwrap();
            (temporary.path().to_owned(), Some(temporary))
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(run(&dir, Duration::from_secs_f64(seconds)));
}

async fn run(dir: &Path, time: Duration) {
    let store = Arc::new(Store::open(dir.join("store"), Options::default()).unwrap());
    let content = store.content().unwrap();
    for (size, writers) in [(16 * KIB, 16), (64 * KIB, 16), (64 * KIB, 64), (256 * KIB, 16), (4096 * KIB, 16)]
    {
        plain_file(dir, size, time / 2);
        let pieces = put(&store, &content, size, writers, time).await;
        get(&content, &pieces, 8, time / 2).await;
        free(&content, pieces).await;
    }
    let large = put(&store, &content, 64 * 1024 * KIB, 4, time).await;
    ranges(&content, &large, 8, time / 2).await;
    store.close().await.unwrap();
}

/// One thread that writes the same bytes to one file and syncs after each write.
fn plain_file(dir: &Path, size: usize, time: Duration) {
    let bytes = bytes_of(1, size);
    let path = dir.join("plain");
    let mut file = std::fs::File::create(&path).unwrap();
    let (start, mut count) = (Instant::now(), 0);
    while start.elapsed() < time {
        file.write_all(&bytes).unwrap();
        file.sync_data().unwrap();
        count += 1;
    }
    print("plain file, 1 thread", size, count, start.elapsed(), None);
    std::fs::remove_file(path).unwrap();
}

async fn put(
    store: &Arc<Store>,
    content: &Arc<dyn Content>,
    size: usize,
    writers: u64,
    time: Duration,
) -> Vec<Piece> {
    let (start, before) = (Instant::now(), cpu());
    let tasks: Vec<_> = (0..writers)
        .map(|writer| {
            let (store, content, bytes) = (Arc::clone(store), Arc::clone(content), bytes_of(writer, size));
            tokio::spawn(async move {
                let (mut pieces, mut slowest) = (Vec::new(), Duration::ZERO);
                while start.elapsed() < time {
                    let begun = Instant::now();
                    pieces.push(put_one(&store, &*content, writer, pieces.len(), bytes.clone()).await);
                    slowest = slowest.max(begun.elapsed());
                }
                (pieces, slowest)
            })
        })
        .collect();
    let (mut all, mut slowest) = (Vec::new(), Duration::ZERO);
    for task in tasks {
        let (pieces, time) = task.await.unwrap();
        all.extend(pieces);
        slowest = slowest.max(time);
    }
    let spent = (cpu() - before) / u32::try_from(all.len().max(1)).unwrap();
    print(&format!("put, {writers} writers"), size, all.len(), start.elapsed(), Some((spent, slowest)));
    all
}

async fn put_one(store: &Store, content: &dyn Content, writer: u64, number: usize, mut rest: Bytes) -> Piece {
    let mut upload = content.begin(Some(rest.len() as u64), None);
    while !rest.is_empty() {
        upload.write(rest.split_to(rest.len().min(PART_BYTES))).await.unwrap();
    }
    let piece = upload.seal().await.unwrap()[0];
    let mut value = piece.encode().to_vec();
    value.resize(300, 7);
    let row = number.to_string().into();
    let write = Write { row, condition: Condition::Any, change: Change::Put(value.into()) };
    let done = store.apply(TABLE, &writer.to_string(), vec![write]).await.unwrap();
    assert!(matches!(done, Applied::Done { .. }));
    piece
}

async fn get(content: &Arc<dyn Content>, pieces: &[Piece], readers: u64, time: Duration) {
    read(content, pieces, readers, time, "get", |_, piece| 0..u64::from(piece.length)).await;
}

async fn ranges(content: &Arc<dyn Content>, pieces: &[Piece], readers: u64, time: Duration) {
    let range = |rng: &mut Rng, piece: &Piece| {
        let start = rng.below(piece.length as usize - 64 * KIB) as u64;
        start..start + 64 * KIB as u64
    };
    read(content, pieces, readers, time, "get 64 KiB", range).await;
}

async fn read(
    content: &Arc<dyn Content>,
    pieces: &[Piece],
    readers: u64,
    time: Duration,
    what: &str,
    range: fn(&mut Rng, &Piece) -> std::ops::Range<u64>,
) {
    let (start, before) = (Instant::now(), cpu());
    let tasks: Vec<_> = (0..readers)
        .map(|seed| {
            let (content, pieces) = (Arc::clone(content), pieces.to_vec());
            tokio::spawn(async move {
                let (mut rng, mut count, mut bytes) = (Rng::new(seed), 0, 0);
                while start.elapsed() < time {
                    let piece = rng.pick(&pieces);
                    let mut reader = content.read(piece, range(&mut rng.clone(), piece));
                    rng.next_u64();
                    while let Some(chunk) = reader.next().await.unwrap() {
                        bytes += chunk.len();
                    }
                    count += 1;
                    tokio::task::yield_now().await;
                }
                (count, bytes)
            })
        })
        .collect();
    let (mut count, mut bytes) = (0, 0);
    for task in tasks {
        let read = task.await.unwrap();
        count += read.0;
        bytes += read.1;
    }
    let spent = (cpu() - before) / u32::try_from(count).unwrap();
    let what = format!("{what}, {readers} readers");
    print(&what, bytes / count, count, start.elapsed(), Some((spent, Duration::ZERO)));
}

async fn free(content: &Arc<dyn Content>, pieces: Vec<Piece>) {
    let (start, count, size) = (Instant::now(), pieces.len() / 2, pieces[0].length as usize);
    let every_second: Vec<Piece> = pieces.iter().step_by(2).copied().collect();
    content.release(every_second).await.unwrap();
    settled(&**content).await;
    print("free every second", size, count, start.elapsed(), None);
    content.release(pieces).await.unwrap();
    settled(&**content).await;
}

fn print(what: &str, size: usize, count: usize, time: Duration, cost: Option<(Duration, Duration)>) {
    let rate = count as f64 / time.as_secs_f64();
    let (cpu, slowest) = cost.unwrap_or_default();
    println!(
        "{:>6} KiB  {what:<22} {rate:>9.0} /s {:>7.0} MB/s  {:>6} us CPU each  slowest {:>4} ms",
        size / KIB,
        rate * size as f64 / 1e6,
        cpu.as_micros(),
        slowest.as_millis()
    );
}

/// CPU time of this process so far.
fn cpu() -> Duration {
    let usage = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(usage.tv_sec.unsigned_abs(), u32::try_from(usage.tv_nsec).unwrap_or(0))
}
