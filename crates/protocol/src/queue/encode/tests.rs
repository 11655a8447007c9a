//! Responses byte by byte, in the formats of each version.

use std::sync::Arc;

use lazuli_model::queue::Receipt;
use lazuli_model::{ServiceProperties, SignedIdentifier};

use super::*;
use crate::http::url::Base;

const ID: &str = "f24068a1-6ca0-4ae9-b3cc-133d4df349e1";

fn context(version: &str) -> Context {
    Context {
        account: "dev".into(),
        base: Base::new("http", "127.0.0.1:10001", Some("dev")),
        now: DateTime::parse("2026-01-01").unwrap(),
        request_id: String::new(),
        version: ApiVersion::parse(version).unwrap_or(ApiVersion::NONE),
    }
}

fn sent(version: &str, wanted: &ResponseFormat, found: &Outcome) -> (u16, Vec<(String, String)>, String) {
    let response = outcome(&context(version), wanted, found);
    let fields = response.fields.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let body = String::from_utf8(response.body).unwrap();
    let body = match body.strip_prefix("\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?>") {
        Some(inner) => inner.to_owned(),
        None => {
            assert!(body.is_empty(), "a document starts with a byte order mark: {body}");
            body
        }
    };
    (response.status, fields, body)
}

#[track_caller]
fn check(version: &str, found: &Outcome, status: u16, headers: &[(&str, &str)], body: &str) {
    let (given, fields, text) = sent(version, &ResponseFormat::default(), found);
    let expected: Vec<_> =
        headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    assert_eq!((given, fields, text.as_str()), (status, expected, body), "{found:?}");
}

const XML: (&str, &str) = ("Content-Type", "application/xml");
const UNCACHED: (&str, &str) = ("Cache-Control", "no-cache");

fn receipt() -> Receipt {
    Receipt { next_visible: DateTime::parse("2026-01-01T00:00:30Z").unwrap(), sequence: 1, nonce: 2 }
}

fn message(text: &str, expires: DateTime) -> Message {
    Message {
        id: ID.parse().unwrap(),
        inserted: DateTime::parse("2026-01-01T00:00:00.9Z").unwrap(),
        expires,
        dequeue_count: 3,
        text: text.into(),
    }
}

const IDENTITY: &str = "<MessageId>f24068a1-6ca0-4ae9-b3cc-133d4df349e1</MessageId><InsertionTime>Thu, 01 Jan 2026 00:00:00 GMT</InsertionTime><ExpirationTime>Fri, 31 Dec 9999 23:59:59 GMT</ExpirationTime>";

fn receipt_elements() -> String {
    format!(
        "<PopReceipt>{}</PopReceipt><TimeNextVisible>Thu, 01 Jan 2026 00:00:30 GMT</TimeNextVisible>",
        receipt::encode(&receipt()).as_str()
    )
}

/// QU-06: responses carry no ETag.
#[test]
fn responses_without_content() {
    for (found, status) in [
        (Outcome::QueueCreated, 201),
        (Outcome::QueueUnchanged, 204),
        (Outcome::QueueDeleted, 204),
        (Outcome::MetadataSet, 204),
        (Outcome::AclSet, 204),
        (Outcome::MessageDeleted, 204),
        (Outcome::MessagesCleared, 204),
        (Outcome::PropertiesSet, 202),
    ] {
        check("2021-12-02", &found, status, &[], "");
    }
    check("2021-12-02", &Outcome::MessagesMoved(7), 200, &[(super::MOVED_COUNT, "7")], "");
}

#[test]
fn metadata() {
    let mut metadata = Metadata::default();
    metadata.insert("Owner", "Ada").unwrap();
    metadata.insert("shelf_2", "").unwrap();
    let headers = [
        UNCACHED,
        ("x-ms-approximate-messages-count", "12"),
        ("x-ms-meta-Owner", "Ada"),
        ("x-ms-meta-shelf_2", ""),
    ];
    check("2021-12-02", &Outcome::Metadata { metadata, messages: 12 }, 200, &headers, "");
}

/// QU-01, QU-02, QU-05: receipt, time of next visibility and dequeue count, in the order of each version.
#[test]
fn dequeued_messages() {
    let found = Outcome::Messages(vec![Dequeued {
        message: message("a<b>&\r\n", DateTime::MAX),
        receipt: receipt(),
    }]);
    let text = "<MessageText>a&lt;b&gt;&amp;&#xD;\n</MessageText>";
    let count = "<DequeueCount>3</DequeueCount>";
    let receipt = receipt_elements();
    for (version, inner) in [
        ("2009-04-14", format!("{IDENTITY}{receipt}{text}")),
        ("2009-09-19", format!("{IDENTITY}{count}{receipt}{text}")),
        ("2014-02-14", format!("{IDENTITY}{count}{receipt}{text}")),
        ("2015-02-21", format!("{IDENTITY}{receipt}{count}{text}")),
        ("2021-12-02", format!("{IDENTITY}{receipt}{count}{text}")),
    ] {
        let body = format!("<QueueMessagesList><QueueMessage>{inner}</QueueMessage></QueueMessagesList>");
        check(version, &found, 200, &[XML, UNCACHED], &body);
    }
    check("2021-12-02", &Outcome::Messages(Vec::new()), 200, &[XML, UNCACHED], "<QueueMessagesList />");
}

#[test]
fn peeked_messages() {
    let found = Outcome::Peeked(vec![message("", DateTime::MAX), message("x", DateTime::MAX)]);
    let count = "<DequeueCount>3</DequeueCount>";
    let body = format!(
        "<QueueMessagesList><QueueMessage>{IDENTITY}{count}<MessageText /></QueueMessage><QueueMessage>{IDENTITY}{count}<MessageText>x</MessageText></QueueMessage></QueueMessagesList>"
    );
    check("2021-12-02", &found, 200, &[XML, UNCACHED], &body);
    check("2014-02-14", &found, 200, &[XML, UNCACHED], &body);
}

/// VR-01: the new message is described from 2016-05-31 on.
#[test]
fn put_messages() {
    let inserted = DateTime::parse("2026-01-01").unwrap();
    let found = Outcome::MessagePut(Enqueued {
        id: ID.parse().unwrap(),
        inserted,
        expires: DateTime::MAX,
        receipt: receipt(),
    });
    check("2015-12-11", &found, 201, &[], "");
    let body = format!(
        "<QueueMessagesList><QueueMessage>{IDENTITY}{}</QueueMessage></QueueMessagesList>",
        receipt_elements()
    );
    check("2016-05-31", &found, 201, &[XML], &body);
}

/// QU-02, QU-03: an update returns the receipt that replaces the earlier one.
#[test]
fn updated_messages() {
    let text = receipt::encode(&receipt()).as_str().to_owned();
    let headers =
        [("x-ms-popreceipt", text.as_str()), ("x-ms-time-next-visible", "Thu, 01 Jan 2026 00:00:30 GMT")];
    check("2021-12-02", &Outcome::MessageUpdated { receipt: receipt() }, 204, &headers, "");
}

#[test]
fn listings() {
    let mut metadata = Metadata::default();
    metadata.insert("Color", "a&b").unwrap();
    let queues = vec![
        ListedQueue { name: "abc".into(), metadata: Some(metadata) },
        ListedQueue { name: "def".into(), metadata: Some(Metadata::default()) },
        ListedQueue { name: "ghi".into(), metadata: None },
    ];
    let found = Outcome::Queues { queues, next: Some("jkl".into()) };
    let listing =
        Listing { prefix: Some("p<".into()), marker: Some("/dev/abc".into()), max_results: Some("3".into()) };
    let wanted = ResponseFormat { listing: Some(Box::new(listing)) };
    let (status, fields, body) = sent("2021-12-02", &wanted, &found);
    assert_eq!((status, fields.len()), (200, 2));
    assert_eq!(
        body,
        "<EnumerationResults ServiceEndpoint=\"http://127.0.0.1:10001/dev/\"><Prefix>p&lt;</Prefix><Marker>/dev/abc</Marker><MaxResults>3</MaxResults><Queues><Queue><Name>abc</Name><Metadata><Color>a&amp;b</Color></Metadata></Queue><Queue><Name>def</Name><Metadata /></Queue><Queue><Name>ghi</Name></Queue></Queues><NextMarker>/dev/jkl</NextMarker></EnumerationResults>"
    );
    let empty = Outcome::Queues { queues: Vec::new(), next: None };
    check(
        "2013-08-15",
        &empty,
        200,
        &[XML, UNCACHED],
        "<EnumerationResults ServiceEndpoint=\"http://127.0.0.1:10001/dev/\"><Queues /><NextMarker /></EnumerationResults>",
    );
    let one =
        Outcome::Queues { queues: vec![ListedQueue { name: "abc".into(), metadata: None }], next: None };
    check(
        "2012-02-12",
        &one,
        200,
        &[XML, UNCACHED],
        "<EnumerationResults AccountName=\"http://127.0.0.1:10001/dev/\"><Queues><Queue><Name>abc</Name><Url>http://127.0.0.1:10001/dev/abc</Url></Queue></Queues><NextMarker /></EnumerationResults>",
    );
}

/// Policies, properties and stats are those of every service, and forbid caching.
#[test]
fn shared_documents() {
    let policies = vec![SignedIdentifier { id: "empty".into(), policy: None }];
    let body = "<SignedIdentifiers><SignedIdentifier><Id>empty</Id></SignedIdentifier></SignedIdentifiers>";
    check("2021-12-02", &Outcome::Acl(policies), 200, &[XML, UNCACHED], body);
    check("2021-12-02", &Outcome::Acl(Vec::new()), 200, &[XML, UNCACHED], "<SignedIdentifiers />");
    let (status, fields, body) = sent(
        "2021-12-02",
        &ResponseFormat::default(),
        &Outcome::Properties(Arc::new(ServiceProperties::default())),
    );
    assert_eq!((status, fields.len()), (200, 2));
    assert!(body.ends_with("<Cors /></StorageServiceProperties>"), "{body}");
    check(
        "2021-12-02",
        &Outcome::Stats,
        200,
        &[XML, UNCACHED],
        "<StorageServiceStats><GeoReplication><Status>live</Status><LastSyncTime>Thu, 01 Jan 2026 00:00:00 GMT</LastSyncTime></GeoReplication></StorageServiceStats>",
    );
}
