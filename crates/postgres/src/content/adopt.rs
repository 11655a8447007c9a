//! Imports pieces from another store under their names.

use bytes::Bytes;
use lazuli_engine::content::checksum::{Summing, verify_piece};
use lazuli_engine::content::{CHUNK_BYTES_MAX, ContentLedger, Piece};
use lazuli_engine::{Error, Result};
use tokio_postgres::types::Type;

use super::calls::{Parameter, signed, unsigned};
use super::{CHUNK_BYTES, Inner};

/// Chunks that may overlap a range.
const NEAR: &str =
    "SELECT pos, val FROM lazuli_chunk WHERE stream = $1 AND pos > $2 AND pos < $3 ORDER BY pos";

impl Inner {
    /// See [`lazuli_engine::Content::adopt`].
    pub async fn adopt(&self, piece: Piece, bytes: Bytes) -> Result<()> {
        if !piece.is_valid() {
            return Err(Error::Corrupt(format!("{piece} is not a valid piece")));
        }
        verify_piece(piece, &bytes)?;
        let chunks = chunks_of(piece, &bytes);
        match self.near(&piece).await? {
            near if near == chunks => return Ok(()),
            // An interrupted adoption has left a part of it.
            near if near.iter().all(|chunk| chunks.contains(chunk)) => {}
            _ => return Err(in_use(&piece)),
        }
        if !self.ledger.claim(piece.stream).await? {
            return Err(in_use(&piece));
        }
        for chunk in chunks {
            self.put(piece.stream, &[chunk]).await?;
        }
        self.count_stored(piece.stream, piece.footprint());
        Ok(())
    }

    /// The chunks at the position of a piece.
    async fn near(&self, piece: &Piece) -> Result<Vec<(u64, Bytes)>> {
        let (start, end) = (signed(piece.offset), signed(piece.offset + piece.footprint()));
        let earliest = start.saturating_sub(signed(CHUNK_BYTES_MAX as u64));
        let parameters: [Parameter<'_>; 3] =
            [(&signed(piece.stream), Type::INT8), (&earliest, Type::INT8), (&end, Type::INT8)];
        let rows = self.call(NEAR, &parameters).await?;
        let mut near = Vec::new();
        for row in rows {
            let (position, value): (i64, Vec<u8>) = (row.get(0), row.get(1));
            let position = unsigned(position)?;
            if position + value.len() as u64 > piece.offset {
                near.push((position, Bytes::from(value)));
            }
        }
        Ok(near)
    }
}

/// A piece as chunks, including its table of checksums.
fn chunks_of(piece: Piece, bytes: &Bytes) -> Vec<(u64, Bytes)> {
    let mut summing = Summing::default();
    summing.add(bytes);
    let (_, table) = summing.finish();
    let mut rest = bytes.clone();
    let mut chunks = Vec::new();
    let mut at = piece.offset;
    while !rest.is_empty() {
        let chunk = rest.split_to(rest.len().min(CHUNK_BYTES));
        let end = at + chunk.len() as u64;
        chunks.push((at, chunk));
        at = end;
    }
    if !table.is_empty() {
        chunks.push((at, table.into()));
    }
    chunks
}

fn in_use(piece: &Piece) -> Error {
    Error::Unavailable(format!("cannot copy {piece}: other content is stored under its name"))
}
