//! The contract of a storage engine: the trait, an in-memory oracle, and the conformance suite that every engine runs.
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
pub mod keycode;
pub mod layer;
pub mod limits;
pub mod memory;
pub mod metric;
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
pub use layer::Layer;
pub use memory::Memory;
pub use metric::{Distribution, Histogram, Metric, MetricValue};
pub use types::{
    Applied, Bound, Change, Condition, KeyPosition, KeyRange, Next, Page, Reason, Rejected, Row, RowView,
    Scan, SharedState, Status, TableId, Update, Verdict, Version, Write,
};

/// A future that an engine returns; boxed so that the trait can be used as `dyn Engine`.
pub type EngineFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// Stores rows.
///
/// Keys are strings in the order of their UTF-16 code units; each engine chooses its own encoding. Every string is a
/// valid key here, including the empty one and those that contain U+0000.
pub trait Engine: Send + Sync + 'static {
    /// Reads rows of one partition, all from one snapshot; the result has one entry for each requested row.
    fn get<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        rows: &'a [&'a str],
    ) -> EngineFuture<'a, Vec<Option<Row>>>;

    /// Reads rows in order, all from one snapshot, until a bound of `scan` is reached.
    fn scan(&self, scan: Scan) -> EngineFuture<'_, Page>;

    /// Changes rows of one partition: all of them, or none if a condition does not hold. Writes are applied in order:
    /// a second write to the same row sees the result of the first.
    ///
    /// When it returns `Applied::Done`, the change is durable; no reader sees any of it earlier. All rows get
    /// the same new version, which is greater than that of every earlier commit, regardless of the clock.
    ///
    /// A commit that exceeds the [`limits`] fails with [`Error::TooLarge`].
    fn apply<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        writes: Vec<Write>,
    ) -> EngineFuture<'a, Applied>;

    /// Imports rows of one partition with the versions that they have elsewhere: all of them, or none if one is
    /// rejected. Rows that are already stored do not count as changes. See [`adopt`](mod@adopt) for the rules. When
    /// it returns [`Adopted::Done`], all rows are durable, and every later commit has a greater version. Engines need
    /// not support this, and the system table never accepts imports.
    fn adopt(&self, table: TableId, rows: Vec<Row>) -> EngineFuture<'_, Adopted> {
        drop((table, rows));
        Box::pin(std::future::ready(Err(adopt::unsupported())))
    }

    /// A table id that was never issued before.
    fn fresh_table(&self) -> EngineFuture<'_, TableId>;

    /// Removes some rows of a deleted table; `true` when none is left. Need not be durable.
    fn erase(&self, table: TableId) -> EngineFuture<'_, bool>;

    /// For engines that several processes share: the state of the database after this call started. A cached record
    /// of the system table is valid as long as this value stays the same. `None` if no other process can change
    /// anything.
    fn shared_state(&self) -> EngineFuture<'_, Option<SharedState>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// The `epoch` of the shared state that the engine uses now, without a request to the database.
    fn epoch(&self) -> u64 {
        0
    }

    /// Upper bound of the engine's memory, not counting the rows of an engine without files. A server adds its own
    /// bound. The default suits an engine that evaluates one commit at a time.
    fn memory_bytes_max(&self) -> u64 {
        (limits::COMMIT_INPUT_BYTES_MAX + limits::COMMIT_BYTES_MAX) as u64
    }

    /// The status of the engine.
    fn status(&self) -> EngineFuture<'_, Status>;

    /// A dump of all rows at this moment, to be copied elsewhere. An engine may limit how many are open at a time.
    fn dump(&self) -> EngineFuture<'_, Box<dyn Dump>> {
        Box::pin(std::future::ready(Err(dump::unsupported())))
    }

    /// Where large content lives, next to the rows of this engine. `None` if the engine stores rows only.
    fn content(&self) -> Option<Arc<dyn Content>> {
        None
    }

    /// Flushes buffers and closes the files. No other method may be called afterwards.
    fn close(&self) -> EngineFuture<'_, ()>;
}
