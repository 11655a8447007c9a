//! The content of a generation: a list of blocks, divided into segments of bounded size.
//!
//! Segment 0 has an index of the others, so that a read finds the segment of an offset with two look-ups. It is
//! written in the commit that refers to the generation; the others are written earlier.
//!
//! Invariant: a segment is never changed. It is removed only when nothing can refer to its generation
//! any more.

use bytes::Bytes;
use lazuli_engine::Result;
use lazuli_engine::content::Piece;
use lazuli_model::blob::BlockId;

use super::codec::{Decoder, Encoder, corrupt};

/// Maximum entries of a segment.
pub const SEGMENT_ENTRIES_MAX: usize = 512;
/// A segment takes no further entries once it has this many bytes.
const SEGMENT_BYTES_MAX: usize = 56 * 1024;
const FORMAT: u8 = 1;

const WHOLE: u8 = 0;
const SLICE: u8 = 1;
const BYTES: u8 = 2;
const ZEROS: u8 = 3;

/// A run of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SegmentPart {
    /// All bytes of a piece.
    Whole(Piece),
    /// Some bytes of a piece.
    Slice {
        /// The piece.
        piece: Piece,
        /// The first byte.
        start: u32,
        /// Number of bytes.
        length: u32,
    },
    /// The bytes themselves.
    Bytes(Bytes),
    /// Bytes that were never written.
    Zeros(u64),
}

impl SegmentPart {
    /// Number of bytes.
    pub fn length(&self) -> u64 {
        match self {
            SegmentPart::Whole(piece) => piece.length.into(),
            SegmentPart::Slice { length, .. } => (*length).into(),
            SegmentPart::Bytes(bytes) => bytes.len() as u64,
            SegmentPart::Zeros(length) => *length,
        }
    }

    /// Number of bytes that are stored in the row itself.
    pub fn inline_bytes(&self) -> usize {
        match self {
            SegmentPart::Bytes(bytes) => bytes.len(),
            _ => 0,
        }
    }

    /// The piece that contains it, if any.
    pub fn piece(&self) -> Option<&Piece> {
        match self {
            SegmentPart::Whole(piece) | SegmentPart::Slice { piece, .. } => Some(piece),
            SegmentPart::Bytes(_) | SegmentPart::Zeros(_) => None,
        }
    }

    fn encode(&self, encoder: &mut Encoder) {
        match self {
            SegmentPart::Whole(piece) => encoder.raw(&[WHOLE]).piece(piece),
            SegmentPart::Slice { piece, start, length } => {
                encoder.raw(&[SLICE]).piece(piece).number((*start).into()).number((*length).into())
            }
            SegmentPart::Bytes(bytes) => encoder.raw(&[BYTES]).bytes(bytes),
            SegmentPart::Zeros(length) => encoder.raw(&[ZEROS]).number(*length),
        };
    }

    fn decode(decoder: &mut Decoder) -> Result<Self> {
        Ok(match decoder.byte()? {
            WHOLE => SegmentPart::Whole(decoder.piece()?),
            SLICE => {
                let (piece, start, length) = (decoder.piece()?, decoder.small()?, decoder.small()?);
                if u64::from(start) + u64::from(length) > u64::from(piece.length) {
                    return Err(corrupt("a part reaches beyond its piece"));
                }
                SegmentPart::Slice { piece, start, length }
            }
            BYTES => SegmentPart::Bytes(decoder.bytes()?),
            ZEROS => SegmentPart::Zeros(decoder.number()?),
            _ => return Err(corrupt("a part has an unknown kind")),
        })
    }
}

/// A block of a blob, or the whole content of a blob without blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its id; `None` if the content was not committed from blocks.
    pub id: Option<BlockId>,
    /// Its bytes in order.
    pub parts: Vec<SegmentPart>,
}

impl Entry {
    /// Number of bytes; saturates, so that a damaged record cannot make it wrap.
    pub fn length(&self) -> u64 {
        self.parts.iter().fold(0, |sum: u64, part| sum.saturating_add(part.length()))
    }

    fn encode(&self, encoder: &mut Encoder) {
        encoder.bytes(self.id.as_ref().map_or(&[], BlockId::as_bytes));
        encoder.number(self.parts.len() as u64);
        self.parts.iter().for_each(|part| part.encode(encoder));
    }

    fn decode(decoder: &mut Decoder) -> Result<Self> {
        let id = decoder.bytes()?;
        let id = match &*id {
            [] => None,
            id => Some(BlockId::new(id).ok_or_else(|| corrupt("a block id is too long"))?),
        };
        let parts = (0..decoder.count()?).map(|_| SegmentPart::decode(decoder)).collect::<Result<_>>()?;
        Ok(Self { id, parts })
    }
}

/// A part of the content of a generation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// In segment 0: the offset at which each of the following segments starts. Empty in all others.
    pub starts: Vec<u64>,
    /// Its blocks in order.
    pub entries: Vec<Entry>,
}

impl Segment {
    /// Its row.
    pub fn encode(&self) -> Bytes {
        let mut encoder = Encoder::starting_with(&[FORMAT]);
        encoder.number(self.starts.len() as u64);
        self.starts.iter().for_each(|start| {
            encoder.number(*start);
        });
        encoder.number(self.entries.len() as u64);
        self.entries.iter().for_each(|entry| entry.encode(&mut encoder));
        encoder.finish()
    }

    /// Reads its row.
    pub fn decode(bytes: Bytes) -> Result<Self> {
        let mut decoder = Decoder::new(bytes);
        if decoder.byte()? != FORMAT {
            return Err(corrupt("a segment has an unknown format"));
        }
        let starts = (0..decoder.count()?).map(|_| decoder.number()).collect::<Result<_>>()?;
        let entries = (0..decoder.count()?).map(|_| Entry::decode(&mut decoder)).collect::<Result<_>>()?;
        decoder.finish()?;
        Ok(Self { starts, entries })
    }

    /// Number of bytes of content.
    #[cfg(test)]
    pub fn length(&self) -> u64 {
        self.entries.iter().fold(0, |sum: u64, entry| sum.saturating_add(entry.length()))
    }

    /// The pieces that it refers to. One can occur several times.
    pub fn pieces(&self) -> impl Iterator<Item = &Piece> {
        self.entries.iter().flat_map(|entry| entry.parts.iter().filter_map(SegmentPart::piece))
    }

    /// In segment 0: the number of the segment that contains `offset`, and the offset at which that segment
    /// starts.
    pub fn find(&self, offset: u64) -> (u32, u64) {
        let n = self.starts.partition_point(|start| *start <= offset);
        let start = n.checked_sub(1).map_or(0, |before| self.starts[before]);
        (u32::try_from(n).unwrap_or(u32::MAX), start)
    }
}

/// Cuts blocks into segments.
#[derive(Default)]
pub struct Cutter {
    segments: Vec<Segment>,
    bytes: usize,
    offset: u64,
}

impl Cutter {
    /// Takes the next block.
    pub fn add(&mut self, entry: Entry) {
        let mut encoder = Encoder::default();
        entry.encode(&mut encoder);
        let is_full = self.segments.last().is_none_or(|segment| {
            segment.entries.len() >= SEGMENT_ENTRIES_MAX || self.bytes + encoder.len() > SEGMENT_BYTES_MAX
        });
        if is_full {
            if let Some(first) = self.segments.first_mut() {
                first.starts.push(self.offset);
            }
            self.segments.push(Segment::default());
            self.bytes = 0;
        }
        self.bytes += encoder.len();
        self.offset = self.offset.saturating_add(entry.length());
        if let Some(segment) = self.segments.last_mut() {
            segment.entries.push(entry);
        }
    }

    /// The segments; at least one.
    pub fn finish(mut self) -> Vec<Segment> {
        if self.segments.is_empty() {
            self.segments.push(Segment::default());
        }
        self.segments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(offset: u64, length: u32) -> Piece {
        Piece { stream: 1, offset: offset * 4096, length, crc: 5 }
    }

    fn entry(n: u64, length: u32) -> Entry {
        Entry { id: BlockId::new(&n.to_be_bytes()), parts: vec![SegmentPart::Whole(piece(n, length))] }
    }

    fn mixed() -> Segment {
        let parts = vec![
            SegmentPart::Slice { piece: piece(7, 10), start: 3, length: 7 },
            SegmentPart::Bytes(Bytes::from_static(b"abc")),
            SegmentPart::Zeros(512),
        ];
        Segment { starts: vec![10, 300], entries: vec![Entry { id: None, parts }, entry(1, 5)] }
    }

    #[test]
    fn segments_are_read_as_written() {
        for segment in [Segment::default(), mixed()] {
            assert_eq!(Segment::decode(segment.encode()), Ok(segment));
        }
        assert_eq!(mixed().length(), 7 + 3 + 512 + 5);
        assert_eq!(mixed().pieces().count(), 2);
    }

    #[test]
    fn damaged_segments_are_errors() {
        let good = mixed().encode();
        for end in 0..good.len() {
            assert!(Segment::decode(good.slice(..end)).is_err(), "{end}");
        }
        for at in 0..good.len() {
            let mut bad = good.to_vec();
            bad[at] ^= 0xff;
            let _ = Segment::decode(bad.into());
        }
        let mut longer = good.to_vec();
        longer.push(0);
        assert!(Segment::decode(longer.into()).is_err());
    }

    #[test]
    fn every_offset_is_found_in_its_segment() {
        let mut cutter = Cutter::default();
        let count = SEGMENT_ENTRIES_MAX as u64 * 3 + 5;
        (0..count).for_each(|n| cutter.add(entry(n, 10)));
        let segments = cutter.finish();
        assert_eq!(segments.len(), 4);
        assert_eq!(segments[0].starts, [5120, 10_240, 15_360]);
        assert!(segments[1..].iter().all(|segment| segment.starts.is_empty()));
        for (offset, expected) in
            [(0, (0, 0)), (5119, (0, 0)), (5120, (1, 5120)), (15_360, (3, 15_360)), (99_999, (3, 15_360))]
        {
            assert_eq!(segments[0].find(offset), expected, "{offset}");
        }
        assert_eq!(segments.iter().map(Segment::length).sum::<u64>(), count * 10);
    }

    #[test]
    fn segments_have_a_bounded_size() {
        let mut cutter = Cutter::default();
        for n in 0..100_u64 {
            let parts = (0..63).map(|part| SegmentPart::Whole(piece(n * 63 + part, 1))).collect();
            cutter.add(Entry { id: BlockId::new(&[7; 64]), parts });
        }
        for segment in cutter.finish() {
            assert!(segment.encode().len() <= SEGMENT_BYTES_MAX + 64);
        }
        assert_eq!(Cutter::default().finish(), [Segment::default()]);
    }
}
