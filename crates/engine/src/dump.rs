//! Everything that an engine holds as of one moment, to be copied elsewhere.
//!
//! What must stay true: rows come in the order of table, partition, row; all are of one moment, and no commit is there in
//! part; every version is at most that of [`Marks`].

use crate::types::{Row, TableId, Version};
use crate::{EngineFuture, Error};

/// What an engine must remember besides its rows, so that neither versions nor table ids are ever given out twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// The version of the last commit.
    pub last_version: Version,
    /// The table id given out last.
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

/// The rows of one moment. Writes continue meanwhile, however long it is kept; what it costs is the engine's affair.
pub trait Dump: Send {
    /// What the engine remembered at that moment.
    fn marks(&self) -> Marks;

    /// The next rows; none when all were given. It stops after the row with which they reach `bytes_max`.
    fn next(&mut self, bytes_max: usize) -> EngineFuture<'_, Vec<Stored>>;
}

/// An engine that gives no dumps.
pub(crate) fn unsupported() -> Error {
    Error::Unavailable("this engine gives no copy of everything; use the means of its database".into())
}
