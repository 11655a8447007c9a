//! Looks for a complete batch after an unreadable one. If there is one, the unreadable one was damaged after it was
//! written, and the batches after it must not be cut off.
//!
//! But a row may contain a copy of a batch: any client can store one. So data inside a row of the unreadable
//! batch does not count as a batch of the log if the row matches its checksum. If the row does not match, the
//! data counts only if complete batches follow each other from there to the very end of the log: then the
//! length of the row may be wrong.
//!
//! Invariant: the work is bounded for any contents of rows.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use super::tail::Items;
use super::{END, END_BYTES, ITEM, ITEM_HEAD_BYTES, MAGIC, START, START_BYTES, is_near};

/// Maximum bytes that each of the two searches reads. Bytes that are read from several positions count several times.
const SEARCH_BYTES_MAX: u64 = 1 << 30;

/// Does a complete batch follow in `rest`, the end of a log whose last complete batch, if any, has the number `last`?
/// There are no zeros at its end.
pub fn has_batch_behind(rest: &[u8], last: Option<u64>) -> bool {
    has_batch_within(rest, last, SEARCH_BYTES_MAX)
}

fn has_batch_within(rest: &[u8], last: Option<u64>, bytes_max: u64) -> bool {
    let rows = Rows::of(rest);
    let mut budget = bytes_max;
    let mut places = gaps(&rows.all, rest.len()).flatten().filter(|&at| rest[at] == START);
    // If the search is inconclusive, nothing is cut off.
    if places.any(|at| whole_batch(&rest[at..], last, &mut budget).is_some() || budget == 0) {
        return true;
    }
    let mut budget = bytes_max;
    let mut places = rows.doubtful.into_iter().flatten().filter(|&at| rest[at] == START);
    // If the search is inconclusive, it is a row that was crafted for this purpose.
    places.any(|at| reaches_end(&rest[at..], last, &mut budget))
}

/// The gaps between these ranges, which are in order, without the very first byte.
fn gaps(ranges: &[Range<usize>], end: usize) -> impl Iterator<Item = Range<usize>> {
    let starts = std::iter::once(1).chain(ranges.iter().map(|range| range.end));
    let ends = ranges.iter().map(|range| range.start).chain(std::iter::once(end));
    starts.zip(ends).map(|(start, end)| start..end)
}

/// The positions of the rows of the first batch.
struct Rows {
    all: Vec<Range<usize>>,
    /// Those rows that do not match their checksum or are incomplete.
    doubtful: Vec<Range<usize>>,
}

impl Rows {
    fn of(rest: &[u8]) -> Self {
        let (mut all, mut doubtful) = (vec![], vec![]);
        let mut items = Items::of(rest);
        while let Some(item) = items.next() {
            let range = item.start..item.end;
            if item.is_sound(rest) {
                all.push(range);
                continue;
            }
            let next = if items.left > 0 { ITEM } else { END };
            let fits =
                has_one_length(rest, item.start) && rest.get(item.end).is_none_or(|&byte| byte == next);
            if fits {
                all.push(range.clone());
                doubtful.push(range);
            }
        }
        if items.left > 0 && is_unfinished(rest, items.at) {
            all.push(items.at..rest.len());
            doubtful.push(items.at..rest.len());
        }
        Self { all, doubtful }
    }
}

/// Does the head of an item contain the same length twice? It must, since values are not compressed.
fn has_one_length(rest: &[u8], at: usize) -> bool {
    matches!(head(rest, at), Some(head) if head[13..17] == head[17..21])
}

/// An item that continues beyond the end.
fn is_unfinished(rest: &[u8], at: usize) -> bool {
    head(rest, at).is_some_and(|head| head[0] == ITEM) && has_one_length(rest, at)
}

fn head(rest: &[u8], at: usize) -> Option<&[u8; ITEM_HEAD_BYTES]> {
    rest.get(at..)?.first_chunk()
}

/// Are there only complete batches from here to the end?
fn reaches_end(mut rest: &[u8], last: Option<u64>, budget: &mut u64) -> bool {
    while let Some(size) = whole_batch(rest, last, budget) {
        rest = &rest[size..];
        if rest.is_empty() {
            return true;
        }
    }
    false
}

/// The size of the batch at the beginning, if it is complete and could belong to this log.
fn whole_batch(bytes: &[u8], last: Option<u64>, budget: &mut u64) -> Option<usize> {
    let (start, _) = bytes.split_first_chunk::<START_BYTES>()?;
    if start[0] != START || !is_near(last, u64::from_le_bytes(*start.last_chunk()?)) {
        return None;
    }
    let mut items = Items::of(bytes);
    while items.next().is_some() {
        spend(budget, ITEM_HEAD_BYTES)?;
    }
    let end = bytes.get(items.at..)?.first_chunk::<END_BYTES>()?;
    if items.left > 0 || end[0] != END || end[9..] != MAGIC {
        return None;
    }
    spend(budget, items.at)?;
    let hash = xxh3_64(&bytes[START_BYTES..items.at]);
    (end[1..9] == hash.to_le_bytes()).then_some(items.at + END_BYTES)
}

fn spend(budget: &mut u64, bytes: usize) -> Option<()> {
    *budget = budget.saturating_sub(bytes as u64);
    (*budget > 0).then_some(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::batch;
    use super::*;

    /// A search that could take long is abandoned: data inside a row then counts as undamaged, other data as damaged.
    #[test]
    fn the_search_is_bounded() {
        let inner = [batch(7, &[&[9; 500]]), batch(8, &[b"x"])].concat();
        let row = batch(6, &[&inner]);
        let in_a_row = &row[..row.len() - END_BYTES];
        let mut behind = [batch(6, &[b"first"]), inner.clone()].concat();
        behind[START_BYTES] = 77;
        for (rest, bytes_max, found) in
            [(in_a_row, 10_000, true), (in_a_row, 100, false), (&behind, 10_000, true), (&behind, 100, true)]
        {
            assert_eq!(has_batch_within(rest, Some(5), bytes_max), found, "{} {bytes_max}", rest.len());
        }
        behind.truncate(behind.len() - inner.len());
        assert!(!has_batch_within(&behind, Some(5), 100));
    }
}
