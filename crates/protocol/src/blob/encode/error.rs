//! Failures of the Blob service as responses.

use lazuli_model::error::Origin;
use lazuli_model::{Failure, OperationKind};

use crate::ApiVersion;
use crate::error;
use crate::http::response::{Context, Response};
use crate::xml::write::DECLARATION;

/// The response to a request that failed.
pub fn failure(context: &Context, kind: OperationKind, failure: &Failure) -> Response {
    let mut response = error::storage(context, failure);
    if failure.origin == Origin::Routing {
        // Azure reads `snapshot` before it determines the version.
        response.front_end = true;
        response.fields.retain(|(name, _)| name != "x-ms-error-code");
    }
    if context.version < ApiVersion::V2020_02_10 {
        response.fields.retain(|(name, _)| name != "x-ms-is-soft-deleted");
    }
    if failure.origin == Origin::Routing || has_line_feed(kind) {
        add_line_feed(&mut response.body);
    }
    response
}

/// Does the response of this operation have a line feed after the XML declaration? Newer parts of Azure write one.
fn has_line_feed(kind: OperationKind) -> bool {
    matches!(
        kind,
        OperationKind::GetBlobTags
            | OperationKind::SetBlobTags
            | OperationKind::FindBlobsByTags
            | OperationKind::SealBlob
            | OperationKind::BlobBatch
    )
}

/// Puts a line feed after the XML declaration.
pub(super) fn add_line_feed(body: &mut Vec<u8>) {
    if body.starts_with(DECLARATION) {
        body.insert(DECLARATION.len(), b'\n');
    }
}
