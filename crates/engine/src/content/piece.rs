//! The name of stored bytes, and the limits that every content store shares.
//!
//! Invariants: a name is issued once and never reused; pieces of a stream never overlap, footprints included.
//! Therefore any store can adopt the pieces of any other with their names.

use std::fmt;

use crate::content::checksum::BLOCK_BYTES;

/// Maximum size of a piece: it must fit one S3 object, or one contiguous range of a pack file.
pub const PIECE_BYTES_MAX: u32 = 64 * 1024 * 1024;
/// Pieces start at multiples of this, so that a file system can free each of them separately.
pub const ALIGN_BYTES: u64 = 4096;
/// Largest chunk that a reader returns.
pub const CHUNK_BYTES_MAX: usize = 256 * 1024;
/// Pieces start below this offset; beyond it, a stream takes no more pieces. This bounds the maps that a store
/// keeps of a stream.
pub const STREAM_BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;
/// Maximum stream number; databases use signed 64-bit numbers.
pub const STREAM_MAX: u64 = i64::MAX as u64;
/// Bytes of an encoded piece.
pub const PIECE_ENCODED_BYTES: usize = 24;

/// Identifies a contiguous range of stored bytes. It contains everything that is needed to read the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Piece {
    /// The stream: a pack file, or a series of objects. From 1 to [`STREAM_MAX`].
    pub stream: u64,
    /// The offset of the piece in its stream: a multiple of [`ALIGN_BYTES`] below [`STREAM_BYTES_MAX`].
    pub offset: u64,
    /// Number of bytes, from 1 to [`PIECE_BYTES_MAX`].
    pub length: u32,
    /// Up to 64 KiB: CRC32C of the bytes. Above: CRC32C of the checksums of its blocks; see
    /// [`checksum`](crate::content::checksum).
    pub crc: u32,
}

impl Piece {
    /// Where it is stored.
    pub fn spot(&self) -> Spot {
        Spot { stream: self.stream, offset: self.offset }
    }

    /// Number of 64 KiB blocks, each of which has a checksum.
    pub fn blocks(&self) -> usize {
        (self.length as usize).div_ceil(BLOCK_BYTES)
    }

    /// Bytes of its stream that belong only to it: content and checksums, rounded up to the alignment.
    pub fn footprint(&self) -> u64 {
        footprint(self.length)
    }

    /// The encoding in rows and archives: all numbers big-endian, in the order of the fields.
    pub fn encode(&self) -> [u8; PIECE_ENCODED_BYTES] {
        let mut bytes = [0; PIECE_ENCODED_BYTES];
        bytes[..8].copy_from_slice(&self.stream.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.offset.to_be_bytes());
        bytes[16..20].copy_from_slice(&self.length.to_be_bytes());
        bytes[20..].copy_from_slice(&self.crc.to_be_bytes());
        bytes
    }

    /// Reads the encoded form; `None` if it cannot be a piece.
    pub fn decode(bytes: &[u8; PIECE_ENCODED_BYTES]) -> Option<Self> {
        let (stream, rest) = bytes.split_first_chunk()?;
        let (offset, rest) = rest.split_first_chunk()?;
        let (length, crc) = rest.split_first_chunk()?;
        let piece = Self {
            stream: u64::from_be_bytes(*stream),
            offset: u64::from_be_bytes(*offset),
            length: u32::from_be_bytes(*length),
            crc: u32::from_be_bytes(crc.try_into().ok()?),
        };
        piece.is_valid().then_some(piece)
    }

    /// Are its numbers within the limits?
    pub fn is_valid(&self) -> bool {
        (1..=STREAM_MAX).contains(&self.stream)
            && (1..=PIECE_BYTES_MAX).contains(&self.length)
            && self.offset.is_multiple_of(ALIGN_BYTES)
            && self.offset < STREAM_BYTES_MAX
    }
}

impl fmt::Display for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "piece {}/{} of {} bytes", self.stream, self.offset, self.length)
    }
}

/// Bytes of a stream that a piece of this length takes up.
pub fn footprint(length: u32) -> u64 {
    let blocks = u64::from(length).div_ceil(BLOCK_BYTES as u64);
    let sums = if blocks > 1 { blocks * 4 } else { 0 };
    (u64::from(length) + sums).next_multiple_of(ALIGN_BYTES)
}

/// A position in the order of all stored bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spot {
    /// The stream.
    pub stream: u64,
    /// The offset in it.
    pub offset: u64,
}

impl Spot {
    /// Before everything.
    pub const START: Spot = Spot { stream: 0, offset: 0 };
}

/// Stored bytes, whether or not a row refers to them. One extent can cover several pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Extent {
    /// Where it starts.
    pub start: Spot,
    /// Its length, checksums included.
    pub bytes: u64,
}

/// One page of extents, in order and without overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtentPage {
    /// The extents.
    pub extents: Vec<Extent>,
    /// The start of the next page; `None` after the last one.
    pub next: Option<Spot>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The encoding in rows. Lines may be added here, but never changed.
    #[test]
    fn pieces_keep_their_encoding() {
        let piece = Piece { stream: 1, offset: 0x2000, length: 3, crc: 0x0405_0607 };
        let encoded = [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 3, 4, 5, 6, 7];
        assert_eq!(piece.encode(), encoded);
        assert_eq!(Piece::decode(&encoded), Some(piece));
    }

    #[test]
    fn footprints_hold_content_and_checksums() {
        for (length, expected) in [
            (1, 4096),
            (4096, 4096),
            (4097, 8192),
            (64 * 1024, 64 * 1024),
            (64 * 1024 + 1, 68 * 1024),
            (128 * 1024 - 8, 128 * 1024),
            (128 * 1024 - 7, 132 * 1024),
            (PIECE_BYTES_MAX, u64::from(PIECE_BYTES_MAX) + 4096),
        ] {
            assert_eq!(footprint(length), expected, "{length}");
        }
    }

    #[test]
    fn impossible_pieces_are_not_decoded() {
        let good = Piece { stream: 1, offset: 4096, length: 1, crc: 0 };
        assert!(good.is_valid());
        for bad in [
            Piece { stream: 0, ..good },
            Piece { stream: STREAM_MAX + 1, ..good },
            Piece { offset: 1, ..good },
            Piece { offset: STREAM_BYTES_MAX, ..good },
            Piece { length: 0, ..good },
            Piece { length: PIECE_BYTES_MAX + 1, ..good },
        ] {
            assert_eq!(Piece::decode(&bad.encode()), None, "{bad:?}");
        }
    }
}
