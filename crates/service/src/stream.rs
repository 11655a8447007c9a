//! Bodies that are read chunk by chunk, so that no operation holds a whole body in memory.

use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;

use crate::Result;

/// The next chunk of a body, or `None` at its end. An engine error is passed on unchanged, so that background work that
/// reads a blob of this server can retry.
pub type NextChunk<'a> = Pin<Box<dyn Future<Output = Result<Option<Bytes>>> + Send + 'a>>;

/// A body that its reader pulls. Each call returns a non-empty chunk of bounded size, until the end or a
/// failure. It is not called again after that.
pub trait Source: Send {
    /// The next chunk.
    fn next(&mut self) -> NextChunk<'_>;
}

/// A body that is already in memory.
#[derive(Clone, Debug, Default)]
pub struct Whole(Bytes);

impl From<Bytes> for Whole {
    fn from(bytes: Bytes) -> Self {
        Self(bytes)
    }
}

impl Source for Whole {
    fn next(&mut self) -> NextChunk<'_> {
        let bytes = std::mem::take(&mut self.0);
        Box::pin(std::future::ready(Ok((!bytes.is_empty()).then_some(bytes))))
    }
}
