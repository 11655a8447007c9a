//! Single rows kept in memory, for reads by key.
//!
//! The same rule as for blocks: a cached row is valid for a reader if nothing was written to it between the view it was
//! read from and the view of the reader. Writes are recorded by a hash of the key: a write to one row may invalidate
//! others with the same hash, but an outdated row is never returned.
//!
//! A row is kept when it is read for the second time: rows that are read only once, as by random reads of a table that
//! no cache can hold, are not worth the copy.
//!
//! Rows live in two generations, young and old. A row found in the old generation moves to the young one. When the young
//! generation is full, it replaces the old one, and the rows left in the old one are dropped.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use xxhash_rust::xxh3::xxh3_64;

use crate::cell::Cell;

/// Number of parts, each with its own lock.
const SHARDS: usize = 16;
/// Number of hashes by which writes are distinguished.
const STRIPES: usize = 16 * 1024;
/// Reads are also recorded by hashes: one for this many bytes of the budget, so that there are some for each
/// row that fits.
const ASKED_BYTES: usize = 256;
/// Maximum number of these hashes.
const ASKED_MAX: usize = 64 * 1024;
/// Memory of a row besides its key and value.
const ROW_FIXED_BYTES: usize = 128;

/// The cache. A budget of zero disables it.
#[derive(Debug)]
pub struct RowCache {
    shards: Vec<Mutex<Shard>>,
    /// The last group that wrote to a key with that hash.
    writes: Vec<AtomicU64>,
    /// The last key with that hash that was read but not found here.
    asked: Vec<AtomicU32>,
    generation_bytes_max: usize,
}

#[derive(Debug, Default)]
struct Shard {
    young: Generation,
    old: Generation,
}

#[derive(Debug, Default)]
struct Generation {
    rows: HashMap<u64, Kept, BuildHasherDefault<Given>>,
    bytes: usize,
}

#[derive(Debug)]
struct Kept {
    key: Box<[u8]>,
    /// The number of the view it was read from.
    built: u64,
    cell: Cell,
}

impl Kept {
    fn bytes(&self) -> usize {
        self.key.len() + self.cell.value.len() + ROW_FIXED_BYTES
    }
}

/// The keys of the maps are already hashes.
#[derive(Debug, Default)]
struct Given(u64);

impl Hasher for Given {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64(bytes);
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

impl RowCache {
    /// A cache of this many bytes.
    pub fn new(bytes_max: u64) -> Self {
        let generation_bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX) / (2 * SHARDS);
        if generation_bytes_max == 0 {
            return Self { shards: vec![], writes: vec![], asked: vec![], generation_bytes_max };
        }
        let asked_count = (generation_bytes_max * 2 * SHARDS / ASKED_BYTES).clamp(1, ASKED_MAX);
        let asked = (0..asked_count).map(|_| AtomicU32::new(0)).collect();
        let writes = (0..STRIPES).map(|_| AtomicU64::new(0)).collect();
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { shards, writes, asked, generation_bytes_max }
    }

    /// The row, if it is known to be valid for the view `number`; otherwise the result of `read`, which is cached if the
    /// row was read before.
    pub fn get<E>(
        &self,
        key: &[u8],
        number: u64,
        read: impl FnOnce() -> Result<Option<Cell>, E>,
    ) -> Result<Option<Cell>, E> {
        if self.shards.is_empty() {
            return read();
        }
        let hash = xxh3_64(key);
        if let Some(cell) = self.find(hash, key, number) {
            return Ok(Some(cell));
        }
        let found = read()?;
        if let Some(cell) = &found
            && self.was_asked_for(hash)
        {
            // Make a copy, since the value may be a part of a much larger buffer.
            let cell = Cell { version: cell.version, value: Bytes::copy_from_slice(&cell.value) };
            self.keep(hash, Kept { key: key.into(), built: number, cell });
        }
        Ok(found)
    }

    /// The row, if it is known to be valid for the view `number`.
    pub fn known(&self, key: &[u8], number: u64) -> Option<Cell> {
        if self.shards.is_empty() { None } else { self.find(xxh3_64(key), key, number) }
    }

    /// Records that the group `number` has written to some keys. Must be called before anyone has a view of the
    /// group.
    pub fn note_writes<'k>(&self, number: u64, keys: impl Iterator<Item = &'k [u8]>) {
        if !self.writes.is_empty() {
            keys.for_each(|key| self.stripe(xxh3_64(key)).store(number, Ordering::Release));
        }
    }

    /// Was this key the last one of its hash to be read? Records that it is now.
    fn was_asked_for(&self, hash: u64) -> bool {
        let place = usize::try_from(hash >> 24).unwrap_or(0) % self.asked.len().max(1);
        // The bits that do not choose the slot. The value of an empty slot never occurs.
        let mark = u32::try_from(hash & 0x00FF_FFFF).unwrap_or(0) | 1 << 31;
        self.asked.get(place).is_some_and(|last| last.swap(mark, Ordering::Relaxed) == mark)
    }

    fn stripe(&self, hash: u64) -> &AtomicU64 {
        &self.writes[usize::try_from(hash >> 32).unwrap_or(0) % STRIPES]
    }

    fn shard(&self, hash: u64) -> std::sync::MutexGuard<'_, Shard> {
        // The low bits choose a slot in the maps.
        let shard = usize::try_from(hash >> 56).unwrap_or(0) % SHARDS;
        self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, hash: u64, key: &[u8], number: u64) -> Option<Cell> {
        let mut shard = self.shard(hash);
        // Read under the lock: a row from a later view is cached only after its write was recorded.
        let last_write = self.stripe(hash).load(Ordering::Acquire);
        let is_it = |kept: &Kept| *kept.key == *key && last_write <= kept.built && last_write <= number;
        if let Some(kept) = shard.young.rows.get(&hash) {
            return is_it(kept).then(|| kept.cell.clone());
        }
        let cell = shard.old.rows.get(&hash).filter(|kept| is_it(kept))?.cell.clone();
        if let Some(kept) = shard.old.remove(hash) {
            shard.keep(hash, kept, self.generation_bytes_max);
        }
        Some(cell)
    }

    fn keep(&self, hash: u64, kept: Kept) {
        if kept.bytes() <= self.generation_bytes_max {
            self.shard(hash).keep(hash, kept, self.generation_bytes_max);
        }
    }

    /// Maximum bytes that it holds.
    pub fn bytes_max(&self) -> usize {
        self.generation_bytes_max * 2 * self.shards.len()
    }

    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        let bytes = |shard: &Mutex<Shard>| {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            shard.young.bytes + shard.old.bytes
        };
        self.shards.iter().map(bytes).sum()
    }
}

impl Generation {
    fn remove(&mut self, hash: u64) -> Option<Kept> {
        let kept = self.rows.remove(&hash)?;
        self.bytes -= kept.bytes();
        Some(kept)
    }
}

impl Shard {
    fn keep(&mut self, hash: u64, kept: Kept, bytes_max: usize) {
        if self.young.bytes + kept.bytes() > bytes_max {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.bytes += kept.bytes();
        if let Some(replaced) = self.young.rows.insert(hash, kept) {
            self.young.bytes -= replaced.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use lazuli_engine::Version;

    use super::*;

    fn cell(version: u64, bytes: usize) -> Cell {
        Cell { version: Version(version), value: vec![7; bytes].into() }
    }

    /// Reads with the view `number` when `stored` is on disk; checks that the reader gets `expected`.
    #[track_caller]
    fn check(cache: &RowCache, number: u64, stored: u64, expected: u64) {
        let found = cache.get::<()>(b"key", number, || Ok(Some(cell(stored, 5)))).unwrap().unwrap();
        assert_eq!(found.version, Version(expected), "in view {number}");
    }

    #[test]
    fn rows_are_found_by_views_of_the_same_state_only() {
        let cache = RowCache::new(1 << 20);
        let write = |number| cache.note_writes(number, [&b"key"[..]].into_iter());
        write(3);
        check(&cache, 4, 1, 1);
        check(&cache, 4, 1, 1);
        check(&cache, 4, 99, 1);
        check(&cache, 3, 99, 1);
        check(&cache, 9, 99, 1);
        // An older view returns another value, and newer views cannot use it.
        check(&cache, 2, 50, 50);
        check(&cache, 4, 1, 1);
        write(10);
        check(&cache, 9, 60, 60);
        check(&cache, 10, 70, 70);
        check(&cache, 11, 99, 70);
    }

    #[test]
    fn rows_are_kept_when_they_are_read_again() {
        let cache = RowCache::new(1 << 20);
        for number in 0..1000_u64 {
            cache.get::<()>(&number.to_be_bytes(), 1, || Ok(Some(cell(number, 100)))).unwrap();
        }
        assert_eq!(cache.bytes(), 0, "nothing was read twice");
        check(&cache, 1, 5, 5);
        check(&cache, 1, 6, 6);
        check(&cache, 1, 7, 6);
        assert!(cache.bytes() > 0);
    }

    #[test]
    fn missing_rows_are_not_cached() {
        let cache = RowCache::new(1 << 20);
        assert_eq!(cache.get::<()>(b"key", 1, || Ok(None)), Ok(None));
        check(&cache, 1, 5, 5);
        check(&cache, 1, 6, 6);
        let off = RowCache::new(0);
        check(&off, 1, 5, 5);
        check(&off, 1, 6, 6);
    }

    #[test]
    fn it_stays_within_its_bounds_and_keeps_what_is_asked_for() {
        const BYTES_MAX: usize = 256 * 1024;
        let cache = RowCache::new(BYTES_MAX as u64);
        for number in 0..20_000_u64 {
            let key = number.to_be_bytes();
            for _ in 0..2 {
                cache.get::<()>(&key, 1, || Ok(Some(cell(number, 100)))).unwrap();
            }
            check(&cache, 1, if number < 2 { 4 } else { 99 }, 4);
        }
        for shard in &cache.shards {
            let shard = shard.lock().unwrap();
            for generation in [&shard.young, &shard.old] {
                assert_eq!(generation.rows.values().map(Kept::bytes).sum::<usize>(), generation.bytes);
            }
        }
        let bytes = cache.bytes();
        assert!(bytes <= BYTES_MAX && bytes > BYTES_MAX / 4, "{bytes}");
    }
}
