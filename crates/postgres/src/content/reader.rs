//! A download: windows of 256 KiB, each verified before any of it is returned.

use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use lazuli_engine::content::checksum::{BLOCK_BYTES, Sums, missing, table_bytes};
use lazuli_engine::content::{ContentReader, Piece, Pinned};
use lazuli_engine::{EngineFuture, Error, Result};

use super::{CHUNK_BYTES, Inner};

/// A download from a database.
pub struct ChunkReader {
    inner: Arc<Inner>,
    piece: Result<Piece>,
    /// Read with the first window.
    sums: Option<Sums>,
    /// The part of the piece that is not read yet.
    rest: Range<u64>,
    _pinned: Pinned,
}

impl ChunkReader {
    /// Begins a download.
    pub fn new(inner: &Arc<Inner>, piece: Piece, range: Range<u64>) -> Self {
        // Pin before checking whether the piece is leaving: from then on it is either kept or already leaving.
        let pinned = inner.pins.pin(&[piece]);
        let is_there = piece.is_valid() && !inner.leaving().contains(&piece.spot());
        let end = range.end.min(u64::from(piece.length));
        Self {
            inner: Arc::clone(inner),
            piece: if is_there { Ok(piece) } else { Err(missing(piece)) },
            sums: None,
            rest: range.start.min(end)..end,
            _pinned: pinned,
        }
    }

    async fn read(&mut self) -> Result<Option<Bytes>> {
        let piece = self.piece.clone()?;
        if self.rest.is_empty() {
            return Ok(None);
        }
        let length = u64::from(piece.length);
        let start = self.rest.start / CHUNK_BYTES as u64 * CHUNK_BYTES as u64;
        let window = start..(start + CHUNK_BYTES as u64).min(length);
        let (bytes, sums) = match &self.sums {
            Some(sums) => (self.fetch(piece, window.clone()).await?, sums.clone()),
            None => self.fetch_first(piece, window.clone()).await?,
        };
        // Windows start at whole blocks.
        sums.verify(start as usize / BLOCK_BYTES, &bytes)?;
        self.sums = Some(sums);
        let end = window.end.min(self.rest.end);
        let wanted = (self.rest.start - start) as usize..(end - start) as usize;
        self.rest.start = end;
        Ok(Some(bytes.slice(wanted)))
    }

    /// The first window to read, including the table of checksums.
    async fn fetch_first(&self, piece: Piece, window: Range<u64>) -> Result<(Bytes, Sums)> {
        let length = u64::from(piece.length);
        let table = length..length + table_bytes(piece.blocks()) as u64;
        if table.is_empty() {
            return Ok((self.fetch(piece, window).await?, Sums::open(piece, Bytes::new())?));
        }
        if window.end == length {
            // They are adjacent, so one call fetches both.
            let mut bytes = self.fetch(piece, window.start..table.end).await?;
            let table = bytes.split_off((length - window.start) as usize);
            return Ok((bytes, Sums::open(piece, table)?));
        }
        let sums = Sums::open(piece, self.fetch(piece, table).await?)?;
        Ok((self.fetch(piece, window).await?, sums))
    }

    /// A range of a piece that consists of whole chunks.
    async fn fetch(&self, piece: Piece, range: Range<u64>) -> Result<Bytes> {
        let (start, end) = (piece.offset + range.start, piece.offset + range.end);
        let mut chunks = self.inner.get(piece.stream, start, end).await?;
        let mut at = start;
        for (position, bytes) in &chunks {
            if *position != at {
                return Err(missing(piece));
            }
            at += bytes.len() as u64;
        }
        match chunks.len() {
            _ if at != end => Err(missing(piece)),
            1 => Ok(chunks.remove(0).1.into()),
            _ => {
                let mut all = BytesMut::with_capacity((end - start) as usize);
                chunks.iter().for_each(|(_, bytes)| all.extend_from_slice(bytes));
                Ok(all.freeze())
            }
        }
    }
}

impl ContentReader for ChunkReader {
    fn next(&mut self) -> EngineFuture<'_, Option<Bytes>> {
        Box::pin(async move {
            let read = self.read().await;
            if let Err(error @ Error::Corrupt(_)) = &read {
                self.piece = Err(error.clone());
            }
            read
        })
    }
}
