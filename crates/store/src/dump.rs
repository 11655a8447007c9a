//! A snapshot of everything in the store, read while writes continue.
//!
//! Cost: the walk keeps the sorted files and memtables of its moment alive until it ends, but nothing that was
//! written later. Memory is bounded by the memtables of that moment; disk space, by the size of the store at
//! that moment. A snapshot of the sorted store is not suitable: as long as one is open, every memtable filled
//! since stays in memory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;
use fjall::{AnyTree, LsmError};
use lazuli_engine::{Dump, EngineFuture, Error, Marks, Result, Row, Stored};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::cell;
use crate::crash_point::{self, Point};
use crate::error::{closed, read_error};
use crate::keyspace::{self, KeyKind};
use crate::limits::DUMPS_MAX;
use crate::state::State;
use crate::view::{View, row_of};

/// The walk through the rows; `None` once the store is closed.
pub type Walk = Option<Box<dyn Iterator<Item = std::result::Result<(Bytes, Bytes), LsmError>> + Send>>;
type Shared = Mutex<Walk>;

/// The walks of a store that are in progress.
pub struct Dumps {
    permits: Arc<Semaphore>,
    open: Mutex<Vec<Weak<Shared>>>,
}

impl Default for Dumps {
    fn default() -> Self {
        Self { permits: Arc::new(Semaphore::new(DUMPS_MAX)), open: Mutex::default() }
    }
}

impl Dumps {
    /// Starts a walk through the rows of `view`. Its reads wait for a permit of `scans`.
    pub fn begin(&self, view: &View, scans: &Arc<Semaphore>) -> Result<StoreDump> {
        let permit = Arc::clone(&self.permits)
            .try_acquire_owned()
            .map_err(|_| Error::Unavailable(format!("{DUMPS_MAX} backups are already running")))?;
        let state = State::load(view)?;
        let walk = Arc::new(Mutex::new(Some(walk(view))));
        let mut open = locked(&self.open);
        open.retain(|walk| walk.strong_count() > 0);
        open.push(Arc::downgrade(&walk));
        Ok(StoreDump {
            marks: Marks { last_version: state.last_version, last_table: state.last_table },
            walk,
            scans: Arc::clone(scans),
            _permit: permit,
        })
    }

    /// Ends all walks, since they keep files open.
    pub fn close(&self) {
        for walk in locked(&self.open).drain(..).filter_map(|walk| walk.upgrade()) {
            drop(locked(&walk).take());
        }
    }
}

/// The snapshot of the view is needed only until the walk has its files.
pub fn walk(view: &View) -> Box<dyn Iterator<Item = std::result::Result<(Bytes, Bytes), LsmError>> + Send> {
    let AnyTree::Standard(tree) = &view.files().rows.tree else {
        // Only a keyspace with separated values is of the other kind, and ours has none.
        return Box::new(std::iter::empty());
    };
    let items = tree.create_iter(view.sequence(), None);
    Box::new(items.map(|item| item.map(|(key, stored)| (Bytes::from(key), Bytes::from(stored)))))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A walk through everything.
pub struct StoreDump {
    marks: Marks,
    walk: Arc<Shared>,
    scans: Arc<Semaphore>,
    _permit: OwnedSemaphorePermit,
}

impl Dump for StoreDump {
    fn marks(&self) -> Marks {
        self.marks
    }

    fn next(&mut self, bytes_max: usize) -> EngineFuture<'_, Vec<Stored>> {
        Box::pin(async move {
            let slot = Arc::clone(&self.scans).acquire_owned().await.map_err(|_| closed())?;
            let walk = Arc::clone(&self.walk);
            crate::store::blocking(move || {
                let rows = some(&mut locked(&walk), bytes_max);
                drop(slot);
                rows
            })
            .await
        })
    }
}

/// The next rows of a walk.
pub fn some(walk: &mut Walk, bytes_max: usize) -> Result<Vec<Stored>> {
    let walk = walk.as_mut().ok_or_else(closed)?;
    crash_point::pass(Point::DumpPage);
    let (mut rows, mut bytes) = (Vec::new(), 0);
    while bytes < bytes_max.max(1) {
        let Some(item) = walk.next() else { break };
        let (key, stored) = item.map_err(|e| read_error(&fjall::Error::Storage(e)))?;
        if let Some(row) = row(&key, stored)? {
            bytes += row.bytes();
            rows.push(row);
        }
    }
    Ok(rows)
}

fn row(key: &[u8], stored: Bytes) -> Result<Option<Stored>> {
    let opened = cell::open(key, stored)?;
    match keyspace::kind(key) {
        Some(KeyKind::State) => Ok(None),
        Some(KeyKind::Row(table, _)) => {
            let (partition, row) = row_of(key)?;
            let (partition, row) = (partition.into(), row.into());
            let row = Row { partition, row, version: opened.version, value: opened.value };
            Ok(Some(Stored { table, row }))
        }
        None => Err(Error::Corrupt(format!("the key {} has an unknown kind", key.escape_ascii()))),
    }
}
