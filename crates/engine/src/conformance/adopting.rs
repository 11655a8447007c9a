//! Rows imported with their versions. An engine that does not support this passes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use super::EngineFactory;
use super::support::{TABLE, done, everything, get, put, upsert};
use crate::adopt::{Adopted, Unfit};
use crate::types::{Condition, Row, TableId, Version};
use crate::{Clock, Engine, Error};

fn row(name: &str, version: u64, value: &str) -> Row {
    let value = Bytes::copy_from_slice(value.as_bytes());
    Row { partition: "p".into(), row: name.into(), version: Version(version), value }
}

/// `None` if the engine does not support imports.
async fn adopt(engine: &dyn Engine, rows: Vec<Row>) -> Option<Adopted> {
    match engine.adopt(TABLE, rows).await {
        Ok(adopted) => Some(adopted),
        Err(Error::Unavailable(_)) => None,
        Err(other) => panic!("{other}"),
    }
}

/// An empty engine, and the time of its clock.
async fn open(factory: &impl EngineFactory, ticks: u64) -> (Arc<dyn Engine>, Arc<AtomicU64>) {
    let time = Arc::new(AtomicU64::new(ticks));
    let shown = Arc::clone(&time);
    (factory.open(Clock::new(move || shown.load(Ordering::SeqCst))).await, time)
}

/// Imported rows are read, scanned and compared like any other row, and every later change has a greater
/// version, regardless of the clock.
pub async fn adopted_rows_keep_their_versions(factory: &impl EngineFactory) {
    let (engine, time) = open(factory, 1000).await;
    let rows = vec![row("a", 5, "old"), row("b", 1000, "new")];
    let Some(adopted) = adopt(&*engine, rows.clone()).await else { return };
    assert_eq!(adopted, Adopted::Done);
    assert_eq!(everything(&*engine, TABLE).await, rows);
    assert_eq!(get(&*engine, TABLE, "p", "a").await.as_ref(), rows.first());
    // Even if the clock is set back, no version is issued twice.
    time.store(10, Ordering::SeqCst);
    let next = done(&*engine, TABLE, "p", vec![put("a", Condition::Version(Version(5)), "changed")]).await;
    assert!(next > Version(1000), "{next:?}");
    assert_eq!(adopt(&*engine, vec![row("c", 1000, "")]).await, Some(Adopted::Done));
    let after = done(&*engine, TABLE, "p", vec![upsert("b", "changed")]).await;
    assert!(after > next);
}

/// No version decreases or is in the future, and one rejected row rejects the whole import.
pub async fn adopted_rows_are_rejected_together(factory: &impl EngineFactory) {
    let (engine, _) = open(factory, 1000).await;
    let Some(_) = adopt(&*engine, vec![row("a", 50, "x")]).await else { return };
    let before = everything(&*engine, TABLE).await;
    let latest = Version(1000);
    for (rows, index, reason) in [
        (vec![row("n", 1, ""), row("a", 49, "x")], 1, Unfit::Older(Version(50))),
        (vec![row("n", 1, ""), row("a", 50, "y")], 1, Unfit::Differs),
        (vec![row("f", 1001, ""), row("n", 1, "")], 0, Unfit::Future(latest)),
        (vec![row("n", 7, ""), row("n", 6, "")], 1, Unfit::Older(Version(7))),
    ] {
        let rejected = Some(Adopted::Rejected { index, reason });
        assert_eq!(adopt(&*engine, rows).await, rejected);
        assert_eq!(everything(&*engine, TABLE).await, before);
    }
    // Importing an existing row again changes nothing; a newer row replaces an older one.
    let again = vec![row("a", 50, "x"), row("n", 6, ""), row("n", 7, "later")];
    assert_eq!(adopt(&*engine, again).await, Some(Adopted::Done));
    assert_eq!(everything(&*engine, TABLE).await, [row("a", 50, "x"), row("n", 7, "later")]);
    assert_eq!(adopt(&*engine, vec![row("a", 51, "y")]).await, Some(Adopted::Done));
    assert_eq!(get(&*engine, TABLE, "p", "a").await, Some(row("a", 51, "y")));
    assert!(matches!(engine.adopt(TableId::SYSTEM, vec![]).await, Err(Error::Unavailable(_))));
    engine.close().await.expect("the engine closes");
}
