//! Changes of a blob besides its content: properties, metadata, tags, tier, snapshots, deletion.

use lazuli_model::blob::Tags;
use lazuli_model::blob::operation::{BlobAction, SetProperties};
use lazuli_model::blob::write::{DeleteSnapshots, SequenceAction};
use lazuli_model::{ErrorCode, Failure, Metadata};

use super::blob::BlobPlan;
use super::{Ask, Document, copy, read, write};
use crate::Head;
use crate::blob::params::{invalid, invalid_because};
use crate::blob::{condition, header};

/// Six headers: if a request has any of them, it sets all six.
const BLOB_HEADERS: [&str; 6] = [
    "x-ms-blob-content-type",
    "x-ms-blob-content-encoding",
    "x-ms-blob-content-language",
    "x-ms-blob-content-md5",
    "x-ms-blob-content-disposition",
    "x-ms-blob-cache-control",
];

/// Set Blob Properties. If the request has any of the HTTP headers, all of them are set. A request without any
/// clears them, unless it changes the size or the sequence number.
pub(super) fn properties(ask: &Ask<'_>) -> Result<BlobPlan, Failure> {
    let head = ask.head;
    let size = write::page_size(head)?;
    let sequence = sequence(head)?;
    let names_headers = BLOB_HEADERS.iter().any(|name| head.get(name).is_some());
    let sets_headers = names_headers || (size.is_none() && sequence.is_none());
    let headers = if sets_headers { Some(write::blob_headers(head)?) } else { None };
    let action = BlobAction::SetProperties(Box::new(SetProperties { headers, size, sequence }));
    Ok(BlobPlan::new(action, condition::write(head)?))
}

/// A number is required with `max` and `update`, and forbidden with `increment`.
fn sequence(head: &Head<'_>) -> Result<Option<SequenceAction>, Failure> {
    const ACTION: &str = "x-ms-sequence-number-action";
    const NUMBER: &str = "x-ms-blob-sequence-number";
    let number = write::sequence_number(head)?;
    let Some(action) = head.get_filled(ACTION) else {
        return if number.is_some() { Err(header::missing(ACTION)) } else { Ok(None) };
    };
    match (action.to_ascii_lowercase().as_str(), number) {
        ("max", Some(number)) => Ok(Some(SequenceAction::Max(number))),
        ("update", Some(number)) => Ok(Some(SequenceAction::Update(number))),
        ("increment", None) => Ok(Some(SequenceAction::Increment)),
        ("increment", Some(number)) => Err(header::invalid(NUMBER, &number.to_string())),
        ("max" | "update", None) => Err(header::missing(NUMBER)),
        _ => Err(header::invalid(ACTION, action)),
    }
}

/// Set Blob Metadata.
pub(super) fn metadata(ask: &Ask<'_>) -> Result<BlobPlan, Failure> {
    let action = BlobAction::SetMetadata(header::metadata(ask.head)?);
    Ok(BlobPlan::new(action, condition::write(ask.head)?))
}

/// Set Blob Tags: the tags are the body.
pub(super) fn tags(ask: &Ask<'_>) -> Result<BlobPlan, Failure> {
    let action = BlobAction::SetTags(Tags::default());
    Ok(BlobPlan { action, conditions: condition::tagged(ask.head)?, document: Some(Document::Tags) })
}

/// Set Blob Tier.
pub(super) fn tier(ask: &Ask<'_>) -> Result<BlobPlan, Failure> {
    let tier = write::tier(ask.head)?.ok_or_else(|| header::missing("x-ms-access-tier"))?;
    let action = BlobAction::SetTier(tier, copy::priority(ask.head)?);
    Ok(BlobPlan::new(action, read::tags_condition(ask)?))
}

/// Snapshot Blob. Metadata of the request replaces that of the blob in the snapshot.
pub(super) fn snapshot(ask: &Ask<'_>) -> Result<BlobPlan, Failure> {
    let metadata = Some(header::metadata(ask.head)?).filter(|metadata: &Metadata| !metadata.is_empty());
    Ok(BlobPlan::new(BlobAction::Snapshot(metadata), condition::write(ask.head)?))
}

/// Delete Blob. A request to delete one snapshot or version cannot delete all snapshots.
pub(super) fn delete(ask: &Ask<'_>) -> Result<BlobPlan, Failure> {
    let head = ask.head;
    let snapshots = header::value(head, "x-ms-delete-snapshots", |text| match text {
        _ if text.eq_ignore_ascii_case("include") => Some(DeleteSnapshots::Include),
        _ if text.eq_ignore_ascii_case("only") => Some(DeleteSnapshots::Only),
        _ => None,
    })?;
    if snapshots.is_some() {
        if let Some(version) = ask.params.filled("versionid") {
            let reason =
                "This operation is only allowed on the root blob. Version id should not be provided.";
            return Err(invalid_because("versionid", version, reason));
        }
        if ask.params.filled("snapshot").is_some() {
            return Err(ErrorCode::InvalidOperation.into());
        }
    }
    let is_permanent = match ask.params.filled("deletetype") {
        None => false,
        Some(text) if text.eq_ignore_ascii_case("permanent") => true,
        Some(text) => return Err(invalid("deletetype", text)),
    };
    let action = BlobAction::Delete { snapshots: snapshots.unwrap_or_default(), is_permanent };
    Ok(BlobPlan::new(action, condition::delete(head)?))
}
