//! A download: whole blocks are read, verified and returned, from the page cache immediately, otherwise on a blocking
//! thread.
//!
//! Invariant: the memory of all downloads is bounded. A chunk of full size counts against a common bound until the
//! last reference to it is dropped; beyond the bound downloads get small chunks.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use lazuli_engine::content::checksum::{BLOCK_BYTES, Sums, blocks_around, missing, table_bytes};
use lazuli_engine::content::{CHUNK_BYTES_MAX, ContentReader, Piece, Pinned};
use lazuli_engine::{EngineFuture, Error, Result};
use tokio::sync::OwnedSemaphorePermit;

use super::disk;
use super::inner::Inner;
use super::limits::SMALL_CHUNK_BYTES;
use super::pack::{Pack, io_error};
use crate::store::blocking;

/// A download from a pack.
pub struct PackReader {
    inner: Arc<Inner>,
    source: Result<Source>,
    /// The part of the piece that is not read yet.
    rest: Range<u64>,
    _pinned: Pinned,
}

/// Where the bytes are.
#[derive(Clone)]
struct Source {
    piece: Piece,
    pack: Arc<Pack>,
    /// Read with the first chunk.
    sums: Option<Sums>,
}

impl PackReader {
    /// Begins a download.
    pub fn new(inner: &Arc<Inner>, piece: Piece, range: Range<u64>) -> Self {
        // Pin the piece before looking it up: from now on, it is either not freed, or found dead.
        let pinned = inner.packs.pins.pin(&[piece]);
        let end = range.end.min(u64::from(piece.length));
        let source = find(inner, piece).map(|pack| Source { piece, pack, sums: None });
        Self { inner: Arc::clone(inner), source, rest: range.start.min(end)..end, _pinned: pinned }
    }

    /// The bytes to return next, with a permit if they are a full-size chunk.
    fn plan(&self) -> (Range<u64>, Option<OwnedSemaphorePermit>) {
        let Range { start, end } = self.rest;
        let block = start / BLOCK_BYTES as u64 * BLOCK_BYTES as u64;
        let full = start..end.min(block + CHUNK_BYTES_MAX as u64);
        let permit = self.inner.read_room(full.end - block);
        if permit.is_some() {
            return (full, permit);
        }
        let small = end.min(start + SMALL_CHUNK_BYTES as u64).min(block + BLOCK_BYTES as u64);
        (start..small, None)
    }

    async fn read(&mut self) -> Result<Option<Bytes>> {
        let source = self.source.as_ref().map_err(Error::clone)?;
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (range, permit) = self.plan();
        let (sums, bytes) = match source.read_cached(&range) {
            Some(cached) => cached?,
            None => {
                let slot = self.inner.read_slot().await?;
                let (source, range) = (source.clone(), range.clone());
                blocking(move || {
                    let read = source.read(&range);
                    drop(slot);
                    read
                })
                .await?
            }
        };
        if let Ok(source) = &mut self.source {
            source.sums = Some(sums);
        }
        self.rest.start = range.end;
        Ok(Some(match permit {
            Some(permit) => bytes.held(permit),
            None => Bytes::copy_from_slice(bytes.wanted()),
        }))
    }
}

impl ContentReader for PackReader {
    fn next(&mut self) -> EngineFuture<'_, Option<Bytes>> {
        Box::pin(async move {
            let read = self.read().await;
            if let Err(error) = &read {
                self.source = Err(error.clone());
            }
            read
        })
    }
}

fn find(inner: &Inner, piece: Piece) -> Result<Arc<Pack>> {
    let pack = inner.packs.find(piece.stream).filter(|_| piece.is_valid());
    pack.filter(|pack| !pack.is_dead(&piece)).ok_or_else(|| missing(piece))
}

/// A range of whole blocks, and the part of it that is needed.
struct Blocks {
    bytes: Vec<u8>,
    wanted: Range<usize>,
}

impl Blocks {
    fn wanted(&self) -> &[u8] {
        &self.bytes[self.wanted.clone()]
    }

    /// The needed bytes; dropping them releases the permit.
    fn held(self, permit: OwnedSemaphorePermit) -> Bytes {
        let wanted = self.wanted.clone();
        Bytes::from_owner(Held { bytes: self.bytes, _permit: permit }).slice(wanted)
    }
}

/// Bytes with the permit for their memory.
struct Held {
    bytes: Vec<u8>,
    _permit: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Source {
    /// Reads verified bytes if they are in the page cache; `None` if the disk is needed.
    fn read_cached(&self, range: &Range<u64>) -> Option<Result<(Sums, Blocks)>> {
        let file = self.pack.open_file()?;
        let sums = match &self.sums {
            Some(sums) => sums.clone(),
            None => match self.open_sums(|bytes, at| disk::read_cached(&file, bytes, at))? {
                Ok(sums) => sums,
                Err(error) => return Some(Err(error)),
            },
        };
        let blocks = blocks_around(self.piece, range);
        let bytes = disk::read_cached(&file, length(&blocks), self.piece.offset + blocks.start)?;
        Some(self.verified(sums, &blocks, bytes, range))
    }

    /// Reads verified bytes; may wait for the disk.
    fn read(&self, range: &Range<u64>) -> Result<(Sums, Blocks)> {
        let file = self.pack.file().map_err(|e| self.failed(&e))?;
        let sums = match &self.sums {
            Some(sums) => sums.clone(),
            None => {
                let table = self.read_table(&file)?;
                Sums::open(self.piece, table)?
            }
        };
        let blocks = blocks_around(self.piece, range);
        let read = disk::read(&file, length(&blocks), self.piece.offset + blocks.start);
        let bytes = read.map_err(|e| self.failed(&e))?;
        self.verified(sums, &blocks, bytes, range)
    }

    fn read_table(&self, file: &File) -> Result<Bytes> {
        let (bytes, at) = self.table();
        Ok(disk::read(file, bytes, at).map_err(|e| self.failed(&e))?.into())
    }

    fn open_sums(&self, read: impl Fn(usize, u64) -> Option<Vec<u8>>) -> Option<Result<Sums>> {
        let (bytes, at) = self.table();
        let table = if bytes > 0 { read(bytes, at)? } else { Vec::new() };
        Some(Sums::open(self.piece, table.into()))
    }

    /// Length and position of the table of checksums.
    fn table(&self) -> (usize, u64) {
        (table_bytes(self.piece.blocks()), self.piece.offset + u64::from(self.piece.length))
    }

    fn verified(
        &self,
        sums: Sums,
        blocks: &Range<u64>,
        bytes: Vec<u8>,
        range: &Range<u64>,
    ) -> Result<(Sums, Blocks)> {
        if bytes.len() != length(blocks) {
            return Err(missing(self.piece));
        }
        sums.verify(blocks.start as usize / BLOCK_BYTES, &bytes)?;
        let start = (range.start - blocks.start) as usize;
        Ok((sums, Blocks { bytes, wanted: start..start + length(range) }))
    }

    fn failed(&self, error: &std::io::Error) -> Error {
        match error.kind() {
            std::io::ErrorKind::NotFound => missing(self.piece),
            _ => io_error("read", &self.pack.path, error),
        }
    }
}

/// Ranges here are at most as long as a piece.
fn length(range: &Range<u64>) -> usize {
    (range.end - range.start) as usize
}
