//! A blob in a listing. The order of the elements is that of Azure, and their presence depends on the version.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::blob::copy::CopyInfo;
use lazuli_model::blob::lease::LeaseView;
use lazuli_model::blob::list::{BlobItem, Include, ListedState};
use lazuli_model::blob::tier::TierInfo;
use lazuli_model::blob::{BlobKind, BlobProperties, Revision};

use super::{lease, metadata, name};
use crate::ApiVersion;
use crate::blob::encode::field::iso;
use crate::blob::tags;
use crate::http::percent;
use crate::xml::write::{empty, leaf, nest};

/// Writes a blob. `container` is the URL of the container, for versions whose entries have URLs.
pub(super) fn item(
    out: &mut Vec<u8>,
    version: ApiVersion,
    include: &Include,
    container: Option<&str>,
    item: &BlobItem,
) {
    name(out, version, &item.name);
    if let Some(container) = container {
        let mut url = format!("{container}/").into_bytes();
        percent::encode_into(&mut url, &item.name);
        leaf(out, "Url", &String::from_utf8_lossy(&url));
    }
    if let Revision::Snapshot(time) = item.revision {
        leaf(out, "Snapshot", &iso(time));
    }
    match &item.state {
        ListedState::Uncommitted(kind) => nest(out, "Properties", |out| uncommitted(out, version, *kind)),
        ListedState::Committed(found) => committed(out, version, include, item, found),
    }
}

fn committed(
    out: &mut Vec<u8>,
    version: ApiVersion,
    include: &Include,
    item: &BlobItem,
    found: &BlobProperties,
) {
    let is_newer = version >= ApiVersion::V2019_12_12;
    if let Some(own) = found.version.filter(|_| is_newer) {
        leaf(out, "VersionId", &iso(own.id));
        if own.is_current {
            leaf(out, "IsCurrentVersion", "true");
        }
    }
    if found.deleted.is_some() {
        leaf(out, "Deleted", "true");
    }
    if let Some(is_so) = item.has_versions_only {
        leaf(out, "HasVersionsOnly", if is_so { "true" } else { "false" });
    }
    nest(out, "Properties", |out| properties(out, version, include, item.revision, found));
    if include.metadata {
        metadata(out, &found.metadata);
    }
    if let Some(own) = item.tags.as_ref().filter(|own| include.tags && !own.is_empty()) {
        tags::encode(out, own);
    }
    if is_newer {
        empty(out, "OrMetadata");
    }
}

fn properties(
    out: &mut Vec<u8>,
    version: ApiVersion,
    include: &Include,
    revision: Revision,
    found: &BlobProperties,
) {
    if version >= ApiVersion::V2017_11_09 {
        leaf(out, "Creation-Time", found.created.http().as_str());
    }
    leaf(out, "Last-Modified", found.stamp.last_modified.http().as_str());
    leaf(out, "Etag", &found.stamp.etag.to_string());
    content(out, version, found);
    if let Some(number) = found.sequence_number {
        leaf(out, "x-ms-blob-sequence-number", itoa::Buffer::new().format(number));
    }
    leaf(out, "BlobType", found.kind.name());
    if let Some(own) = &found.tier {
        tier(out, version, own);
    }
    match (found.lease, found.deleted.is_some() && revision == Revision::Current) {
        // A deleted blob has an empty status, and no state.
        (_, true) => empty(out, "LeaseStatus"),
        (Some(own), false) => lease(out, version, own),
        (None, false) => {}
    }
    if let Some(own) = found.copy.as_ref().filter(|_| include.copy) {
        copy(out, own);
    }
    if version >= ApiVersion::V2015_12_11 {
        leaf(out, "ServerEncrypted", "true");
    }
    protection(out, include, found);
    if found.tag_count > 0 && version >= ApiVersion::V2019_12_12 {
        leaf(out, "TagCount", itoa::Buffer::new().format(found.tag_count));
    }
}

/// The HTTP headers, present even if they are empty.
fn content(out: &mut Vec<u8>, version: ApiVersion, found: &BlobProperties) {
    let own = &found.headers;
    let text = |out: &mut Vec<u8>, name, value: &Option<String>| {
        leaf(out, name, value.as_deref().unwrap_or_default());
    };
    leaf(out, "Content-Length", itoa::Buffer::new().format(found.size));
    text(out, "Content-Type", &own.content_type);
    text(out, "Content-Encoding", &own.content_encoding);
    text(out, "Content-Language", &own.content_language);
    if version >= ApiVersion::V2019_02_02 {
        empty(out, "Content-CRC64");
    }
    let md5 = own.content_md5.as_ref().map(|md5| STANDARD.encode(md5.as_bytes()));
    leaf(out, "Content-MD5", &md5.unwrap_or_default());
    text(out, "Cache-Control", &own.cache_control);
    if version >= ApiVersion::V2013_08_15 {
        text(out, "Content-Disposition", &own.content_disposition);
    }
    if let Some(time) = found.last_accessed.filter(|_| version >= ApiVersion::V2020_02_10) {
        leaf(out, "LastAccessTime", time.http().as_str());
    }
}

/// The elements about restrictions: seal, scope, deletion, immutability.
fn protection(out: &mut Vec<u8>, include: &Include, found: &BlobProperties) {
    if found.is_sealed {
        leaf(out, "Sealed", "true");
    }
    if let Some(sha256) = &found.encryption.key_sha256 {
        leaf(out, "CustomerProvidedKeySha256", &STANDARD.encode(sha256));
    }
    if let Some(scope) = &found.encryption.scope {
        leaf(out, "EncryptionScope", scope);
    }
    if let Some(deleted) = &found.deleted {
        leaf(out, "DeletedTime", deleted.time.http().as_str());
        leaf(out, "RemainingRetentionDays", itoa::Buffer::new().format(deleted.remaining_days));
    }
    if let Some(policy) = found.immutability.filter(|_| include.immutability) {
        leaf(out, "ImmutabilityPolicyUntilDate", policy.until.http().as_str());
        leaf(out, "ImmutabilityPolicyMode", policy.mode.name());
    }
    if found.legal_hold && include.legal_hold {
        leaf(out, "LegalHold", "true");
    }
}

fn uncommitted(out: &mut Vec<u8>, version: ApiVersion, kind: BlobKind) {
    leaf(out, "Content-Length", "0");
    leaf(out, "BlobType", kind.name());
    tier(out, version, &TierInfo::default());
    lease(out, version, LeaseView::default());
    if version >= ApiVersion::V2015_12_11 {
        leaf(out, "ServerEncrypted", "false");
    }
}

fn tier(out: &mut Vec<u8>, version: ApiVersion, found: &TierInfo) {
    let is_newer = version >= ApiVersion::V2017_11_09;
    if version < ApiVersion::V2017_04_17 || (found.is_inferred && !is_newer) {
        return;
    }
    leaf(out, "AccessTier", found.tier.name());
    if found.is_inferred {
        leaf(out, "AccessTierInferred", "true");
    }
    if let Some(current) = found.tier.within_smart() {
        leaf(out, "SmartAccessTier", current.name());
    }
    if let Some(status) = found.archive_status() {
        leaf(out, "ArchiveStatus", status);
    }
    if let Some(time) = found.changed.filter(|_| is_newer) {
        leaf(out, "AccessTierChangeTime", time.http().as_str());
    }
    if let Some((_, priority)) = found.rehydrating.filter(|_| version >= ApiVersion::V2019_12_12) {
        leaf(out, "RehydratePriority", priority.name());
    }
}

fn copy(out: &mut Vec<u8>, found: &CopyInfo) {
    leaf(out, "CopyId", &found.id.to_string());
    leaf(out, "CopySource", &found.source);
    leaf(out, "CopyStatus", found.status.name());
    leaf(out, "CopyProgress", &format!("{}/{}", found.copied, found.total));
    if let Some(time) = found.completed {
        leaf(out, "CopyCompletionTime", time.http().as_str());
    }
    if let Some(text) = &found.description {
        leaf(out, "CopyStatusDescription", text);
    }
    if found.is_incremental {
        leaf(out, "IncrementalCopy", "true");
    }
    if let Some(time) = found.destination_snapshot {
        leaf(out, "CopyDestinationSnapshot", &iso(time));
    }
}
