//! The process is ended at every step of an upload and of its reclaim: content that a row names is present and
//! complete, and the next process frees the rest.
//!
//! The writing process is this test binary again, running the test `uploader` with a directory to work in.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;

use bytes::Bytes;
use lazuli_engine::content::conformance::{bytes_of, read_all, settled};
use lazuli_engine::content::{Content, PIECE_ENCODED_BYTES, Piece};
use lazuli_engine::{Applied, Change, Condition, Engine, KeyRange, RowView, Scan, TableId, Verdict, Write};
use lazuli_store::crash_point::{Point, VARIABLE};
use lazuli_store::{Options, Store};

use crate::support::directory;

const DIRECTORY: &str = "LAZULI_CONTENT_CRASH_DIRECTORY";
const TABLE: TableId = TableId(1 << 40);
const WRITERS: u64 = 3;
const UPLOADS: u64 = 20;
const SIGABRT: i32 = 6;
const SIGKILL: i32 = 9;

/// Not a test by itself: the other tests here start it and kill it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uploader() {
    let Ok(dir) = std::env::var(DIRECTORY) else { return };
    let store = Arc::new(Store::open(dir, options()).unwrap());
    let content = store.content().unwrap();
    // Delete everything of earlier processes after writing something new: then whole packs can be removed.
    let old = rows(&store).await;
    upload(&store, &*content, u64::MAX, 0).await;
    for (row, pieces, _) in &old {
        forget(&store, &*content, row, pieces).await;
    }
    sweep(&store, &*content).await;
    settled(&*content).await;
    let tasks: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (store, content) = (Arc::clone(&store), Arc::clone(&content));
            tokio::spawn(async move {
                for number in 0..UPLOADS {
                    let (row, pieces) = upload(&store, &*content, writer, number).await;
                    if number % 3 == 1 {
                        forget(&store, &*content, &row, &pieces).await;
                    }
                    // An upload that is abandoned.
                    let mut writer = content.begin(None, None);
                    writer.write(bytes_of(number, 300_000)).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    settled(&*content).await;
    store.close().await.unwrap();
    say("closed");
}

fn options() -> Options {
    Options { cache_bytes: 1 << 20, ..Options::default() }
}

/// In one write, so that the line is complete or absent.
fn say(line: &str) {
    std::io::stdout().write_all(format!("\nack {line}\n").as_bytes()).unwrap();
}

/// Stores content, names it in a row, and reports it.
async fn upload(store: &Store, content: &dyn Content, writer: u64, number: u64) -> (String, Vec<Piece>) {
    let seed = writer.wrapping_mul(1000).wrapping_add(number);
    let size = [9_000, 70_000, 1_200_000, 300_000][usize::try_from(number % 4).unwrap()];
    let mut upload = content.begin(Some(size as u64), None);
    let mut rest = bytes_of(seed, size);
    while !rest.is_empty() {
        upload.write(rest.split_to(rest.len().min(150_000))).await.unwrap();
    }
    let pieces = upload.seal().await.unwrap();
    let mut value = seed.to_be_bytes().to_vec();
    pieces.iter().for_each(|piece| value.extend_from_slice(&piece.encode()));
    let row = format!("{:x}-{writer}-{number}", pieces[0].stream);
    commit(store, &row, Change::Put(value.into())).await;
    say(&format!("put {row}"));
    (row, pieces)
}

/// Removes the row, then the content.
async fn forget(store: &Store, content: &dyn Content, row: &str, pieces: &[Piece]) {
    say(&format!("del {row}"));
    commit(store, row, Change::Delete).await;
    content.release(pieces.to_vec()).await.unwrap();
}

async fn commit(store: &Store, row: &str, change: Change) {
    let write = Write { row: row.into(), condition: Condition::Any, change };
    let done = store.apply(TABLE, "p", vec![write]).await.unwrap();
    assert!(matches!(done, Applied::Done { .. }), "{done:?}");
}

/// Every row with the pieces that it names and the seed of their bytes.
async fn rows(store: &Store) -> Vec<(String, Vec<Piece>, u64)> {
    let judge = Box::new(|_: RowView<'_>| Ok(Verdict::Keep));
    let scan = Scan {
        table: TABLE,
        ranges: vec![KeyRange::ALL],
        rows_max: usize::MAX,
        bytes_max: usize::MAX,
        judge,
    };
    let page = store.scan(scan).await.unwrap();
    let read = |value: &Bytes| {
        let (seed, pieces) = value.split_first_chunk().unwrap();
        let pieces = pieces.as_chunks::<PIECE_ENCODED_BYTES>().0;
        (pieces.iter().map(|piece| Piece::decode(piece).unwrap()).collect(), u64::from_be_bytes(*seed))
    };
    page.rows.into_iter().map(|row| (row.row.into(), read(&row.value).0, read(&row.value).1)).collect()
}

async fn sweep(store: &Store, content: &dyn Content) {
    let mut sweep = content.sweep().await.unwrap();
    for (_, pieces, _) in rows(store).await {
        pieces.iter().for_each(|piece| sweep.keep(piece));
    }
    assert!(sweep.finish().await.unwrap().is_complete);
}

/// How a run of the uploader ended.
struct Ended {
    /// Rows that were acknowledged and not removed.
    named: Vec<String>,
    is_closed: bool,
    status: ExitStatus,
}

fn run(dir: &Path, crash_at: Option<&str>, kill_after_lines: Option<usize>) -> Ended {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["content_crash::uploader", "--exact", "--nocapture", "--test-threads", "1"])
        .env(DIRECTORY, dir)
        .envs(crash_at.map(|at| (VARIABLE, at)))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (mut named, mut is_closed) = (Vec::new(), false);
    let output = BufReader::new(child.stdout.take().unwrap());
    for (count, line) in output.lines().map_while(Result::ok).enumerate() {
        if Some(count) == kill_after_lines {
            child.kill().unwrap();
        }
        match line.strip_prefix("ack ").and_then(|text| text.split_once(' ')) {
            Some(("put", row)) => named.push(row.to_owned()),
            Some((_, row)) => named.retain(|other| other != row),
            None => is_closed |= line == "ack closed",
        }
    }
    Ended { named, is_closed, status: child.wait().unwrap() }
}

/// Content that rows name is present; other content is freed by a sweep.
async fn verify(dir: &Path, named: &[String], context: &str) {
    let store = Store::open(dir, options()).unwrap();
    let content = store.content().unwrap();
    let rows = rows(&store).await;
    for row in named {
        assert!(rows.iter().any(|(other, ..)| other == row), "{context}: {row} is missing");
    }
    let mut live = 0;
    for (row, pieces, seed) in &rows {
        let length: u32 = pieces.iter().map(|piece| piece.length).sum();
        let found = read_all(&*content, pieces).await;
        assert!(found == Ok(bytes_of(*seed, length as usize)), "{context}: {row} {:?}", found.map(drop));
        live += pieces.iter().map(Piece::footprint).sum::<u64>();
    }
    sweep(&store, &*content).await;
    let status = settled(&*content).await;
    assert_eq!((status.live, status.unswept), (live, 0), "{context}");
    for (row, pieces, _) in &rows {
        assert!(read_all(&*content, pieces).await.is_ok(), "{context}: {row} after the sweep");
    }
}

/// Durability of content: kill at every step of an upload and of its reclaim.
#[tokio::test]
async fn uploads_killed_at_every_crash_point() {
    let dir = directory();
    run(dir.path(), None, None);
    for point in Point::CONTENT {
        for count in [1, 2, 7] {
            // These are passed for each new or removed pack.
            let is_rare = matches!(
                point,
                Point::BeforeContentEntry
                    | Point::AfterContentEntry
                    | Point::BeforeContentUnlink
                    | Point::AfterContentUnlink
            );
            if is_rare && count > 1 {
                continue;
            }
            let at = format!("{}:{count}", point.name());
            let Ended { named, status, .. } = run(dir.path(), Some(&at), None);
            assert_eq!(status.signal(), Some(SIGABRT), "{at} was never passed: {status}");
            verify(dir.path(), &named, &at).await;
        }
    }
    let Ended { named, is_closed, status } = run(dir.path(), None, None);
    assert!(is_closed && status.success(), "{status}");
    verify(dir.path(), &named, "closed").await;
}

/// Durability of content: kill at any moment.
#[tokio::test]
async fn uploads_killed_at_any_moment() {
    let dir = directory();
    for round in 0..6 {
        let Ended { named, is_closed, status } = run(dir.path(), None, Some(8 + round * 17));
        assert!(status.signal() == Some(SIGKILL) || is_closed, "round {round}: {status}");
        verify(dir.path(), &named, &format!("round {round}")).await;
    }
}
