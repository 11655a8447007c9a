//! A set of units of 4 KiB in a stream: one bit each, which is 32 KiB of memory per gigabyte.

use std::ops::Range;

use crate::content::piece::ALIGN_BYTES;

/// Bits in one word.
const WORD: usize = u64::BITS as usize;

/// A set of units. Its memory depends on the greatest unit that was ever in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Units {
    words: Vec<u64>,
    count: u64,
}

impl Units {
    /// Number of bytes that the units represent.
    pub fn bytes(&self) -> u64 {
        self.count * ALIGN_BYTES
    }

    /// Is any unit of the range in the set?
    pub fn has_any(&self, range: Range<usize>) -> bool {
        self.next(range.start, true).is_some_and(|unit| unit < range.end)
    }

    /// Adds a range.
    pub fn add(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        if self.words.len() * WORD < range.end {
            self.words.resize(range.end.div_ceil(WORD), 0);
        }
        self.change(range, |word, mask| word | mask);
    }

    /// Removes a range.
    pub fn remove(&mut self, range: Range<usize>) {
        let end = range.end.min(self.words.len() * WORD);
        self.change(range.start.min(end)..end, |word, mask| word & !mask);
        if self.count == 0 {
            self.words = Vec::new();
        }
    }

    fn change(&mut self, range: Range<usize>, change: impl Fn(u64, u64) -> u64) {
        let mut at = range.start;
        while at < range.end {
            let bits = (WORD - at % WORD).min(range.end - at);
            let mask = (u64::MAX >> (WORD - bits)) << (at % WORD);
            let word = &mut self.words[at / WORD];
            let changed = change(*word, mask);
            self.count = self.count + u64::from(changed.count_ones()) - u64::from(word.count_ones());
            *word = changed;
            at += bits;
        }
    }

    /// The first unit from `from` on that is in the set (or not in it); `None` beyond the memory of the set.
    fn next(&self, from: usize, is_in: bool) -> Option<usize> {
        let flip = if is_in { 0 } else { u64::MAX };
        let mut index = from / WORD;
        let mut word = (self.words.get(index)? ^ flip) & (u64::MAX << (from % WORD));
        while word == 0 {
            index += 1;
            word = self.words.get(index)? ^ flip;
        }
        Some(index * WORD + word.trailing_zeros() as usize)
    }

    /// The first contiguous run of units from `from` on.
    pub fn run(&self, from: usize) -> Option<Range<usize>> {
        let start = self.next(from, true)?;
        Some(start..self.next(start, false).unwrap_or(self.words.len() * WORD))
    }

    /// The runs of a range that are not in the set, in order.
    pub fn gaps(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut from = range.start;
        std::iter::from_fn(move || {
            let start = self.next(from, false).unwrap_or(from.max(self.words.len() * WORD));
            let end = self.next(start, true).unwrap_or(range.end).min(range.end);
            from = end;
            (start < end).then_some(start..end)
        })
    }

    /// All runs, in order.
    pub fn runs(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut from = 0;
        std::iter::from_fn(move || {
            let run = self.run(from)?;
            from = run.end;
            Some(run)
        })
    }

    /// Takes up to `max` runs out of the set.
    pub fn take_runs(&mut self, max: usize) -> Vec<Range<usize>> {
        let runs: Vec<Range<usize>> = self.runs().take(max).collect();
        runs.iter().for_each(|run| self.remove(run.clone()));
        runs
    }

    /// Removes everything that is in `other`.
    pub fn subtract(&mut self, other: &Units) {
        for run in other.runs() {
            self.remove(run);
        }
    }
}

/// The units that a range of bytes touches.
pub fn units_of(start: u64, bytes: u64) -> Range<usize> {
    let end = start.saturating_add(bytes).div_ceil(ALIGN_BYTES);
    // A stream of 2^63 bytes would have 2^51 units.
    (start / ALIGN_BYTES) as usize..end as usize
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bytes_are_counted_in_units() {
        assert_eq!(units_of(0, 1), 0..1);
        assert_eq!(units_of(4096, 4096), 1..2);
        assert_eq!(units_of(8192, 4097), 2..4);
        assert_eq!(units_of(8192, 0), 2..2);
    }

    proptest! {
        /// The units behave like a set, and the runs are maximal.
        #[test]
        fn units_are_a_set(steps in prop::collection::vec((any::<bool>(), 0..300_usize, 0..200_usize), 0..40)) {
            let (mut units, mut expected) = (Units::default(), BTreeSet::new());
            for (is_added, start, length) in steps {
                let range = start..start + length;
                if is_added {
                    units.add(range.clone());
                    expected.extend(range);
                } else {
                    units.remove(range.clone());
                    expected.retain(|unit| !range.contains(unit));
                }
                prop_assert_eq!(units.bytes(), expected.len() as u64 * ALIGN_BYTES);
            }
            let found: Vec<usize> = units.runs().flatten().collect();
            prop_assert_eq!(found, expected.iter().copied().collect::<Vec<_>>());
            let runs: Vec<_> = units.runs().collect();
            prop_assert!(runs.windows(2).all(|pair| pair[0].end < pair[1].start));
            for at in 0..520 {
                prop_assert_eq!(units.has_any(at..at + 1), expected.contains(&at));
                prop_assert_eq!(units.has_any(at..at + 7), expected.range(at..at + 7).next().is_some());
            }
            let gaps: Vec<usize> = units.gaps(5..450).flatten().collect();
            prop_assert_eq!(gaps, (5..450).filter(|unit| !expected.contains(unit)).collect::<Vec<_>>());
            let mut rest = units.clone();
            let taken = rest.take_runs(2);
            prop_assert_eq!(&taken[..], &runs[..runs.len().min(2)]);
            let mut other = units.clone();
            other.subtract(&rest);
            prop_assert_eq!(other.runs().collect::<Vec<_>>(), taken);
        }
    }
}
