//! Connections that break: whichever message of whichever kind of commit is cut, the only errors are "unknown" and
//! "conflict".
//!
//! CS-06, CS-08, ER-06: an acknowledged commit is present, a rejected or failed one is not, and an unknown one is
//! present completely or not at all.

use std::sync::Arc;

use lazuli_engine::conformance::{Add, delete, insert, put, upsert};
use lazuli_engine::{Applied, Change, Clock, Condition, Engine, Error, TableId, Version, Write};

use crate::proxy::{Cut, Proxy};
use crate::support::{open, schema, server, url_of};

const TABLE: TableId = TableId(7);
/// More messages than any commit here exchanges; the loop ends when a cut no longer takes effect.
const STEPS_MAX: usize = 200;

/// A kind of commit: the rows before it, and its writes.
type Kind = (&'static str, fn(Version) -> Vec<Write>);

fn kinds() -> Vec<Kind> {
    vec![
        ("one insert", |_| vec![insert("new", "1")]),
        ("one upsert", |_| vec![upsert("old", "2")]),
        ("one replacement", |version| vec![put("old", Condition::Version(version), "2")]),
        ("one deletion", |version| vec![delete("old", Condition::Version(version))]),
        ("one merge", |_| {
            let change = Change::Update(Arc::new(Add(1)));
            vec![Write { row: "old".into(), condition: Condition::Exists, change }]
        }),
        ("many inserts", |_| (0..20).map(|n| insert(&format!("new{n}"), "1")).collect()),
        ("a mixture", |version| {
            vec![
                insert("new", "1"),
                upsert("other", "3"),
                put("old", Condition::Version(version), "2"),
                delete("gone", Condition::Exists),
            ]
        }),
    ]
}

/// The rows of a partition with their values.
async fn content(engine: &dyn Engine, partition: &str) -> Vec<(String, String)> {
    let rows: Vec<String> = ["old", "new", "other", "gone"]
        .into_iter()
        .map(str::to_owned)
        .chain((0..20).map(|n| format!("new{n}")))
        .collect();
    let names: Vec<&str> = rows.iter().map(String::as_str).collect();
    let found = engine.get(TABLE, partition, &names).await.expect("the database responds again");
    let text = |row: lazuli_engine::Row| (row.row.into(), String::from_utf8_lossy(&row.value).into_owned());
    found.into_iter().flatten().map(text).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_cut_connection_never_reports_a_wrong_outcome() {
    let config: tokio_postgres::Config = server().parse().expect("a URL");
    let proxy = Proxy::start(format!("127.0.0.1:{}", config.get_ports()[0])).await;
    let schema = schema().await;
    let through = server().replace(&format!(":{}", config.get_ports()[0]), &format!(":{}", proxy.port));
    let direct = open(url_of(&server(), &schema), Clock::system()).await;
    let engine = open(url_of(&format!("{through}?sslmode=disable"), &schema), Clock::system()).await;
    let mut outcomes = std::collections::BTreeMap::<String, usize>::new();
    for (name, writes) in kinds() {
        for of_server in [false, true] {
            for after in [false, true] {
                for at in 0..STEPS_MAX {
                    let partition = format!("{name} {of_server} {after} {at}");
                    let cut = Cut { of_server, at, after };
                    let (outcome, hit) = check(&*direct, &*engine, &proxy, &partition, writes, cut).await;
                    *outcomes.entry(outcome).or_default() += 1;
                    if !hit {
                        break;
                    }
                    assert!(at + 1 < STEPS_MAX, "{partition}: the cut always hits");
                }
            }
        }
    }
    // The test is worth something only if it has seen every outcome.
    for wanted in ["applied", "unknown"] {
        assert!(outcomes.contains_key(wanted), "{outcomes:?}");
    }
    println!("outcomes: {outcomes:?}");
}

async fn check(
    direct: &dyn Engine,
    engine: &dyn Engine,
    proxy: &Proxy,
    partition: &str,
    writes: fn(Version) -> Vec<Write>,
    cut: Cut,
) -> (String, bool) {
    let start = vec![upsert("old", "1"), upsert("gone", "1")];
    let Ok(Applied::Done { version, .. }) = direct.apply(TABLE, partition, start).await else {
        panic!("{partition}: cannot begin")
    };
    let before = content(direct, partition).await;
    // The expected result, from the same commit on a copy without cuts.
    let copy = format!("copy of {partition}");
    let start = vec![upsert("old", "1"), upsert("gone", "1")];
    let Ok(Applied::Done { version: copied, .. }) = direct.apply(TABLE, &copy, start).await else {
        panic!("{partition}: cannot begin")
    };
    direct.apply(TABLE, &copy, writes(copied)).await.expect("the copy is written");
    let wanted = content(direct, &copy).await;

    proxy.arm(cut);
    let outcome = engine.apply(TABLE, partition, writes(version)).await;
    let hit = proxy.disarm();
    let after = content(direct, partition).await;
    let outcome = match outcome {
        Ok(Applied::Done { .. }) => {
            assert_eq!(after, wanted, "{partition}: acknowledged, but missing");
            "applied"
        }
        Err(Error::Unknown(_)) => {
            assert!(after == before || after == wanted, "{partition}: in part: {after:?}");
            "unknown"
        }
        Err(Error::Conflict) => {
            assert_eq!(after, before, "{partition}: reported as not applied, but present");
            "conflict"
        }
        other => panic!("{partition}: {other:?}"),
    };
    assert!(hit || outcome == "applied", "{partition}: {outcome} although nothing was cut");
    (outcome.into(), hit)
}
