//! Content in memory, with simulated calls that take time, fail, lose their outcome, and never return after a
//! crash of their server.
//!
//! A failed seal may have stored its pieces, and a failed release may have freed some: no row may depend on either.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use lazuli_engine::content::{ContentSweep, ExtentPage, Fold, Pinned, Spot};
use lazuli_engine::{
    Content, ContentReader, ContentStatus, ContentWriter, EngineFuture, MemoryContent, Piece, Result,
};

use crate::engine::{Core, Line};

/// Content of at most this many bytes stays in a row. Small, so that short bodies reach the content store.
const INLINE_BYTES_MAX: usize = 64;

/// The content, as seen by one server.
pub struct SlowContent {
    below: MemoryContent,
    calls: Calls,
}

#[derive(Clone)]
struct Calls {
    core: Arc<Core>,
    line: Line,
}

impl Calls {
    /// The request to the content store. It may fail before it has any effect.
    async fn there(&self) -> Result<()> {
        self.core.delay().await;
        self.line.hold().await;
        self.core.check()
    }

    /// The delay of the response. The outcome of a change may be lost.
    async fn back(&self) -> Result<()> {
        self.core.delay().await;
        self.line.hold().await;
        self.core.check_outcome()
    }
}

impl SlowContent {
    /// Content behind a line.
    pub fn new(below: MemoryContent, core: Arc<Core>, line: Line) -> Self {
        Self { below, calls: Calls { core, line } }
    }
}

impl Content for SlowContent {
    fn inline_max(&self) -> usize {
        INLINE_BYTES_MAX
    }

    fn begin(&self, expected: Option<u64>, fold: Option<Fold>) -> Box<dyn ContentWriter> {
        Box::new(Writer { below: self.below.begin(expected, fold), calls: self.calls.clone() })
    }

    fn read(&self, piece: &Piece, range: Range<u64>) -> Box<dyn ContentReader> {
        Box::new(Reader { below: self.below.read(piece, range), calls: self.calls.clone() })
    }

    fn pin(&self, pieces: &[Piece]) -> Pinned {
        self.below.pin(pieces)
    }

    fn pin_all(&self) -> Pinned {
        self.below.pin_all()
    }

    fn release(&self, pieces: Vec<Piece>) -> EngineFuture<'_, Vec<Piece>> {
        Box::pin(async move {
            self.calls.there().await?;
            let pinned = self.below.release(pieces).await?;
            self.calls.back().await?;
            Ok(pinned)
        })
    }

    fn adopt(&self, piece: Piece, bytes: Bytes) -> EngineFuture<'_, ()> {
        Box::pin(async move {
            self.calls.there().await?;
            self.below.adopt(piece, bytes).await?;
            self.calls.back().await
        })
    }

    fn list(&self, from: Spot) -> EngineFuture<'_, ExtentPage> {
        Box::pin(async move {
            self.calls.there().await?;
            self.below.list(from).await
        })
    }

    fn sweep(&self) -> EngineFuture<'_, Box<dyn ContentSweep>> {
        Box::pin(async move {
            self.calls.there().await?;
            self.below.sweep().await
        })
    }

    fn status(&self) -> EngineFuture<'_, ContentStatus> {
        Box::pin(async {
            self.calls.there().await?;
            self.below.status().await
        })
    }
}

struct Writer {
    below: Box<dyn ContentWriter>,
    calls: Calls,
}

impl ContentWriter for Writer {
    fn write(&mut self, bytes: Bytes) -> EngineFuture<'_, ()> {
        Box::pin(async move {
            self.calls.there().await?;
            self.below.write(bytes).await
        })
    }

    fn seal(self: Box<Self>) -> EngineFuture<'static, Vec<Piece>> {
        Box::pin(async move {
            let Self { below, calls } = *self;
            calls.there().await?;
            let sealed = below.seal().await?;
            calls.back().await?;
            Ok(sealed)
        })
    }
}

struct Reader {
    below: Box<dyn ContentReader>,
    calls: Calls,
}

impl ContentReader for Reader {
    fn next(&mut self) -> EngineFuture<'_, Option<Bytes>> {
        Box::pin(async move {
            self.calls.there().await?;
            self.below.next().await
        })
    }
}
