//! Content in pack files, in the directory `content` of the store.
//!
//! Uploads reserve ranges of two open packs, one for small pieces and one for large ones, write them side by
//! side, and wait for a sync that they share. Nothing is ever moved: dead ranges are returned to the file
//! system, and a pack without live bytes is removed. Rows are the only index, so opening a store reads no pack.
//!
//! | module | what |
//! |---|---|
//! | `packs`, `pack` | the existing packs, and their dead ranges |
//! | `writer`, `syncer` | uploads |
//! | `reader` | downloads |
//! | `due`, `reclaim`, `sweep` | freeing |
//! | `adopt` | pieces from other stores |
//! | `disk`, `handles` | files |

mod adopt;
mod disk;
mod due;
mod handles;
mod inner;
pub mod limits;
mod listing;
mod pack;
mod packs;
mod reader;
mod reclaim;
mod sweep;
mod syncer;
#[cfg(test)]
mod tests;
mod writer;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use lazuli_engine::content::{
    Content, ContentReader, ContentStatus, ContentSweep, ContentWriter, ExtentPage, Fold, Piece, Pinned, Spot,
};
use lazuli_engine::{EngineFuture, Result};

use self::disk::{Disk, RealDisk};
use self::inner::Inner;
use self::limits::{INLINE_BYTES_MAX, PACK_BYTES_MAX};
use self::packs::Packs;
use self::reader::PackReader;
use self::sweep::PackSweep;
use self::writer::PackWriter;
use crate::error::OpenError;
use crate::options::Durability;
use crate::store::blocking;

/// The directory of the packs in that of the store.
pub const DIRECTORY: &str = "content";

/// The content store of one machine.
#[derive(Clone)]
pub struct PackContent {
    inner: Arc<Inner>,
}

impl PackContent {
    /// Opens the content of the store in `dir`, whose lock the caller holds.
    pub fn open(dir: &Path, durability: Durability) -> std::result::Result<Self, OpenError> {
        Self::open_with(dir, durability, Arc::new(RealDisk), PACK_BYTES_MAX)
    }

    /// Opens the content of the store in `dir`, read-only: nothing is changed, and writes fail.
    pub fn open_idle(dir: &Path) -> std::result::Result<Self, OpenError> {
        let packs = Packs::open_idle(dir.join(DIRECTORY))?;
        Ok(Self { inner: Arc::new(Inner::start(packs, Durability::Full)?) })
    }

    /// Opens content with the given disk and packs.
    fn open_with(
        dir: &Path,
        durability: Durability,
        disk: Arc<dyn Disk>,
        pack_bytes_max: u64,
    ) -> std::result::Result<Self, OpenError> {
        let packs = Packs::open(dir.join(DIRECTORY), disk, pack_bytes_max)?;
        Ok(Self { inner: Arc::new(Inner::start(packs, durability)?) })
    }

    /// Waits for running writes and ends the threads. Later calls fail.
    pub async fn close(&self) -> Result<()> {
        self.inner.close().await
    }

    /// Like `close`, but does not wait for writes of content that no row refers to yet.
    pub fn stop(&self) {
        self.inner.stop();
    }
}

impl Content for PackContent {
    fn bounds_reads(&self) -> bool {
        true
    }

    fn inline_max(&self) -> usize {
        INLINE_BYTES_MAX
    }

    fn begin(&self, expected: Option<u64>, fold: Option<Fold>) -> Box<dyn ContentWriter> {
        Box::new(PackWriter::new(&self.inner, expected, fold))
    }

    fn read(&self, piece: &Piece, range: Range<u64>) -> Box<dyn ContentReader> {
        Box::new(PackReader::new(&self.inner, *piece, range))
    }

    fn pin(&self, pieces: &[Piece]) -> Pinned {
        self.inner.packs.pins.pin(pieces)
    }

    fn pin_all(&self) -> Pinned {
        self.inner.packs.pins.pin_all()
    }

    fn release(&self, pieces: Vec<Piece>) -> EngineFuture<'_, Vec<Piece>> {
        Box::pin(async move {
            let packs = &self.inner.packs;
            packs.check_open()?;
            // Where both locks are taken, that of the pins comes first.
            Ok(packs.pins.free(pieces, |piece| {
                if let Some(pack) = packs.find(piece.stream).filter(|_| piece.is_valid()) {
                    pack.state().kill(piece.offset, piece.footprint());
                    packs.due.add(pack.number);
                }
            }))
        })
    }

    fn adopt(&self, piece: Piece, bytes: Bytes) -> EngineFuture<'_, ()> {
        Box::pin(async move {
            let slot = self.inner.write_slot().await?;
            let inner = Arc::clone(&self.inner);
            let synced = blocking(move || {
                let adopted = adopt::adopt(&inner, piece, &bytes);
                drop(slot);
                adopted
            });
            match synced.await? {
                Some(synced) => syncer::wait(synced).await,
                None => Ok(()),
            }
        })
    }

    fn list(&self, from: Spot) -> EngineFuture<'_, ExtentPage> {
        let packs = Arc::clone(&self.inner.packs);
        Box::pin(blocking(move || listing::list(&packs, from)))
    }

    fn sweep(&self) -> EngineFuture<'_, Box<dyn ContentSweep>> {
        let sweep = PackSweep::new(&self.inner.packs);
        Box::pin(std::future::ready(Ok(Box::new(sweep) as Box<dyn ContentSweep>)))
    }

    fn status(&self) -> EngineFuture<'_, ContentStatus> {
        let packs = Arc::clone(&self.inner.packs);
        Box::pin(blocking(move || listing::status(&packs)))
    }
}
