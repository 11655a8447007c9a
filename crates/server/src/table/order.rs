//! Decides which of several faults of a request is reported: the parts of the order that depend on the grant.

use lazuli_model::{ErrorCode, Failure, OperationKind, TableName};
use lazuli_protocol::table::path::PathError;
use lazuli_service::Grant;
use lazuli_service::access::table::{AnnouncedOperation, authorize_announced, authorize_batch};

/// Does the path name a table that the grant does not cover, even one that cannot exist?
pub fn is_elsewhere(grant: &Grant, rejected: &PathError) -> bool {
    let bad_name =
        matches!(rejected.failure.code, ErrorCode::InvalidResourceName | ErrorCode::OutOfRangeInput);
    match &rejected.table {
        Some(table) => !grant.covers(table),
        None => bad_name && grant.is_for_one_table(),
    }
}

/// Reports a permission error before any other error in the head.
pub fn permissions_first(
    grant: &Grant,
    kind: OperationKind,
    table: Option<&TableName>,
    failure: Failure,
) -> Failure {
    let allowed = match kind {
        OperationKind::Unknown => return failure,
        // It names no table.
        OperationKind::EntityGroupTransaction => authorize_batch(grant),
        _ => authorize_announced(grant, &AnnouncedOperation { kind, table, key: None }).map(drop),
    };
    allowed.err().unwrap_or(failure)
}

/// Could the table be missing, and would that be reported before this failure?
pub fn may_hide_missing_table(grant: &Grant, table: &TableName, failure: &Failure) -> bool {
    let decided = matches!(failure.code.status(), 403 | 404 | 409 | 412 | 415 | 500 | 503);
    !decided && grant.covers(table) && grant.reaches_entities()
}
