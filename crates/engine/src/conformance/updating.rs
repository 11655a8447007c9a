//! Updates: the version that they see, rows that they keep or delete, and rejections.

use std::sync::Arc;

use bytes::Bytes;

use super::EngineFactory;
use super::support::{
    Add, Become, Stamp, TABLE, delete, done, everything, get, insert, update, upsert, value,
};
use crate::types::{Applied, Condition, Next, Reason, Rejected, Version, Write};
use crate::{Clock, Engine};

/// Makes a commit that must succeed, and returns its version and the values that its updates put.
async fn apply(engine: &dyn Engine, writes: Vec<Write>) -> (Version, Vec<Option<Bytes>>) {
    match engine.apply(TABLE, "p", writes).await {
        Ok(Applied::Done { version, updated }) => (version, updated),
        other => panic!("the commit was not done: {other:?}"),
    }
}

/// The version that an update sees is the version of the commit and of the rows that it puts, even on rows that
/// several callers change at the same time.
pub async fn updates_know_the_version_of_their_commit(factory: &impl EngineFactory) {
    const CALLERS: usize = 8;
    const ROUNDS: usize = 10;
    let engine = factory.open(Clock::system()).await;
    let writes = vec![update("new", Condition::Absent, Stamp), update("new", Condition::Exists, Stamp)];
    let (version, updated) = apply(&*engine, writes).await;
    let (once, twice) = (format!("{},", version.0), format!("{0},{0},", version.0));
    assert_eq!(updated, [Some(once.into()), Some(twice.clone().into())]);
    let row = get(&*engine, TABLE, "p", "new").await.expect("the row was written");
    assert_eq!((row.version, &*row.value), (version, twice.as_bytes()));

    let callers = (0..CALLERS).map(|_| {
        let engine = Arc::clone(&engine);
        tokio::spawn(async move {
            let mut versions = vec![];
            for _ in 0..ROUNDS {
                versions.push(apply(&*engine, vec![update("all", Condition::Any, Stamp)]).await.0);
            }
            versions
        })
    });
    let mut versions = vec![];
    for caller in callers.collect::<Vec<_>>() {
        versions.extend(caller.await.expect("the caller ends"));
    }
    versions.sort_unstable();
    let expected: String = versions.iter().map(|version| format!("{},", version.0)).collect();
    assert_eq!(value(&*engine, "p", "all").await, Some(expected));
}

/// A row that an update keeps has the same value and version as before; a missing row stays missing. The other writes
/// of the commit are made.
pub async fn updates_may_keep_their_row(factory: &impl EngineFactory) {
    let engine = &*factory.open(Clock::system()).await;
    let keep = |row, condition| update(row, condition, Become(Next::Keep));
    let before = done(engine, TABLE, "p", vec![upsert("a", "1"), upsert("b", "2")]).await;
    let (first, updated) = apply(engine, vec![keep("a", Condition::Any)]).await;
    assert!(first > before);
    assert_eq!(updated, [None]);
    let writes =
        vec![keep("a", Condition::Version(before)), keep("none", Condition::Absent), upsert("b", "3")];
    let (second, updated) = apply(engine, writes).await;
    assert!(second > first);
    assert_eq!(updated, [None, None, None]);
    let rows = everything(engine, TABLE).await;
    let found: Vec<_> = rows.iter().map(|row| (&*row.row, &*row.value, row.version)).collect();
    assert_eq!(found, [("a", &b"1"[..], before), ("b", &b"3"[..], second)]);

    // The result of an earlier write of the same commit stays.
    let (third, _) = apply(engine, vec![upsert("a", "4"), keep("a", Condition::Exists)]).await;
    let row = get(engine, TABLE, "p", "a").await.expect("the row was written");
    assert_eq!((&*row.value, row.version), (&b"4"[..], third));
    apply(engine, vec![delete("a", Condition::Exists), keep("a", Condition::Absent)]).await;
    assert_eq!(value(engine, "p", "a").await, None);
    // Conditions are checked first.
    let rejected = engine.apply(TABLE, "p", vec![keep("a", Condition::Exists)]).await;
    assert_eq!(rejected, Ok(Applied::Rejected { index: 0, reason: Reason::Missing }));
}

/// An update can delete its row; deleting a missing row changes nothing.
pub async fn updates_may_delete_their_row(factory: &impl EngineFactory) {
    let engine = &*factory.open(Clock::system()).await;
    let remove = |row, condition| update(row, condition, Become(Next::Delete));
    let first = done(engine, TABLE, "p", vec![upsert("a", "1"), upsert("b", "2")]).await;
    let writes = vec![remove("a", Condition::Version(first)), remove("none", Condition::Any)];
    let (_, updated) = apply(engine, writes).await;
    assert_eq!(updated, [None, None]);
    assert_eq!(value(engine, "p", "a").await, None);
    let (_, updated) = apply(engine, vec![remove("none", Condition::Absent)]).await;
    assert_eq!(updated, [None]);

    // Later writes of the same commit treat it as missing.
    let writes =
        vec![remove("b", Condition::Exists), insert("b", "3"), update("b", Condition::Exists, Add(1))];
    let (version, updated) = apply(engine, writes).await;
    assert_eq!(updated, [None, None, Some(Bytes::from_static(b"4"))]);
    let rows = everything(engine, TABLE).await;
    let found: Vec<_> = rows.iter().map(|row| (&*row.row, &*row.value, row.version)).collect();
    assert_eq!(found, [("b", &b"4"[..], version)]);
}

/// A rejected update rejects the whole commit: rows that it puts, deletes and keeps stay unchanged.
pub async fn a_rejected_update_changes_nothing(factory: &impl EngineFactory) {
    let engine = &*factory.open(Clock::system()).await;
    done(engine, TABLE, "p", vec![upsert("a", "1"), upsert("b", "2"), upsert("text", "no number")]).await;
    let before = everything(engine, TABLE).await;
    for index in 0..4 {
        let mut writes = vec![
            update("a", Condition::Any, Stamp),
            update("b", Condition::Any, Become(Next::Delete)),
            update("none", Condition::Any, Become(Next::Keep)),
        ];
        writes.insert(index, update("text", Condition::Exists, Add(1)));
        let rejected = engine.apply(TABLE, "p", writes).await;
        assert_eq!(rejected, Ok(Applied::Rejected { index, reason: Reason::Rejected(Rejected(1)) }));
        assert_eq!(everything(engine, TABLE).await, before);
    }
}
