//! Responses to reads of blobs.

use lazuli_model::blob::outcome::{BlobContent, BlockList, PageRanges};
use lazuli_model::blob::{Outcome, ResponseExtent};

use super::error::add_line_feed;
use super::field::Fields;
use super::properties::{View, fields};
use crate::blob::response_format::ResponseFormat;
use crate::blob::{block_list, marker, tags};
use crate::http::response::{Context, Response};
use crate::xml::write::{document, empty, leaf, nest};

pub(super) fn outcome(context: &Context, wanted: &ResponseFormat, outcome: &Outcome) -> Response {
    match outcome {
        Outcome::Content(found) => content(context, wanted, found),
        Outcome::Blob(found) => {
            let response = Response { content_length: Some(found.size), ..Response::new(200) };
            fields(response, context, &wanted.overrides, View::Properties, found)
        }
        Outcome::BlockList(found) => blocks(context, found),
        Outcome::Tags(found) => {
            let mut body = document(|out| tags::encode(out, found));
            add_line_feed(&mut body);
            Response::new(200).with("Content-Type", "application/xml").with_body(body)
        }
        Outcome::PageRanges(found) => pages(context, found),
        _ => Response::new(200),
    }
}

fn content(context: &Context, wanted: &ResponseFormat, found: &BlobContent) -> Response {
    let size = found.properties.size;
    let (_, length) = found.extent.span(size);
    let (status, view, range) = match found.extent {
        ResponseExtent::Full => (200, View::Content, None),
        ResponseExtent::Part { first, last } => {
            (206, View::Range, Some(format!("bytes {first}-{last}/{size}")))
        }
    };
    let response = Response { content_length: Some(length), ..Response::new(status) };
    let response = response.with_some("Content-Range", range).digested(&found.digested);
    fields(response, context, &wanted.overrides, view, &found.properties)
}

fn blocks(context: &Context, found: &BlockList) -> Response {
    let (committed, uncommitted) = (found.committed.as_deref(), found.uncommitted.as_deref());
    let body = document(|out| block_list::encode(out, committed, uncommitted));
    let response = Response::new(200).with("Content-Type", "application/xml").with_body(body);
    match found.blob {
        Some((stamp, size)) => {
            response.stamp(context, stamp).with("x-ms-blob-content-length", size.to_string())
        }
        None => response,
    }
}

fn pages(context: &Context, found: &PageRanges) -> Response {
    let is_empty = found.ranges.is_empty() && found.next.is_none() && !found.is_paged;
    let body = document(|out| {
        if is_empty {
            return empty(out, "PageList");
        }
        nest(out, "PageList", |out| {
            for (first, last, is_cleared) in &found.ranges {
                nest(out, if *is_cleared { "ClearRange" } else { "PageRange" }, |out| {
                    leaf(out, "Start", itoa::Buffer::new().format(*first));
                    leaf(out, "End", itoa::Buffer::new().format(*last));
                });
            }
            if let Some(next) = found.next {
                leaf(out, "NextMarker", &marker::encode_offset(next));
            } else if found.is_paged {
                empty(out, "NextMarker");
            }
        });
    });
    Response::new(200)
        .with("Content-Type", "application/xml")
        .with_body(body)
        .stamp(context, found.stamp)
        .with("x-ms-blob-content-length", found.size.to_string())
}
