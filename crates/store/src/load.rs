//! Creates a store from existing rows, for instance from a backup, with their versions.
//!
//! Invariant: until it is published, the directory has a mark; a directory with this mark is not opened as a
//! store.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use fjall::{OwnedWriteBatch, PersistMode, Slice};
use lazuli_engine::{Content, Error, Marks, Result, Stored};

use crate::cell;
use crate::content::PackContent;
use crate::directory::Directory;
use crate::dump;
use crate::error::{OpenError, poisoned};
use crate::files::{Files, FjallLog, Log};
use crate::keyspace;
use crate::limits::{KEY_BYTES_MAX, LOAD_PAGE_BYTES, STALL_POLL, VALUE_BYTES_MAX};
use crate::options::{Durability, Options};
use crate::state::State;
use crate::view::View;

/// A store that is being filled.
pub struct Loader {
    files: Files,
    content: PackContent,
    memtable_bytes: u64,
}

/// A store that has all its rows on disk but is not usable until it is published.
#[must_use = "the directory is not a usable store until it is published"]
pub struct Loaded {
    files: Arc<Files>,
    content: PackContent,
    state: State,
}

impl Loader {
    /// Starts a store in `dir`, which must be empty or not exist.
    pub fn create(dir: impl AsRef<Path>, options: &Options) -> std::result::Result<Self, OpenError> {
        let directory = Directory::begin_load(dir.as_ref())?;
        let files = Files::open_in(directory, options)?;
        let content = PackContent::open(dir.as_ref(), Durability::Full)?;
        Ok(Self { files, content, memtable_bytes: options.memtable_bytes })
    }

    /// The content of the new store, to be filled by [`Content::adopt`].
    pub fn content(&self) -> Arc<dyn Content> {
        Arc::new(self.content.clone())
    }

    /// Puts rows in.
    pub fn put(&mut self, rows: &[Stored]) -> Result<()> {
        let mut batch = OwnedWriteBatch::with_capacity(self.files.db.clone(), rows.len());
        for Stored { table, row } in rows {
            let key = keyspace::row_key(*table, &row.partition, &row.row);
            if key.len() > KEY_BYTES_MAX || row.value.len() > VALUE_BYTES_MAX {
                return Err(Error::TooLarge(format!("the row with the key {}", key.escape_ascii())));
            }
            let stored = cell::seal(&key, &row.value, row.version);
            batch.insert(&self.files.rows, Slice::from(Bytes::from(key)), Slice::from(stored));
        }
        self.commit(batch)
    }

    fn commit(&self, batch: OwnedWriteBatch) -> Result<()> {
        while self.files.is_behind() {
            self.wait()?;
        }
        FjallLog.commit(batch, Durability::Relaxed).map_err(|e| Error::Unavailable(e.to_string()))?;
        if self.files.memtable_bytes() > self.memtable_bytes {
            self.files.write_out();
        }
        Ok(())
    }

    fn wait(&self) -> Result<()> {
        if self.files.is_dead() {
            return Err(poisoned("writing sorted files has failed"));
        }
        std::thread::park_timeout(STALL_POLL);
        Ok(())
    }

    /// Makes everything durable, together with the store's state.
    pub fn seal(self, marks: Marks) -> Result<Loaded> {
        let state = State { last_version: marks.last_version, last_table: marks.last_table };
        let (key, stored) = state.sealed();
        let mut batch = OwnedWriteBatch::with_capacity(self.files.db.clone(), 1);
        batch.insert(&self.files.rows, Slice::from(key), Slice::from(stored));
        self.commit(batch)?;
        self.files.write_out();
        while self.files.is_writing_out() {
            self.wait()?;
        }
        self.files.db.persist(PersistMode::SyncAll).map_err(|e| Error::Unavailable(e.to_string()))?;
        Ok(Loaded { files: Arc::new(self.files), content: self.content, state })
    }
}

impl Loaded {
    /// The content of the new store.
    pub fn content(&self) -> Arc<dyn Content> {
        Arc::new(self.content.clone())
    }

    /// Passes on every row, in order, as it is read back from the files.
    pub fn read_back(&self, mut see: impl FnMut(Vec<Stored>)) -> Result<Marks> {
        let view = View::take(&self.files, 0);
        let state = State::load(&view)?;
        let mut walk = Some(dump::walk(&view));
        loop {
            let rows = dump::some(&mut walk, LOAD_PAGE_BYTES)?;
            if rows.is_empty() {
                return Ok(Marks { last_version: state.last_version, last_table: state.last_table });
            }
            see(rows);
        }
    }

    /// Publishes it: from now on it is a usable store.
    pub fn publish(self) -> std::result::Result<(), OpenError> {
        self.content.stop();
        self.files.directory.mark_closed(self.state.last_version)?;
        self.files.directory.end_load()
    }
}
