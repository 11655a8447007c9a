//! Checksums of a piece: CRC32C for each block of 64 KiB.
//!
//! The name of a piece of one block contains the checksum of that block. A larger piece is followed by the
//! table of its blocks' checksums (4 bytes each, big-endian), and its name contains the checksum of that table.
//! Every store computes them the same way, so that pieces can move between stores.
//!
//! Invariant: no byte is returned before its whole block was verified.

use std::ops::Range;

use bytes::Bytes;

use crate::content::piece::Piece;
use crate::{Error, Result};

/// Bytes that share one checksum.
pub const BLOCK_BYTES: usize = 64 * 1024;
/// Bytes of a checksum in the table.
const SUM_BYTES: usize = 4;

/// Computes the checksums of a piece while its bytes arrive.
#[derive(Clone, Debug, Default)]
pub struct Summing {
    table: Vec<u8>,
    block: u32,
    block_bytes: usize,
    bytes: u64,
}

impl Summing {
    /// Takes the next bytes.
    pub fn add(&mut self, mut bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            let (now, rest) = bytes.split_at(bytes.len().min(BLOCK_BYTES - self.block_bytes));
            self.block = crc32c::crc32c_append(self.block, now);
            self.block_bytes += now.len();
            if self.block_bytes == BLOCK_BYTES {
                self.end_block();
            }
            bytes = rest;
        }
    }

    /// Number of bytes taken so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The checksum for the name of the piece, and the table that follows its bytes; the table of a single block is
    /// empty.
    pub fn finish(mut self) -> (u32, Vec<u8>) {
        if self.block_bytes > 0 {
            self.end_block();
        }
        match self.table.first_chunk() {
            Some(sum) if self.table.len() == SUM_BYTES => (u32::from_be_bytes(*sum), Vec::new()),
            _ => (crc32c::crc32c(&self.table), self.table),
        }
    }

    fn end_block(&mut self) {
        self.table.extend_from_slice(&self.block.to_be_bytes());
        (self.block, self.block_bytes) = (0, 0);
    }
}

/// Bytes of the table that follows a piece of `blocks` blocks.
pub fn table_bytes(blocks: usize) -> usize {
    if blocks > 1 { blocks * SUM_BYTES } else { 0 }
}

/// The checksums of a piece's blocks, verified against its name.
#[derive(Clone, Debug)]
pub struct Sums {
    table: Bytes,
    piece: Piece,
}

impl Sums {
    /// Takes the table that followed the bytes of `piece`.
    pub fn open(piece: Piece, table: Bytes) -> Result<Self> {
        let blocks = piece.blocks();
        if blocks <= 1 {
            return Ok(Self { table: Bytes::copy_from_slice(&piece.crc.to_be_bytes()), piece });
        }
        if table.len() != table_bytes(blocks) || crc32c::crc32c(&table) != piece.crc {
            return Err(damaged(piece, "the checksums of its blocks"));
        }
        Ok(Self { table, piece })
    }

    /// Verifies whole blocks, of which the first has the number `first`.
    pub fn verify(&self, first: usize, bytes: &[u8]) -> Result<()> {
        for (index, block) in bytes.chunks(BLOCK_BYTES).enumerate() {
            let at = (first + index) * SUM_BYTES;
            let expected = self.table.get(at..at + SUM_BYTES);
            if expected != Some(&crc32c::crc32c(block).to_be_bytes()) {
                return Err(damaged(self.piece, &format!("block {}", first + index)));
            }
        }
        Ok(())
    }
}

/// Verifies the bytes of a whole piece.
pub fn verify_piece(piece: Piece, bytes: &[u8]) -> Result<()> {
    let mut summing = Summing::default();
    summing.add(bytes);
    if bytes.len() != piece.length as usize || summing.finish().0 != piece.crc {
        return Err(damaged(piece, "its bytes"));
    }
    Ok(())
}

/// The error for bytes of a piece that differ from the written ones.
pub fn damaged(piece: Piece, what: &str) -> Error {
    Error::Corrupt(format!("{piece}: {what} do not match the checksum"))
}

/// The error for a piece that is not stored, because it was released or lost.
pub fn missing(piece: Piece) -> Error {
    Error::Corrupt(format!("{piece} is not stored"))
}

/// The blocks around a range of bytes: the range, widened to block borders and cut at the end of the piece.
pub fn blocks_around(piece: Piece, range: &Range<u64>) -> Range<u64> {
    let block = BLOCK_BYTES as u64;
    range.start / block * block..range.end.next_multiple_of(block).min(u64::from(piece.length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece_of(bytes: &[u8], cut: usize) -> (Piece, Bytes) {
        let mut summing = Summing::default();
        bytes.chunks(cut).for_each(|part| summing.add(part));
        assert_eq!(summing.bytes(), bytes.len() as u64);
        let (crc, table) = summing.finish();
        let length = u32::try_from(bytes.len()).unwrap();
        (Piece { stream: 1, offset: 0, length, crc }, table.into())
    }

    /// The format of checksums on disk. The checksum of "123456789" is the check value of CRC32C.
    #[test]
    fn the_sum_of_a_small_piece_is_crc32c() {
        assert_eq!(piece_of(b"123456789", 4).0.crc, 0xE306_9283);
    }

    #[test]
    fn sums_do_not_depend_on_how_bytes_arrive() {
        let bytes: Vec<u8> = (0..3 * BLOCK_BYTES + 5).map(|n| (n * 31 % 251) as u8).collect();
        let whole = piece_of(&bytes, usize::MAX);
        assert_eq!(whole.1.len(), table_bytes(whole.0.blocks()));
        for cut in [1000, BLOCK_BYTES, BLOCK_BYTES + 1] {
            assert_eq!(piece_of(&bytes, cut), whole);
        }
        verify_piece(whole.0, &bytes).unwrap();
        assert!(verify_piece(whole.0, &bytes[1..]).is_err());
        let sums = Sums::open(whole.0, whole.1.clone()).unwrap();
        sums.verify(0, &bytes).unwrap();
        sums.verify(3, &bytes[3 * BLOCK_BYTES..]).unwrap();
        assert!(sums.verify(1, &bytes[..BLOCK_BYTES]).is_err());
        assert!(sums.verify(4, &bytes[..1]).is_err());
        let mut table = whole.1.to_vec();
        table[0] ^= 1;
        assert!(Sums::open(whole.0, table.into()).is_err());
    }

    #[test]
    fn ranges_widen_to_blocks() {
        let piece = Piece { stream: 1, offset: 0, length: 200_000, crc: 0 };
        for (range, expected) in
            [(0..1, 0..65_536), (65_535..65_537, 0..131_072), (131_072..200_000, 131_072..200_000)]
        {
            assert_eq!(blocks_around(piece, &range), expected);
        }
    }
}
