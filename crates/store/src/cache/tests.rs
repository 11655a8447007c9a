//! The cache of rows and ranges, compared with a model of the rows that each view may see.

use lazuli_engine::conformance::Rng;
use lazuli_engine::{RowView, TableId, Version};

use super::*;
use crate::keyspace;

const TABLE: TableId = TableId(5);

fn key(number: usize) -> Vec<u8> {
    keyspace::row_key(TABLE, "p", &format!("{number:04}"))
}

fn block(view: u64, rows: std::ops::Range<usize>, value_bytes: usize) -> Block {
    let mut block = Block::new(TABLE, view);
    for number in rows {
        let row = format!("{number:04}");
        let value = vec![7; value_bytes];
        assert!(block.push(&RowView { partition: "p", row: &row, version: Version(1), value: &value }));
    }
    block
}

/// A cache with the segments 0..10 and 10..20.
fn divided() -> ScanCache {
    let cache = ScanCache::new(1 << 20);
    cache.divide(&[key(0), key(10), key(20)]);
    cache
}

#[track_caller]
fn check(cache: &ScanCache, at: usize, view: u64, expected: &str) {
    let shown = match cache.find(&key(at), view) {
        Found::Block { block, end } => {
            assert!(key(at) < end);
            format!("rows of view {}", block.built())
        }
        Found::Segment { start, end } => {
            assert!(start <= key(at) && key(at) < end);
            "segment".into()
        }
        Found::Gap(next) => format!("gap, {}", if next.is_some() { "then more" } else { "then nothing" }),
    };
    assert_eq!(shown, expected, "at {at} in view {view}");
}

#[test]
fn keys_belong_to_one_segment_or_none() {
    let cache = ScanCache::new(1 << 20);
    check(&cache, 3, 1, "gap, then nothing");
    cache.divide(&[key(5), key(10), key(20)]);
    check(&cache, 4, 1, "gap, then more");
    check(&cache, 5, 1, "segment");
    check(&cache, 19, 1, "segment");
    check(&cache, 20, 1, "gap, then nothing");
    // Existing segments stay; the rest is added.
    cache.divide(&[key(0), key(8), key(20), key(30)]);
    check(&cache, 0, 1, "gap, then more");
    check(&cache, 25, 1, "segment");
}

#[test]
fn rows_are_found_by_views_of_the_same_state_only() {
    let cache = divided();
    cache.note_writes(3, [key(2).as_slice()].into_iter());
    cache.keep(&key(0), &key(10), block(4, 0..10, 10));
    for (view, expected) in
        [(2, "segment"), (3, "rows of view 4"), (4, "rows of view 4"), (9, "rows of view 4")]
    {
        check(&cache, 0, view, expected);
    }
    // A write in between makes the cached rows of its segment invalid for views before and after it.
    cache.keep(&key(10), &key(20), block(4, 10..20, 10));
    cache.note_writes(5, [key(12).as_slice(), &key(40)].into_iter());
    check(&cache, 0, 5, "rows of view 4");
    check(&cache, 12, 4, "segment");
    check(&cache, 12, 5, "segment");
    cache.keep(&key(10), &key(20), block(6, 10..20, 10));
    check(&cache, 12, 4, "segment");
    check(&cache, 12, 5, "rows of view 6");
}

#[test]
fn outdated_rows_are_not_cached() {
    let cache = divided();
    cache.note_writes(2, [key(0).as_slice()].into_iter());
    cache.keep(&key(0), &key(10), block(1, 0..10, 10));
    check(&cache, 0, 1, "segment");
    check(&cache, 0, 2, "segment");
    // Nor are rows of a segment that was created after the write.
    let cache = ScanCache::new(1 << 20);
    cache.note_writes(2, [key(0).as_slice()].into_iter());
    cache.divide(&[key(0), key(10)]);
    cache.keep(&key(0), &key(10), block(1, 0..10, 10));
    check(&cache, 0, 2, "segment");
    cache.keep(&key(0), &key(10), block(2, 0..10, 10));
    check(&cache, 0, 2, "rows of view 2");
    // Nor are rows of a segment that has been given another end since.
    cache.divide(&[key(0), key(5), key(10)]);
    cache.keep(&key(0), &key(10), block(3, 0..10, 10));
    check(&cache, 0, 3, "segment");
}

#[test]
fn a_cache_without_memory_is_off() {
    let cache = ScanCache::new(0);
    cache.divide(&[key(0), key(10)]);
    cache.note_writes(1, [key(0).as_slice()].into_iter());
    check(&cache, 0, 1, "gap, then nothing");
}

/// One long scan does not evict ranges that are scanned often; ranges that are scanned more often do.
#[test]
fn ranges_that_are_scanned_more_often_are_kept() {
    let cache = ScanCache::new(64 * 1024);
    let borders: Vec<_> = (0..30).map(|n| key(n * 10)).collect();
    cache.divide(&borders);
    let keep = |from: usize| {
        if let Found::Segment { start, end } = cache.find(&key(from), 1) {
            cache.keep(&start, &end, block(1, from..from + 10, 500));
        }
    };
    let is_kept = |n: usize| matches!(cache.find(&key(n * 10), 1), Found::Block { .. });
    for _ in 0..3 {
        (0..6).for_each(|n| keep(n * 10));
    }
    assert!((0..6).all(is_kept));
    // Two scans of everything.
    (0..2).for_each(|_| (6..29).for_each(|n| keep(n * 10)));
    assert!((0..6).all(is_kept), "they were scanned more often");
    for _ in 0..200 {
        (20..26).for_each(|n| keep(n * 10));
    }
    assert!((20..26).all(is_kept), "these are scanned now");
    cache.read().check(64 * 1024);
}

/// Under any operations, segments do not overlap and memory stays within bounds.
#[test]
fn it_stays_within_its_bounds() {
    const BYTES_MAX: usize = 16 * 1024;
    let cache = ScanCache::new(BYTES_MAX as u64);
    let mut rng = Rng::new(7);
    for view in 0..20_000 {
        let (from, to) = (rng.below(1000), rng.below(1000));
        match rng.below(4) {
            0 => cache.divide(&[key(from.min(to)), key(usize::midpoint(from, to)), key(from.max(to))]),
            1 => cache.note_writes(view, [key(from).as_slice(), &key(to)].into_iter()),
            _ => {
                if let Found::Segment { start, end } = cache.find(&key(from), view) {
                    cache.keep(&start, &end, block(view, from..from + 2, to));
                }
            }
        }
        if view % 100 == 0 {
            cache.read().check(BYTES_MAX);
        }
    }
    assert!(cache.bytes() > BYTES_MAX / 4, "it is used");
}
