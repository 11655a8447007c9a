//! Put Blob in all its forms, and the parts that all writes share: settings, bodies, checksums.

use lazuli_model::blob::limits::{PAGE_BLOB_BYTES_MAX, PAGE_BYTES};
use lazuli_model::blob::operation::BlobAction;
use lazuli_model::blob::properties::CONTENT_TYPE_DEFAULT;
use lazuli_model::blob::write::{Digested, Digests, StreamedBody, WriteSettings};
use lazuli_model::blob::{AccessTier, BlobKind, ContentHeaders};
use lazuli_model::{ErrorCode, Failure};

use super::blob::BlobPlan;
use super::{Ask, copy, protection};
use crate::blob::{condition, header, tags};
use crate::{ApiVersion, Head};

const BLOB_MD5: &str = "x-ms-blob-content-md5";
const LENGTH: &str = "x-ms-blob-content-length";
const SEQUENCE: &str = "x-ms-blob-sequence-number";

/// Put Blob, Put Blob From URL or Copy Blob.
pub(super) fn put(ask: &Ask<'_>) -> Result<BlobPlan, Failure> {
    let head = ask.head;
    let kind = header::value(head, "x-ms-blob-type", BlobKind::parse)?;
    let has_source = head.get_filled("x-ms-copy-source").is_some();
    match (kind, has_source) {
        (None, true) => copy::copy(ask),
        (Some(BlobKind::Block), true) => copy::put_from_url(ask),
        (Some(_), true) => {
            Err(header::invalid("x-ms-blob-type", head.get("x-ms-blob-type").unwrap_or_default()))
        }
        (Some(BlobKind::Block), false) => put_block_blob(ask),
        (Some(BlobKind::Append), false) => {
            check_empty(head)?;
            let settings = Box::new(settings(ask, Source::Plain)?);
            Ok(BlobPlan::new(BlobAction::CreateAppend(settings), condition::write(head)?))
        }
        (Some(BlobKind::Page), false) => put_page_blob(ask),
        // The first version supports only block blobs.
        (None, false) if ask.version < ApiVersion::V2009_09_19 && ask.version != ApiVersion::NONE => {
            put_block_blob(ask)
        }
        (None, false) => Err(header::missing("x-ms-blob-type")),
    }
}

/// The MD5 is computed for every blob that is written in one request, and becomes one of its properties.
fn put_block_blob(ask: &Ask<'_>) -> Result<BlobPlan, Failure> {
    let mut settings = block_settings(ask, Source::Plain)?;
    let mut expected = transfer_checksums(ask.head)?;
    // The MD5 to store takes precedence over that of the transfer.
    let stored = header::md5(ask.head, BLOB_MD5)?;
    expected.md5 = stored.or(expected.md5);
    settings.headers.content_md5 = expected.md5.map(Into::into);
    let needed = Digests { md5: true, crc64: ask.version >= ApiVersion::V2019_02_02 };
    let body = StreamedBody { length: header::content_length(ask.head)?, expected, needed };
    Ok(BlobPlan::new(BlobAction::PutBlob(body, Box::new(settings)), condition::write(ask.head)?))
}

fn put_page_blob(ask: &Ask<'_>) -> Result<BlobPlan, Failure> {
    let head = ask.head;
    check_empty(head)?;
    let size = page_size(head)?.ok_or_else(|| header::missing(LENGTH))?;
    let sequence = sequence_number(head)?.unwrap_or(0);
    let settings = Box::new(settings(ask, Source::Plain)?);
    Ok(BlobPlan::new(BlobAction::CreatePage { size, sequence, settings }, condition::write(head)?))
}

/// The size of a page blob: a multiple of the page size, at most 8 TiB.
pub(super) fn page_size(head: &Head<'_>) -> Result<Option<u64>, Failure> {
    let size = header::number(head, LENGTH)?;
    match size {
        Some(size) if size > PAGE_BLOB_BYTES_MAX || !size.is_multiple_of(PAGE_BYTES) => {
            Err(header::invalid(LENGTH, &size.to_string()))
        }
        size => Ok(size),
    }
}

/// A sequence number, which has 63 bits.
pub(super) fn sequence_number(head: &Head<'_>) -> Result<Option<u64>, Failure> {
    let number = header::number(head, SEQUENCE)?;
    match number {
        Some(number) if number > i64::MAX.cast_unsigned() => {
            Err(header::invalid(SEQUENCE, &number.to_string()))
        }
        number => Ok(number),
    }
}

/// Rejects a body where there must be none.
pub(super) fn check_empty(head: &Head<'_>) -> Result<(), Failure> {
    match header::content_length(head)? {
        0 => Ok(()),
        length => Err(header::invalid("Content-Length", &length.to_string())),
    }
}

/// Rejects an empty body where there must be one.
pub(super) fn filled_length(head: &Head<'_>) -> Result<u64, Failure> {
    match header::content_length(head)? {
        0 => Err(header::invalid("Content-Length", "0")),
        length => Ok(length),
    }
}

/// The checksums that a body must have: one of the two.
pub(super) fn transfer_checksums(head: &Head<'_>) -> Result<Digested, Failure> {
    let found = Digested {
        md5: header::md5(head, "Content-MD5")?,
        crc64: header::crc64(head, "x-ms-content-crc64")?,
    };
    if found.md5.is_some() && found.crc64.is_some() {
        return Err(ErrorCode::BothCrc64AndMd5HeaderPresent.into());
    }
    Ok(found)
}

/// The body of a block, an append or a page write. Its response has one checksum: the MD5 in old versions and
/// in responses to clients that sent it, else the CRC-64. From 2026-10-06 on, it always has the CRC-64.
pub(super) fn body(ask: &Ask<'_>, length: u64) -> Result<StreamedBody, Failure> {
    let expected = transfer_checksums(ask.head)?;
    Ok(StreamedBody { length, expected, needed: response_digests(ask, expected.md5.is_some()) })
}

/// The checksums in the response to such a write.
pub(super) fn response_digests(ask: &Ask<'_>, sent_md5: bool) -> Digests {
    let md5 = sent_md5 || ask.version < ApiVersion::V2019_02_02;
    Digests { md5, crc64: !md5 || ask.version >= ApiVersion::V2026_10_06 }
}

/// The source of the HTTP headers of a blob.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// `x-ms-blob-*`, else the headers of the body.
    Plain,
    /// `x-ms-blob-*` only: the body is a document, or there is none.
    BlobOnly,
}

/// The settings that a write applies to a blob.
pub(super) fn settings(ask: &Ask<'_>, source: Source) -> Result<WriteSettings, Failure> {
    let head = ask.head;
    let mut headers = checked_headers(head)?;
    if source == Source::Plain {
        let plain = |name| header::text(head, name);
        headers.content_type = headers.content_type.or_else(|| plain("Content-Type"));
        headers.content_encoding = headers.content_encoding.or_else(|| plain("Content-Encoding"));
        headers.content_language = headers.content_language.or_else(|| plain("Content-Language"));
        headers.cache_control = headers.cache_control.or_else(|| plain("Cache-Control"));
        headers.content_disposition = headers.content_disposition.or_else(|| plain("Content-Disposition"));
    }
    headers.content_type.get_or_insert_with(|| CONTENT_TYPE_DEFAULT.to_owned());
    Ok(WriteSettings {
        headers,
        metadata: header::metadata(head)?,
        tags: tags::from_header(head)?,
        tier: tier(head)?,
        immutability: protection::immutability(head)?,
    })
}

/// The settings of a block blob, which has no premium tier.
pub(super) fn block_settings(ask: &Ask<'_>, source: Source) -> Result<WriteSettings, Failure> {
    let settings = settings(ask, source)?;
    match settings.tier {
        Some(tier) if !tier.is_for_block_blobs() => Err(header::invalid("x-ms-access-tier", tier.name())),
        _ => Ok(settings),
    }
}

/// The `x-ms-blob-*` headers as they are, without defaults. The MD5 must have the right length.
pub(super) fn checked_headers(head: &Head<'_>) -> Result<ContentHeaders, Failure> {
    header::md5(head, BLOB_MD5)?;
    blob_headers(head)
}

/// Like [`checked_headers`], with any bytes as the MD5.
pub(super) fn blob_headers(head: &Head<'_>) -> Result<ContentHeaders, Failure> {
    Ok(ContentHeaders {
        content_type: header::text(head, "x-ms-blob-content-type"),
        content_encoding: header::text(head, "x-ms-blob-content-encoding"),
        content_language: header::text(head, "x-ms-blob-content-language"),
        content_md5: header::any_md5(head, BLOB_MD5)?,
        content_disposition: header::text(head, "x-ms-blob-content-disposition"),
        cache_control: header::text(head, "x-ms-blob-cache-control"),
    })
}

/// The tier in a request.
pub(super) fn tier(head: &Head<'_>) -> Result<Option<AccessTier>, Failure> {
    header::value(head, "x-ms-access-tier", AccessTier::parse)
}
