//! Stores whose calls fail or crash at a chosen moment.

use std::future::Future;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use bytes::Bytes;
use lazuli_engine::content::{
    Content, ContentReader, ContentStatus, ContentSweep, ContentWriter, ExtentPage, Fold, MemoryContent,
    Piece, Pinned, Spot, Swept,
};
use lazuli_engine::{Applied, Engine, EngineFuture, Error, Layer, TableId, Write};

/// The outcome of the n-th call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The process crashes: that call and all later ones fail.
    Crash,
    /// That call fails.
    Failure,
}

/// Counts calls down to the fault.
#[derive(Clone)]
pub struct Fuse {
    pub left: Arc<AtomicI64>,
    pub fault: Fault,
    /// Whether the call at which it burns out is still executed.
    pub carries_out: bool,
}

impl Fuse {
    async fn guard<T>(
        &self,
        call: impl Future<Output = lazuli_engine::Result<T>>,
    ) -> lazuli_engine::Result<T> {
        let why = || "as the test wants it".into();
        match self.left.fetch_sub(1, Ordering::SeqCst) {
            1.. => call.await,
            0 if self.carries_out => call.await.and(Err(Error::Unknown(why()))),
            0 => Err(Error::Unavailable(why())),
            _ if self.fault == Fault::Failure => call.await,
            _ => Err(Error::Unavailable(why())),
        }
    }
}

/// An engine whose calls burn a fuse.
pub struct FusedEngine(pub Arc<dyn Engine>, pub Fuse);

impl Layer for FusedEngine {
    fn below(&self) -> &dyn Engine {
        &*self.0
    }

    fn apply<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        writes: Vec<Write>,
    ) -> EngineFuture<'a, Applied> {
        Box::pin(self.1.guard(self.0.apply(table, partition, writes)))
    }

    fn fresh_table(&self) -> EngineFuture<'_, TableId> {
        Box::pin(self.1.guard(self.0.fresh_table()))
    }

    fn erase(&self, table: TableId) -> EngineFuture<'_, bool> {
        Box::pin(self.1.guard(self.0.erase(table)))
    }
}

/// A content store whose calls burn a fuse.
pub struct FusedContent(pub MemoryContent, pub Fuse);

struct FusedWriter(Box<dyn ContentWriter>, Fuse);

impl ContentWriter for FusedWriter {
    fn write(&mut self, bytes: Bytes) -> EngineFuture<'_, ()> {
        Box::pin(self.1.guard(self.0.write(bytes)))
    }
    fn seal(self: Box<Self>) -> EngineFuture<'static, Vec<Piece>> {
        Box::pin(async move {
            // A store that lives on frees an upload that it could not seal.
            let carries_out = self.1.carries_out && self.1.fault == Fault::Crash;
            Fuse { carries_out, ..self.1 }.guard(self.0.seal()).await
        })
    }
}

struct FusedSweep(Box<dyn ContentSweep>, Fuse);

impl ContentSweep for FusedSweep {
    fn keep(&mut self, piece: &Piece) {
        self.0.keep(piece);
    }
    fn finish(self: Box<Self>) -> EngineFuture<'static, Swept> {
        Box::pin(async move { self.1.guard(self.0.finish()).await })
    }
}

impl Content for FusedContent {
    fn inline_max(&self) -> usize {
        self.0.inline_max()
    }
    fn begin(&self, expected: Option<u64>, fold: Option<Fold>) -> Box<dyn ContentWriter> {
        Box::new(FusedWriter(self.0.begin(expected, fold), self.1.clone()))
    }
    fn read(&self, piece: &Piece, range: Range<u64>) -> Box<dyn ContentReader> {
        self.0.read(piece, range)
    }
    fn pin(&self, pieces: &[Piece]) -> Pinned {
        self.0.pin(pieces)
    }
    fn pin_all(&self) -> Pinned {
        self.0.pin_all()
    }
    fn release(&self, pieces: Vec<Piece>) -> EngineFuture<'_, Vec<Piece>> {
        Box::pin(self.1.guard(self.0.release(pieces)))
    }
    fn adopt(&self, piece: Piece, bytes: Bytes) -> EngineFuture<'_, ()> {
        self.0.adopt(piece, bytes)
    }
    fn list(&self, from: Spot) -> EngineFuture<'_, ExtentPage> {
        self.0.list(from)
    }
    fn sweep(&self) -> EngineFuture<'_, Box<dyn ContentSweep>> {
        Box::pin(async {
            let sweep = self.1.guard(self.0.sweep()).await?;
            Ok(Box::new(FusedSweep(sweep, self.1.clone())) as Box<dyn ContentSweep>)
        })
    }
    fn status(&self) -> EngineFuture<'_, ContentStatus> {
        self.0.status()
    }
}
