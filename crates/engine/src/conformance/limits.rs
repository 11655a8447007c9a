//! Commits at and beyond their size limits.

use std::sync::Arc;

use bytes::Bytes;

use super::EngineFactory;
use super::support::{Become, TABLE, append, done, everything, fill, update, upsert, write};
use crate::limits::{COMMIT_BYTES_MAX, COMMIT_INPUT_BYTES_MAX, VALUE_BYTES_MAX};
use crate::types::{Applied, Change, Condition, Next, Write};
use crate::{Clock, Error};

const MIB: usize = 1024 * 1024;

/// A value, an input and a result that are too large are rejected, and nothing is changed.
pub async fn commits_beyond_the_bounds_are_rejected(factory: &impl EngineFactory) {
    let engine = &*factory.open(Clock::system()).await;
    fill(engine, TABLE, "p/a").await;
    let before = everything(engine, TABLE).await;
    let large = Bytes::from(vec![1; VALUE_BYTES_MAX]);
    let over = Bytes::from(vec![1; VALUE_BYTES_MAX + 1]);
    let put = |row: usize, value: &Bytes| write(&row.to_string(), Condition::Any, Change::Put(value.clone()));
    let computed = |row: usize, value: &Bytes| {
        update(&row.to_string(), Condition::Any, Become(Next::Put(value.clone())))
    };
    let values = COMMIT_BYTES_MAX / VALUE_BYTES_MAX + 1;
    let inputs = COMMIT_INPUT_BYTES_MAX / VALUE_BYTES_MAX + 1;
    let cases: [(&str, Vec<Write>); 4] = [
        ("a value", vec![put(0, &over)]),
        ("a value of an update", vec![computed(0, &over)]),
        ("an input", (0..inputs).map(|row| put(row, &large)).collect()),
        ("a result", (0..values).map(|row| computed(row, &large)).collect()),
    ];
    for (what, mut writes) in cases {
        writes.insert(0, upsert("a", "changed"));
        let rejected = engine.apply(TABLE, "p", writes).await;
        assert!(matches!(rejected, Err(Error::TooLarge(_))), "{what}: {rejected:?}");
        assert_eq!(everything(engine, TABLE).await, before, "{what}");
    }
    done(engine, TABLE, "p", vec![upsert("a", "still works")]).await;
}

/// The largest batch that a service may send: a few bytes into each of 100 rows of 1 MiB. Several callers do so
/// at once, and all of them succeed, some possibly after `Busy`. Not part of the suite, because it takes a
/// while.
pub async fn a_hundred_rows_of_a_mebibyte_are_updated_together(factory: &impl EngineFactory, callers: usize) {
    const ROWS: usize = 100;
    let engine = factory.open(Clock::system()).await;
    let name = |row: usize| format!("{row:03}");
    let value = Bytes::from(vec![b'.'; MIB]);
    for first in (0..ROWS).step_by(20) {
        let put = |row| write(&name(row), Condition::Absent, Change::Put(value.clone()));
        done(&*engine, TABLE, "p", (first..first + 20).map(put).collect()).await;
    }
    let tasks: Vec<_> = (0..callers)
        .map(|_| {
            let engine = Arc::clone(&engine);
            tokio::spawn(async move {
                loop {
                    let writes = (0..ROWS).map(|row| append(&name(row), "+")).collect();
                    match engine.apply(TABLE, "p", writes).await {
                        Ok(Applied::Done { version, .. }) => break version,
                        Err(Error::Busy(_)) => {}
                        other => panic!("the commit was not done: {other:?}"),
                    }
                }
            })
        })
        .collect();
    let mut last = None;
    for task in tasks {
        last = last.max(Some(task.await.expect("the caller ends")));
    }
    for row in (0..ROWS).map(name) {
        let rows = engine.get(TABLE, "p", &[&row]).await.expect("the engine reads");
        let row = rows[0].as_ref().expect("the row was written");
        assert_eq!((row.value.len(), Some(row.version)), (MIB + callers, last), "{}", row.row);
    }
}
