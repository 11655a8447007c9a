//! Responses to writes.

use lazuli_model::blob::Outcome;
use lazuli_model::blob::outcome::Written;
use lazuli_model::blob::write::Digested;

use super::field::{Fields, flag, http, iso};
use crate::ApiVersion;
use crate::blob::response_format::ResponseFormat;
use crate::http::response::{Context, Response};

pub(super) fn outcome(context: &Context, wanted: &ResponseFormat, outcome: &Outcome) -> Response {
    match outcome {
        Outcome::Created(found) => created(context, wanted, found),
        Outcome::BlockPut(digested, encryption) => {
            Response::new(201).digested(digested).request_encryption(context, encryption)
        }
        Outcome::Appended { written, offset, committed_blocks } => changed(context, 201, written)
            .with("x-ms-blob-append-offset", offset.to_string())
            .with("x-ms-blob-committed-block-count", committed_blocks.to_string()),
        Outcome::Sealed(stamp) => Response::new(200).stamp(context, *stamp).with("x-ms-blob-sealed", "true"),
        Outcome::PagesWritten { written, sequence_number } => {
            changed(context, 201, written).with("x-ms-blob-sequence-number", sequence_number.to_string())
        }
        Outcome::PagesCleared { stamp, sequence_number } => Response::new(201)
            .stamp(context, *stamp)
            .with("x-ms-blob-sequence-number", sequence_number.to_string()),
        Outcome::Copied { written, id, status, is_sync } => Response::new(202)
            .stamp(context, written.stamp)
            .digested(&written.digested)
            .version_id(context, written.version)
            .with("x-ms-copy-id", id.to_string())
            .with("x-ms-copy-status", status.name())
            .with_some("x-ms-encryption-scope", written.encryption.scope.clone().filter(|_| *is_sync)),
        Outcome::CopyAborted | Outcome::TagsSet => Response::new(204),
        Outcome::PropertiesUpdated { stamp, sequence_number } => Response::new(200)
            .stamp(context, *stamp)
            .with_some("x-ms-blob-sequence-number", sequence_number.map(|number| number.to_string())),
        Outcome::MetadataSet(written) => changed(context, 200, written),
        Outcome::TierSet { is_pending } => Response::new(if *is_pending { 202 } else { 200 }),
        Outcome::SnapshotMade { written, snapshot } => {
            snapshot_made(context, written).with("x-ms-snapshot", iso(*snapshot))
        }
        Outcome::Deleted { is_permanent } => {
            let permanent = (context.version >= ApiVersion::V2017_07_29).then(|| flag(*is_permanent));
            Response::new(202).with_some("x-ms-delete-type-permanent", permanent)
        }
        Outcome::ImmutabilitySet(policy) => Response::new(200)
            .with("x-ms-immutability-policy-until-date", http(policy.until))
            .with("x-ms-immutability-policy-mode", policy.mode.name()),
        Outcome::LegalHoldSet(hold) => Response::new(200).with("x-ms-legal-hold", flag(*hold)),
        _ => Response::new(200),
    }
}

/// The checksum of Put Block List is that of the document in the request.
fn created(context: &Context, wanted: &ResponseFormat, found: &Written) -> Response {
    let has_own = found.digested != Digested::default();
    let digested = if has_own { found.digested } else { wanted.document };
    let found = Written { digested, ..found.clone() };
    changed(context, 201, &found)
}

fn changed(context: &Context, status: u16, found: &Written) -> Response {
    Response::new(status)
        .stamp(context, found.stamp)
        .digested(&found.digested)
        .version_id(context, found.version)
        .request_encryption(context, &found.encryption)
}

/// A snapshot writes no content, which its response reports.
fn snapshot_made(context: &Context, found: &Written) -> Response {
    let encrypted = (context.version >= ApiVersion::V2018_11_09).then(|| flag(false));
    Response::new(201)
        .stamp(context, found.stamp)
        .version_id(context, found.version)
        .with_some("x-ms-request-server-encrypted", encrypted)
}
