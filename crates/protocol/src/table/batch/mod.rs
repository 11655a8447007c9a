//! Entity group transactions as multipart bodies, in and out.
//!
//! [`decode`] parses a body, [`encode`] writes the response. A body that is not a batch is rejected as a whole. If
//! one operation fails, the response has a single part: that error, with the index of the operation.

mod decode;
mod inner;
pub mod send;
mod write;

use lazuli_model::table::Operation;
use lazuli_model::{Failure, TableName};

pub use decode::decode;
pub use write::encode;

use crate::table::response_format::ResponseFormat;

/// A batch, parsed as far as possible.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The operations to execute.
    pub plan: BatchPlan,
    /// The response format for a failure of the whole batch.
    pub wanted: ResponseFormat,
    /// The response format of each operation, up to the rejected one.
    pub parts: Vec<PartContext>,
    /// Is it a single query, whose response is outside a change set?
    pub is_query: bool,
}

impl Batch {
    /// The table of the first operation: a missing table is reported before any other error in the batch.
    pub fn table(&self) -> Option<&TableName> {
        self.parts.first()?.table.as_ref()
    }
}

/// The operations of a batch.
#[derive(Clone, Debug, PartialEq)]
pub enum BatchPlan {
    /// A batch of writes, or a query for one entity.
    Run(Operation),
    /// A change set without operations: nothing to do, which succeeds.
    Nothing,
    /// One of the operations cannot be part of a batch; the failure has its index. Nothing is done.
    Rejected(Failure),
}

/// The format of the response to one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartContext {
    /// Format, preference and projection.
    pub wanted: ResponseFormat,
    /// The table as spelled in the URL, if there is one.
    pub table: Option<TableName>,
    /// `Content-ID` among the headers of the operation itself, which the response repeats. A `Content-ID` in
    /// the headers of the surrounding MIME part is ignored.
    pub content_id: Option<String>,
}

impl PartContext {
    fn table_name(&self) -> &str {
        self.table.as_ref().map_or("", TableName::as_str)
    }
}
