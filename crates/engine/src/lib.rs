//! What any storage engine must do: the trait, an in-memory oracle, and the conformance suite that every engine runs.
//!
//! An engine sees keys, values and versions; never an entity, a header or an ETag. There are no interactive
//! transactions: each call is one round trip on any engine.

pub mod adopt;
pub mod clock;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
pub mod content;
pub mod dump;
pub mod error;
pub mod figure;
pub mod keycode;
pub mod layer;
pub mod limits;
pub mod memory;
pub mod rules;
pub mod types;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

pub use adopt::{Adopted, Unfit};
pub use clock::Clock;
pub use content::{Content, ContentReader, ContentStatus, ContentWriter, MemoryContent, Piece};
pub use dump::{Dump, Marks, Stored};
pub use error::{Error, Result};
pub use figure::{Distribution, Figure, FigureValue, Histogram};
pub use layer::Layer;
pub use memory::Memory;
pub use types::{
    Applied, Bound, Change, Condition, KeyRange, Next, Page, Place, Reason, Rejected, Row, RowView, Scan,
    SharedState, Status, TableId, Update, Verdict, Version, Write,
};

/// A future that an engine returns; boxed so that the trait can be used as `dyn Engine`.
pub type EngineFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// Where bytes live.
///
/// Keys are texts in the order of their UTF-16 code units; how an engine encodes them is its own affair. Any text is a
/// legal key here, the empty one and those with U+0000 included.
pub trait Engine: Send + Sync + 'static {
    /// Reads rows of one partition, all from one snapshot; the response has one place for each row asked.
    fn get<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        rows: &'a [&'a str],
    ) -> EngineFuture<'a, Vec<Option<Row>>>;

    /// Reads rows in order, all from one snapshot, until a bound of `scan` is reached.
    fn scan(&self, scan: Scan) -> EngineFuture<'_, Page>;

    /// Changes rows of one partition: all or, if one condition does not hold, none. The writes are done in order: one
    /// that names a row again sees what the earlier one made of it.
    ///
    /// When it returns `Applied::Done` the change is durable; before that no reader sees any of it. All rows get the
    /// same new version, which is greater than that of every earlier commit, whatever the clock does.
    ///
    /// A commit beyond the bounds of [`limits`] fails with [`Error::TooLarge`].
    fn apply<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        writes: Vec<Write>,
    ) -> EngineFuture<'a, Applied>;

    /// Puts rows of one partition in with the versions that they have elsewhere: all or, if one may not, none. Those that are
    /// there already are no change. See [`adopt`](mod@adopt) for what may not. When it returns [`Adopted::Done`] all are durable,
    /// and every later commit has a greater version. An engine may take none, and none is taken by the system's table.
    fn adopt(&self, table: TableId, rows: Vec<Row>) -> EngineFuture<'_, Adopted> {
        drop((table, rows));
        Box::pin(std::future::ready(Err(adopt::unsupported())))
    }

    /// A table id that was never given out before.
    fn fresh_table(&self) -> EngineFuture<'_, TableId>;

    /// Removes some rows of a table that nobody reads any more; `true` when none is left. Need not be durable.
    fn erase(&self, table: TableId) -> EngineFuture<'_, bool>;

    /// For engines that several processes use at the same time: where it stands after this call was made. Whatever a
    /// process remembers of the system's table holds as long as this stays the same. `None` where no other process can
    /// change anything.
    fn shared_state(&self) -> EngineFuture<'_, Option<SharedState>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Tells, without asking anybody, the `epoch` of the shared state that the engine works in now.
    fn epoch(&self) -> u64 {
        0
    }

    /// Upper bound of the memory that the engine takes besides the rows of an engine without files. A server adds its
    /// own bound to it. The default is that of an engine that decides one commit at a time.
    fn memory_bytes_max(&self) -> u64 {
        (limits::COMMIT_INPUT_BYTES_MAX + limits::COMMIT_BYTES_MAX) as u64
    }

    /// How the engine is doing.
    fn status(&self) -> EngineFuture<'_, Status>;

    /// Everything as of now, to be copied elsewhere. An engine may allow few of them at a time.
    fn dump(&self) -> EngineFuture<'_, Box<dyn Dump>> {
        Box::pin(std::future::ready(Err(dump::unsupported())))
    }

    /// Where large content lives, next to the rows of this engine. `None` if the engine stores rows only.
    fn content(&self) -> Option<Arc<dyn Content>> {
        None
    }

    /// Writes out what is buffered and lets go of the files. Nothing may be called after it.
    fn close(&self) -> EngineFuture<'_, ()>;
}
