//! What a caller may do.

use lazuli_model::{ErrorCode, Failure, Operation};

/// What a request was allowed by whoever authenticated it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The account it acts in.
    pub account: String,
    /// Only reads: the request came to the secondary endpoint.
    pub read_only: bool,
}

/// Is the operation within the grant?
pub fn authorize(grant: &Grant, operation: &Operation) -> Result<(), Failure> {
    if grant.read_only && changes(operation) {
        return Err(Failure::new(
            ErrorCode::InsufficientAccountPermissions,
            "Write operations are not allowed.",
        ));
    }
    Ok(())
}

fn changes(operation: &Operation) -> bool {
    match operation {
        Operation::CreateTable(_)
        | Operation::DeleteTable(_)
        | Operation::Write { .. }
        | Operation::Batch { .. }
        | Operation::SetAcl(..)
        | Operation::SetProperties(_) => true,
        Operation::QueryTables(_)
        | Operation::GetTable(_)
        | Operation::GetEntity { .. }
        | Operation::QueryEntities { .. }
        | Operation::GetAcl(_)
        | Operation::GetProperties
        | Operation::GetStats => false,
    }
}
