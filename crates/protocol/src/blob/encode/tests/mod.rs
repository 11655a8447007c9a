//! Responses, header by header and element by element, in several versions.

mod lists;
mod reads;
mod writes;

use lazuli_model::blob::{ETag, Stamp};
use lazuli_model::{DateTime, ErrorCode, Failure, OperationKind};

use super::*;
use crate::ApiVersion;
use crate::http::url::Base;

const NEW: &str = "2021-08-06";

fn at(version: &str) -> Context {
    Context {
        account: "dev".into(),
        base: Base::new("http", "127.0.0.1:10000", Some("dev")),
        now: DateTime::parse("2024-05-06T07:08:09.1234567Z").unwrap(),
        request_id: "r".into(),
        version: ApiVersion::parse(version).unwrap(),
    }
}

fn time(text: &str) -> DateTime {
    DateTime::parse(text).unwrap()
}

fn stamp() -> Stamp {
    Stamp { etag: ETag::new(0x8DC_1234_5678_9ABC), last_modified: time("2024-05-06T07:08:09.1234567Z") }
}

/// The head of a response as text: status, then one line for each field.
fn head(response: &Response) -> Vec<String> {
    let mut lines = vec![response.status.to_string()];
    lines.extend(response.fields.iter().map(|(name, value)| format!("{name}: {value}")));
    lines.extend(response.content_length.map(|length| format!("({length} bytes)")));
    lines
}

#[track_caller]
fn check(version: &str, outcome: Outcome, expected: &[&str]) {
    assert_eq!(
        head(&super::outcome(&at(version), &ResponseFormat::default(), &outcome)),
        expected,
        "{version}"
    );
}

/// The body of a response without the XML declaration.
#[track_caller]
fn body(response: &Response) -> &str {
    let text = std::str::from_utf8(&response.body).unwrap();
    text.strip_prefix("\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?>").unwrap()
}

const LAST_MODIFIED: &str = "Last-Modified: Mon, 06 May 2024 07:08:09 GMT";
const ETAG: &str = "ETag: \"0x8DC123456789ABC\"";

#[test]
fn errors_carry_their_details() {
    let failure =
        Failure::from(ErrorCode::InvalidHeaderValue).detail("HeaderName", "x").detail("HeaderValue", "<y>");
    let response = super::failure(&at(NEW), OperationKind::PutBlob, &failure);
    assert_eq!(
        head(&response),
        ["400", "x-ms-error-code: InvalidHeaderValue", "Content-Type: application/xml"]
    );
    assert_eq!(
        body(&response),
        "<Error><Code>InvalidHeaderValue</Code><Message>The value for one of the HTTP headers is not in the correct format.\nRequestId:r\nTime:2024-05-06T07:08:09.1234567Z</Message><HeaderName>x</HeaderName><HeaderValue>&lt;y&gt;</HeaderValue></Error>"
    );
}

#[test]
fn an_unsatisfiable_range_tells_the_size() {
    let failure = lazuli_model::blob::ResponseExtent::unsatisfiable(0);
    let response = super::failure(&at(NEW), OperationKind::GetBlob, &failure);
    assert_eq!(
        head(&response),
        ["416", "x-ms-error-code: InvalidRange", "Content-Range: bytes */0", "Content-Type: application/xml"]
    );
    assert!(!body(&response).contains("Content-Range"));
}

/// 304 has no body, no ETag and no time.
#[test]
fn not_modified() {
    let failure = Failure::from(ErrorCode::NotModified);
    let response = super::failure(&at(NEW), OperationKind::GetBlob, &failure);
    assert_eq!(head(&response), ["304", "x-ms-error-code: ConditionNotMet"]);
    assert!(response.body.is_empty());
    let old = super::failure(&at("2017-04-17"), OperationKind::GetBlob, &failure);
    assert_eq!(head(&old), ["304"]);
}

/// Errors of newer parts of Azure have a line feed; those found before the version is known have fewer headers.
#[test]
fn forms_of_errors() {
    let failure = Failure::from(ErrorCode::ConditionNotMet);
    let response = super::failure(&at(NEW), OperationKind::SetBlobTags, &failure);
    assert!(body(&response).starts_with("\n<Error>"));
    let early = failure.found_in(lazuli_model::error::Origin::Routing);
    let response = super::failure(&at(NEW), OperationKind::Unknown, &early);
    assert!(response.front_end && body(&response).starts_with("\n<Error>"));
    assert_eq!(response.get("x-ms-error-code"), None);
}

/// Recorded from 2020-02-10 on, for snapshots and versions that can be restored.
#[test]
fn a_deleted_snapshot_is_marked() {
    let failure = Failure::from(ErrorCode::BlobNotFound).detail("x-ms-is-soft-deleted", "true");
    for (version, is_marked) in [("2019-12-12", false), ("2020-02-10", true)] {
        let response = super::failure(&at(version), OperationKind::GetBlobProperties, &failure);
        assert_eq!(head(&response).contains(&"x-ms-is-soft-deleted: true".into()), is_marked, "{version}");
    }
}
