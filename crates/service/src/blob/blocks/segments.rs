//! Writes the segments of content that consists of blocks.

use lazuli_engine::content::Piece;
use lazuli_engine::{Applied, Write};
use lazuli_model::blob::BlockId;

use crate::Result;
use crate::blob::commit::{demand, insert};
use crate::blob::core::{At, Core};
use crate::blob::keyspace::{self, KeySlot};
use crate::blob::record::Stored;
use crate::blob::segment::{Cutter, Entry, SegmentPart};
use crate::blob::upload::{Installed, UploadedContent, named};

/// Once the segments of a commit exceed this many bytes, it takes no more.
const COMMIT_BYTES_MAX: usize = 1024 * 1024;

impl Core {
    /// Writes all segments but the first, which belongs to the commit that refers to the generation. That
    /// commit requires that the others still exist.
    pub async fn write_segments(&self, at: &At, entries: impl Iterator<Item = Entry>) -> Result<Installed> {
        let generation = self.fresh_generation();
        let pin = self.pins.generation(at.tables.blobs, &at.name, generation);
        let mut cutter = Cutter::default();
        let mut blocks = 0_u32;
        for entry in entries {
            blocks += u32::from(entry.id.is_some());
            cutter.add(entry);
        }
        let mut segments = cutter.finish().into_iter();
        let first = segments.next().unwrap_or_default();
        let mut last = vec![insert(keyspace::named(generation, KeySlot::Segment(0)), first.encode())];
        let (mut count, mut bytes, mut writes) = (1_u32, 0, Vec::new());
        for segment in segments {
            let value = segment.encode();
            bytes += value.len();
            writes.push(insert(keyspace::named(generation, KeySlot::Segment(count)), value));
            last.push(demand(keyspace::named(generation, KeySlot::Segment(count))));
            count += 1;
            if bytes >= COMMIT_BYTES_MAX {
                self.write_rows(at, std::mem::take(&mut writes)).await?;
                bytes = 0;
            }
        }
        self.write_rows(at, writes).await?;
        let stored = Stored::Generation(named(generation, count, blocks, first));
        Ok(Installed { stored, writes: last, pin: Some(pin) })
    }

    /// Writes rows that nothing refers to yet.
    async fn write_rows(&self, at: &At, writes: Vec<Write>) -> Result<()> {
        if writes.is_empty() {
            return Ok(());
        }
        // From now on there are rows that may remain unreferenced.
        self.todo.blob(at);
        match self.engine().apply(at.tables.blobs, &at.name, writes).await? {
            Applied::Done { .. } => Ok(()),
            Applied::Rejected { .. } => Err(lazuli_engine::Error::Conflict.into()),
        }
    }

    /// The rows of a copy, divided into the blocks of its source, which must be pinned.
    pub async fn install_blocks(
        &self,
        at: &At,
        draft: &UploadedContent,
        from: &At,
        stored: &Stored,
    ) -> Result<Installed> {
        let blocks = self.blocks_of(from, stored).await?;
        match draft {
            UploadedContent::Inline(bytes) => {
                let stored = Stored::Inline { bytes: bytes.clone(), blocks };
                Ok(Installed { stored, writes: Vec::new(), pin: None })
            }
            UploadedContent::Pieces(loose) => {
                let mut start = 0;
                let entries = blocks.into_iter().map(|(id, length)| {
                    let parts = slice(loose.pieces(), start, length);
                    start += length;
                    Entry { id: Some(id), parts }
                });
                self.write_segments(at, entries).await
            }
        }
    }

    /// Ids and lengths of the blocks of pinned content.
    pub async fn blocks_of(&self, at: &At, stored: &Stored) -> Result<Vec<(BlockId, u64)>> {
        let named = match stored {
            Stored::Inline { blocks, .. } => return Ok(blocks.clone()),
            Stored::Generation(named) => named,
            Stored::Runs(_) | Stored::Pages(_) => return Ok(Vec::new()),
        };
        let mut blocks = Vec::new();
        for n in 0..named.segments {
            let segment = self.segment(at, named.generation, n).await?;
            for entry in segment.entries {
                let length = entry.length();
                blocks.extend(entry.id.map(|id| (id, length)));
            }
        }
        Ok(blocks)
    }
}

/// The parts of an upload from `start` on.
pub fn slice(pieces: &[Piece], start: u64, length: u64) -> Vec<SegmentPart> {
    let mut parts = Vec::new();
    let mut offset = 0_u64;
    for piece in pieces {
        let end = offset + u64::from(piece.length);
        let (from, to) = (start.max(offset), (start + length).min(end));
        if from < to {
            // Both lie within the piece, whose length is a u32.
            let (start, length) = ((from - offset) as u32, (to - from) as u32);
            let is_whole = length == piece.length;
            parts.push(if is_whole {
                SegmentPart::Whole(*piece)
            } else {
                SegmentPart::Slice { piece: *piece, start, length }
            });
        }
        offset = end;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_cross_pieces() {
        let piece = |n: u64, length| Piece { stream: 1, offset: n * 4096, length, crc: 0 };
        let pieces = [piece(0, 10), piece(1, 10), piece(2, 5)];
        let part = |n: usize, start, length| SegmentPart::Slice { piece: pieces[n], start, length };
        assert_eq!(slice(&pieces, 0, 10), [SegmentPart::Whole(pieces[0])]);
        assert_eq!(slice(&pieces, 5, 16), [part(0, 5, 5), SegmentPart::Whole(pieces[1]), part(2, 0, 1)]);
        assert_eq!(slice(&pieces, 24, 1), [part(2, 4, 1)]);
        assert_eq!(slice(&pieces, 7, 0), []);
    }
}
