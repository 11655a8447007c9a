//! Results for a single caller: reads, conditions, updates, versions, tables.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use super::EngineFactory;
use super::support::{
    Add, TABLE, append, delete, done, everything, fill, get, insert, put, row_texts, update, upsert, value,
    write,
};
use crate::types::{Applied, Change, Condition, Reason, Rejected, TableId, Version, Write};
use crate::{Clock, Engine, Error};

/// A row that was written is found with its key, value and version; other rows are not found.
pub async fn rows_are_read_as_written(factory: &impl EngineFactory) {
    let engine = &*factory.open(Clock::system()).await;
    assert_eq!(get(engine, TABLE, "p", "r").await, None);

    let first = done(engine, TABLE, "p", vec![upsert("a", "1"), upsert("b", "")]).await;
    let second = done(engine, TABLE, "p", vec![upsert("a", "2")]).await;
    let rows = engine.get(TABLE, "p", &["b", "x", "a", "b"]).await.expect("the engine reads");
    let found: Vec<_> =
        rows.iter().map(|row| row.as_ref().map(|row| (&*row.row, &*row.value, row.version))).collect();
    let b = Some(("b", &b""[..], first));
    assert_eq!(found, [b, None, Some(("a", &b"2"[..], second)), b]);
    assert!(rows.iter().flatten().all(|row| &*row.partition == "p"));
    assert_eq!(engine.get(TABLE, "p", &[]).await, Ok(vec![]));
}

/// Every condition with every kind of change, on a missing row and on one that exists.
pub async fn conditions_hold_or_reject(factory: &impl EngineFactory) {
    use Condition::{Absent, Any, Exists, Never};
    let engine = &*factory.open(Clock::system()).await;
    for (name, change) in [
        ("put", Change::Put(Bytes::from_static(b"8"))),
        ("update", Change::Update(Arc::new(Add(1)))),
        ("delete", Change::Delete),
    ] {
        let version = done(engine, TABLE, name, vec![upsert("row", "7")]).await;
        let other = Condition::Version(Version(version.0 - 1));
        for (condition, row, expected) in [
            (Absent, "row", Some(Reason::Exists)),
            (Exists, "none", Some(Reason::Missing)),
            (other, "row", Some(Reason::Mismatch)),
            (other, "none", Some(Reason::Missing)),
            (Never, "row", Some(Reason::Mismatch)),
            (Never, "none", Some(Reason::Missing)),
            (Condition::Version(version), "row", None),
        ] {
            check_condition(engine, name, row, condition, &change, expected).await;
        }
        done(engine, TABLE, name, vec![upsert("row", "7")]).await;
        check_condition(engine, name, "row", Exists, &change, None).await;
        done(engine, TABLE, name, vec![upsert("row", "7")]).await;
        check_condition(engine, name, "row", Any, &change, None).await;
        let expected = matches!(change, Change::Update(_)).then_some(Reason::Rejected(Rejected(2)));
        check_condition(engine, name, "none", Any, &change, expected).await;
        done(engine, TABLE, name, vec![delete("none", Any)]).await;
        check_condition(engine, name, "none", Absent, &change, expected).await;
    }
}

async fn check_condition(
    engine: &dyn Engine,
    partition: &str,
    row: &str,
    condition: Condition,
    change: &Change,
    rejected: Option<Reason>,
) {
    let before = get(engine, TABLE, partition, row).await;
    let applied = engine.apply(TABLE, partition, vec![write(row, condition, change.clone())]).await;
    let after = get(engine, TABLE, partition, row).await;
    let context = format!("{partition} {row} {condition:?}");
    match (applied, rejected) {
        (Ok(Applied::Rejected { index: 0, reason }), Some(expected)) => {
            assert_eq!(reason, expected, "{context}");
            assert_eq!(before, after, "{context}: a rejected commit changes nothing");
        }
        (Ok(Applied::Done { version, updated }), None) => {
            assert_eq!(updated.len(), 1, "{context}");
            assert_eq!(updated[0].is_some(), matches!(change, Change::Update(_)), "{context}");
            match change {
                Change::Delete => assert_eq!(after, None, "{context}"),
                Change::Put(_) | Change::Update(_) => {
                    let after = after.expect("the row was written");
                    assert_eq!((&*after.value, after.version), (&b"8"[..], version), "{context}");
                }
            }
        }
        (other, expected) => panic!("{context}: {other:?} instead of {expected:?}"),
    }
}

/// An update gets the current value, and its result is stored and returned. An update that fails rejects the commit.
pub async fn updates_compute_from_the_current_value(factory: &impl EngineFactory) {
    let engine = &*factory.open(Clock::system()).await;
    done(engine, TABLE, "p", vec![upsert("n", "40"), upsert("text", "no number")]).await;
    let writes = vec![upsert("other", "x"), update("n", Condition::Any, Add(2)), append("new", "!")];
    let Ok(Applied::Done { updated, .. }) = engine.apply(TABLE, "p", writes).await else {
        panic!("the update was not done")
    };
    assert_eq!(updated, [None, Some(Bytes::from_static(b"42")), Some(Bytes::from_static(b"!"))]);
    assert_eq!(value(engine, "p", "n").await.as_deref(), Some("42"));
    assert_eq!(value(engine, "p", "new").await.as_deref(), Some("!"));

    let writes = vec![update("n", Condition::Any, Add(1)), update("text", Condition::Any, Add(1))];
    let rejected = engine.apply(TABLE, "p", writes).await;
    assert_eq!(rejected, Ok(Applied::Rejected { index: 1, reason: Reason::Rejected(Rejected(1)) }));
    assert_eq!(value(engine, "p", "n").await.as_deref(), Some("42"));
    // The condition is checked first.
    let rejected = engine.apply(TABLE, "p", vec![update("text", Condition::Absent, Add(1))]).await;
    assert_eq!(rejected, Ok(Applied::Rejected { index: 0, reason: Reason::Exists }));
}

/// Removing a row that does not exist, without a condition, succeeds and changes nothing.
pub async fn deleting_a_missing_row_changes_nothing(factory: &impl EngineFactory) {
    let engine = &*factory.open(Clock::system()).await;
    fill(engine, TABLE, "p/a").await;
    done(engine, TABLE, "p", vec![delete("b", Condition::Any)]).await;
    assert_eq!(row_texts(&everything(engine, TABLE).await), "p/a");
    // Conditions treat a removed row as missing, and it can be inserted again.
    done(engine, TABLE, "p", vec![delete("a", Condition::Exists)]).await;
    let again = engine.apply(TABLE, "p", vec![delete("a", Condition::Exists)]).await;
    assert_eq!(again, Ok(Applied::Rejected { index: 0, reason: Reason::Missing }));
    done(engine, TABLE, "p", vec![insert("a", "new")]).await;
    assert_eq!(value(engine, "p", "a").await.as_deref(), Some("new"));
}

/// If one write of several is rejected, none is made, and the response has the index of the first rejected one.
pub async fn a_rejected_commit_changes_nothing(factory: &impl EngineFactory) {
    let engine = &*factory.open(Clock::system()).await;
    fill(engine, TABLE, "p/a p/b p/c").await;
    let before = everything(engine, TABLE).await;
    let mut writes: Vec<Write> = (0..50).map(|n| insert(&format!("new{n}"), "x")).collect();
    writes.push(upsert("a", "changed"));
    writes.push(delete("b", Condition::Exists));
    writes.push(insert("c", "exists already"));
    writes.push(put("missing", Condition::Exists, "x"));
    let rejected = engine.apply(TABLE, "p", writes).await;
    assert_eq!(rejected, Ok(Applied::Rejected { index: 52, reason: Reason::Exists }));
    assert_eq!(everything(engine, TABLE).await, before);
}

/// If a commit contains a row twice, the second write sees the result of the first.
pub async fn writes_of_a_commit_see_each_other(factory: &impl EngineFactory) {
    let engine = &*factory.open(Clock::system()).await;
    let writes = vec![
        insert("a", "1"),
        update("a", Condition::Exists, Add(1)),
        update("a", Condition::Exists, Add(1)),
    ];
    let applied = engine.apply(TABLE, "p", writes).await;
    let Ok(Applied::Done { version, updated }) = applied else { panic!("not done: {applied:?}") };
    assert_eq!(updated, [None, Some(Bytes::from_static(b"2")), Some(Bytes::from_static(b"3"))]);
    let row = get(engine, TABLE, "p", "a").await.expect("the row was written");
    assert_eq!((&*row.value, row.version), (&b"3"[..], version));

    let rejected = engine.apply(TABLE, "p", vec![insert("b", "1"), insert("b", "2")]).await;
    assert_eq!(rejected, Ok(Applied::Rejected { index: 1, reason: Reason::Exists }));
    let rejected = engine
        .apply(TABLE, "p", vec![delete("a", Condition::Any), update("a", Condition::Exists, Add(1))])
        .await;
    assert_eq!(rejected, Ok(Applied::Rejected { index: 1, reason: Reason::Missing }));
    done(engine, TABLE, "p", vec![delete("a", Condition::Exists), insert("a", "again")]).await;
    done(engine, TABLE, "p", vec![insert("c", "1"), delete("c", Condition::Exists)]).await;
    assert_eq!(row_texts(&everything(engine, TABLE).await), "p/a");
}

/// A commit without writes succeeds and has its own version.
pub async fn an_empty_commit_is_done(factory: &impl EngineFactory) {
    let engine = &*factory.open(Clock::system()).await;
    let first = done(engine, TABLE, "p", vec![]).await;
    let second = done(engine, TABLE, "p", vec![]).await;
    assert!(first < second);
    assert_eq!(everything(engine, TABLE).await, []);
}

/// The same key in another table or partition is a different row, even if the encoding of one could be a prefix
/// of the next.
pub async fn tables_and_partitions_are_separate(factory: &impl EngineFactory) {
    let engine = &*factory.open(Clock::system()).await;
    let tables = [
        TableId::SYSTEM,
        TableId(1),
        TableId(2),
        TableId(256),
        // Table ids are issued one by one; an engine may store them in 63 bits.
        TableId(i64::MAX as u64 - 1),
        TableId(i64::MAX as u64),
    ];
    let partitions = ["", "a", "ab", "a\0", "a\u{1}"];
    for table in tables {
        for partition in partitions {
            let text = format!("{table:?} {partition:?}");
            done(engine, table, partition, vec![insert("r", &text), insert("", &text), insert("b", &text)])
                .await;
        }
    }
    for table in tables {
        assert_eq!(everything(engine, table).await.len(), 3 * partitions.len());
        for partition in partitions {
            let row = get(engine, table, partition, "r").await.expect("the row was written");
            assert_eq!(row.value, format!("{table:?} {partition:?}"));
        }
    }
    done(engine, TableId(1), "a", vec![delete("r", Condition::Exists)]).await;
    assert_eq!(everything(engine, TableId(2)).await.len(), 3 * partitions.len());
}

/// Empty keys, U+0000, characters outside the basic plane, long ones.
pub async fn keys_may_be_any_string(factory: &impl EngineFactory) {
    let engine = &*factory.open(Clock::system()).await;
    let long = "ü".repeat(1024);
    let texts =
        ["", "\0", "\0\0", "\u{1}", "a\0b", "\u{d7ff}", "\u{e000}", "\u{10000}", "\u{10ffff}", " ", &long];
    for partition in texts {
        for row in texts {
            done(engine, TABLE, partition, vec![insert(row, &format!("{partition}|{row}"))]).await;
        }
    }
    for partition in texts {
        for row in texts {
            let found = value(engine, partition, row).await;
            assert_eq!(found, Some(format!("{partition}|{row}")), "{partition:?} {row:?}");
        }
    }
    assert_eq!(everything(engine, TABLE).await.len(), texts.len() * texts.len());
}

/// Maximum ticks by which a version may exceed its minimum: front ends that share an engine keep their versions
/// distinct in this way.
const VERSION_SLACK: u64 = 64;

/// WR-12: versions strictly increase, even if the clock stops or goes back, and equal the time whenever possible.
pub async fn versions_increase_whatever_the_clock_does(factory: &impl EngineFactory) {
    let now = Arc::new(AtomicU64::new(1_000_000));
    let clock = {
        let now = Arc::clone(&now);
        Clock::new(move || now.load(Ordering::SeqCst))
    };
    let engine = &*factory.open(clock).await;
    let mut last = Version(0);
    for (step, ticks) in
        [1_000_000, 1_000_000, 1_000_000, 2_000_000, 1_500_000, 0, 1, 2_000_001, 5_000_000, 4_999_999]
            .into_iter()
            .enumerate()
    {
        now.store(ticks, Ordering::SeqCst);
        let version = done(engine, TABLE, "p", vec![upsert("r", "v"), upsert("s", "v")]).await;
        assert!(version > last, "step {step}: {version:?} after {last:?}");
        assert!(version.0 >= ticks, "step {step}: {version:?} is before the clock's {ticks}");
        let next = ticks.max(last.0 + 1);
        assert!(version.0 < next + VERSION_SLACK, "step {step}: {version:?} is far beyond {next}");
        let rows = engine.get(TABLE, "p", &["r", "s"]).await.expect("the engine reads");
        assert!(
            rows.iter().flatten().all(|row| row.version == version),
            "all rows of a commit have its version"
        );
        last = version;
    }
}

/// Values of 1 MiB, alone and in a commit of several; commits of 100 rows.
pub async fn large_values_and_large_commits(factory: &impl EngineFactory) {
    let engine = &*factory.open(Clock::system()).await;
    let large = |byte: u8| Bytes::from(vec![byte; 1024 * 1024]);
    let big = |row: &str, byte: u8| write(row, Condition::Absent, Change::Put(large(byte)));
    done(engine, TABLE, "large", vec![big("one", 1)]).await;
    done(engine, TABLE, "large", vec![big("two", 2), big("three", 3), big("four", 4)]).await;
    for (row, byte) in [("one", 1), ("two", 2), ("three", 3), ("four", 4)] {
        let found = get(engine, TABLE, "large", row).await.expect("the row was written");
        assert!(found.value == large(byte), "{row}");
    }
    for round in 0..3 {
        let writes = (0..100).map(|n| upsert(&format!("{n:03}"), &format!("{round} {n}"))).collect();
        let version = done(engine, TABLE, "many", writes).await;
        let rows = everything(engine, TABLE).await;
        let many: Vec<_> = rows.iter().filter(|row| &*row.partition == "many").collect();
        assert_eq!(many.len(), 100);
        assert!(many.iter().all(|row| row.version == version));
        assert_eq!(many[42].value, format!("{round} 42"));
    }
}

/// No table id is issued twice, and the id of the system table is never issued.
pub async fn fresh_tables_are_unique(factory: &impl EngineFactory) {
    let engine = factory.open(Clock::system()).await;
    let mut ids = vec![];
    for _ in 0..10 {
        ids.push(engine.fresh_table().await.expect("the engine assigns an id"));
    }
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let engine = Arc::clone(&engine);
            tokio::spawn(async move { engine.fresh_table().await.expect("the engine assigns an id") })
        })
        .collect();
    for task in tasks {
        ids.push(task.await.expect("the task ends"));
    }
    assert!(!ids.contains(&TableId::SYSTEM));
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 30);
}

/// Erasing continues in bounded steps until nothing is left, and touches no other table.
pub async fn erased_tables_are_empty(factory: &impl EngineFactory) {
    let engine = &*factory.open(Clock::system()).await;
    let (doomed, other) = (TableId(8), TableId(9));
    for partition in 0..12 {
        let writes = (0..250).map(|n| upsert(&n.to_string(), "x")).collect();
        done(engine, doomed, &partition.to_string(), writes).await;
    }
    fill(engine, other, "p/a p/b").await;
    fill(engine, TableId(7), "p/a").await;
    let mut steps = 0;
    while !engine.erase(doomed).await.expect("the engine erases") {
        steps += 1;
        assert!(steps < 10_000, "it never ends");
    }
    assert_eq!(everything(engine, doomed).await, []);
    assert_eq!(engine.erase(doomed).await, Ok(true));
    assert_eq!(engine.erase(TableId(1000)).await, Ok(true), "a table that never existed");
    assert_eq!(row_texts(&everything(engine, other).await), "p/a p/b");
    assert_eq!(row_texts(&everything(engine, TableId(7)).await), "p/a");
    // Rows of an erased table do not reappear, and conditions treat them as missing.
    done(engine, doomed, "0", vec![insert("0", "new")]).await;
    assert_eq!(row_texts(&everything(engine, doomed).await), "0/0");
    assert!(matches!(engine.erase(TableId::SYSTEM).await, Err(Error::Unavailable(_))));
}

/// An engine reports its status, and can be closed.
pub async fn status_and_close(factory: &impl EngineFactory) {
    let engine = &*factory.open(Clock::system()).await;
    fill(engine, TABLE, "p/a").await;
    let status = engine.status().await.expect("the engine reports its status");
    assert!(!status.place.is_empty());
    assert_eq!(status.poisoned, None);
    assert_eq!(engine.close().await, Ok(()));
}
