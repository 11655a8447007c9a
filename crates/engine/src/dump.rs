//! A snapshot of all rows of an engine, to be copied elsewhere.
//!
//! Invariants: rows are ordered by table, partition and row; all belong to the same snapshot, without partial
//! commits; no version is greater than that of [`Marks`].

use crate::types::{Row, TableId, Version};
use crate::{EngineFuture, Error};

/// The state of an engine in addition to its rows. It ensures that no version and no table id is ever issued
/// twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// The version of the last commit.
    pub last_version: Version,
    /// The table id issued last.
    pub last_table: TableId,
}

/// A row with its table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The table.
    pub table: TableId,
    /// The row.
    pub row: Row,
}

impl Stored {
    /// Bytes of its key and value.
    pub fn bytes(&self) -> usize {
        self.row.partition.len() + self.row.row.len() + self.row.value.len()
    }
}

/// A snapshot of the rows. Writes continue while it is held; its cost depends on the engine.
pub trait Dump: Send {
    /// The marks of the engine at the time of the snapshot.
    fn marks(&self) -> Marks;

    /// The next rows; none at the end. Stops after the row that reaches `bytes_max`.
    fn next(&mut self, bytes_max: usize) -> EngineFuture<'_, Vec<Stored>>;
}

/// The error of an engine without dumps.
pub(crate) fn unsupported() -> Error {
    Error::Unavailable("this engine does not support dumps; use the backup tools of its database".into())
}
