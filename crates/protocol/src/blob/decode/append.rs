//! Append Block, Append Block From URL, Seal.

use lazuli_model::blob::condition::AppendConditions;
use lazuli_model::blob::operation::BlobAction;
use lazuli_model::{Failure, OperationKind};

use super::blob::BlobPlan;
use super::{Ask, copy, write};
use crate::Head;
use crate::blob::{condition, header};

/// Append Block, from the body or from a URL.
pub(super) fn block(ask: &Ask<'_>) -> Result<BlobPlan, Failure> {
    let appends = append_conditions(ask.head)?;
    let conditions = condition::write(ask.head)?;
    if ask.head.get_filled("x-ms-copy-source").is_some() {
        write::check_empty(ask.head)?;
        let source = copy::source(ask, Some(OperationKind::AppendBlock))?;
        // Recorded: the MD5, regardless of what the client sent.
        let digests = write::response_digests(ask, true);
        return Ok(BlobPlan::new(
            BlobAction::AppendBlockFromUrl(Box::new(source), digests, appends),
            conditions,
        ));
    }
    let body = write::body(ask, write::filled_length(ask.head)?)?;
    Ok(BlobPlan::new(BlobAction::AppendBlock(body, appends), conditions))
}

/// Append Blob Seal.
pub(super) fn seal(ask: &Ask<'_>) -> Result<BlobPlan, Failure> {
    Ok(BlobPlan::new(BlobAction::Seal(append_conditions(ask.head)?), condition::write(ask.head)?))
}

fn append_conditions(head: &Head<'_>) -> Result<AppendConditions, Failure> {
    Ok(AppendConditions {
        position: header::number(head, "x-ms-blob-condition-appendpos")?,
        max_size: header::number(head, "x-ms-blob-condition-maxsize")?,
    })
}
