//! Several engines on one database: they see each other's changes, and no two versions are the same.

use std::collections::HashSet;
use std::sync::Arc;

use lazuli_engine::conformance::{insert, put, row_texts, upsert};
use lazuli_engine::{
    Applied, Bound, Clock, Condition, Engine, KeyPosition, KeyRange, Row, Scan, TableId, Verdict, Version,
    Write,
};
use lazuli_postgres::{Postgres, SCHEMA_VERSION};
use sha2::{Digest as _, Sha256};
use tokio::task::JoinSet;

use crate::support::{client, open, schema, server, url_of, with};

const TABLE: TableId = TableId(7);

async fn done(engine: &dyn Engine, partition: &str, writes: Vec<Write>) -> Version {
    match engine.apply(TABLE, partition, writes).await {
        Ok(Applied::Done { version, .. }) => version,
        other => panic!("not done: {other:?}"),
    }
}

async fn scan(engine: &dyn Engine, ranges: Vec<KeyRange>, rows_max: usize) -> lazuli_engine::Page {
    let judge = Box::new(|_: lazuli_engine::RowView<'_>| Ok(Verdict::Keep));
    let scan = Scan { table: TABLE, ranges, rows_max, bytes_max: usize::MAX, judge };
    engine.scan(scan).await.expect("the engine scans")
}

/// WR-12: front ends with clocks hours apart write the same row in turn; its versions are unique and increase.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn versions_increase_whichever_front_end_writes() {
    let schema = schema().await;
    let hour = 36_000_000_000;
    let now = Clock::system().ticks();
    let mut engines = vec![];
    for ticks in [now, now + hour, now - hour, 5] {
        engines.push(open(url_of(&server(), &schema), Clock::new(move || ticks)).await);
    }
    let mut last = Version(0);
    let mut seen = HashSet::new();
    for round in 0..40 {
        let engine = &*engines[round % engines.len()];
        let writes = vec![upsert("a", &round.to_string()), upsert(&round.to_string(), "x")];
        let version = done(engine, "p", writes).await;
        assert!(version > last, "round {round}: {version:?} after {last:?}");
        assert!(seen.insert(version));
        last = version;
    }
    // Each of them can replace the row if it names the row's current version.
    for engine in &engines {
        let version = done(&**engine, "p", vec![put("a", Condition::Version(last), "y")]).await;
        assert!(version > last);
        last = version;
    }
}

/// Many engines with stopped clocks at once: no version occurs twice, in any partition.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_two_front_ends_issue_the_same_version() {
    let schema = schema().await;
    let mut tasks = JoinSet::new();
    for number in 0..4 {
        let engine = open(url_of(&server(), &schema), Clock::new(|| 1_000_000)).await;
        tasks.spawn(async move {
            let mut versions = vec![];
            for round in 0..30 {
                versions
                    .push(done(&*engine, &number.to_string(), vec![upsert(&round.to_string(), "x")]).await);
            }
            versions
        });
    }
    let all: Vec<Version> = tasks.join_all().await.into_iter().flatten().collect();
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), 120);
}

/// Keys of the maximum length, with any characters, keep their order and stay distinct.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn keys_too_long_for_an_index_keep_order_and_uniqueness() {
    let schema = schema().await;
    let engine = open(url_of(&server(), &schema), Clock::system()).await;
    let other = open(url_of(&server(), &schema), Clock::system()).await;
    // Random characters, so that nothing fits because it can be compressed.
    let mut random = lazuli_engine::conformance::Rng::new(11);
    let mut text = |units: usize| -> String {
        (0..units)
            .map(|_| char::from_u32(0x4e00 + random.below(20_000) as u32).expect("a character"))
            .collect()
    };
    let long = text(1024);
    let partitions = ["a".to_owned(), long.clone(), format!("{long}x"), "\u{ffff}".into()];
    let mut keys: Vec<(String, String)> = vec![];
    for partition in &partitions {
        for row in ["", "b", &text(10), &text(1024), &text(1024), &format!("{long}{}", '\u{e000}'), &long] {
            keys.push((partition.clone(), row.to_owned()));
        }
    }
    for (partition, row) in &keys {
        done(&*engine, partition, vec![insert(row, "1")]).await;
        let again = engine.apply(TABLE, partition, vec![insert(row, "2")]).await;
        assert!(matches!(again, Ok(Applied::Rejected { index: 0, .. })), "{again:?}");
        let row = row.as_str();
        let found = other.get(TABLE, partition, &[row, "none"]).await.expect("the engine reads");
        assert_eq!(found[0].as_ref().map(|found| &*found.row), Some(row));
        assert_eq!(found[1], None);
    }
    keys.sort_by_key(|(partition, row)| {
        (partition.encode_utf16().collect::<Vec<_>>(), row.encode_utf16().collect::<Vec<_>>())
    });
    let texts = |rows: &[Row]| -> Vec<(String, String)> {
        rows.iter().map(|row| (row.partition.to_string(), row.row.to_string())).collect()
    };
    // `shared_state`, which every request calls, notifies the other engine that long keys exist.
    other.shared_state().await.expect("the engine responds");
    for engine in [&engine, &other] {
        assert_eq!(texts(&scan(&**engine, vec![KeyRange::ALL], usize::MAX).await.rows), keys);
        for rows_max in [1, 3, 5] {
            let (mut found, mut start) = (vec![], Bound::Open);
            loop {
                let page = scan(&**engine, vec![KeyRange { start, end: Bound::Open }], rows_max).await;
                found.extend(texts(&page.rows));
                match page.next {
                    Some(next) => start = Bound::Included(next),
                    None => break,
                }
            }
            assert_eq!(found, keys, "pages of {rows_max}");
        }
    }
    // A long key is found by a scan of this key alone, and can be in one commit with a short key.
    let place = KeyPosition { partition: long.clone(), row: long.clone() };
    let point = KeyRange { start: Bound::Included(place.clone()), end: Bound::Included(place) };
    assert_eq!(scan(&*other, vec![point], 10).await.rows.len(), 1);
    let version = done(&*other, &long, vec![upsert(&long, "3"), upsert("b", "3"), upsert("new", "3")]).await;
    let found = engine.get(TABLE, &long, &[&long, "b", "new"]).await.expect("the engine reads");
    assert!(found.iter().flatten().filter(|row| row.version == version).count() == 3);
    while !engine.erase(TABLE).await.expect("the engine erases") {}
    assert_eq!(scan(&*other, vec![KeyRange::ALL], usize::MAX).await.rows, []);
}

/// A former bug: a long key whose hash begins with 0xFF sorted after the upper bound for removing the rows of a
/// deleted table, and was never removed.
#[tokio::test]
async fn long_keys_are_erased_whatever_their_hash() {
    let schema = schema().await;
    let engine = open(url_of(&server(), &schema), Clock::system()).await;
    let hashes_high = |partition: &String| Sha256::digest(partition)[0] == 0xFF;
    let partition = (0..).map(|number| format!("p{number}")).find(hashes_high).expect("one in 256 does");
    done(&*engine, &partition, vec![insert(&"r".repeat(3000), "1")]).await;
    while !engine.erase(TABLE).await.expect("the engine erases") {}
    assert_eq!(scan(&*engine, vec![KeyRange::ALL], usize::MAX).await.rows, []);
}

/// The state that front ends share changes with each change to the system table, and with no other change.
#[tokio::test]
async fn the_shared_state_changes_with_the_system_table() {
    let schema = schema().await;
    let one = open(url_of(&server(), &schema), Clock::system()).await;
    let two = open(url_of(&server(), &schema), Clock::system()).await;
    let state = async |engine: &Arc<dyn Engine>| engine.shared_state().await.unwrap().unwrap();
    let before = state(&two).await;
    done(&*one, "p", vec![upsert("r", "x")]).await;
    assert_eq!(state(&two).await, before);
    one.apply(TableId::SYSTEM, "p", vec![insert("r", "x")]).await.unwrap();
    let after = state(&two).await;
    assert_ne!(after.changes, before.changes);
    assert_eq!(after.epoch, two.epoch());
    let rejected = one.apply(TableId::SYSTEM, "p", vec![insert("r", "x")]).await.unwrap();
    assert!(matches!(rejected, Applied::Rejected { .. }));
    assert_eq!(state(&two).await, after);
    one.apply(TableId::SYSTEM, "p", vec![lazuli_engine::conformance::delete("r", Condition::Any)])
        .await
        .unwrap();
    assert_ne!(state(&two).await.changes, after.changes);
}

/// Large rows are fetched in bounded chunks, whatever the page allows.
#[tokio::test]
async fn pages_are_fetched_in_bounded_pieces() {
    let engine = open(url_of(&server(), &schema().await), Clock::system()).await;
    let value = "x".repeat(900_000);
    for row in 0..12 {
        done(&*engine, "p", vec![upsert(&format!("{row:02}"), &value)]).await;
    }
    let page = scan(&*engine, vec![KeyRange::ALL], usize::MAX).await;
    assert_eq!(page.rows.len(), 12);
    let rows = page.rows.iter().map(|row| &*row.row);
    let points = rows.map(|row| KeyPosition { partition: "p".into(), row: row.into() });
    let points =
        points.map(|place| KeyRange { start: Bound::Included(place.clone()), end: Bound::Included(place) });
    let again = scan(&*engine, points.collect(), usize::MAX).await;
    assert_eq!(row_texts(&again.rows), row_texts(&page.rows));
}

/// A schema of a later version is rejected, an older one must be migrated, and several front ends set up an empty
/// database exactly once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn schemas() {
    let name = schema().await;
    let url = url_of(&server(), &name);
    let mut tasks = JoinSet::new();
    for _ in 0..6 {
        let url = url.clone();
        tasks.spawn(async move { Postgres::open(url, Clock::system()).await.map(drop) });
    }
    assert!(tasks.join_all().await.iter().all(Result::is_ok), "all of them start");
    assert_eq!(Postgres::migrate(url.clone()).await, Ok(Some(SCHEMA_VERSION)));
    let set = async |version: i64| {
        let sql = format!("UPDATE {name}.lazuli_meta SET value = {version} WHERE name = 'schema'");
        client(&server()).await.batch_execute(&sql).await.unwrap();
    };
    let why =
        async || Postgres::open(url.clone(), Clock::system()).await.err().map(|error| error.to_string());
    set(SCHEMA_VERSION + 1).await;
    assert!(why().await.is_some_and(|why| why.contains("newer lazuli")));
    assert!(Postgres::migrate(url.clone()).await.is_err());
    set(0).await;
    assert!(why().await.is_some_and(|why| why.contains("engine migrate")));
}

/// A read-only server and one that does not exist are rejected; the primary is found among them.
#[tokio::test]
async fn the_server_that_accepts_writes_is_found() {
    let schema = schema().await;
    let config: tokio_postgres::Config = server().parse().unwrap();
    let port = config.get_ports()[0];
    let several = server().replace(&format!(":{port}"), &format!(":1,127.0.0.1:{port}"));
    let engine = open(url_of(&several, &schema), Clock::system()).await;
    done(&*engine, "p", vec![upsert("r", "x")]).await;
    let read_only = url_of(&server(), &schema).with_option("default_transaction_read_only=on");
    let why = Postgres::open(read_only, Clock::system()).await.err().map(|error| error.to_string());
    assert!(why.is_some_and(|why| why.contains("accepts no writes")));
    assert!(with("postgres://h/db", "pool=0").parse::<lazuli_postgres::PostgresUrl>().is_err());
}
