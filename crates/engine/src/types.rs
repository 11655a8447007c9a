//! The input and output of an engine: keys, values, versions.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::{Metric, Result};

/// Identifies the rows of one table from its creation to its deletion; never reused. Ids are issued from 1 on, up to
/// `i64::MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub u64);

impl TableId {
    /// The system table, which holds the service's own records. It always exists and is never erased.
    pub const SYSTEM: TableId = TableId(0);
}

/// When a row was last changed: 100 ns ticks since the year 1, unique to its commit unless the row was imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u64);

/// A row with its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The first part of the key.
    pub partition: Box<str>,
    /// The second part of the key.
    pub row: Box<str>,
    /// When it was last changed.
    pub version: Version,
    /// Its content.
    pub value: Bytes,
}

impl Row {
    /// The row as a scan shows it.
    pub fn view(&self) -> RowView<'_> {
        RowView { partition: &self.partition, row: &self.row, version: self.version, value: &self.value }
    }
}

/// A row during a scan, before the judge has decided on it.
#[derive(Clone, Copy, Debug)]
pub struct RowView<'a> {
    /// The first part of the key.
    pub partition: &'a str,
    /// The second part of the key.
    pub row: &'a str,
    /// When it was last changed.
    pub version: Version,
    /// Its content.
    pub value: &'a [u8],
}

/// A position in the order of a table's rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPosition {
    /// The first part of the key.
    pub partition: String,
    /// The second part of the key.
    pub row: String,
}

/// The lower or upper end of a range of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound {
    /// No limit.
    Open,
    /// The row with this key belongs to the range, if it exists.
    Included(KeyPosition),
    /// The row with this key does not belong to it.
    Excluded(KeyPosition),
    /// As a lower bound: everything after this partition. As an upper bound: up to the end of this partition.
    AfterPartition(String),
}

/// Rows from one bound to another. A range whose end is before its start is empty, not an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// The lower bound.
    pub start: Bound,
    /// The upper bound.
    pub end: Bound,
}

impl KeyRange {
    /// Every row of the table.
    pub const ALL: KeyRange = KeyRange { start: Bound::Open, end: Bound::Open };

    /// Every row of one partition.
    pub fn partition(partition: &str) -> Self {
        Self {
            start: Bound::Included(KeyPosition { partition: partition.into(), row: String::new() }),
            end: Bound::AfterPartition(partition.into()),
        }
    }
}

/// What to do with a row that a scan has reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It belongs to the page.
    Keep,
    /// It does not.
    Skip,
    /// The page ends before this row; the scan can be resumed at it.
    Stop,
    /// Neither this row nor any other before this partition belongs to the page. The engine continues there if that is
    /// cheap; otherwise the page ends before this row.
    Leap(Box<str>),
}

/// Judges each row of a scan. An error ends the scan and is returned.
pub type Judge = Box<dyn FnMut(RowView<'_>) -> Result<Verdict> + Send>;

/// Which rows to read.
pub struct Scan {
    /// The table.
    pub table: TableId,
    /// The rows, in ascending ranges that do not overlap.
    pub ranges: Vec<KeyRange>,
    /// Maximum rows returned per page.
    pub rows_max: usize,
    /// Maximum bytes of values per page; a single larger value is still returned.
    pub bytes_max: usize,
    /// Judges each row.
    pub judge: Judge,
}

impl fmt::Debug for Scan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scan")
            .field("table", &self.table)
            .field("ranges", &self.ranges)
            .field("rows_max", &self.rows_max)
            .field("bytes_max", &self.bytes_max)
            .finish_non_exhaustive()
    }
}

/// The result of a scan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The rows kept, in order.
    pub rows: Vec<Row>,
    /// The first row that was not judged, at which the judge stopped, or that was kept but exceeded the page; `None`
    /// at the end of the ranges. A scan that starts at this row, inclusive, continues exactly where this one ended.
    pub next: Option<KeyPosition>,
    /// Number of rows judged.
    pub rows_read: u64,
}

/// One change of one row.
#[derive(Clone, Debug)]
pub struct Write {
    /// The second part of the row's key; the first is that of the commit.
    pub row: Box<str>,
    /// The condition that must hold.
    pub condition: Condition,
    /// The change to apply.
    pub change: Change,
}

/// A condition on a row that must hold for the row to be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Nothing.
    Any,
    /// The row does not exist.
    Absent,
    /// The row exists.
    Exists,
    /// The row exists with this version.
    Version(Version),
    /// The row exists with a version that the caller cannot name. Never true, but a missing row is reported as
    /// missing.
    Never,
}

/// The change to a row.
#[derive(Clone)]
pub enum Change {
    /// It gets this value.
    Put(Bytes),
    /// The row gets the value that this computes from its current value.
    Update(Arc<dyn Update>),
    /// It is removed. Removing a row that does not exist changes nothing.
    Delete,
}

/// Computes the next state of a row from its current value.
///
/// An engine may call it more than once for one commit, with another version each time. Only the result of the last call
/// counts.
pub trait Update: Send + Sync {
    /// Returns the next state; an error rejects the commit. `version` is the version of the commit: a row that is put
    /// has this version afterwards.
    fn next(&self, current: Option<&Bytes>, version: Version) -> std::result::Result<Next, Rejected>;
}

/// The next state of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// The row has this value and the version of the commit.
    Put(Bytes),
    /// The row does not exist. Deleting a row that does not exist changes nothing.
    Delete,
    /// The row stays as it is, including its version. A row that does not exist stays absent.
    Keep,
}

/// An update that cannot be applied. The meaning of the number is up to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejected(pub u32);

impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Put(value) => f.debug_tuple("Put").field(&value.len()).finish(),
            Change::Update(_) => f.write_str("Update"),
            Change::Delete => f.write_str("Delete"),
        }
    }
}

/// The result of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// Every change was made and is durable.
    Done {
        /// The version of all rows it wrote.
        version: Version,
        /// The value that each [`Update`] put, at the position of its write; `None` for updates that deleted or kept
        /// their row, and for other changes.
        updated: Vec<Option<Bytes>>,
    },
    /// Nothing was changed.
    Rejected {
        /// The first write whose condition does not hold.
        index: usize,
        /// Why.
        reason: Reason,
    },
}

/// Why a commit was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The row exists.
    Exists,
    /// The row does not exist.
    Missing,
    /// The row has another version.
    Mismatch,
    /// Its update rejected the current value.
    Rejected(Rejected),
}

/// The state of an engine that several processes share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedState {
    /// Changes with every change to the system table, by any process.
    pub changes: u64,
    /// Changes when the engine switches to another server, which possibly lacks data of the previous one.
    pub epoch: u64,
}

/// The status of an engine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Status {
    /// A short description of where the data is, for people.
    pub place: String,
    /// Bytes on disk, where known.
    pub disk_bytes: Option<u64>,
    /// Why the engine rejects writes, if it does.
    pub poisoned: Option<String>,
    /// Metrics since the engine was opened.
    pub metrics: Vec<Metric>,
}
