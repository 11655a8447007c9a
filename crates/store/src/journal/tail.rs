//! Was the last batch of a log left unfinished, or was it damaged?
//!
//! A batch is written from its start to its end by one thread, over zeros that were there before:
//!
//! - A killed process leaves the beginning of a batch, followed by zeros.
//! - A loss of power can also lose any sectors in between: they are all zeros, or zeros from the point where an
//!   earlier, already written part of the batch ended.
//! - So a batch that has its end and no sector of zeros was written completely. If its checksum does not match, it was
//!   changed later.
//!
//! Invariant: the result of a kill is never mistaken for damage, and the store opens without an operator
//! after a kill or a loss of power. The price: damage that looks like a lost sector cannot be distinguished from one,
//! and is reported as possible damage.

use xxhash_rust::xxh3::Xxh3;

use crate::cell;

use super::{END, END_BYTES, ITEM, ITEM_HEAD_BYTES, MAGIC, START, START_BYTES, Tail};

/// The smallest unit that a disk writes atomically; larger units are multiples of it.
const SECTOR_BYTES: u64 = 512;

/// A run of at least this many zeros at the end of a sector counts as not written: in a batch, only rows can contain that
/// many consecutive zeros, and rows have their own checksums.
const HOLE_BYTES_MIN: usize = 16;

/// Classifies the data at `start` of a log, after all complete batches. It is not a complete batch, and has no zeros at
/// its end.
pub fn classify(start: u64, rest: &[u8]) -> Tail {
    if has_end(rest) {
        return if has_hole(start, rest) { Tail::Holed } else { Tail::Altered };
    }
    match beginning(rest) {
        Beginning::Unfinished => Tail::Torn,
        // Almost certainly a byte of the end that became zero.
        Beginning::AllButTheEnd => Tail::Holed,
        Beginning::No if has_hole(start, rest) => Tail::Holed,
        Beginning::No => Tail::Altered,
    }
}

/// Are its last bytes the end of a batch?
fn has_end(rest: &[u8]) -> bool {
    rest.len() >= START_BYTES + END_BYTES && rest[rest.len() - END_BYTES] == END && rest.ends_with(&MAGIC)
}

/// Does the batch have a hole: a sector, or an end of a sector, that consists of zeros? Zeros within a row whose checksum
/// matches do not count.
fn has_hole(start: u64, rest: &[u8]) -> bool {
    let sound: Vec<_> = Items::of(rest).filter(|item| item.is_sound(rest)).collect();
    let first = usize::try_from(SECTOR_BYTES - start % SECTOR_BYTES).unwrap_or(0).min(rest.len());
    let mut sectors = std::iter::once(0..first)
        .chain(
            (first..rest.len()).step_by(SECTOR_BYTES as usize).map(|from| from..from + SECTOR_BYTES as usize),
        )
        .map(|sector| sector.start..sector.end.min(rest.len()));
    sectors.any(|sector| {
        let zeros = rest[sector.clone()].iter().rev().take_while(|&&byte| byte == 0).count();
        let hole = sector.end - zeros..sector.end;
        // They are in order, so that only one of them can reach that far.
        let row = sound.get(sound.partition_point(|item| item.end < hole.end));
        (zeros >= HOLE_BYTES_MIN || hole == sector) && row.is_none_or(|item| hole.start < item.start)
    })
}

/// An entry of a batch, by its position in the rest of the batch.
pub struct Item {
    pub start: usize,
    key: usize,
    value: usize,
    pub end: usize,
}

impl Item {
    /// Does the row match its checksum?
    pub fn is_sound(&self, rest: &[u8]) -> bool {
        cell::view(&rest[self.key..self.value], &rest[self.value..self.end]).is_ok()
    }
}

/// The complete entries of a batch, from the first one on.
pub struct Items<'a> {
    rest: &'a [u8],
    /// The end of the last of them.
    pub at: usize,
    /// Number of items that should follow.
    pub left: u32,
}

impl<'a> Items<'a> {
    /// The entries of the batch at the beginning of `rest`.
    pub fn of(rest: &'a [u8]) -> Self {
        let left = match rest.first_chunk::<START_BYTES>() {
            Some(start) if start[0] == START => u32::from_le_bytes([start[1], start[2], start[3], start[4]]),
            _ => 0,
        };
        Self { rest, at: START_BYTES, left }
    }
}

impl Iterator for Items<'_> {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        let rest = self.rest.get(self.at..).filter(|_| self.left > 0)?;
        let head = rest.first_chunk::<ITEM_HEAD_BYTES>().filter(|head| head[0] == ITEM)?;
        let key = usize::from(u16::from_le_bytes([head[11], head[12]]));
        let value = u32::from_le_bytes([head[17], head[18], head[19], head[20]]);
        let key_at = self.at + ITEM_HEAD_BYTES;
        let end =
            (key_at + key).checked_add(usize::try_from(value).ok()?).filter(|&end| end <= self.rest.len())?;
        let item = Item { start: self.at, key: key_at, value: key_at + key, end };
        self.at = end;
        self.left -= 1;
        Some(item)
    }
}

/// Is this the beginning of a batch?
enum Beginning {
    /// Yes, and more must follow.
    Unfinished,
    /// Yes, and all items match their checksum; only the end mark is missing.
    AllButTheEnd,
    No,
}

fn beginning(rest: &[u8]) -> Beginning {
    if rest.first() != Some(&START) {
        return Beginning::No;
    }
    let (mut hash, mut items) = (Xxh3::new(), Items::of(rest));
    for item in items.by_ref() {
        hash.update(&rest[item.start..item.end]);
    }
    let wanted = if items.left > 0 { ITEM } else { END };
    match rest.get(items.at..).and_then(<[u8]>::split_first) {
        None => Beginning::Unfinished,
        Some((&ITEM, _)) if wanted == ITEM => Beginning::Unfinished,
        Some((&END, end)) if wanted == END => match end.split_first_chunk() {
            None => Beginning::Unfinished,
            Some((found, magic)) if *found == hash.digest().to_le_bytes() && MAGIC.starts_with(magic) => {
                Beginning::AllButTheEnd
            }
            Some(_) => Beginning::No,
        },
        Some(_) => Beginning::No,
    }
}
