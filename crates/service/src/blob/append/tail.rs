//! The tail of an append blob: how it grows, and how its start is removed after it was folded.

use std::sync::{Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use lazuli_engine::{Next, Rejected, Update, Version};

use super::run;
use crate::blob::segment::{Segment, SegmentPart};

/// A tail with this number of parts is due to be folded.
const PARTS_MAX: usize = 64;
/// A tail is due to be folded when it has this many times the bytes of the largest small append.
const INLINE_FACTOR: usize = 4;
/// A tail that exceeds its bounds by this factor blocks appends until it is folded.
const URGENT_FACTOR: usize = 8;

/// The fill level of a tail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fill {
    /// It takes more.
    #[default]
    Room,
    /// It should be folded.
    Due,
    /// It must be folded before more is appended.
    Urgent,
}

/// The start and the parts of a tail.
pub struct Tail {
    pub start: u64,
    pub parts: Vec<SegmentPart>,
}

impl Tail {
    /// Reads its row; `None` if it is not one.
    pub fn decode(value: Bytes) -> Option<Self> {
        let segment = Segment::decode(value).ok()?;
        let start = *segment.starts.first()?;
        let parts = segment.entries.into_iter().flat_map(|entry| entry.parts).collect();
        Some(Self { start, parts })
    }

    /// Its row.
    pub fn encode(self) -> Bytes {
        run(self.start, self.parts).encode()
    }

    /// Number of bytes.
    pub fn length(&self) -> u64 {
        self.parts.iter().map(SegmentPart::length).fold(0, u64::saturating_add)
    }

    /// Adds parts. Small appends are joined, each copied once.
    fn extend(&mut self, parts: &[SegmentPart]) {
        let mut rest = parts;
        while let Some(first) = rest.first() {
            let small = rest.iter().take_while(|part| matches!(part, SegmentPart::Bytes(_))).count();
            if small == 0 {
                self.parts.push(first.clone());
                rest = &rest[1..];
                continue;
            }
            let last = match self.parts.last() {
                Some(SegmentPart::Bytes(_)) => self.parts.pop(),
                _ => None,
            };
            let joining = last.iter().chain(&rest[..small]);
            let mut joined = BytesMut::with_capacity(joining.clone().map(SegmentPart::inline_bytes).sum());
            for part in joining {
                if let SegmentPart::Bytes(bytes) = part {
                    joined.extend_from_slice(bytes);
                }
            }
            self.parts.push(SegmentPart::Bytes(joined.freeze()));
            rest = &rest[small..];
        }
    }

    /// Removes bytes from its start; `None` if they do not end between two parts or within small appends.
    fn cut(mut self, length: u64) -> Option<Self> {
        let mut left = length;
        let mut rest = Vec::new();
        for part in self.parts {
            let own = part.length();
            match part {
                part if left == 0 => rest.push(part),
                _ if left >= own => left -= own,
                SegmentPart::Bytes(bytes) => {
                    rest.push(SegmentPart::Bytes(bytes.slice(usize::try_from(left).ok()?..)));
                    left = 0;
                }
                _ => return None,
            }
        }
        self.parts = rest;
        self.start += length;
        (left == 0).then_some(self)
    }

    /// How full it is.
    pub fn fill(&self, inline_max: usize) -> Fill {
        let bytes: usize = self.parts.iter().map(SegmentPart::inline_bytes).sum();
        let exceeds = |factor: usize| {
            self.parts.len() >= PARTS_MAX * factor || bytes >= inline_max * INLINE_FACTOR * factor
        };
        match () {
            () if exceeds(URGENT_FACTOR) => Fill::Urgent,
            () if exceeds(1) => Fill::Due,
            () => Fill::Room,
        }
    }
}

/// Adds parts to a tail, inside a commit.
pub struct Grow {
    parts: Mutex<Vec<SegmentPart>>,
    inline_max: usize,
    fill: Mutex<Fill>,
}

impl Grow {
    pub fn new(parts: Vec<SegmentPart>, inline_max: usize) -> Self {
        Self { parts: Mutex::new(parts), inline_max, fill: Mutex::default() }
    }

    /// The parts to add.
    pub fn parts(&self) -> Vec<SegmentPart> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the added bytes, for a rule that decides about them in the same commit.
    pub fn set(&self, parts: Vec<SegmentPart>) {
        *self.parts.lock().unwrap_or_else(PoisonError::into_inner) = parts;
    }

    /// The fill level of the tail after the commit.
    pub fn fill(&self) -> Fill {
        *self.fill.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Update for Grow {
    fn next(&self, current: Option<&Bytes>, _: Version) -> Result<Next, Rejected> {
        let mut tail = current.cloned().and_then(Tail::decode).ok_or(Rejected(0))?;
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend(&parts);
        *self.fill.lock().unwrap_or_else(PoisonError::into_inner) = tail.fill(self.inline_max);
        Ok(if parts.is_empty() { Next::Keep } else { Next::Put(tail.encode()) })
    }
}

/// Removes bytes from the start of a tail that was folded up to there, inside a commit.
pub struct Cut {
    /// The offset at which the tail must start.
    pub start: u64,
    /// Number of bytes.
    pub length: u64,
}

impl Update for Cut {
    fn next(&self, current: Option<&Bytes>, _: Version) -> Result<Next, Rejected> {
        let tail = current.cloned().and_then(Tail::decode).filter(|tail| tail.start == self.start);
        let rest = tail.and_then(|tail| tail.cut(self.length)).ok_or(Rejected(0))?;
        Ok(Next::Put(rest.encode()))
    }
}

#[cfg(test)]
mod tests {
    use lazuli_engine::content::Piece;

    use super::*;

    fn bytes(text: &'static [u8]) -> SegmentPart {
        SegmentPart::Bytes(Bytes::from_static(text))
    }

    fn piece(length: u32) -> SegmentPart {
        SegmentPart::Whole(Piece { stream: 1, offset: 4096, length, crc: 5 })
    }

    fn grown(parts: Vec<SegmentPart>) -> Tail {
        let mut tail = Tail { start: 10, parts: Vec::new() };
        tail.extend(&parts);
        Tail::decode(tail.encode()).unwrap()
    }

    #[test]
    fn small_appends_are_joined() {
        let tail = grown(vec![bytes(b"ab"), bytes(b"c"), piece(100), bytes(b"d"), bytes(b"e")]);
        assert_eq!((tail.start, tail.parts.as_slice()), (10, &[bytes(b"abc"), piece(100), bytes(b"de")][..]));
    }

    #[test]
    fn a_tail_can_be_cut_between_all_appends() {
        for (length, expected) in [
            (0, Some(vec![bytes(b"abc"), piece(100), bytes(b"de")])),
            (2, Some(vec![bytes(b"c"), piece(100), bytes(b"de")])),
            (3, Some(vec![piece(100), bytes(b"de")])),
            (4, None),
            (103, Some(vec![bytes(b"de")])),
            (104, Some(vec![bytes(b"e")])),
            (105, Some(vec![])),
            (106, None),
        ] {
            let tail = grown(vec![bytes(b"abc"), piece(100), bytes(b"de")]);
            let cut = tail.cut(length);
            assert_eq!(
                cut.map(|tail| (tail.start, tail.parts)),
                expected.map(|parts| (10 + length, parts)),
                "{length}"
            );
        }
    }

    #[test]
    fn tails_are_bounded() {
        let fill = |count, part: SegmentPart| Tail { start: 0, parts: vec![part; count] }.fill(10);
        assert_eq!(fill(63, piece(1)), Fill::Room);
        assert_eq!(fill(64, piece(1)), Fill::Due);
        assert_eq!(fill(512, piece(1)), Fill::Urgent);
        assert_eq!(fill(1, bytes(&[0; 39])), Fill::Room);
        assert_eq!(fill(1, bytes(&[0; 40])), Fill::Due);
        assert_eq!(fill(1, bytes(&[0; 320])), Fill::Urgent);
    }
}
