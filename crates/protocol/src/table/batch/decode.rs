//! Decodes the body of a batch into its operations, or into the reason for its rejection.
//!
//! Operations are checked in order, each first on its own and then against the previous ones. The first one
//! that fails is reported with its index.

use std::collections::HashSet;

use lazuli_model::table::Operation;
use lazuli_model::table::limits::BATCH_OPERATIONS_MAX;
use lazuli_model::table::operation::EntityWrite;
use lazuli_model::{ErrorCode, Failure, Key, TableName};

use super::inner::{Inner, KnownHead, Outer};
use super::{Batch, BatchPlan};
use crate::address::Address;
use crate::http::multipart::{self, Malformed, Part, Parts};
use crate::table;
use crate::table::path::Resource;
use crate::table::response_format::ResponseFormat;
use crate::{ApiVersion, Head};

/// Parses a batch. Fails if the body is not one change set or one query: such a request is rejected as a whole.
pub fn decode(
    head: &Head<'_>,
    address: &Address<'_>,
    version: ApiVersion,
    body: &[u8],
) -> Result<Batch, Failure> {
    let boundary = head.get("content-type").and_then(multipart::boundary).ok_or(Malformed)?;
    // Some clients start with a byte order mark.
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let part = only_part(Parts::new(body, boundary)?)?;
    let (wanted, _) = table::decode::response_format(head, address.query, version, &Resource::Batch);
    let outer = Outer::new(head, address, version);
    let kind = part.get("content-type").unwrap_or_default();
    if is_http(kind) {
        return Ok(lone(&outer, wanted, &part));
    }
    let boundary = multipart::boundary(kind).ok_or(Malformed)?;
    Ok(change_set(&outer, wanted, Parts::new(part.content, boundary)?))
}

impl From<Malformed> for Failure {
    fn from(_: Malformed) -> Self {
        Failure::unreadable_body()
    }
}

/// TX-06, TX-07: one change set, or one query. According to the documentation, the first of several change sets
/// is executed and the others are rejected. Here none is executed, so that no client believes that its whole
/// request was executed.
fn only_part<'a>(mut parts: Parts<'a>) -> Result<Part<'a>, Failure> {
    let part = parts.next().ok_or(Malformed)??;
    match parts.next() {
        None => Ok(part),
        Some(_) => Err(ErrorCode::InvalidInput.into()),
    }
}

fn is_http(content_type: &str) -> bool {
    content_type.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/http"))
}

/// An operation outside a change set can only be a query (TX-08).
fn lone(outer: &Outer<'_>, wanted: ResponseFormat, part: &Part<'_>) -> Batch {
    let Inner { part, content } = outer.query(part);
    let plan = match content {
        Ok(operation) => BatchPlan::Run(operation),
        Err(failure) => BatchPlan::Rejected(failure.at(0)),
    };
    Batch { plan, wanted, parts: vec![part], is_query: true }
}

fn change_set(outer: &Outer<'_>, wanted: ResponseFormat, parts: Parts<'_>) -> Batch {
    let mut changes = ChangeSet::default();
    let mut shapes = Vec::new();
    let mut last = None;
    let read = parts.enumerate().try_for_each(|(index, part)| {
        if index == BATCH_OPERATIONS_MAX {
            return Err(too_many().at(index - 1));
        }
        let Inner { part, content } = operation(outer, part, &mut last);
        shapes.push(part);
        content.and_then(|(table, write)| changes.add(table, write)).map_err(|failure| failure.at(index))
    });
    let plan = match (read, changes.table) {
        (Err(failure), _) => BatchPlan::Rejected(failure),
        (Ok(()), None) => BatchPlan::Nothing,
        (Ok(()), Some(table)) => BatchPlan::Run(Operation::Batch { table, writes: changes.writes }),
    };
    Batch { plan, wanted, parts: shapes, is_query: false }
}

fn operation<'p>(
    outer: &Outer<'_>,
    part: Result<Part<'p>, Malformed>,
    last: &mut Option<KnownHead<'p>>,
) -> Inner<(TableName, EntityWrite)> {
    match part {
        Ok(part) if part.get("content-type").is_some_and(is_http) => outer.write(&part, last),
        _ => Inner { part: outer.unread(), content: Err(ErrorCode::InvalidInput.into()) },
    }
}

/// TX-01. Azure reports the index of the last allowed operation here.
fn too_many() -> Failure {
    Failure::new(
        ErrorCode::InvalidInput,
        "The batch request operation exceeds the maximum 100 changes per change set.",
    )
}

/// The changes so far, checked against each other.
#[derive(Default)]
struct ChangeSet {
    table: Option<TableName>,
    writes: Vec<EntityWrite>,
    /// All in one partition.
    rows: HashSet<Key>,
}

impl ChangeSet {
    /// TX-03, TX-04, TX-05: one table, one partition, each entity once.
    fn add(&mut self, table: TableName, write: EntityWrite) -> Result<(), Failure> {
        match &self.table {
            None => self.table = Some(table),
            Some(first) if !first.is_same(&table) => return Err(ErrorCode::InvalidInput.into()),
            Some(_) => {}
        }
        if self.writes.first().is_some_and(|first| first.key.partition != write.key.partition) {
            return Err(ErrorCode::CommandsInBatchActOnDifferentPartitions.into());
        }
        if !self.rows.insert(write.key.row.clone()) {
            return Err(ErrorCode::InvalidDuplicateRow.into());
        }
        self.writes.push(write);
        Ok(())
    }
}
