//! Listings of containers and blobs, and results of searches, as XML.

mod blob;

use lazuli_model::Metadata;
use lazuli_model::blob::container::ContainerProperties;
use lazuli_model::blob::lease::LeaseView;
use lazuli_model::blob::list::{BlobEntry, BlobPage, ContainerPage, FoundPage};

use super::container::ACCOUNT_SCOPE;
use super::error::add_line_feed;
use super::field::{etag, flag, lease_duration, lease_status};
use crate::ApiVersion;
use crate::blob::response_format::{Listing, ResponseFormat};
use crate::blob::{marker, tags};
use crate::http::percent;
use crate::http::response::{Context, Response};
use crate::xml::text::is_xml_char;
use crate::xml::write::{document, empty, leaf, nest, nest_with};

const ROOT: &str = "EnumerationResults";

pub(super) fn containers(context: &Context, wanted: &ResponseFormat, page: &ContainerPage) -> Response {
    let listing = wanted.listing.as_deref().cloned().unwrap_or_default();
    let endpoint = format!("{}/", context.base.as_str());
    response(document(|out| {
        let attribute = if has_urls(context) { "AccountName" } else { "ServiceEndpoint" };
        nest_with(out, ROOT, &[(attribute, &endpoint)], |out| {
            echo(out, &listing);
            filled(out, "Containers", !page.items.is_empty(), |out| {
                for item in &page.items {
                    nest(out, "Container", |out| {
                        container(out, context, listing.has_metadata, &item.name, &item.properties);
                    });
                }
            });
            let next = page.next.as_deref().map(|name| marker::encode_container(&context.account, name));
            leaf(out, "NextMarker", &next.unwrap_or_default());
        });
    }))
}

fn container(
    out: &mut Vec<u8>,
    context: &Context,
    has_metadata: bool,
    name: &str,
    found: &ContainerProperties,
) {
    leaf(out, "Name", name);
    if has_urls(context) {
        leaf(out, "Url", &format!("{}/{name}", context.base.as_str()));
    }
    if let Some((_, version)) = &found.deleted {
        leaf(out, "Deleted", "true");
        leaf(out, "Version", version);
    }
    nest(out, "Properties", |out| container_properties(out, context.version, found));
    if has_metadata {
        metadata(out, &found.metadata);
    }
}

fn container_properties(out: &mut Vec<u8>, version: ApiVersion, found: &ContainerProperties) {
    leaf(out, "Last-Modified", found.stamp.last_modified.http().as_str());
    leaf(out, "Etag", &etag(version, found.stamp.etag));
    lease(out, version, found.lease);
    if let Some(access) = found.public_access.name().filter(|_| version >= ApiVersion::V2016_05_31) {
        leaf(out, "PublicAccess", access);
    }
    if version >= ApiVersion::V2019_02_02 {
        leaf(out, "DefaultEncryptionScope", found.scope.name.as_deref().unwrap_or(ACCOUNT_SCOPE));
        leaf(out, "DenyEncryptionScopeOverride", flag(found.scope.denies_others));
    }
    if version >= ApiVersion::V2017_11_09 {
        leaf(out, "HasImmutabilityPolicy", flag(found.has_immutability_policy));
        leaf(out, "HasLegalHold", flag(found.has_legal_hold));
    }
    if version >= ApiVersion::V2020_10_02 {
        leaf(out, "ImmutableStorageWithVersioningEnabled", flag(found.has_versioned_immutability));
    }
    if let Some((deleted, _)) = &found.deleted {
        leaf(out, "DeletedTime", deleted.time.http().as_str());
        leaf(out, "RemainingRetentionDays", itoa::Buffer::new().format(deleted.remaining_days));
    }
}

pub(super) fn blobs(context: &Context, wanted: &ResponseFormat, page: &BlobPage) -> Response {
    let listing = wanted.listing.as_deref().cloned().unwrap_or_default();
    let container = listing.container.as_ref().map(ToString::to_string).unwrap_or_default();
    let url = format!("{}/{container}", context.base.as_str());
    let endpoint = format!("{}/", context.base.as_str());
    let new = [("ServiceEndpoint", endpoint.as_str()), ("ContainerName", container.as_str())];
    let old = [("ContainerName", url.as_str())];
    let attributes: &[(&str, &str)] = if has_urls(context) { &old } else { &new };
    let url = has_urls(context).then_some(url.as_str());
    response(document(|out| {
        nest_with(out, ROOT, attributes, |out| {
            echo(out, &listing);
            filled(out, "Blobs", !page.entries.is_empty(), |out| {
                page.entries.iter().for_each(|found| entry(out, context.version, &listing, url, found));
            });
            leaf(out, "NextMarker", &page.next.as_ref().map(marker::encode_blob).unwrap_or_default());
        });
    }))
}

fn entry(out: &mut Vec<u8>, version: ApiVersion, listing: &Listing, url: Option<&str>, found: &BlobEntry) {
    match found {
        BlobEntry::Blob(item) => {
            nest(out, "Blob", |out| blob::item(out, version, &listing.include, url, item))
        }
        BlobEntry::Prefix(prefix) => nest(out, "BlobPrefix", |out| name(out, version, prefix)),
    }
}

pub(super) fn found(context: &Context, wanted: &ResponseFormat, page: &FoundPage) -> Response {
    let listing = wanted.listing.as_deref().cloned().unwrap_or_default();
    let endpoint = format!("{}/", context.base.as_str());
    let mut body = document(|out| {
        nest_with(out, ROOT, &[("ServiceEndpoint", &endpoint)], |out| {
            if let Some(marker) = &listing.marker {
                leaf(out, "Marker", marker);
            }
            leaf(out, "Where", listing.filter.as_deref().unwrap_or_default());
            if let Some(max) = &listing.max_results {
                leaf(out, "MaxResults", max);
            }
            filled(out, "Blobs", !page.items.is_empty(), |out| {
                for item in &page.items {
                    nest(out, "Blob", |out| {
                        name(out, context.version, &item.blob);
                        leaf(out, "ContainerName", &item.container);
                        tags::encode(out, &item.tags);
                    });
                }
            });
            leaf(out, "NextMarker", &page.next.as_ref().map(marker::encode_found).unwrap_or_default());
        });
    });
    add_line_feed(&mut body);
    response(body)
}

/// The parameters of the request.
fn echo(out: &mut Vec<u8>, listing: &Listing) {
    for (name, value) in [
        ("Prefix", &listing.prefix),
        ("Marker", &listing.marker),
        ("StartFrom", &listing.start_from),
        ("MaxResults", &listing.max_results),
        ("Delimiter", &listing.delimiter),
    ] {
        if let Some(value) = value {
            leaf(out, name, value);
        }
    }
}

/// Names that XML cannot represent are percent-encoded from 2021-02-12 on.
fn name(out: &mut Vec<u8>, version: ApiVersion, name: &str) {
    if version < ApiVersion::V2021_02_12 || name.chars().all(is_xml_char) {
        return leaf(out, "Name", name);
    }
    nest_with(out, "Name", &[("Encoded", "true")], |out| percent::encode_into(out, name));
}

fn metadata(out: &mut Vec<u8>, metadata: &Metadata) {
    filled(out, "Metadata", !metadata.is_empty(), |out| {
        metadata.iter().for_each(|(name, value)| leaf(out, name, value));
    });
}

fn lease(out: &mut Vec<u8>, version: ApiVersion, found: LeaseView) {
    leaf(out, "LeaseStatus", lease_status(found.state));
    if version < ApiVersion::V2012_02_12 {
        return;
    }
    leaf(out, "LeaseState", found.state.name());
    if let Some(is_infinite) = found.is_infinite {
        leaf(out, "LeaseDuration", lease_duration(is_infinite));
    }
}

/// An element with content, or `<name />`.
fn filled(out: &mut Vec<u8>, name: &str, is_filled: bool, content: impl FnOnce(&mut Vec<u8>)) {
    if is_filled { nest(out, name, content) } else { empty(out, name) }
}

/// Before 2013-08-15, every entry contains its URL.
fn has_urls(context: &Context) -> bool {
    context.version < ApiVersion::V2013_08_15
}

fn response(body: Vec<u8>) -> Response {
    Response::new(200).with("Content-Type", "application/xml").with_body(body)
}
