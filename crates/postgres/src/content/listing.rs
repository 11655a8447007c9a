//! Lists the stored bytes.

use lazuli_engine::Result;
use lazuli_engine::content::{ALIGN_BYTES, Extent, ExtentPage, Spot};
use tokio_postgres::types::Type;

use super::Inner;
use super::calls::{Parameter, signed, unsigned};

/// Chunks on one page.
const PAGE_CHUNKS: usize = 1000;

const LIST: &str = "SELECT stream, pos, octet_length(val)::int8 FROM lazuli_chunk \
     WHERE (stream, pos) >= ($1, $2) ORDER BY stream, pos LIMIT $3";

/// A chunk without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Where it starts.
    pub start: Spot,
    /// Its length.
    pub bytes: u64,
}

impl Inner {
    /// See [`lazuli_engine::Content::list`].
    pub async fn list(&self, from: Spot) -> Result<ExtentPage> {
        let mut chunks = self.chunks(from, PAGE_CHUNKS + 1).await?;
        let mut next = None;
        if chunks.len() > PAGE_CHUNKS {
            // A page ends where a run of chunks can be divided without splitting a unit.
            let cut = chunks.iter().rposition(|chunk| chunk.start.offset.is_multiple_of(ALIGN_BYTES));
            let cut = cut.filter(|cut| *cut > 0).unwrap_or(PAGE_CHUNKS);
            next = Some(chunks[cut].start);
            chunks.truncate(cut);
        }
        Ok(ExtentPage { extents: extents(&chunks), next })
    }

    /// Chunks from a position on, in order.
    pub async fn chunks(&self, from: Spot, max: usize) -> Result<Vec<Stored>> {
        let parameters: [Parameter<'_>; 3] = [
            (&signed(from.stream), Type::INT8),
            (&signed(from.offset), Type::INT8),
            (&signed(max as u64), Type::INT8),
        ];
        let rows = self.call(LIST, &parameters).await?;
        let read = |row: &tokio_postgres::Row| {
            let start = Spot { stream: unsigned(row.get(0))?, offset: unsigned(row.get(1))? };
            Ok(Stored { start, bytes: unsigned(row.get(2))? })
        };
        rows.iter().map(read).collect()
    }
}

/// Joins adjacent chunks, and rounds lengths up to whole units.
pub fn extents(chunks: &[Stored]) -> Vec<Extent> {
    let mut extents: Vec<Extent> = Vec::new();
    for Stored { start, bytes } in chunks {
        match extents.last_mut() {
            Some(last)
                if last.start.stream == start.stream && last.start.offset + last.bytes == start.offset =>
            {
                last.bytes += bytes;
            }
            _ => extents.push(Extent { start: *start, bytes: *bytes }),
        }
    }
    extents.iter_mut().for_each(|extent| extent.bytes = extent.bytes.next_multiple_of(ALIGN_BYTES));
    extents
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_of_a_piece_are_one_extent() {
        let chunk = |stream, offset, bytes| Stored { start: Spot { stream, offset }, bytes };
        let extent = |stream, offset, bytes| Extent { start: Spot { stream, offset }, bytes };
        let chunks = [
            chunk(1, 0, 262_144),
            chunk(1, 262_144, 100),
            chunk(1, 262_244, 20),
            chunk(1, 266_240, 5),
            chunk(1, 270_336, 4096),
            chunk(1, 274_432, 1),
            chunk(2, 274_433, 1),
        ];
        let expected = [
            extent(1, 0, 266_240),
            extent(1, 266_240, 4096),
            extent(1, 270_336, 8192),
            extent(2, 274_433, 4096),
        ];
        assert_eq!(extents(&chunks), expected);
    }
}
