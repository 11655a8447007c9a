//! Dumps: copies of all rows. An engine without dumps passes.

use std::sync::Arc;

use super::EngineFactory;
use super::support::{TABLE, delete, done, fill, upsert};
use crate::dump::{Dump, Marks, Stored};
use crate::types::{Condition, TableId, Version};
use crate::{Clock, Engine, Error};

async fn open(engine: &dyn Engine) -> Option<Box<dyn Dump>> {
    match engine.dump().await {
        Ok(dump) => Some(dump),
        Err(Error::Unavailable(_)) => None,
        Err(other) => panic!("{other}"),
    }
}

async fn rest(dump: &mut dyn Dump, bytes_max: usize) -> Vec<Stored> {
    let mut all = Vec::new();
    loop {
        let rows = dump.next(bytes_max).await.expect("the dump continues");
        if rows.is_empty() {
            return all;
        }
        let bytes: usize = rows.iter().map(Stored::bytes).sum();
        let last = rows.last().map_or(0, Stored::bytes);
        assert!(bytes - last < bytes_max, "it stops when there is enough");
        all.extend(rows);
    }
}

fn texts(rows: &[Stored]) -> Vec<String> {
    rows.iter().map(|s| format!("{}:{}/{}", s.table.0, s.row.partition, s.row.row)).collect()
}

/// A dump contains every row of every table, including the system table, ordered by table, partition and row,
/// for any page size.
pub async fn a_dump_has_every_row_in_order(factory: &impl EngineFactory) {
    let engine = factory.open(Clock::system()).await;
    let Some(mut empty) = open(&*engine).await else { return };
    assert_eq!(rest(&mut *empty, 1).await, []);
    assert_eq!(empty.marks(), Marks { last_version: Version(0), last_table: TableId::SYSTEM });
    drop(empty);
    fill(&*engine, TableId(300), "b/1 a/2 a/10 \u{ffff}/x \u{10000}/x").await;
    fill(&*engine, TableId(2), "z/z").await;
    fill(&*engine, TableId::SYSTEM, "s/s").await;
    let last = done(&*engine, TableId(2), "z", vec![upsert("y", "")]).await;
    let fresh = engine.fresh_table().await.expect("a table");
    let wanted =
        ["0:s/s", "2:z/y", "2:z/z", "300:a/10", "300:a/2", "300:b/1", "300:\u{10000}/x", "300:\u{ffff}/x"];
    for bytes_max in [1, 7, 1 << 20] {
        let mut dump = engine.dump().await.expect("a dump");
        assert_eq!(texts(&rest(&mut *dump, bytes_max).await), wanted);
        assert_eq!(dump.marks(), Marks { last_version: last, last_table: fresh });
        assert_eq!(dump.next(1).await, Ok(vec![]), "the dump stays at its end");
    }
}

/// A dump does not show changes made after it was opened, and does not block writers.
pub async fn a_dump_is_one_moment(factory: &impl EngineFactory) {
    let engine: Arc<dyn Engine> = factory.open(Clock::system()).await;
    let names: Vec<String> = (0..200).map(|n| format!("{n:03}")).collect();
    let before = done(&*engine, TABLE, "p", names.iter().map(|row| upsert(row, "before")).collect()).await;
    let Some(mut dump) = open(&*engine).await else { return };
    let mut found = dump.next(100).await.expect("the dump begins");
    for round in 0..20 {
        let writes = names.iter().map(|row| upsert(row, &format!("after {round}"))).collect();
        done(&*engine, TABLE, "p", writes).await;
    }
    done(&*engine, TABLE, "p", vec![delete("199", Condition::Any), upsert("new", "")]).await;
    found.extend(rest(&mut *dump, 1000).await);
    assert_eq!(dump.marks().last_version, before);
    assert_eq!(texts(&found), names.iter().map(|row| format!("{}:p/{row}", TABLE.0)).collect::<Vec<_>>());
    assert!(found.iter().all(|s| s.row.version == before && &*s.row.value == b"before"));
}
