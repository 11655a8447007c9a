//! Listings of blobs, page by page.

use lazuli_protocol::http::percent;
use serde_json::Value as Json;

use super::path::BlobPath;
use crate::fault::Fault;
use crate::records::{number, text};
use crate::storage::xml::Element;
use crate::storage::{Session, StorageRequest};

/// The fields of a listed blob, as they are printed.
pub const FIELDS: &[&str] = &[
    "Name",
    "Length",
    "ContentType",
    "LastModified",
    "ETag",
    "BlobType",
    "AccessTier",
    "Snapshot",
    "VersionId",
    "Deleted",
];

/// Which blobs to list.
pub struct ListQuery<'a> {
    /// The container, and the prefix of names.
    pub path: &'a BlobPath,
    /// Names end at the first delimiter after the prefix.
    pub delimiter: Option<&'a str>,
    /// Additional entries or fields: snapshots, versions, metadata, ...
    pub include: &'a [String],
}

/// Calls `take` with each page of blobs and prefixes.
pub fn each_page(
    session: &mut Session<'_>,
    query: &ListQuery<'_>,
    mut take: impl FnMut(&[Element]) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut marker = None;
    loop {
        let call = StorageRequest::new("GET", &[&query.path.container])
            .with("restype", "container")
            .with("comp", "list");
        let call = call.maybe("prefix", Some(&query.path.name).filter(|prefix| !prefix.is_empty()));
        let call = call.maybe("delimiter", query.delimiter);
        let call = call.maybe("include", Some(query.include.join(",")).filter(|list| !list.is_empty()));
        let page = session.document(&call.maybe("marker", marker.as_ref()))?;
        take(page.child("Blobs").map(|blobs| blobs.children.as_slice()).unwrap_or_default())?;
        let next = page.text_of("NextMarker");
        if next.is_empty() {
            return Ok(());
        }
        marker = Some(next.to_owned());
    }
}

/// The name of a listed blob. Names with characters that XML cannot hold are percent-encoded.
pub fn name(blob: &Element) -> Result<String, String> {
    let Some(name) = blob.child("Name") else { return Err("the listing has a blob without a name".into()) };
    match name.attribute("Encoded") {
        Some("true") => percent::decode(&name.text)
            .map(|name| name.into_owned())
            .ok_or_else(|| "the listing has a name that is not UTF-8".into()),
        _ => Ok(name.text.clone()),
    }
}

/// The values of [`FIELDS`].
pub fn record(blob: &Element) -> Result<Vec<Json>, String> {
    let none = Element::default();
    let properties = blob.child("Properties").unwrap_or(&none);
    let property = |name: &str| text(properties.text_of(name));
    Ok(vec![
        name(blob)?.into(),
        number(properties.text_of("Content-Length")),
        property("Content-Type"),
        property("Last-Modified"),
        // Older versions omit the quotes.
        text(properties.text_of("Etag").trim_matches('"')),
        property("BlobType"),
        property("AccessTier"),
        text(blob.text_of("Snapshot")),
        text(blob.text_of("VersionId")),
        if blob.text_of("Deleted") == "true" { true.into() } else { Json::Null },
    ])
}
