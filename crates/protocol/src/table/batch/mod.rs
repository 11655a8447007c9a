//! Entity group transactions as multipart bodies, in and out.
//!
//! [`decode`] tells what a body asks for, [`encode`] what it is answered. A body that is no batch at all is rejected as a
//! whole; an error of one of its operations is the only part of the response, with the operation's index.

mod decode;
mod inner;
pub mod send;
mod write;

use lazuli_model::table::Operation;
use lazuli_model::{Failure, TableName};

pub use decode::decode;
pub use write::encode;

use crate::table::shape::Shape;

/// A batch, understood as far as it can be.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// What is to be done.
    pub plan: Plan,
    /// How a failure of the whole looks.
    pub shape: Shape,
    /// How the response to each operation looks, up to the one that is rejected.
    pub parts: Vec<PartShape>,
    /// Is it a lone query, whose answer stands outside of a change set?
    pub is_query: bool,
}

impl Batch {
    /// The table of the first operation: whether it exists comes before whatever is wrong with the batch.
    pub fn table(&self) -> Option<&TableName> {
        self.parts.first()?.table.as_ref()
    }
}

/// What a batch asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// A batch of writes, or a query that names one entity.
    Run(Operation),
    /// A change set without operations: nothing is to be done, and that succeeds.
    Nothing,
    /// One of the operations cannot be part of a batch; the failure knows which one. Nothing is to be done.
    Refused(Failure),
}

/// How the response to one operation looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartShape {
    /// Format, preference and projection.
    pub shape: Shape,
    /// The table as its URL spells it, if it names one.
    pub table: Option<TableName>,
    /// `Content-ID` among the headers of the operation itself, which the response repeats. One among the headers of the
    /// MIME part around it is the client's own business.
    pub content_id: Option<String>,
}

impl PartShape {
    fn table_name(&self) -> &str {
        self.table.as_ref().map_or("", TableName::as_str)
    }
}
