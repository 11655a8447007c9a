//! Helpers for the operations that the suite uses most.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::Engine;
use crate::types::{
    Applied, Bound, Change, Condition, KeyPosition, KeyRange, Next, Page, Rejected, Row, Scan, TableId,
    Update, Verdict, Version, Write,
};

/// The table that most cases use.
pub const TABLE: TableId = TableId(7);

/// Adds to a number that is stored as a string. Rejects a value that is not a number with 1, and a missing row with
/// 2.
#[derive(Debug)]
pub struct Add(pub u64);

impl Update for Add {
    fn next(&self, current: Option<&Bytes>, _: Version) -> Result<Next, Rejected> {
        let text = std::str::from_utf8(current.ok_or(Rejected(2))?).map_err(|_| Rejected(1))?;
        let number: u64 = text.parse().map_err(|_| Rejected(1))?;
        Ok(Next::Put((number + self.0).to_string().into()))
    }
}

/// Appends to the current value.
struct Append(&'static str);

impl Update for Append {
    fn next(&self, current: Option<&Bytes>, _: Version) -> Result<Next, Rejected> {
        Ok(Next::Put([current.map_or(&b""[..], |value| value), self.0.as_bytes()].concat().into()))
    }
}

/// Puts, deletes or keeps a row, regardless of its current value.
pub struct Become(pub Next);

impl Update for Become {
    fn next(&self, _: Option<&Bytes>, _: Version) -> Result<Next, Rejected> {
        Ok(self.0.clone())
    }
}

/// Appends the version of the commit, as a string, to the current value.
pub struct Stamp;

impl Update for Stamp {
    fn next(&self, current: Option<&Bytes>, version: Version) -> Result<Next, Rejected> {
        let before = current.map_or(Default::default(), |value| String::from_utf8_lossy(value));
        Ok(Next::Put(format!("{before}{},", version.0).into()))
    }
}

/// A change of one row.
pub fn write(row: &str, condition: Condition, change: Change) -> Write {
    Write { row: row.into(), condition, change }
}

/// Sets a row under a condition.
pub fn put(row: &str, condition: Condition, value: &str) -> Write {
    write(row, condition, Change::Put(Bytes::copy_from_slice(value.as_bytes())))
}

/// Sets a row that must not exist.
pub fn insert(row: &str, value: &str) -> Write {
    put(row, Condition::Absent, value)
}

/// Sets a row.
pub fn upsert(row: &str, value: &str) -> Write {
    put(row, Condition::Any, value)
}

/// Removes a row under a condition.
pub fn delete(row: &str, condition: Condition) -> Write {
    write(row, condition, Change::Delete)
}

/// Computes a row.
pub fn update(row: &str, condition: Condition, update: impl Update + 'static) -> Write {
    write(row, condition, Change::Update(Arc::new(update)))
}

/// Appends to a row, which need not exist.
pub fn append(row: &str, text: &'static str) -> Write {
    update(row, Condition::Any, Append(text))
}

/// Makes a commit that must succeed, and returns its version.
pub async fn done(engine: &dyn Engine, table: TableId, partition: &str, writes: Vec<Write>) -> Version {
    match engine.apply(table, partition, writes).await {
        Ok(Applied::Done { version, .. }) => version,
        other => panic!("the commit was not done: {other:?}"),
    }
}

/// The value of a row as a string.
pub async fn value(engine: &dyn Engine, partition: &str, row: &str) -> Option<String> {
    get(engine, TABLE, partition, row).await.map(|row| String::from_utf8_lossy(&row.value).into_owned())
}

/// A row.
pub async fn get(engine: &dyn Engine, table: TableId, partition: &str, row: &str) -> Option<Row> {
    let mut rows = engine.get(table, partition, &[row]).await.expect("the engine reads");
    assert_eq!(rows.len(), 1, "one entry for each requested row");
    rows.remove(0)
}

/// A position.
pub fn place(partition: &str, row: &str) -> KeyPosition {
    KeyPosition { partition: partition.into(), row: row.into() }
}

/// Included.
pub fn at(partition: &str, row: &str) -> Bound {
    Bound::Included(place(partition, row))
}

/// Excluded.
pub fn beside(partition: &str, row: &str) -> Bound {
    Bound::Excluded(place(partition, row))
}

/// After a partition.
pub fn after(partition: &str) -> Bound {
    Bound::AfterPartition(partition.into())
}

/// A range.
pub fn range(start: Bound, end: Bound) -> KeyRange {
    KeyRange { start, end }
}

/// A scan of `ranges` without limits that keeps all rows.
pub fn scan_of(table: TableId, ranges: Vec<KeyRange>) -> Scan {
    Scan {
        table,
        ranges,
        rows_max: usize::MAX,
        bytes_max: usize::MAX,
        judge: Box::new(|_| Ok(Verdict::Keep)),
    }
}

/// A page.
pub async fn page(engine: &dyn Engine, scan: Scan) -> Page {
    engine.scan(scan).await.expect("the engine scans")
}

/// Every row of a table, by key in UTF-16 units.
pub async fn everything(engine: &dyn Engine, table: TableId) -> Vec<Row> {
    let page = page(engine, scan_of(table, vec![KeyRange::ALL])).await;
    assert_eq!(page.next, None);
    page.rows
}

/// `partition/row` of each.
pub fn row_texts(rows: &[Row]) -> String {
    rows.iter().map(|row| format!("{}/{}", row.partition, row.row)).collect::<Vec<_>>().join(" ")
}

/// Fills a table: each item is the `partition/row` of a row, and also its value.
pub async fn fill(engine: &dyn Engine, table: TableId, keys: &str) {
    let mut partitions: BTreeMap<&str, Vec<Write>> = BTreeMap::new();
    for key in keys.split_whitespace() {
        let (partition, row) = key.split_once('/').expect("a key has a slash");
        partitions.entry(partition).or_default().push(upsert(row, key));
    }
    for (partition, writes) in partitions {
        done(engine, table, partition, writes).await;
    }
}
