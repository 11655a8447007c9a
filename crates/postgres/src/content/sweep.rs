//! Deletes chunks that front ends left behind and no row refers to.
//!
//! A sweep covers streams in which no running front end can create new pieces: those that were given up, and
//! those that were taken away from front ends that have ended.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use lazuli_engine::content::{ContentLedger, ContentSweep, Left, Piece, Spot, Swept, Units, units_of};
use lazuli_engine::{EngineFuture, Result};
use tokio_postgres::types::Type;

use super::Inner;
use super::calls::{Parameter, signed};
use super::listing::{Stored, extents};

/// Maximum streams that one sweep covers; each takes up to 128 KiB of memory.
const SWEEP_STREAMS_MAX: usize = 512;
/// Maximum chunks that are examined, and deleted, at a time.
const PAGE_CHUNKS: usize = 500;

const DELETE: &str = "DELETE FROM lazuli_chunk WHERE stream = $1 AND pos = ANY($2)";

/// A sweep in progress.
pub struct ChunkSweep {
    inner: Arc<Inner>,
    kept: BTreeMap<u64, Units>,
    /// There are more streams than one sweep covers.
    is_partial: bool,
}

impl ChunkSweep {
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

    /// Deletes the chunks of a stream that were not kept; returns the bytes of the others.
    async fn settle(&self, stream: u64, kept: &Units, swept: &mut Swept) -> Result<u64> {
        let (mut live, mut gone) = (Vec::new(), Vec::new());
        let mut from = Some(Spot { stream, offset: 0 });
        while let Some(start) = from {
            let chunks = self.inner.chunks(start, PAGE_CHUNKS).await?;
            let is_more = chunks.len() == PAGE_CHUNKS;
            let own: Vec<Stored> = chunks.into_iter().filter(|chunk| chunk.start.stream == stream).collect();
            let last = own.last().map(|chunk| Spot { offset: chunk.start.offset + 1, ..chunk.start });
            from = last.filter(|_| is_more);
            let is_kept = |chunk: &Stored| kept.has_any(units_of(chunk.start.offset, 1));
            let (keep, delete): (Vec<Stored>, Vec<Stored>) = own.into_iter().partition(is_kept);
            self.delete(stream, &delete).await?;
            live.extend(keep);
            gone.extend(delete);
        }
        let bytes = |chunks: &[Stored]| extents(chunks).iter().map(|extent| extent.bytes).sum::<u64>();
        swept.kept_bytes += bytes(&live);
        swept.freed_bytes += bytes(&gone);
        self.inner.freed.fetch_add(bytes(&gone), std::sync::atomic::Ordering::Relaxed);
        Ok(bytes(&live))
    }

    async fn delete(&self, stream: u64, chunks: &[Stored]) -> Result<()> {
        if chunks.is_empty() {
            return Ok(());
        }
        let positions: Vec<i64> = chunks.iter().map(|chunk| signed(chunk.start.offset)).collect();
        let parameters: [Parameter<'_>; 2] = [(&signed(stream), Type::INT8), (&positions, Type::INT8_ARRAY)];
        self.inner.call(DELETE, &parameters).await.map(|_| ())
    }
}

impl ContentSweep for ChunkSweep {
    fn keep(&mut self, piece: &Piece) {
        if let Some(kept) = self.kept.get_mut(&piece.stream).filter(|_| piece.is_valid()) {
            kept.add(units_of(piece.offset, piece.footprint()));
        }
    }

    fn finish(self: Box<Self>) -> EngineFuture<'static, Swept> {
        Box::pin(self.end())
    }
}
