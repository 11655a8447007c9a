//! Copy Blob, its abortion, Put Blob From URL, and the sources of all operations that the server fetches.

use lazuli_model::blob::ByteRange;
use lazuli_model::blob::copy::{CopySource, SourceBlob};
use lazuli_model::blob::limits::COPY_SOURCE_BYTES_MAX;
use lazuli_model::blob::operation::{BlobAction, CopyBlob, PutFromUrl};
use lazuli_model::blob::tier::RehydratePriority;
use lazuli_model::blob::write::{Digested, Digests, TagOption};
use lazuli_model::{ErrorCode, Failure, Metadata, OperationKind, Service};

use super::blob::BlobPlan;
use super::write::{self, Source};
use super::{Ask, protection};
use crate::address::Address;
use crate::blob::limits::body_max;
use crate::blob::params::{invalid, missing};
use crate::blob::path::{Resource, parse_path};
use crate::blob::{condition, header, tags};
use crate::{ApiVersion, Head};

const SOURCE: &str = "x-ms-copy-source";
const SOURCE_MD5: &str = "x-ms-source-content-md5";

/// Copy Blob, asynchronous or synchronous.
pub(super) fn copy(ask: &Ask<'_>) -> Result<BlobPlan, Failure> {
    let head = ask.head;
    let is_sync = header::flag(head, "x-ms-requires-sync")?.unwrap_or(false);
    let metadata = header::metadata(head)?;
    let source = source(ask, None)?;
    let has_digests = is_sync && ask.version >= ApiVersion::V2019_02_02;
    let sent_md5 = source.expected.md5.is_some();
    let copy = CopyBlob {
        source,
        is_sync,
        metadata: Some(metadata).filter(|metadata: &Metadata| !metadata.is_empty()),
        tags: tags::from_header(head)?,
        tag_option: tag_option(head)?,
        tier: write::tier(head)?,
        priority: priority(head)?,
        seals: header::flag(head, "x-ms-seal-blob")?,
        immutability: protection::immutability(head)?,
        digests: Digests { md5: has_digests && sent_md5, crc64: has_digests && !sent_md5 },
    };
    Ok(BlobPlan::new(BlobAction::Copy(Box::new(copy)), condition::write(head)?))
}

/// Put Blob From URL.
pub(super) fn put_from_url(ask: &Ask<'_>) -> Result<BlobPlan, Failure> {
    let head = ask.head;
    write::check_empty(head)?;
    let source = source(ask, Some(OperationKind::PutBlob))?;
    let copies_headers = header::flag(head, "x-ms-copy-source-blob-properties")?.unwrap_or(true);
    let mut settings = write::block_settings(ask, Source::BlobOnly)?;
    let digests = write::response_digests(ask, source.expected.md5.is_some());
    if copies_headers {
        // The defaults must not override the headers of the source.
        settings.headers = write::checked_headers(head)?;
    }
    let put = PutFromUrl { source, settings, copies_headers, tags: tag_option(head)?, digests };
    Ok(BlobPlan::new(BlobAction::PutBlobFromUrl(Box::new(put)), condition::write(head)?))
}

/// Incremental Copy Blob.
pub(super) fn incremental(ask: &Ask<'_>) -> Result<BlobPlan, Failure> {
    let source = Box::new(source(ask, None)?);
    Ok(BlobPlan::new(BlobAction::IncrementalCopy(source), condition::write(ask.head)?))
}

/// Abort Copy Blob, which accepts no conditions (BL-06).
pub(super) fn abort(ask: &Ask<'_>) -> Result<BlobPlan, Failure> {
    let action = ask.head.get_filled("x-ms-copy-action");
    let action = action.ok_or_else(|| header::missing("x-ms-copy-action"))?;
    if !action.eq_ignore_ascii_case("abort") {
        return Err(header::invalid("x-ms-copy-action", action));
    }
    let text = ask.params.filled("copyid").ok_or_else(|| missing("copyid"))?;
    let id = header::parse_guid(text).ok_or_else(|| invalid("copyid", text))?;
    BlobPlan::unconditional(ask, BlobAction::AbortCopy(id))
}

/// Decodes the source of a copy from the headers. `limit` is the maximum body size of the operation, which also
/// applies to the source.
pub(super) fn source(ask: &Ask<'_>, limit: Option<OperationKind>) -> Result<CopySource, Failure> {
    let head = ask.head;
    let url = head.get_filled(SOURCE).ok_or_else(|| header::missing(SOURCE))?;
    if url.len() > COPY_SOURCE_BYTES_MAX {
        return Err(header::invalid(SOURCE, url));
    }
    let bearer = header::value(head, "x-ms-copy-source-authorization", |text| {
        let (scheme, token) = text.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
    })?;
    let range = header::value(head, "x-ms-source-range", ByteRange::parse)?;
    Ok(CopySource {
        url: url.to_owned(),
        blob: source_blob(ask, url)?,
        bearer,
        key: super::protection::source_key(head)?,
        conditions: condition::source(head)?,
        range,
        length_max: limit.map(|kind| body_max(kind, ask.version)),
        expected: source_checksums(head)?,
    })
}

fn source_checksums(head: &Head<'_>) -> Result<Digested, Failure> {
    let found = Digested {
        md5: header::md5(head, SOURCE_MD5)?,
        crc64: header::crc64(head, "x-ms-source-content-crc64")?,
    };
    if found.md5.is_some() && found.crc64.is_some() {
        return Err(ErrorCode::BothCrc64AndMd5HeaderPresent.into());
    }
    Ok(found)
}

/// The blob with this URL; `None` if it is not the URL of a blob. Before 2012-02-12, a path without host stands
/// for a blob of this server.
fn source_blob(ask: &Ask<'_>, url: &str) -> Result<Option<SourceBlob>, Failure> {
    let is_url = ["http://", "https://"]
        .iter()
        .any(|scheme| url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    let is_path = url.starts_with('/') && ask.version < ApiVersion::V2012_02_12;
    if !is_url && !is_path {
        return Err(header::invalid(SOURCE, url));
    }
    let head = Head { method: "GET", target: url, fields: ask.head.fields };
    let address = Address::parse(&head, Service::Blob, ask.is_account)?;
    let Ok(params) = crate::blob::params::Params::parse(address.query) else { return Ok(None) };
    let Ok(Resource::Blob(container, blob)) = parse_path(address.resource_path, &params) else {
        return Ok(None);
    };
    let revision = super::blob::revision(&params)?;
    Ok(Some(SourceBlob {
        authority: address.authority.to_owned(),
        is_same_host: address.authority.eq_ignore_ascii_case(ask.address.authority),
        account: address.account.to_owned(),
        container,
        blob,
        revision,
        query: address.query.0.to_owned(),
    }))
}

fn tag_option(head: &Head<'_>) -> Result<TagOption, Failure> {
    let found = header::value(head, "x-ms-copy-source-tag-option", |text| match text {
        _ if text.eq_ignore_ascii_case("copy") => Some(TagOption::Copy),
        _ if text.eq_ignore_ascii_case("replace") => Some(TagOption::Replace),
        _ => None,
    })?;
    Ok(found.unwrap_or_default())
}

/// The priority of moving a blob out of the archive.
pub(super) fn priority(head: &Head<'_>) -> Result<RehydratePriority, Failure> {
    let found = header::value(head, "x-ms-rehydrate-priority", RehydratePriority::parse)?;
    Ok(found.unwrap_or_default())
}
