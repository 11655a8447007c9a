//! A view: the state after one group of commits, and reads from it.

use std::borrow::Cow;
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use fjall::{Readable, Slice, Snapshot};
use lazuli_engine::{Error, Result, Row, TableId, keycode};

use crate::cell::{self, Cell};
use crate::error::{closed, read_error};
use crate::files::Files;
use crate::keyspace::{self, ROW_PREFIX_BYTES};
use crate::reads::{Look, ReadSource};
use crate::resident::Resident;

/// The store as of one group of commits: everything in it is durable, and it contains no partial commit.
pub struct View {
    snapshot: Snapshot,
    resident: Arc<Resident>,
    files: Arc<Files>,
    /// Number of groups published before.
    pub number: u64,
}

impl View {
    /// The present state. Only for the thread that writes, between two batches.
    pub fn take(files: &Arc<Files>, number: u64) -> Self {
        let resident = files.memtables.now(&files.rows);
        Self { snapshot: files.db.snapshot(), resident, files: Arc::clone(files), number }
    }

    /// Has the sorted store changed since, even if no row has?
    pub fn is_outdated(&self) -> bool {
        self.snapshot.seqno() != self.files.db.visible_seqno()
    }

    /// Its position in the order of the sorted store's batches.
    pub fn sequence(&self) -> u64 {
        self.snapshot.seqno()
    }

    /// The files it reads.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// One cell by its key.
    pub fn cell(&self, key: &[u8]) -> Result<Option<Cell>> {
        let stored = self.stored(key)?;
        stored.map(|stored| cell::open(key, stored.into())).transpose()
    }

    /// One cell by its key, if it can be determined without files.
    pub fn in_memory(&self, key: &[u8]) -> Result<Look<Option<Cell>>> {
        match self.resident.look(key, self.snapshot.seqno()) {
            Look::Cold => Ok(Look::Cold),
            Look::Found(None) => Ok(Look::Found(None)),
            Look::Found(Some(stored)) => cell::open(key, stored.into()).map(|cell| Look::Found(Some(cell))),
        }
    }

    /// Looks for rows of one partition.
    pub fn get(
        &self,
        table: TableId,
        partition: &str,
        rows: &[impl AsRef<str>],
        source: ReadSource,
    ) -> Result<Look<Vec<Option<Row>>>> {
        let mut key = Vec::with_capacity(ROW_PREFIX_BYTES + partition.len() + 64);
        let mut found = Vec::with_capacity(rows.len());
        for row in rows {
            let row = row.as_ref();
            key.clear();
            keyspace::row_key_into(&mut key, table, partition, row);
            let Look::Found(cell) = self.look(&key, source)? else { return Ok(Look::Cold) };
            found.push(cell.map(|Cell { version, value }| Row {
                partition: partition.into(),
                row: row.into(),
                version,
                value,
            }));
        }
        Ok(Look::Found(found))
    }

    /// The bytes stored under a key, unverified.
    fn stored(&self, key: &[u8]) -> Result<Option<Slice>> {
        #[cfg(test)]
        self.files.gate.pass(key);
        self.snapshot.get(&self.files.rows, key).map_err(|e| read_error(&e))
    }

    /// Keys from `start` on and below `end`, in order, with the bytes stored under them, unverified.
    pub fn range<'a>(
        &'a self,
        start: &[u8],
        end: &[u8],
    ) -> impl Iterator<Item = Result<(Slice, Slice)>> + use<'a> {
        let items = self.snapshot.range(&self.files.rows, start..end);
        items.map(|item| item.into_inner().map_err(|e| read_error(&e)))
    }

    /// Some keys of a table, in order, from `start` on.
    pub fn table_keys(&self, table: TableId, start: &[u8], max: usize) -> Result<Vec<Bytes>> {
        let end = keyspace::table_end(table);
        let keys = self.snapshot.range(&self.files.rows, start..&*end).take(max);
        keys.map(|item| item.key().map(Bytes::from).map_err(|e| read_error(&e))).collect()
    }

    /// Everything, in order.
    pub fn everything(&self) -> impl Iterator<Item = Result<(Bytes, Bytes)>> {
        let items = self.snapshot.iter(&self.files.rows);
        items.map(|item| {
            let (key, stored) = item.into_inner().map_err(|e| read_error(&e))?;
            Ok((key.into(), stored.into()))
        })
    }
}

/// The partition and row in a row's key.
pub fn row_of(key: &[u8]) -> Result<(Cow<'_, str>, Cow<'_, str>)> {
    let encoded = key.get(ROW_PREFIX_BYTES..).unwrap_or_default();
    keycode::decode_key(encoded)
        .map_err(|_| Error::Corrupt(format!("the key {} is not one of a row", key.escape_ascii())))
}

/// The view that new readers get; `None` once the store is closed.
pub struct Published(RwLock<Option<Arc<View>>>);

impl Published {
    /// Publishes the first view.
    pub fn new(view: View) -> Self {
        Self(RwLock::new(Some(Arc::new(view))))
    }

    /// The latest view.
    pub fn view(&self) -> Result<Arc<View>> {
        let view = self.0.read().unwrap_or_else(PoisonError::into_inner);
        view.as_ref().map(Arc::clone).ok_or_else(closed)
    }

    /// Publishes a view, unless the store is closed.
    pub fn publish(&self, view: View) {
        let new = Arc::new(view);
        let mut published = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let old = published.as_mut().map(|current| std::mem::replace(current, new));
        // Dropping the last reference to a view releases its snapshot, which takes a moment: do that outside the lock.
        drop(published);
        drop(old);
    }

    /// Drops the view permanently.
    pub fn close(&self) {
        let old = self.0.write().unwrap_or_else(PoisonError::into_inner).take();
        drop(old);
    }
}
