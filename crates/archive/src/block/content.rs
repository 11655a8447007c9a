//! Content in blocks: the bytes of pieces that rows refer to.
//!
//! Invariants: a piece is complete, in consecutive blocks; its bytes match the checksum in its name.

use bytes::Bytes;
use lazuli_engine::content::checksum::Summing;
use lazuli_engine::content::{PIECE_ENCODED_BYTES, Piece};
use xxhash_rust::xxh3::Xxh3;

/// Size of the header before the bytes: the piece and the offset of the bytes in it.
const HEAD_BYTES: usize = PIECE_ENCODED_BYTES + 4;
/// Size of the totals of content in the last block.
const TOTALS_BYTES: usize = 32;

/// Totals of the content of a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentTotals {
    /// Number of pieces.
    pub pieces: u64,
    /// Their bytes.
    pub bytes: u64,
    /// A checksum of the names and bytes of all pieces, in order.
    pub digest: u128,
}

/// Bytes of a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentBlock {
    /// The piece.
    pub piece: Piece,
    /// The offset of the bytes in it.
    pub offset: u32,
    /// The bytes.
    pub bytes: Bytes,
}

impl ContentBlock {
    /// Is this the last block of its piece?
    pub fn is_last(&self) -> bool {
        u64::from(self.offset) + self.bytes.len() as u64 == u64::from(self.piece.length)
    }

    pub(super) fn encode(&self, block: &mut Vec<u8>) {
        block.extend_from_slice(&self.piece.encode());
        block.extend_from_slice(&self.offset.to_le_bytes());
        block.extend_from_slice(&self.bytes);
    }

    pub(super) fn decode(content: &Bytes) -> Option<Self> {
        let (piece, rest) = content.split_first_chunk()?;
        let (offset, _) = rest.split_first_chunk()?;
        let (piece, offset) = (Piece::decode(piece)?, u32::from_le_bytes(*offset));
        Some(Self { piece, offset, bytes: content.slice(HEAD_BYTES..) })
    }
}

impl ContentTotals {
    pub(super) fn encode(&self, block: &mut Vec<u8>) {
        block.extend_from_slice(&self.pieces.to_le_bytes());
        block.extend_from_slice(&self.bytes.to_le_bytes());
        block.extend_from_slice(&self.digest.to_le_bytes());
    }

    pub(super) fn decode(bytes: &[u8; TOTALS_BYTES]) -> Option<Self> {
        let (pieces, rest) = bytes.split_first_chunk()?;
        let (bytes, digest) = rest.split_first_chunk()?;
        Some(Self {
            pieces: u64::from_le_bytes(*pieces),
            bytes: u64::from_le_bytes(*bytes),
            digest: u128::from_le_bytes(digest.try_into().ok()?),
        })
    }
}

/// Counts and verifies pieces.
#[derive(Default)]
pub struct ContentTally {
    pieces: u64,
    bytes: u64,
    digest: Option<Box<Xxh3>>,
    open: Option<(Piece, Summing)>,
}

impl ContentTally {
    /// Adds the next bytes; the error says in which way they are out of sequence.
    pub fn add(&mut self, block: &ContentBlock) -> Result<(), &'static str> {
        let ContentBlock { piece, offset, bytes } = block;
        let (open, mut summing) = self.open.take().unwrap_or_else(|| (*piece, Summing::default()));
        if open != *piece || summing.bytes() != u64::from(*offset) || bytes.is_empty() {
            return Err("the bytes of a piece are out of order");
        }
        let digest = self.digest.get_or_insert_default();
        if *offset == 0 {
            digest.update(&piece.encode());
        }
        digest.update(bytes);
        summing.add(bytes);
        self.bytes += bytes.len() as u64;
        match summing.bytes().cmp(&u64::from(piece.length)) {
            std::cmp::Ordering::Less => self.open = Some((open, summing)),
            std::cmp::Ordering::Equal if summing.finish().0 == piece.crc => self.pieces += 1,
            std::cmp::Ordering::Equal => return Err("the bytes of a piece do not match its checksum"),
            std::cmp::Ordering::Greater => return Err("a piece has too many bytes"),
        }
        Ok(())
    }

    /// Bytes of content so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Is no piece incomplete?
    pub fn is_whole(&self) -> bool {
        self.open.is_none()
    }

    /// The totals; `None` if there was no content.
    pub fn totals(&self) -> Option<ContentTotals> {
        let digest = self.digest.as_ref()?.digest128();
        Some(ContentTotals { pieces: self.pieces, bytes: self.bytes, digest })
    }
}
