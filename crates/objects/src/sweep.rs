//! Deletes objects that front ends left behind and no row refers to.
//!
//! A sweep covers streams in which no process can create new pieces: those that were given up, and those that
//! were taken away from front ends that have ended. Whether an object is deleted depends on rows and on the
//! ledger alone. A listing that lacks an object leaves garbage for the next sweep.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use lazuli_engine::content::{ContentSweep, Extent, Left, Piece, Spot, Swept, Units, units_of};
use lazuli_engine::{EngineFuture, Error, Result};
use tokio::task::JoinSet;

use crate::content::Inner;

/// Maximum streams that one sweep covers; each takes up to 128 KiB of memory.
const SWEEP_STREAMS_MAX: usize = 512;
/// Objects that are deleted at the same time.
const DELETES_MAX: usize = 8;

/// A sweep in progress.
pub struct ObjectSweep {
    inner: Arc<Inner>,
    kept: BTreeMap<u64, Units>,
    /// There are more streams than one sweep covers.
    is_partial: bool,
}

impl ObjectSweep {
    /// Starts with streams that no sweep has covered yet.
    pub async fn begin(inner: &Arc<Inner>) -> Result<Self> {
        let Left { streams, is_partial } = inner.ledger.left(SWEEP_STREAMS_MAX).await?;
        let kept = streams.into_iter().map(|stream| (stream, Units::default())).collect();
        Ok(Self { inner: Arc::clone(inner), kept, is_partial })
    }

    async fn end(self) -> Result<Swept> {
        let mut swept = Swept::default();
        if self.inner.ledger.is_held().await? {
            return Ok(swept);
        }
        let streams: Vec<u64> = self.kept.keys().copied().collect();
        let mut unused = HashSet::new();
        let is_all = self.inner.pins.free_streams(&streams, |stream| {
            unused.insert(stream);
        });
        for (stream, kept) in &self.kept {
            // Skips the stream if pieces of another store were put into it in the meantime, or if another
            // process sweeps it.
            if unused.contains(stream) && self.inner.ledger.begin_sweep(*stream).await? {
                let settled = self.settle(*stream, kept, &mut swept).await;
                self.inner.ledger.end_sweep(*stream, settled.as_ref().ok().copied()).await?;
                settled?;
            }
        }
        swept.is_complete = is_all && !self.is_partial;
        Ok(swept)
    }

    /// Deletes the objects of a stream that were not kept; returns the bytes of the others.
    async fn settle(&self, stream: u64, kept: &Units, swept: &mut Swept) -> Result<u64> {
        let (mut live, mut gone) = (0, 0);
        let mut from = Some(Spot { stream, offset: 0 });
        while let Some(start) = from {
            let (extents, next) = self.inner.page(start).await?;
            from = next.filter(|next| next.stream == stream);
            let own = extents.into_iter().filter(|extent| extent.start.stream == stream);
            let is_kept = |extent: &Extent| kept.has_any(units_of(extent.start.offset, 1));
            let (keep, delete): (Vec<Extent>, Vec<Extent>) = own.partition(is_kept);
            self.delete(&delete).await?;
            live += bytes(&keep);
            gone += bytes(&delete);
        }
        swept.kept_bytes += live;
        swept.freed_bytes += gone;
        self.inner.freed.fetch_add(gone, Ordering::Relaxed);
        Ok(live)
    }

    /// Deletes objects, several at a time.
    async fn delete(&self, extents: &[Extent]) -> Result<()> {
        for some in extents.chunks(DELETES_MAX) {
            let mut deletes = JoinSet::new();
            for extent in some {
                let (inner, spot) = (Arc::clone(&self.inner), extent.start);
                deletes.spawn(async move { inner.delete(spot).await });
            }
            while let Some(deleted) = deletes.join_next().await {
                deleted
                    .map_err(|error| Error::Unavailable(format!("deleting content failed: {error}")))??;
            }
        }
        Ok(())
    }
}

fn bytes(extents: &[Extent]) -> u64 {
    extents.iter().map(|extent| extent.bytes).sum()
}

impl ContentSweep for ObjectSweep {
    fn keep(&mut self, piece: &Piece) {
        if let Some(kept) = self.kept.get_mut(&piece.stream).filter(|_| piece.is_valid()) {
            kept.add(units_of(piece.offset, piece.footprint()));
        }
    }

    fn finish(self: Box<Self>) -> EngineFuture<'static, Swept> {
        Box::pin(self.end())
    }
}
