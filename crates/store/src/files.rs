//! The adapter to the sorted store: all uses of its API, and its settings.
//!
//! Invariants:
//! - One thread writes, in whole batches, each made durable by the same call that makes it visible: appending and
//!   syncing happen under one lock of the log, so a failed sync is seen by the commit that it concerns, not by a
//!   background task that happens to sync first.
//! - Reads always go through a snapshot that the writing thread took between two batches. The sorted store's own
//!   "latest" is not suitable: writing out a memtable in the middle of a commit moves it past the commit's number, and
//!   readers would then see the commit's rows appear one by one.
//! - The writing thread also says when a memtable is full. The sorted store would request that from its worker after
//!   every batch until it is done, which can fill the worker's queue, and then the worker waits for itself.
//! - There is one worker. Of two, one would spin while the other merges files.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use fjall::compaction::Leveled;
use fjall::config::BlockSizePolicy;
use fjall::{
    AbstractTree, CompressionType, Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode,
};

use crate::cache::{RowCache, ScanCache};
use crate::directory::Directory;
use crate::error::{OpenError, open_error};
use crate::limits;
use crate::missing;
use crate::options::{Durability, Options};
use crate::preflight;
use crate::resident::Memtables;
use crate::settle;
use crate::space::Space;

/// The name of the one keyspace; all kinds of keys live in it.
const KEYSPACE: &str = "rows";

/// The open files of a store. The lock is released last.
pub struct Files {
    /// The sorted store.
    pub db: Database,
    /// Its one keyspace.
    pub rows: Keyspace,
    /// Rows that are in no file yet.
    pub memtables: Memtables,
    /// The cache for scans.
    pub scans: ScanCache,
    /// The cache for reads by key.
    pub points: RowCache,
    /// A hook for tests that is called before a row is read from files.
    #[cfg(test)]
    pub gate: crate::reads_tests::Gate,
    /// The directory with its lock.
    pub directory: Directory,
}

impl Files {
    /// Opens or creates the files in `dir`.
    pub fn open(dir: &Path, options: &Options) -> Result<Self, OpenError> {
        Self::open_in(Directory::open(dir)?, options)
    }

    /// Opens or creates the files in a directory that is already locked.
    pub fn open_in(directory: Directory, options: &Options) -> Result<Self, OpenError> {
        Self::open_as(directory, options, limits::WORKER_THREADS)
    }

    /// Like `open_in`, but read-only: nothing writes or merges sorted files.
    pub fn open_idle(directory: Directory, options: &Options) -> Result<Self, OpenError> {
        Self::open_as(directory, options, 0)
    }

    fn open_as(directory: Directory, options: &Options, workers: usize) -> Result<Self, OpenError> {
        let data = directory.data();
        let is_new = !data.exists();
        let was_closed = directory.closed_at()?.is_some();
        let was_created = missing::was_created(&directory, options.accept_data_loss)?;
        // This depends on the durability of the last opening, not of this one.
        preflight::verify(&data, directory.was_relaxed()?, was_closed, was_created)?;
        if !was_closed {
            settle::all(&directory)?;
        }
        directory.mark_relaxed(options.durability == Durability::Relaxed)?;
        // Recovery of the sorted store asserts some properties of its files.
        let opened = catch_unwind(AssertUnwindSafe(|| open_database(&data, options, workers)));
        let (db, rows) =
            opened.unwrap_or_else(|panic| Err(OpenError::Corrupt(panic_text(&*panic).into())))?;
        if is_new {
            directory.keep_to_owner()?;
        }
        if !was_closed {
            settle::made(&directory)?;
        }
        Ok(Self {
            db,
            rows,
            memtables: Memtables::default(),
            scans: ScanCache::new(options.scan_cache_bytes),
            points: RowCache::new(options.row_cache_bytes),
            #[cfg(test)]
            gate: Default::default(),
            directory,
        })
    }

    /// Size of all caches together.
    pub fn cached_bytes(&self) -> u64 {
        self.db.cache_size() + (self.scans.bytes() + self.points.bytes()) as u64
    }

    /// The maximum size of all caches together.
    pub fn cached_bytes_max(&self) -> u64 {
        self.db.cache_capacity() + (self.scans.bytes_max() + self.points.bytes_max()) as u64
    }

    /// Should new writes wait, because writing out and merging do not keep up?
    pub fn is_behind(&self) -> bool {
        self.rows.sealed_memtable_count() > limits::FULL_MEMTABLES_MAX
            || self.rows.l0_table_count() > limits::UNMERGED_FILES_MAX
    }

    /// Bytes of rows that are in no sorted file and not being written to one.
    pub fn memtable_bytes(&self) -> u64 {
        self.rows.tree.active_memtable().size()
    }

    /// Bytes of all rows that are in no sorted file, including those being written to one.
    pub fn unwritten_bytes(&self) -> u64 {
        self.db.write_buffer_size()
    }

    /// Is every row in a sorted file?
    pub fn is_all_written(&self) -> bool {
        self.memtable_bytes() == 0 && !self.is_writing_out()
    }

    /// Starts writing the rows that are in no sorted file to one.
    pub fn write_out(&self) {
        // Only the removal of logs that are no longer needed can fail here, and it is tried again the next time.
        let _ = self.rows.rotate_memtable();
    }

    /// Are memtables being written out?
    pub fn is_writing_out(&self) -> bool {
        self.rows.sealed_memtable_count() > 0
    }

    /// Are memtables being written out, or sorted files being merged?
    pub fn is_busy(&self) -> bool {
        self.is_writing_out() || self.db.active_compactions() > 0
    }

    /// Has background work failed, so that all further writes are rejected?
    pub fn is_dead(&self) -> bool {
        matches!(self.db.persist(PersistMode::Buffer), Err(fjall::Error::Poisoned))
    }
}

fn open_database(data: &Path, options: &Options, workers: usize) -> Result<(Database, Keyspace), OpenError> {
    let db = Database::builder(data)
        .cache_size(options.cache_bytes)
        .worker_threads_unchecked(workers)
        .max_journaling_size(limits::JOURNAL_BYTES_MAX)
        // Recovery would compress each value again to verify a log entry, and fail after a change of the compressor.
        .journal_compression(CompressionType::None)
        .open()
        .map_err(|e| open_error(e, data))?;
    let rows = db.keyspace(KEYSPACE, keyspace_options).map_err(|e| open_error(e, data))?;
    Ok((db, rows))
}

/// The sorted store fixes these when a keyspace is created; a change here affects new stores only.
fn keyspace_options() -> KeyspaceCreateOptions {
    let leveled = Leveled::default().with_table_target_size(limits::SORTED_FILE_BYTES);
    KeyspaceCreateOptions::default()
        .max_memtable_size(u64::MAX)
        .compaction_strategy(Arc::new(leveled))
        .data_block_size_policy(BlockSizePolicy::all(limits::BLOCK_BYTES))
}

/// The message of a panic.
pub fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without a message")
}

/// Makes a batch durable and applies it: the interface where tests inject write failures.
pub trait Log: Send {
    /// Appends, syncs as `durability` says, and applies a batch to the sorted store.
    fn commit(&mut self, batch: OwnedWriteBatch, durability: Durability) -> Result<(), fjall::Error>;

    /// The space on the disk of a directory.
    fn space(&self, dir: &Path) -> Space {
        Space::of(dir)
    }
}

/// The log of the sorted store.
pub struct FjallLog;

impl Log for FjallLog {
    fn commit(&mut self, batch: OwnedWriteBatch, durability: Durability) -> Result<(), fjall::Error> {
        // Syncing only the data is enough: it also covers the metadata needed to find the data, the file's length and
        // blocks; only access and modification times are left out.
        let mode = match durability {
            Durability::Full => PersistMode::SyncData,
            Durability::Relaxed => PersistMode::Buffer,
        };
        batch.durability(Some(mode)).commit()
    }
}
