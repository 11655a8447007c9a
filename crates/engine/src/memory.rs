//! The engine that keeps everything in memory: the oracle for the other engines, and a server for tests.
//!
//! One lock protects ordered maps. A commit is evaluated completely before the first row changes, so a rejected
//! commit leaves nothing behind.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::Bytes;

use crate::adopt::{self, Adopted};
use crate::clock::Clock;
use crate::content::{Content, MemoryContent};
use crate::dump::{Dump, Marks, Stored};
use crate::keycode::{self, Span};
use crate::limits::{self, ResultBytes};
use crate::rules::{self, Pager};
use crate::types::{Applied, Next, Page, Row, RowView, Scan, Status, TableId, Version, Write};
use crate::{Engine, EngineFuture, Error, Result};

/// Maximum rows that one call of `erase` removes.
const ERASE_ROWS_MAX: usize = 10_000;

/// An engine without files.
#[derive(Debug)]
pub struct Memory {
    clock: Clock,
    state: RwLock<State>,
    content: MemoryContent,
}

#[derive(Debug)]
struct State {
    tables: HashMap<TableId, Table>,
    last_version: Version,
    last_table: TableId,
}

/// Rows by their encoded key.
type Table = BTreeMap<Box<[u8]>, Cell>;

#[derive(Clone, Debug)]
struct Cell {
    version: Version,
    value: Bytes,
}

impl Memory {
    /// An empty engine that takes its versions from `clock`.
    pub fn new(clock: Clock) -> Self {
        let state = State { tables: HashMap::new(), last_version: Version(0), last_table: TableId::SYSTEM };
        Self { clock, state: RwLock::new(state), content: MemoryContent::default() }
    }

    // No write is half done while foreign code runs under the lock, so a panic leaves a consistent state.
    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn get(&self, table: TableId, partition: &str, rows: &[&str]) -> Vec<Option<Row>> {
        let Some(table) = self.tables.get(&table) else { return vec![None; rows.len()] };
        let mut key = vec![];
        rows.iter()
            .map(|&row| {
                key.clear();
                keycode::encode_key_into(&mut key, partition, row);
                table.get(&*key).map(|cell| Row {
                    partition: partition.into(),
                    row: row.into(),
                    version: cell.version,
                    value: cell.value.clone(),
                })
            })
            .collect()
    }

    fn scan(&self, scan: Scan) -> Result<Page> {
        let spans: Vec<Span> = scan.ranges.iter().map(|range| Span::new(&[], range)).collect();
        let table = self.tables.get(&scan.table);
        let mut pager = Pager::new(scan);
        for span in spans.into_iter().filter(|span| !span.is_empty()) {
            let bounds = (
                Bound::Included(span.start.as_slice()),
                span.end.as_deref().map_or(Bound::Unbounded, Bound::Excluded),
            );
            for (key, cell) in table.iter().flat_map(|rows| rows.range::<[u8], _>(bounds)) {
                let (partition, row) = keycode::decode_key(key)
                    .map_err(|_| Error::Corrupt("a key in memory cannot be decoded".into()))?;
                let view =
                    RowView { partition: &partition, row: &row, version: cell.version, value: &cell.value };
                if !pager.offer(view, || cell.value.clone())? {
                    return Ok(pager.finish());
                }
            }
        }
        Ok(pager.finish())
    }

    fn apply(&mut self, table: TableId, partition: &str, writes: &[Write], ticks: u64) -> Result<Applied> {
        limits::input_bytes(partition, writes)?;
        let version = rules::next_version(ticks, self.last_version);
        let rows = self.tables.entry(table).or_default();
        let mut changed: BTreeMap<Box<[u8]>, Option<Cell>> = BTreeMap::new();
        let mut updated = Vec::with_capacity(writes.len());
        let mut bytes = ResultBytes::default();
        for (index, write) in writes.iter().enumerate() {
            let mut key = vec![];
            keycode::encode_key_into(&mut key, partition, &write.row);
            let current = match changed.get(&*key) {
                Some(cell) => cell.as_ref(),
                None => rows.get(&*key),
            };
            let current = current.map(|cell| (cell.version, &cell.value));
            let decision = match rules::decide(write, current, version) {
                Ok(decision) => decision,
                Err(reason) => return Ok(Applied::Rejected { index, reason }),
            };
            updated.push(decision.computed());
            match decision.next {
                Next::Put(value) => {
                    bytes.add(key.len(), value.len())?;
                    changed.insert(key.into(), Some(Cell { version, value }));
                }
                Next::Delete => drop(changed.insert(key.into(), None)),
                Next::Keep => {}
            }
        }
        for (key, cell) in changed {
            match cell {
                Some(cell) => rows.insert(key, cell),
                None => rows.remove(&key),
            };
        }
        self.last_version = version;
        Ok(Applied::Done { version, updated })
    }

    fn adopt(&mut self, table: TableId, offered: &[Row], ticks: u64) -> Adopted {
        let latest = Version(ticks.max(self.last_version.0));
        let rows = self.tables.entry(table).or_default();
        let mut changed: BTreeMap<Box<[u8]>, Cell> = BTreeMap::new();
        for (index, Row { partition, row, version, value }) in offered.iter().enumerate() {
            let mut key = vec![];
            keycode::encode_key_into(&mut key, partition, row);
            let current = changed.get(&*key).or_else(|| rows.get(&*key));
            let current = current.map(|cell| (cell.version, &cell.value));
            match adopt::judge(current, (*version, value), latest) {
                Ok(true) => {
                    changed.insert(key.into(), Cell { version: *version, value: value.clone() });
                }
                Ok(false) => {}
                Err(reason) => return Adopted::Rejected { index, reason },
            }
        }
        for (key, cell) in changed {
            self.last_version = self.last_version.max(cell.version);
            rows.insert(key, cell);
        }
        Adopted::Done
    }

    fn dump(&self) -> Result<MemoryDump> {
        let mut ids: Vec<TableId> = self.tables.keys().copied().collect();
        ids.sort();
        let mut rows = Vec::new();
        for id in ids {
            for (key, cell) in self.tables.get(&id).into_iter().flatten() {
                let (partition, row) = keycode::decode_key(key)
                    .map_err(|_| Error::Corrupt("a key in memory cannot be decoded".into()))?;
                let (partition, row) = (partition.into(), row.into());
                let row = Row { partition, row, version: cell.version, value: cell.value.clone() };
                rows.push(Stored { table: id, row });
            }
        }
        let marks = Marks { last_version: self.last_version, last_table: self.last_table };
        Ok(MemoryDump { marks, rows: rows.into_iter() })
    }

    fn erase(&mut self, table: TableId) -> bool {
        let Some(rows) = self.tables.get_mut(&table) else { return true };
        for _ in 0..ERASE_ROWS_MAX {
            if rows.pop_first().is_none() {
                self.tables.remove(&table);
                return true;
            }
        }
        false
    }
}

impl Engine for Memory {
    fn get<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        rows: &'a [&'a str],
    ) -> EngineFuture<'a, Vec<Option<Row>>> {
        ready(Ok(self.read().get(table, partition, rows)))
    }

    fn scan(&self, scan: Scan) -> EngineFuture<'_, Page> {
        ready(self.read().scan(scan))
    }

    fn apply<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        writes: Vec<Write>,
    ) -> EngineFuture<'a, Applied> {
        // Inside the future, so that a call that is never awaited changes nothing.
        Box::pin(async move {
            let ticks = self.clock.ticks();
            self.write().apply(table, partition, &writes, ticks)
        })
    }

    fn adopt(&self, table: TableId, rows: Vec<Row>) -> EngineFuture<'_, Adopted> {
        Box::pin(async move {
            if table == TableId::SYSTEM {
                return Err(adopt::unsupported());
            }
            let ticks = self.clock.ticks();
            Ok(self.write().adopt(table, &rows, ticks))
        })
    }

    fn fresh_table(&self) -> EngineFuture<'_, TableId> {
        Box::pin(async {
            let mut state = self.write();
            state.last_table.0 += 1;
            Ok(state.last_table)
        })
    }

    fn erase(&self, table: TableId) -> EngineFuture<'_, bool> {
        Box::pin(async move {
            if table == TableId::SYSTEM {
                return Err(Error::Unavailable("the system table cannot be erased".into()));
            }
            Ok(self.write().erase(table))
        })
    }

    fn status(&self) -> EngineFuture<'_, Status> {
        ready(Ok(Status { place: "in memory".into(), ..Status::default() }))
    }

    fn dump(&self) -> EngineFuture<'_, Box<dyn Dump>> {
        ready(self.read().dump().map(|dump| Box::new(dump) as Box<dyn Dump>))
    }

    fn content(&self) -> Option<Arc<dyn Content>> {
        Some(Arc::new(self.content.clone()))
    }

    fn close(&self) -> EngineFuture<'_, ()> {
        ready(Ok(()))
    }
}

/// A copy of all keys; the values are shared.
struct MemoryDump {
    marks: Marks,
    rows: std::vec::IntoIter<Stored>,
}

impl Dump for MemoryDump {
    fn marks(&self) -> Marks {
        self.marks
    }

    fn next(&mut self, bytes_max: usize) -> EngineFuture<'_, Vec<Stored>> {
        let mut bytes = 0;
        let mut page = Vec::new();
        while bytes < bytes_max.max(1)
            && let Some(row) = self.rows.next()
        {
            bytes += row.bytes();
            page.push(row);
        }
        ready(Ok(page))
    }
}

fn ready<'a, T: Send + 'a>(result: Result<T>) -> EngineFuture<'a, T> {
    Box::pin(std::future::ready(result))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::EngineFactory;

    struct InMemory;

    impl EngineFactory for InMemory {
        async fn open(&self, clock: Clock) -> Arc<dyn Engine> {
            Arc::new(Memory::new(clock))
        }
    }

    crate::conformance_tests!(InMemory);

    #[tokio::test(flavor = "multi_thread")]
    async fn finding_1_large_updates_fit_the_bounds() {
        crate::conformance::a_hundred_rows_of_a_mebibyte_are_updated_together(&InMemory, 3).await;
    }
}
