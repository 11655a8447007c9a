//! The properties of a blob as header fields of Get Blob and Get Blob Properties.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::blob::BlobProperties;
use lazuli_model::blob::copy::{CopyInfo, CopyStatus};
use lazuli_model::blob::tier::{AccessTier, TierInfo};

use super::field::{Fields, http, iso};
use crate::ApiVersion;
use crate::blob::response_format::Overrides;
use crate::http::response::{Context, Response};

/// The operation that the fields are for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    /// Get Blob, for the whole blob.
    Content,
    /// Get Blob, for a part of the blob: the header with the MD5 of the blob has another name.
    Range,
    /// Get Blob Properties, which returns more headers.
    Properties,
}

/// Adds all fields but those that describe the bytes that follow.
pub(super) fn fields(
    response: Response,
    context: &Context,
    overrides: &Overrides,
    view: View,
    found: &BlobProperties,
) -> Response {
    let version = context.version;
    let mut response = headers(response, overrides, view, version, found).stamp(context, found.stamp);
    if version >= ApiVersion::V2011_08_18 {
        response = response.with("Accept-Ranges", "bytes");
    }
    response = response.with("x-ms-blob-type", found.kind.name()).metadata(&found.metadata);
    if version >= ApiVersion::V2017_11_09 {
        response = response.with("x-ms-creation-time", http(found.created));
    }
    if let Some(lease) = found.lease {
        response = response.lease(context, lease);
    }
    if version >= ApiVersion::V2015_12_11 {
        response = response.with("x-ms-server-encrypted", "true").encryption(&found.encryption);
    }
    response = kind(response, found);
    if version >= ApiVersion::V2019_12_12 {
        response = newer(response, found);
    }
    if let Some(time) = found.last_accessed.filter(|_| version >= ApiVersion::V2020_02_10) {
        response = response.with("x-ms-last-access-time", http(time));
    }
    if let Some(copied) = found.copy.as_ref().filter(|_| version >= ApiVersion::V2012_02_12) {
        response = copy(response, view, copied);
    }
    match &found.tier {
        Some(found) if view == View::Properties || version >= ApiVersion::V2026_10_06 => {
            tier(response, version, found)
        }
        _ => response,
    }
}

/// The HTTP headers of the blob, unless the signature of the URL overrides them.
fn headers(
    response: Response,
    overrides: &Overrides,
    view: View,
    version: ApiVersion,
    found: &BlobProperties,
) -> Response {
    let own = &found.headers;
    let either = |first: &Option<String>, second: &Option<String>| first.clone().or_else(|| second.clone());
    let md5 = own.content_md5.as_ref().map(|md5| STANDARD.encode(md5.as_bytes()));
    let response = response
        .with_some("Content-Type", either(&overrides.content_type, &own.content_type))
        .with_some("Content-Encoding", either(&overrides.content_encoding, &own.content_encoding))
        .with_some("Content-Language", either(&overrides.content_language, &own.content_language))
        .with_some("Content-Disposition", either(&overrides.content_disposition, &own.content_disposition))
        .with_some("Cache-Control", either(&overrides.cache_control, &own.cache_control));
    match view {
        View::Range if version >= ApiVersion::V2016_05_31 => response.with_some("x-ms-blob-content-md5", md5),
        View::Range => response,
        View::Content | View::Properties => response.with_some("Content-MD5", md5),
    }
}

/// Fields that only some kinds of blobs have.
fn kind(response: Response, found: &BlobProperties) -> Response {
    response
        .with_some("x-ms-blob-sequence-number", found.sequence_number.map(|number| number.to_string()))
        .with_some("x-ms-blob-committed-block-count", found.committed_blocks.map(|count| count.to_string()))
        .with_some("x-ms-blob-sealed", found.is_sealed.then_some("true"))
}

/// Fields introduced with tags, versions and immutability.
fn newer(response: Response, found: &BlobProperties) -> Response {
    let tags = Some(found.tag_count).filter(|count| *count > 0);
    let version = found.version;
    let policy = found.immutability;
    response
        .with_some("x-ms-tag-count", tags.map(|count| count.to_string()))
        .with_some("x-ms-version-id", version.map(|version| iso(version.id)))
        .with_some("x-ms-is-current-version", version.filter(|version| version.is_current).map(|_| "true"))
        .with_some("x-ms-immutability-policy-until-date", policy.map(|policy| http(policy.until)))
        .with_some("x-ms-immutability-policy-mode", policy.map(|policy| policy.mode.name()))
        .with_some("x-ms-legal-hold", found.legal_hold.then_some("true"))
        .with_some("x-ms-expiry-time", found.expires.map(http))
}

fn copy(response: Response, view: View, copied: &CopyInfo) -> Response {
    let has_progress = copied.status != CopyStatus::Failed;
    let progress = has_progress.then(|| format!("{}/{}", copied.copied, copied.total));
    let response = response
        .with("x-ms-copy-id", copied.id.to_string())
        .with("x-ms-copy-source", copied.source.clone())
        .with("x-ms-copy-status", copied.status.name())
        .with_some("x-ms-copy-progress", progress)
        .with_some("x-ms-copy-completion-time", copied.completed.map(http))
        .with_some("x-ms-copy-status-description", copied.description.clone());
    if view != View::Properties || !copied.is_incremental {
        return response;
    }
    response
        .with("x-ms-incremental-copy", "true")
        .with_some("x-ms-copy-destination-snapshot", copied.destination_snapshot.map(iso))
}

/// A default tier is shown from 2017-11-09 on.
fn tier(response: Response, version: ApiVersion, found: &TierInfo) -> Response {
    let is_newer = version >= ApiVersion::V2017_11_09;
    if version < ApiVersion::V2017_04_17 || (found.is_inferred && !is_newer) {
        return response;
    }
    let priority = found.rehydrating.filter(|_| version >= ApiVersion::V2019_12_12);
    response
        .with("x-ms-access-tier", found.tier.name())
        .with_some("x-ms-access-tier-inferred", found.is_inferred.then_some("true"))
        .with_some("x-ms-access-tier-change-time", found.changed.filter(|_| is_newer).map(http))
        .with_some("x-ms-smart-access-tier", found.tier.within_smart().map(AccessTier::name))
        .with_some("x-ms-archive-status", found.archive_status())
        .with_some("x-ms-rehydrate-priority", priority.map(|(_, priority)| priority.name()))
}
