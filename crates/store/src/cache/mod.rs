//! Rows kept in memory in scan order, for ranges of keys that are scanned repeatedly.
//!
//! The keys of tables that were scanned are divided into segments of about equal size. The first scan of a range only
//! records the borders of segments; a repeated scan keeps a segment's rows as a [`Block`].
//!
//! Invariant: a reader finds in a block exactly the rows of its view. Views are numbered; a segment
//! has the number of the last group that wrote to it, and the committer sets it before anyone can have a view
//! of that group. So this number is at least that of any write in the reader's view or in the block's. If it is
//! also no greater than the numbers of both views, nothing was written between them, and their rows are the
//! same. The writes before the creation of a segment are unknown, so all earlier groups count as writes to it.

mod block;
mod index;
mod rows;

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

pub use block::Block;
use index::Index;
pub use rows::RowCache;

use crate::limits::{SEGMENT_BYTES, SEGMENTS_IN_CACHE_MIN};

/// The cache. A budget of zero disables it.
#[derive(Debug)]
pub struct ScanCache {
    bytes_max: usize,
    segment_bytes: usize,
    index: RwLock<Index>,
}

/// The cache's entry for a key.
#[derive(Debug)]
pub enum Found {
    /// Rows of a segment, as of the reader's view.
    Block {
        /// The rows.
        block: Arc<Block>,
        /// The lowest key after the segment.
        end: Vec<u8>,
    },
    /// A segment whose rows are not cached, or not valid for the view of the reader.
    Segment {
        /// Its lowest key.
        start: Vec<u8>,
        /// The lowest key after it.
        end: Vec<u8>,
    },
    /// No segment. The next one starts here, if there is one.
    Gap(Option<Vec<u8>>),
}

impl ScanCache {
    /// A cache of the given size in bytes, borders included.
    pub fn new(bytes_max: u64) -> Self {
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        let segment_bytes = SEGMENT_BYTES.min(bytes_max / SEGMENTS_IN_CACHE_MIN);
        Self { bytes_max, segment_bytes, index: RwLock::default() }
    }

    /// Is the cache enabled?
    pub fn is_on(&self) -> bool {
        self.segment_bytes > 0
    }

    /// The approximate size of a segment's rows.
    pub fn segment_bytes(&self) -> usize {
        self.segment_bytes
    }

    /// Looks up `key` for a reader with the view `number`.
    pub fn find(&self, key: &[u8], number: u64) -> Found {
        if !self.is_on() {
            return Found::Gap(None);
        }
        self.read().find(key, number)
    }

    /// Keeps the rows of a segment, if it is still there, nothing was written to it, and it is worth the memory.
    pub fn keep(&self, start: &[u8], end: &[u8], mut block: Block) {
        block.trim();
        self.write().keep(start, end, Arc::new(block), self.bytes_max);
    }

    /// Divides the range from the first to the last of some keys into segments. Existing segments stay, except a single
    /// one that covers the range and has become too large.
    pub fn divide(&self, borders: &[Vec<u8>]) {
        if self.is_on() {
            self.write().divide(borders, self.bytes_max);
        }
    }

    /// Records that the group `number` has written to some keys. Must be called before anyone has a view of the
    /// group.
    pub fn note_writes<'k>(&self, number: u64, keys: impl Iterator<Item = &'k [u8]>) {
        if !self.is_on() {
            return;
        }
        let index = self.read();
        // Under the lock: a segment created before this gets the note, and one created later starts with the new
        // number.
        index.tide.store(number, Ordering::Release);
        keys.for_each(|key| index.note_write(number, key));
    }

    /// Maximum bytes that the cache holds.
    pub fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Bytes in use, borders included.
    pub fn bytes(&self) -> usize {
        self.read().bytes()
    }

    fn read(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Index> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
