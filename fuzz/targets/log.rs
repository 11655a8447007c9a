//! A simple, slow reader for a log of the sorted store, and changes to a log that test whether its end is found correctly.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

pub const START_BYTES: usize = 13;
pub const ITEM_HEAD_BYTES: usize = 21;
pub const END_BYTES: usize = 13;
pub const MAGIC: &[u8] = b"FJL\x03";
const SEAL_BYTES: usize = 12;

/// A batch that is complete, or would be if its end were correct.
pub struct Batch {
    pub place: Range<usize>,
    pub number: u64,
    rows: Vec<Row>,
}

struct Row {
    head: usize,
    key: usize,
    value: usize,
    end: usize,
}

/// The batch at `start`, if it has all its rows and room for an end.
fn batch_at(log: &[u8], start: usize) -> Option<Batch> {
    let head = log.get(start..start + START_BYTES).filter(|head| head[0] == 1)?;
    let mut at = start + START_BYTES;
    let mut rows = vec![];
    for _ in 0..number(&head[1..5]) {
        let head = log.get(at..at + ITEM_HEAD_BYTES).filter(|head| head[0] == 2)?;
        let key = at + ITEM_HEAD_BYTES;
        let value = key + number(&head[11..13]) as usize;
        let end = value + number(&head[17..21]) as usize;
        log.get(at..end)?;
        rows.push(Row { head: at, key, value, end });
        at = end;
    }
    log.get(at..at + END_BYTES)?;
    Some(Batch { place: start..at + END_BYTES, number: number(&head[5..13]), rows })
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// The end of a batch with these rows.
fn end(rows: &[u8]) -> Vec<u8> {
    [&[3][..], &xxh3_64(rows).to_le_bytes(), MAGIC].concat()
}

/// The complete batches at the beginning of a log, whether or not their numbers are consecutive.
pub fn batches(log: &[u8]) -> Vec<Batch> {
    let mut found = vec![];
    let mut start = 0;
    while let Some(batch) = batch_at(log, start) {
        let rows_end = batch.place.end - END_BYTES;
        if log[rows_end..batch.place.end] != end(&log[start + START_BYTES..rows_end]) {
            break;
        }
        start = batch.place.end;
        found.push(batch);
    }
    found
}

/// The part of the bytes that has the format of batches, as the store would have written it: rows with checksums, matching
/// lengths, consecutive numbers, correct ends. Nothing follows the last batch.
pub fn mended(bytes: &[u8]) -> Vec<u8> {
    let mut log = bytes.to_vec();
    let mut start = 0;
    let mut last: Option<u64> = None;
    while let Some(batch) = batch_at(&log, start) {
        let number = match last {
            None => batch.number.min(u64::MAX / 2),
            Some(last) => last + 1 + batch.number % 1000,
        };
        log[start + 5..start + START_BYTES].copy_from_slice(&number.to_le_bytes());
        for row in &batch.rows {
            seal(&mut log, row);
        }
        let rows_end = batch.place.end - END_BYTES;
        let end = end(&log[start + START_BYTES..rows_end]);
        log[rows_end..batch.place.end].copy_from_slice(&end);
        (start, last) = (batch.place.end, Some(number));
    }
    log.truncate(start);
    log
}

fn seal(log: &mut [u8], row: &Row) {
    let length = ((row.end - row.value) as u32).to_le_bytes();
    log[row.head + 13..row.head + 17].copy_from_slice(&length);
    if row.end - row.value >= SEAL_BYTES {
        let checked = row.end - 4;
        let crc = crc32fast::hash(&log[row.key..checked]);
        log[checked..row.end].copy_from_slice(&crc.to_be_bytes());
    }
}

/// The log with sectors after `start` lost. Each bit of `lost` stands for one of eight sectors, repeatedly.
pub fn with_lost_sectors(log: &[u8], start: usize, lost: u8) -> Vec<u8> {
    let mut left = log.to_vec();
    for sector in (start / 512..log.len().div_ceil(512)).filter(|sector| lost & 1 << (sector % 8) != 0) {
        left[(sector * 512).max(start)..((sector + 1) * 512).min(log.len())].fill(0);
    }
    left
}
