//! Was the last batch of a log left unfinished, or was it damaged?
//!
//! A batch is written from its start to its end by one thread, behind zeros that were there before:
//!
//! - A killed process leaves the beginning of a batch, and zeros behind it.
//! - A loss of power can also leave out any sectors in between: they are zeros, each as a whole.
//! - So what has its end and no sector of zeros was all written. If the checksum does not fit, it was changed later.
//!
//! What must stay true: what a kill leaves is never taken for damage, and nothing that a kill or a loss of power leaves needs
//! an operator. The price: damage that looks like a lost sector is not told from one, and is reported as a doubt.

use xxhash_rust::xxh3::Xxh3;

use super::{END, END_BYTES, ITEM, ITEM_HEAD_BYTES, MAGIC, START, START_BYTES, Tail};

/// What a disk writes as a whole or not at all; where it is more, it is a multiple.
const SECTOR_BYTES: u64 = 512;

/// What is it that lies at `start` of a log, behind all whole batches? It is no whole batch.
pub fn classify(start: u64, rest: &[u8]) -> Tail {
    let used = rest.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let rest = &rest[..used];
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

/// Its last bytes are the end of a batch.
fn has_end(rest: &[u8]) -> bool {
    rest.len() >= START_BYTES + END_BYTES && rest[rest.len() - END_BYTES] == END && rest.ends_with(&MAGIC)
}

/// In some sector there is nothing but zeros, so far as it belongs to the batch.
fn has_hole(start: u64, rest: &[u8]) -> bool {
    let first = usize::try_from(SECTOR_BYTES - start % SECTOR_BYTES).unwrap_or(0).min(rest.len());
    let (first, others) = rest.split_at(first);
    let is_empty = |sector: &[u8]| sector.iter().all(|&byte| byte == 0);
    is_empty(first) || others.chunks(SECTOR_BYTES as usize).any(is_empty)
}

/// Is it the beginning of a batch?
enum Beginning {
    /// Yes, and more must follow.
    Unfinished,
    /// Yes, and all items are there as their checksum says; only what marks the end is not.
    AllButTheEnd,
    No,
}

fn beginning(rest: &[u8]) -> Beginning {
    if rest.first() != Some(&START) {
        return Beginning::No;
    }
    let Some((start, mut rest)) = rest.split_at_checked(START_BYTES) else { return Beginning::Unfinished };
    let mut hash = Xxh3::new();
    for _ in 0..u32::from_le_bytes([start[1], start[2], start[3], start[4]]) {
        match rest.first() {
            None => return Beginning::Unfinished,
            Some(&ITEM) => {}
            Some(_) => return Beginning::No,
        }
        let Some(head) = rest.first_chunk::<ITEM_HEAD_BYTES>() else { return Beginning::Unfinished };
        let key = u64::from(u16::from_le_bytes([head[11], head[12]]));
        let value = u64::from(u32::from_le_bytes([head[17], head[18], head[19], head[20]]));
        let length = usize::try_from(ITEM_HEAD_BYTES as u64 + key + value).unwrap_or(usize::MAX);
        let Some((item, behind)) = rest.split_at_checked(length) else { return Beginning::Unfinished };
        hash.update(item);
        rest = behind;
    }
    match rest.split_first() {
        None => Beginning::Unfinished,
        Some((&END, end)) => match end.split_first_chunk() {
            None => Beginning::Unfinished,
            Some((found, magic)) if *found == hash.digest().to_le_bytes() && MAGIC.starts_with(magic) => {
                Beginning::AllButTheEnd
            }
            Some(_) => Beginning::No,
        },
        Some(_) => Beginning::No,
    }
}
