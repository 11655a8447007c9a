//! The record of an uncommitted block.

use bytes::Bytes;
use lazuli_engine::Result;
use lazuli_engine::content::Piece;

use super::FORMAT;
use crate::blob::codec::{Decoder, Encoder, corrupt};

const INLINE: u8 = 0;
const PIECES: u8 = 1;

/// An uncommitted block. Its id is in its key, the time of its upload is its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Staged {
    /// A small block: its bytes.
    Inline(Bytes),
    /// A large one: the pieces in order.
    Pieces(Vec<Piece>),
}

impl Staged {
    /// Its row.
    pub fn encode(&self) -> Bytes {
        let mut encoder = Encoder::starting_with(&[FORMAT]);
        match self {
            Staged::Inline(bytes) => {
                encoder.raw(&[INLINE]).raw(bytes);
            }
            Staged::Pieces(pieces) => {
                encoder.raw(&[PIECES]);
                pieces.iter().for_each(|piece| {
                    encoder.piece(piece);
                });
            }
        }
        encoder.finish()
    }

    /// Reads its row.
    pub fn decode(bytes: Bytes) -> Result<Self> {
        let mut decoder = Decoder::new(bytes);
        if decoder.byte()? != FORMAT {
            return Err(corrupt("an uncommitted block has an unknown format"));
        }
        match decoder.byte()? {
            INLINE => Ok(Staged::Inline(decoder.rest())),
            PIECES => {
                let mut pieces = Vec::new();
                while !decoder.is_empty() {
                    pieces.push(decoder.piece()?);
                }
                Ok(Staged::Pieces(pieces))
            }
            _ => Err(corrupt("an uncommitted block has an unknown kind")),
        }
    }

    /// Number of bytes.
    pub fn length(&self) -> u64 {
        match self {
            Staged::Inline(bytes) => bytes.len() as u64,
            Staged::Pieces(pieces) => pieces.iter().map(|piece| u64::from(piece.length)).sum(),
        }
    }

    /// The pieces that it refers to.
    pub fn pieces(&self) -> &[Piece] {
        match self {
            Staged::Inline(_) => &[],
            Staged::Pieces(pieces) => pieces,
        }
    }
}
