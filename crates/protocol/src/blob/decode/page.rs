//! Put Page, Clear Page, Put Page From URL, Get Page Ranges.

use lazuli_model::blob::condition::SequenceConditions;
use lazuli_model::blob::limits::{PAGE_BYTES, PAGE_RANGES_MAX, PUT_PAGE_BYTES_MAX};
use lazuli_model::blob::operation::{BlobAction, GetPageRanges, PageSpan};
use lazuli_model::blob::{ByteRange, Revision};
use lazuli_model::{DateTime, ErrorCode, Failure, OperationKind};

use super::blob::BlobPlan;
use super::{Ask, copy, read, write};
use crate::Head;
use crate::blob::params::{Params, invalid};
use crate::blob::{condition, header, marker};
use crate::http::query::Query;

/// Put Page, from the body or from a URL, or Clear Page.
pub(super) fn write(ask: &Ask<'_>) -> Result<BlobPlan, Failure> {
    let head = ask.head;
    let mode = head.get_filled("x-ms-page-write").ok_or_else(|| header::missing("x-ms-page-write"))?;
    let has_source = head.get_filled("x-ms-copy-source").is_some();
    let span = span(head, mode.eq_ignore_ascii_case("clear"))?;
    let sequence = sequence_conditions(head, has_source)?;
    let conditions = condition::write(head)?;
    let action = match mode.to_ascii_lowercase().as_str() {
        "update" if has_source => {
            write::check_empty(head)?;
            let source = copy::source(ask, Some(OperationKind::PutPage))?;
            // Recorded: the MD5, regardless of what the client sent.
            let digests = write::response_digests(ask, true);
            BlobAction::PutPageFromUrl(span, Box::new(source), digests, sequence)
        }
        "update" => {
            let length = header::content_length(head)?;
            if length != span.length {
                return Err(header::invalid("Content-Length", &length.to_string()));
            }
            BlobAction::PutPage(span, write::body(ask, length)?, sequence)
        }
        "clear" => {
            write::check_empty(head)?;
            BlobAction::ClearPage(span, sequence)
        }
        _ => return Err(header::invalid("x-ms-page-write", mode)),
    };
    if !matches!(action, BlobAction::ClearPage(..)) && span.length > PUT_PAGE_BYTES_MAX {
        let max = PUT_PAGE_BYTES_MAX.to_string();
        return Err(Failure::from(ErrorCode::RequestBodyTooLarge).detail("MaxLimit", max));
    }
    Ok(BlobPlan::new(action, conditions))
}

/// The pages to write: a closed range that starts and ends at page boundaries. For a range to clear, Azure
/// checks the boundaries when it reads the header.
fn span(head: &Head<'_>, is_clear: bool) -> Result<PageSpan, Failure> {
    let text = head.get_filled("x-ms-range").or_else(|| head.get_filled("range"));
    let text = text.ok_or_else(|| header::missing("x-ms-range"))?;
    let (first, last) = match ByteRange::parse(text) {
        Some(ByteRange { first, last: Some(last) }) => (first, last),
        _ => return Err(header::invalid("x-ms-range", text)),
    };
    let length = (last - first).saturating_add(1);
    if !first.is_multiple_of(PAGE_BYTES) || !length.is_multiple_of(PAGE_BYTES) {
        let code = ErrorCode::InvalidPageRange.into();
        return Err(if is_clear { header::invalid("Range", text) } else { code });
    }
    Ok(PageSpan { offset: first, length })
}

fn sequence_conditions(head: &Head<'_>, has_source: bool) -> Result<SequenceConditions, Failure> {
    // Azure reports a negative number as invalid input, and anything else that is not a number as an invalid
    // header. Put Page From URL reports both as an invalid header.
    let number = |name| match head.get_filled(name) {
        Some(text) if !has_source && text.parse::<i64>().is_ok_and(|number| number < 0) => {
            Err(Failure::from(ErrorCode::InvalidInput))
        }
        _ => header::number(head, name),
    };
    Ok(SequenceConditions {
        at_most: number("x-ms-if-sequence-number-le")?,
        less_than: number("x-ms-if-sequence-number-lt")?,
        equal: number("x-ms-if-sequence-number-eq")?,
    })
}

/// Get Page Ranges, all or only those that changed since a snapshot.
pub(super) fn ranges(ask: &Ask<'_>) -> Result<BlobPlan, Failure> {
    let params = ask.params;
    let max_results =
        params.number("maxresults", 1, u64::MAX)?.map(|number| number.min(PAGE_RANGES_MAX.into()));
    let get = GetPageRanges {
        range: read::range(ask.head),
        previous: previous(ask)?,
        from: params.filled("marker").map(marker::decode_offset).transpose()?,
        max_results: max_results.and_then(|number| u32::try_from(number).ok()),
    };
    Ok(BlobPlan::new(BlobAction::GetPageRanges(get), condition::read(ask.head, ask.version)?))
}

fn previous(ask: &Ask<'_>) -> Result<Option<DateTime>, Failure> {
    if let Some(text) = ask.params.filled("prevsnapshot") {
        return DateTime::parse(text).map(Some).ok_or_else(|| invalid("prevsnapshot", text));
    }
    // The URL of the snapshot, instead of its time.
    header::value(ask.head, "x-ms-previous-snapshot-url", |url| {
        let (_, query) = url.split_once('?')?;
        let params = Params::parse(Query(query)).ok()?;
        match super::blob::revision(&params).ok()? {
            Revision::Snapshot(time) => Some(time),
            _ => None,
        }
    })
}
