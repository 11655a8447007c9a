//! The process is ended at every crash point, and by the system at a random moment: everything acknowledged is present,
//! and nothing is present in part.
//!
//! The writing process is this test binary again, running the test `writer` with a directory to work in.

use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;

use lazuli_engine::conformance::upsert;
use lazuli_engine::{Applied, Clock, Engine, Error, TableId};
use lazuli_store::crash_point::{Point, VARIABLE};
use lazuli_store::{Options, Store};

use crate::support::directory;

const DIRECTORY: &str = "LAZULI_CRASH_DIRECTORY";
/// Set for a writer that is to be killed.
const UNTIL_KILLED: &str = "LAZULI_CRASH_UNTIL_KILLED";
const WRITERS: usize = 4;
const COMMITS: u64 = 30;
/// Number of commits in a run that ends during background work (whose timing varies), while rows are erased (which
/// synchronised writers do in one group), or by a kill (which may come late on a busy machine). The output of this many
/// commits does not fit into the pipe, so the process waits for its reader.
const COMMITS_MAX: u64 = 3000;
const WAITED_FOR: [Point; 4] = [Point::WritingOut, Point::Merging, Point::BeforeErase, Point::AfterErase];
/// A table id that the store does not assign here.
const TABLE: TableId = TableId(1 << 40);
/// The last number of each writer.
type Latest = [Option<u64>; WRITERS];
const ROWS: [&str; 4] = ["a", "b", "c", "d"];
/// The signals by which a process ends at a crash point, and by kill -9.
const SIGABRT: i32 = 6;
const SIGKILL: i32 = 9;

/// Not a test by itself: the other tests here start it and kill it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writer() {
    let Ok(dir) = std::env::var(DIRECTORY) else { return };
    let store = Arc::new(Store::open(dir, options()).unwrap());
    let tasks: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { write(&store, writer).await.unwrap() })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    store.close().await.unwrap();
    say("closed");
}

fn options() -> Options {
    Options { memtable_bytes: 40 * 1024, cache_bytes: 1 << 20, clock: Clock::system(), ..Options::default() }
}

/// Commits numbers, each in four rows and in one of its own, and reports each one that the store has acknowledged.
async fn write(store: &Store, writer: usize) -> Result<(), Error> {
    let partition = writer.to_string();
    let start = latest(store, writer).await.map_or(0, |number| number + 1);
    let at = std::env::var(VARIABLE).unwrap_or_default();
    let waits = WAITED_FOR.iter().any(|point| at.starts_with(point.name()))
        || std::env::var_os(UNTIL_KILLED).is_some();
    for number in start..start + if waits { COMMITS_MAX } else { COMMITS } {
        let value = format!("{number} {}", "x".repeat(200));
        let mut writes: Vec<_> = ROWS.iter().map(|row| upsert(row, &value)).collect();
        writes.push(upsert(&format!("n{number}"), &value));
        // The catalog, or its substitute here: written before the rows, so that it is never behind them.
        store.apply(TableId::SYSTEM, &partition, vec![upsert("latest", &value)]).await?;
        let Applied::Done { .. } = store.apply(TABLE, &partition, writes).await? else { panic!("rejected") };
        say(&format!("{writer} {number}"));
        if number % 5 == 0 {
            let table = store.fresh_table().await?;
            let rows = (0..50).map(|row| upsert(&row.to_string(), "x")).collect();
            store.apply(table, "doomed", rows).await?;
            while !store.erase(table).await? {}
        }
    }
    Ok(())
}

/// In one write, so that the line is complete or absent.
fn say(line: &str) {
    std::io::stdout().write_all(format!("\nack {line}\n").as_bytes()).unwrap();
}

/// The number in a value.
fn number(value: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(value).into_owned();
    text.split(' ').next().unwrap().parse().unwrap()
}

async fn latest(store: &Store, writer: usize) -> Option<u64> {
    let rows = store.get(TABLE, &writer.to_string(), &ROWS).await.unwrap();
    let numbers: Vec<Option<u64>> = rows.iter().map(|row| Some(number(&row.as_ref()?.value))).collect();
    assert!(numbers.iter().all(|number| *number == numbers[0]), "part of a commit: {numbers:?}");
    numbers[0]
}

/// How a run of the writer ended.
struct Ended {
    /// The last number acknowledged for each.
    acknowledged: Latest,
    is_closed: bool,
    status: ExitStatus,
}

/// Runs the writer.
fn run(dir: &Path, crash_at: Option<&str>, kill_after_lines: Option<usize>) -> Ended {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["crash::writer", "--exact", "--nocapture", "--test-threads", "1"])
        .env(DIRECTORY, dir)
        .envs(crash_at.map(|at| (VARIABLE, at)))
        .envs(kill_after_lines.map(|_| (UNTIL_KILLED, "1")))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut acknowledged = [None; WRITERS];
    let mut is_closed = false;
    let output = std::io::BufReader::new(child.stdout.take().unwrap());
    for (count, line) in std::io::BufRead::lines(output).map_while(Result::ok).enumerate() {
        if Some(count) == kill_after_lines {
            child.kill().unwrap();
        }
        match line.strip_prefix("ack ").and_then(|text| text.split_once(' ')) {
            Some((writer, number)) => {
                acknowledged[writer.parse::<usize>().unwrap()] = Some(number.parse().unwrap());
            }
            None => is_closed |= line == "ack closed",
        }
    }
    Ended { acknowledged, is_closed, status: child.wait().unwrap() }
}

/// The store contains the acknowledged commits of this and earlier runs, and at most one more.
/// Returns the last of each writer.
async fn verify(dir: &Path, before: Latest, acknowledged: Latest, context: &str) -> Latest {
    let store = Store::open(dir, options()).unwrap();
    let mut found = [None; WRITERS];
    for writer in 0..WRITERS {
        let latest = latest(&store, writer).await;
        let certain = acknowledged[writer].or(before[writer]);
        let next = certain.map_or(0, |number| number + 1);
        assert!(
            latest == certain || latest == Some(next),
            "{context}: {latest:?} found, {certain:?} certain"
        );
        for number in 0..latest.map_or(0, |number| number + 1) {
            let row = store.get(TABLE, &writer.to_string(), &[&format!("n{number}")]).await.unwrap();
            assert!(row[0].is_some(), "{context}: commit {number} of writer {writer} is missing");
        }
        let catalog = store.get(TableId::SYSTEM, &writer.to_string(), &["latest"]).await.unwrap();
        let catalog = catalog[0].as_ref().map(|row| number(&row.value));
        assert!(catalog >= latest, "{context}: the catalog says {catalog:?}, the rows {latest:?}");
        assert!(catalog <= Some(latest.map_or(0, |latest| latest + 1)), "{context}: {catalog:?}, {latest:?}");
        found[writer] = latest;
    }
    let report = store.check().await.unwrap();
    assert!(report.is_clean(), "{context}: {report:?}");
    found
}

#[tokio::test]
async fn killed_at_every_crash_point() {
    let dir = directory();
    let mut latest = [None; WRITERS];
    for point in Point::COMMIT {
        for count in [1, 9] {
            // These are passed once in a run.
            if count > 1 && matches!(point, Point::Created | Point::Closing) {
                continue;
            }
            let at = format!("{}:{count}", point.name());
            let Ended { acknowledged, status, .. } = run(dir.path(), Some(&at), None);
            assert_eq!(status.signal(), Some(SIGABRT), "{at} was never passed: {status}");
            latest = verify(dir.path(), latest, acknowledged, &at).await;
        }
    }
    let Ended { acknowledged, is_closed, status } = run(dir.path(), None, None);
    assert!(is_closed && status.success(), "{status}");
    let closed = verify(dir.path(), latest, acknowledged, "closed").await;
    assert_eq!(closed, acknowledged);
}

#[tokio::test]
async fn killed_at_any_moment() {
    let dir = directory();
    let mut latest = [None; WRITERS];
    for round in 0..6 {
        let Ended { acknowledged, is_closed, status } = run(dir.path(), None, Some(20 + round * 37));
        assert!(
            status.signal() == Some(SIGKILL) && !is_closed,
            "round {round} was over before the kill: {status}"
        );
        assert!(acknowledged.iter().any(Option::is_some), "round {round}: nothing was acknowledged");
        latest = verify(dir.path(), latest, acknowledged, &format!("round {round}")).await;
    }
}
