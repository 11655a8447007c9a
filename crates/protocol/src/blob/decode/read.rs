//! Reads of blobs.

use lazuli_model::blob::block::BlockListFilter;
use lazuli_model::blob::limits::CHECKED_RANGE_BYTES_MAX;
use lazuli_model::blob::operation::{BlobAction, GetBlob};
use lazuli_model::blob::write::Digests;
use lazuli_model::blob::{ByteRange, Conditions};
use lazuli_model::{ErrorCode, Failure};

use super::Ask;
use super::blob::BlobPlan;
use crate::blob::params::invalid;
use crate::blob::{condition, header};
use crate::{ApiVersion, Head};

const RANGE_MD5: &str = "x-ms-range-get-content-md5";
const RANGE_CRC64: &str = "x-ms-range-get-content-crc64";

/// Get Blob.
pub(super) fn content(ask: &Ask<'_>) -> Result<BlobPlan, Failure> {
    let range = range(ask.head);
    let digests = Digests {
        md5: header::flag(ask.head, RANGE_MD5)?.unwrap_or(false),
        crc64: header::flag(ask.head, RANGE_CRC64)?.unwrap_or(false),
    };
    check_digests(range, digests)?;
    let allows_empty_range = ask.version < ApiVersion::V2013_08_15;
    let get = GetBlob { range, digests, allows_empty_range };
    Ok(BlobPlan::new(BlobAction::Get(get), condition::read(ask.head, ask.version)?))
}

/// The range of a request. `x-ms-range` takes precedence if both headers are present.
pub(super) fn range(head: &Head<'_>) -> Option<ByteRange> {
    let text = head.get_filled("x-ms-range").or_else(|| head.get_filled("range"))?;
    ByteRange::parse(text)
}

/// Only one checksum can be requested, and only for a small range. An open range is checked when the size is
/// known.
fn check_digests(range: Option<ByteRange>, digests: Digests) -> Result<(), Failure> {
    match (digests, range) {
        (Digests { md5: false, crc64: false }, _) => Ok(()),
        (Digests { md5: true, crc64: true }, _) => Err(ErrorCode::BothCrc64AndMd5RangeHeaderPresent.into()),
        (Digests { md5, .. }, None) => {
            Err(header::invalid(if md5 { RANGE_MD5 } else { RANGE_CRC64 }, "true"))
        }
        (_, Some(range)) if range.length().is_some_and(|length| length > CHECKED_RANGE_BYTES_MAX) => {
            Err(ErrorCode::OutOfRangeInput.into())
        }
        _ => Ok(()),
    }
}

/// Get Blob Properties.
pub(super) fn properties(ask: &Ask<'_>) -> Result<BlobPlan, Failure> {
    Ok(BlobPlan::new(BlobAction::GetProperties, condition::read(ask.head, ask.version)?))
}

/// Get Blob Metadata.
pub(super) fn metadata(ask: &Ask<'_>) -> Result<BlobPlan, Failure> {
    Ok(BlobPlan::new(BlobAction::GetMetadata, condition::read(ask.head, ask.version)?))
}

/// Get Block List, which supports only the condition on tags (BL-06).
pub(super) fn block_list(ask: &Ask<'_>) -> Result<BlobPlan, Failure> {
    let filter = match ask.params.filled("blocklisttype") {
        None => BlockListFilter::Committed,
        Some(text) => match text.to_ascii_lowercase().as_str() {
            "committed" => BlockListFilter::Committed,
            "uncommitted" => BlockListFilter::Uncommitted,
            "all" => BlockListFilter::All,
            _ => return Err(invalid("blocklisttype", text)),
        },
    };
    Ok(BlobPlan::new(BlobAction::GetBlockList(filter), tags_condition(ask)?))
}

/// Get Blob Tags. Its conditions work like those of a write: one that is not met is 412, never 304.
pub(super) fn tags(ask: &Ask<'_>) -> Result<BlobPlan, Failure> {
    Ok(BlobPlan::new(BlobAction::GetTags, condition::tagged(ask.head)?))
}

/// The condition of operations that support only the condition on tags.
pub(super) fn tags_condition(ask: &Ask<'_>) -> Result<Conditions, Failure> {
    condition::tags_only(ask.head)
}
