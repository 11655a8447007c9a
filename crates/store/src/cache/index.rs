//! The segments in the order of their keys, and which of them are worth their memory.
//!
//! Invariant: segments do not overlap, and all of them together stay within the cache's bytes.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use super::{Block, Found};
use crate::limits::{CACHE_DECLINES_MAX, CACHE_PROBES_MAX, SEGMENT_BORDERS_BYTES_MAX, SEGMENT_BORDERS_SHARE};

/// Memory of a segment in addition to its keys and its rows: about the overhead of the ordered map.
const SEGMENT_FIXED_BYTES: usize = 160;
/// Maximum count of scans of a segment.
const HEAT_MAX: u8 = 15;

/// The segments by their lowest keys.
#[derive(Debug, Default)]
pub struct Index {
    segments: BTreeMap<Vec<u8>, Segment>,
    /// The number of the last group whose writes were recorded.
    pub tide: AtomicU64,
    /// Bytes of borders, and of rows.
    border_bytes: usize,
    row_bytes: usize,
    /// The segment at which the last search for room ended.
    hand: Vec<u8>,
    /// Number of failed searches for room since the scan counts were last halved.
    declined: usize,
}

#[derive(Debug)]
struct Segment {
    end: Vec<u8>,
    /// The last group that may have written to it.
    last_write: AtomicU64,
    /// The number of recent scans.
    heat: AtomicU8,
    block: Option<Arc<Block>>,
}

impl Segment {
    fn last_write(&self) -> u64 {
        self.last_write.load(Ordering::Acquire)
    }

    /// The rows, if they are valid for the view `number`.
    fn block_for(&self, number: u64) -> Option<&Arc<Block>> {
        let last_write = self.last_write();
        self.block.as_ref().filter(|block| last_write <= block.built() && last_write <= number)
    }

    fn warm(&self) {
        let heat = self.heat.load(Ordering::Relaxed);
        if heat < HEAT_MAX {
            self.heat.store(heat + 1, Ordering::Relaxed);
        }
    }

    fn heat(&self) -> u8 {
        self.heat.load(Ordering::Relaxed)
    }

    fn row_bytes(&self) -> usize {
        self.block.as_ref().map_or(0, |block| block.bytes())
    }
}

impl Index {
    /// See [`super::ScanCache::find`].
    pub fn find(&self, key: &[u8], number: u64) -> Found {
        match self.at(key) {
            Some((start, segment)) => {
                segment.warm();
                let end = segment.end.clone();
                match segment.block_for(number) {
                    Some(block) => Found::Block { block: Arc::clone(block), end },
                    None => Found::Segment { start: start.clone(), end },
                }
            }
            None => Found::Gap(self.after(key).map(|(start, _)| start.clone())),
        }
    }

    /// Notes a write.
    pub fn note_write(&self, number: u64, key: &[u8]) {
        if let Some((_, segment)) = self.at(key) {
            segment.last_write.store(number, Ordering::Release);
        }
    }

    /// See [`super::ScanCache::keep`].
    pub fn keep(&mut self, start: &[u8], end: &[u8], block: Arc<Block>, bytes_max: usize) {
        let Some(segment) = self.segments.get(start) else { return };
        let is_newer = segment.block.as_ref().is_none_or(|old| old.built() < block.built());
        if segment.end != end || segment.last_write() > block.built() || !is_newer {
            return;
        }
        let (heat, old_bytes) = (segment.heat(), segment.row_bytes());
        if !self.make_room(start, block.bytes().saturating_sub(old_bytes), heat, bytes_max) {
            return;
        }
        if let Some(segment) = self.segments.get_mut(start) {
            self.row_bytes = self.row_bytes - old_bytes + block.bytes();
            segment.block = Some(block);
        }
    }

    /// See [`super::ScanCache::divide`].
    pub fn divide(&mut self, borders: &[Vec<u8>], bytes_max: usize) {
        let (Some(first), Some(last)) = (borders.first(), borders.last()) else { return };
        let mut heat = 0;
        if self.segments.get(first).is_some_and(|segment| segment.end == *last) {
            heat = self.remove(&first.clone()).map_or(0, |segment| segment.heat());
        }
        for pair in borders.windows(2) {
            let bytes = border_bytes(&pair[0], &pair[1]);
            if pair[0] >= pair[1] || self.overlaps(&pair[0], &pair[1]) {
                continue;
            }
            if !self.make_room_for_border(bytes, bytes_max) {
                return;
            }
            self.border_bytes += bytes;
            let segment = Segment {
                end: pair[1].clone(),
                last_write: AtomicU64::new(self.tide.load(Ordering::Acquire)),
                heat: AtomicU8::new(heat),
                block: None,
            };
            self.segments.insert(pair[0].clone(), segment);
        }
    }

    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        self.border_bytes + self.row_bytes
    }

    /// The segment that a key belongs to.
    fn at(&self, key: &[u8]) -> Option<(&Vec<u8>, &Segment)> {
        let mut below = self.segments.range::<[u8], _>((Bound::Unbounded, Bound::Included(key)));
        below.next_back().filter(|(_, segment)| key < segment.end.as_slice())
    }

    /// The first segment that starts after a key.
    fn after(&self, key: &[u8]) -> Option<(&Vec<u8>, &Segment)> {
        self.segments.range::<[u8], _>((Bound::Excluded(key), Bound::Unbounded)).next()
    }

    fn overlaps(&self, start: &[u8], end: &[u8]) -> bool {
        self.at(start).is_some() || self.after(start).is_some_and(|(next, _)| next.as_slice() < end)
    }

    fn remove(&mut self, start: &[u8]) -> Option<Segment> {
        let segment = self.segments.remove(start)?;
        self.border_bytes -= border_bytes(start, &segment.end);
        self.row_bytes -= segment.row_bytes();
        Some(segment)
    }

    /// Makes room for rows of a segment by dropping the rows of segments that are outdated or were scanned less
    /// often; `false` if none of the few segments examined is.
    fn make_room(&mut self, wanting: &[u8], bytes: usize, heat: u8, bytes_max: usize) -> bool {
        let mut probes = 0;
        while self.row_bytes + bytes > bytes_max - borders_bytes_max(bytes_max) {
            probes += 1;
            let Some(key) = self.turn().filter(|_| probes <= CACHE_PROBES_MAX) else {
                self.decline();
                return false;
            };
            let Some(segment) = self.segments.get_mut(&key).filter(|_| *key != *wanting) else { continue };
            let is_colder = segment.heat() < heat;
            let last_write = segment.last_write();
            if let Some(old) = segment.block.take_if(|old| is_colder || last_write > old.built()) {
                self.row_bytes -= old.bytes();
            }
        }
        true
    }

    /// Makes room for one more segment by dropping some that have no rows. Borders have a separate small share,
    /// so that one long scan does not evict ranges that are scanned often.
    fn make_room_for_border(&mut self, bytes: usize, bytes_max: usize) -> bool {
        let mut probes = 0;
        while self.border_bytes + bytes > borders_bytes_max(bytes_max) {
            probes += 1;
            let Some(key) = self.turn().filter(|_| probes <= CACHE_PROBES_MAX) else {
                self.decline();
                return false;
            };
            if self.segments.get(&key).is_some_and(|segment| segment.block.is_none()) {
                self.remove(&key);
            }
        }
        true
    }

    /// Advances to the next segment; starts over after the last one.
    fn turn(&mut self) -> Option<Vec<u8>> {
        let next = self.after(&self.hand).or_else(|| self.segments.first_key_value());
        let key = next.map(|(key, _)| key.clone())?;
        self.hand.clone_from(&key);
        Some(key)
    }

    /// Counts a failed search for room. After many of them, ranges that were scanned often lose their protection.
    fn decline(&mut self) {
        self.declined += 1;
        if self.declined >= CACHE_DECLINES_MAX {
            self.declined = 0;
            self.segments.values_mut().for_each(|segment| *segment.heat.get_mut() /= 2);
        }
    }

    /// Checks the invariants.
    #[cfg(test)]
    pub fn check(&self, bytes_max: usize) {
        let borders: usize = self.segments.iter().map(|(start, s)| border_bytes(start, &s.end)).sum();
        let rows: usize = self.segments.values().map(Segment::row_bytes).sum();
        assert_eq!((borders, rows), (self.border_bytes, self.row_bytes));
        assert!(self.bytes() <= bytes_max, "{} of {bytes_max}", self.bytes());
        let mut last: &[u8] = &[];
        for (start, segment) in &self.segments {
            assert!(last <= start.as_slice() && *start < segment.end, "segments do not overlap");
            last = &segment.end;
        }
    }
}

/// The share of a cache of this size that borders may use.
fn borders_bytes_max(bytes_max: usize) -> usize {
    (bytes_max / SEGMENT_BORDERS_SHARE).min(SEGMENT_BORDERS_BYTES_MAX)
}

fn border_bytes(start: &[u8], end: &[u8]) -> usize {
    start.len() + end.len() + SEGMENT_FIXED_BYTES
}
