//! Requests as heads and bodies: dispatch, parameters, limits of each version, and the order of errors.

use lazuli_model::queue::Receipt;
use lazuli_model::{Metadata, SignedIdentifier};

use super::*;
use crate::http::head::Field;

const ID: &str = "f24068a1-6ca0-4ae9-b3cc-133d4df349e1";
const NEW: &str = "2021-12-02";

fn receipt() -> Receipt {
    Receipt { next_visible: DateTime::parse("2026-01-01").unwrap(), sequence: 7, nonce: 99 }
}

fn receipt_text() -> String {
    receipt::encode(&receipt()).as_str().to_owned()
}

/// Decodes `METHOD /path?query` of an account that the path names.
fn decoded(
    request: &str,
    version: &str,
    headers: &[(&str, &str)],
) -> Result<(Intent, ResponseFormat), Failure> {
    let (method, target) = request.split_once(' ').unwrap();
    let mut fields = vec![Field { name: "Host", value: "127.0.0.1:10001" }];
    fields.extend(headers.iter().map(|&(name, value)| Field { name, value }));
    let secondary = target.strip_prefix("!");
    let target = match secondary {
        Some(rest) => format!("/dev-secondary{rest}"),
        None => format!("/dev{target}"),
    };
    let head = Head { method, target: &target, fields: &fields };
    let address = Address::parse(&head, Service::Queue, |name| name == "dev").unwrap();
    decode(&head, &address, ApiVersion::parse(version).unwrap_or(ApiVersion::NONE))
}

fn intent(request: &str) -> Result<Intent, Failure> {
    decoded(request, NEW, &[]).map(|(intent, _)| intent)
}

#[track_caller]
fn ready(request: &str) -> Operation {
    match intent(request) {
        Ok(Intent::Ready(operation)) => operation,
        other => panic!("{request}: {other:?}"),
    }
}

#[track_caller]
fn rejected(request: &str, version: &str) -> Failure {
    match decoded(request, version, &[]) {
        Err(failure) => failure,
        Ok((intent, _)) => panic!("{request}: {intent:?}"),
    }
}

fn queue() -> QueueName {
    QueueName::new("my-queue").unwrap()
}

#[test]
fn every_operation_is_named() {
    use OperationKind as Kind;
    let update = format!("PUT /my-queue/messages/{ID}?popreceipt={}&visibilitytimeout=0", receipt_text());
    let delete = format!("DELETE /my-queue/messages/{ID}?popreceipt={}", receipt_text());
    for (request, kind, needs_body) in [
        ("GET /?comp=list", Kind::ListQueues, false),
        ("GET ?comp=list", Kind::ListQueues, false),
        ("GET /?restype=service&comp=properties", Kind::GetQueueServiceProperties, false),
        ("PUT /?comp=properties&restype=service", Kind::SetQueueServiceProperties, true),
        ("GET !/?restype=service&comp=stats", Kind::GetQueueServiceStats, false),
        ("POST /?restype=service&comp=userdelegationkey", Kind::GetQueueUserDelegationKey, true),
        ("PUT /my-queue", Kind::CreateQueue, false),
        ("DELETE /my-queue?timeout=5", Kind::DeleteQueue, false),
        ("GET /my-queue?comp=metadata", Kind::GetQueueMetadata, false),
        ("HEAD /my-queue?comp=metadata", Kind::GetQueueMetadata, false),
        ("PUT /my-queue?COMP=Metadata", Kind::SetQueueMetadata, false),
        ("GET /my-queue?comp=acl", Kind::GetQueueAcl, false),
        ("HEAD /my-queue?comp=acl", Kind::GetQueueAcl, false),
        ("PUT /my-queue?comp=acl", Kind::SetQueueAcl, true),
        ("POST /my-queue/messages", Kind::PutMessage, true),
        ("GET /my-queue/messages", Kind::GetMessage, false),
        ("GET /my-queue/messages?numofmessages=2", Kind::GetMessages, false),
        ("GET /my-queue/messages?peekonly=True", Kind::PeekMessage, false),
        ("GET /my-queue/messages?peekonly=true&numofmessages=32", Kind::PeekMessages, false),
        ("GET /my-queue/messages?peekonly=false", Kind::GetMessage, false),
        ("DELETE /my-queue/messages", Kind::ClearMessages, false),
        ("PUT /my-queue/messages?comp=move&to=other", Kind::MoveMessages, false),
        (&update, Kind::UpdateMessage, true),
        (&delete, Kind::DeleteMessage, false),
    ] {
        let intent = intent(request).unwrap_or_else(|failure| panic!("{request}: {failure}"));
        assert_eq!((intent.kind(), intent.needs_body()), (kind, needs_body), "{request}");
        let (method, target) = request.split_once(' ').unwrap();
        let target = format!("/dev{}", target.trim_start_matches('!'));
        let fields = [Field { name: "Host", value: "127.0.0.1:10001" }];
        let head = Head { method, target: &target, fields: &fields };
        let address = Address::parse(&head, Service::Queue, |name| name == "dev").unwrap();
        assert_eq!(crate::queue::kind::named(&head, &address), kind, "{request}");
    }
}

#[test]
fn requests_that_name_no_operation() {
    for (request, code) in [
        ("GET /", ErrorCode::InvalidQueryParameterValue),
        ("GET /?comp=banana", ErrorCode::InvalidQueryParameterValue),
        ("GET /?comp=properties", ErrorCode::InvalidQueryParameterValue),
        ("GET /?restype=service&comp=list", ErrorCode::InvalidQueryParameterValue),
        ("GET /?restype=service&comp=stats", ErrorCode::InvalidQueryParameterValue),
        ("POST /?comp=list", ErrorCode::UnsupportedHttpVerb),
        ("DELETE /?restype=service&comp=properties", ErrorCode::UnsupportedHttpVerb),
        ("PUT !/?restype=service&comp=stats", ErrorCode::UnsupportedHttpVerb),
        ("GET /my-queue", ErrorCode::InvalidQueryParameterValue),
        ("POST /my-queue", ErrorCode::UnsupportedHttpVerb),
        ("DELETE /my-queue?comp=metadata", ErrorCode::UnsupportedHttpVerb),
        ("POST /my-queue?comp=acl", ErrorCode::UnsupportedHttpVerb),
        ("PUT /my-queue?comp=lease", ErrorCode::InvalidQueryParameterValue),
        ("PUT /my-queue/messages", ErrorCode::UnsupportedHttpVerb),
        ("HEAD /my-queue/messages", ErrorCode::UnsupportedHttpVerb),
        (&format!("GET /my-queue/messages/{ID}"), ErrorCode::UnsupportedHttpVerb),
        ("BREW /my-queue", ErrorCode::InvalidHttpVerb),
        ("OPTIONS /my-queue", ErrorCode::CorsPreflightFailure),
        ("GET /my-queue/messages?peekonly=maybe", ErrorCode::InvalidQueryParameterValue),
    ] {
        assert_eq!(rejected(request, NEW).code, code, "{request}");
    }
    let details = rejected("GET /?comp=banana", NEW).details;
    assert_eq!(
        details,
        [
            ("QueryParameterName", "comp".into()),
            ("QueryParameterValue", "banana".into()),
            ("Reason", "".into())
        ]
    );
}

/// VR-01: operations exist from their version on.
#[test]
fn operations_of_versions() {
    let update = format!("PUT /my-queue/messages/{ID}?popreceipt={}&visibilitytimeout=0", receipt_text());
    for (request, since, before) in [
        (update.as_str(), "2011-08-18", "2009-09-19"),
        ("GET /my-queue?comp=acl", "2012-02-12", "2011-08-18"),
    ] {
        assert!(decoded(request, since, &[]).is_ok(), "{request}");
        assert!(decoded(request, before, &[]).is_err(), "{request}");
    }
    for version in ["", "2009-04-14", "2009-09-19"] {
        for request in
            ["PUT /my-queue", "POST /my-queue/messages", "GET /my-queue/messages", "GET /?comp=list"]
        {
            assert!(decoded(request, version, &[]).is_ok(), "{request} {version}");
        }
    }
}

#[test]
fn listings() {
    let all = QueueQuery { prefix: String::new(), from: None, limit: 5000, metadata: false };
    for (query, expected) in [
        ("", all.clone()),
        ("&include=", all.clone()),
        ("&maxresults=", all.clone()),
        ("&maxresults=5001", all.clone()),
        ("&maxresults=99999999999999999999", all.clone()),
        ("&maxresults=7", QueueQuery { limit: 7, ..all.clone() }),
        ("&include=metadata", QueueQuery { metadata: true, ..all.clone() }),
        ("&Include=,Metadata", QueueQuery { metadata: true, ..all.clone() }),
        (
            "&prefix=my-&marker=%2Fdev%2Fmy-x",
            QueueQuery { prefix: "my-".into(), from: Some("my-x".into()), ..all.clone() },
        ),
    ] {
        assert_eq!(ready(&format!("GET /?comp=list{query}")), Operation::ListQueues(expected), "{query}");
    }
    for (query, code) in [
        ("maxresults=0", ErrorCode::OutOfRangeQueryParameterValue),
        ("maxresults=00", ErrorCode::OutOfRangeQueryParameterValue),
        ("maxresults=-5", ErrorCode::OutOfRangeQueryParameterValue),
        ("maxresults=many", ErrorCode::InvalidQueryParameterValue),
        ("include=acl", ErrorCode::InvalidQueryParameterValue),
        ("marker=nonsense", ErrorCode::OutOfRangeInput),
        ("prefix=%zz", ErrorCode::InvalidQueryParameterValue),
    ] {
        assert_eq!(rejected(&format!("GET /?comp=list&{query}"), NEW).code, code, "{query}");
    }
    let (_, wanted) = decoded("GET /?comp=list&prefix=&marker=/dev/abc&maxresults=5", NEW, &[]).unwrap();
    let listing = Listing { prefix: None, marker: Some("/dev/abc".into()), max_results: Some("5".into()) };
    assert_eq!(wanted.listing.as_deref(), Some(&listing));
}

#[test]
fn metadata_of_queues() {
    let mut expected = Metadata::default();
    expected.insert("Owner", "Ada").unwrap();
    let headers = [("x-ms-meta-Owner", "Ada"), ("x-other", "1")];
    let (intent, _) = decoded("PUT /my-queue", NEW, &headers).unwrap();
    assert_eq!(intent, Intent::Ready(Operation::CreateQueue(queue(), expected.clone())));
    let (intent, _) = decoded("PUT /my-queue?comp=metadata", NEW, &headers).unwrap();
    assert_eq!(intent, Intent::Ready(Operation::SetMetadata(queue(), expected)));
    let failure = decoded("PUT /my-queue", NEW, &[("x-ms-meta-a-b", "1")]).unwrap_err();
    assert_eq!(failure.code, ErrorCode::InvalidMetadata);
}

/// QU-01: the parameters of a get.
#[test]
fn gets() {
    let get = |query: &str| ready(&format!("GET /my-queue/messages?{query}"));
    let expected = |count, visibility| Operation::GetMessages { queue: queue(), count, visibility };
    assert_eq!(get(""), expected(1, 30));
    assert_eq!(get("numofmessages=32&visibilitytimeout=604800"), expected(32, 604_800));
    assert_eq!(get("numofmessages=1&visibilitytimeout=1"), expected(1, 1));
    assert_eq!(get("peekonly=true&numofmessages=2"), Operation::PeekMessages { queue: queue(), count: 2 });
}

/// The bounds of each number, by version. The error names the parameter and its bounds.
#[test]
fn bounds() {
    let update = format!("PUT /my-queue/messages/{ID}?popreceipt={}&", receipt_text());
    for (request, version, bad, bounds) in [
        ("GET /my-queue/messages?", NEW, "numofmessages=0", "1..32"),
        ("GET /my-queue/messages?", NEW, "numofmessages=33", "1..32"),
        ("GET /my-queue/messages?peekonly=true&", NEW, "numofmessages=100", "1..32"),
        ("GET /my-queue/messages?", NEW, "visibilitytimeout=0", "1..604800"),
        ("GET /my-queue/messages?", NEW, "visibilitytimeout=604801", "1..604800"),
        ("GET /my-queue/messages?", NEW, "visibilitytimeout=99999999999999999999", "1..604800"),
        ("GET /my-queue/messages?", "2009-09-19", "visibilitytimeout=7201", "1..7200"),
        ("POST /my-queue/messages?", NEW, "visibilitytimeout=-1", "0..604800"),
        ("POST /my-queue/messages?", NEW, "visibilitytimeout=604801", "0..604800"),
        ("POST /my-queue/messages?", "2017-04-17", "messagettl=0", "1..604800"),
        ("POST /my-queue/messages?", "2017-04-17", "messagettl=-1", "1..604800"),
        ("POST /my-queue/messages?", "2009-09-19", "messagettl=604801", "1..604800"),
        (&update, NEW, "visibilitytimeout=-1", "0..604800"),
        (&update, NEW, "visibilitytimeout=604801", "0..604800"),
    ] {
        let failure = rejected(&format!("{request}{bad}"), version);
        assert_eq!(failure.code, ErrorCode::OutOfRangeQueryParameterValue, "{request}{bad}");
        let (name, value) = bad.split_once('=').unwrap();
        let (min, max) = bounds.split_once("..").unwrap();
        let details: Vec<&str> = failure.details.iter().map(|(_, value)| &**value).collect();
        assert_eq!(details, [name, value, min, max], "{request}{bad}");
        let names: Vec<&str> = failure.details.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["QueryParameterName", "QueryParameterValue", "MinimumAllowed", "MaximumAllowed"]);
    }
    for query in ["numofmessages=x", "visibilitytimeout=1.5", "visibilitytimeout=+1", "numofmessages=--1"] {
        let failure = rejected(&format!("GET /my-queue/messages?{query}"), NEW);
        assert_eq!(failure.code, ErrorCode::InvalidQueryParameterValue, "{query}");
    }
}

#[test]
fn times_of_new_messages() {
    let put =
        |query: &str, version: &str| match decoded(&format!("POST /my-queue/messages?{query}"), version, &[])
        {
            Ok((Intent::Document(Operation::PutMessage { visibility, ttl, .. }), _)) => Ok((visibility, ttl)),
            Ok((other, _)) => panic!("{other:?}"),
            Err(failure) => Err(failure),
        };
    for (query, version, expected) in [
        ("", NEW, (0, Some(604_800))),
        ("visibilitytimeout=604799", NEW, (604_799, Some(604_800))),
        ("messagettl=-1&visibilitytimeout=604800", NEW, (604_800, None)),
        ("messagettl=2147483647", NEW, (0, Some(2_147_483_647))),
        ("messagettl=1", "2009-09-19", (0, Some(1))),
        ("visibilitytimeout=soon", "2009-09-19", (0, Some(604_800))),
    ] {
        assert_eq!(put(query, version), Ok(expected), "{query}");
    }
    let endless = "Value must be greater than or equal to 1, or -1 to indicate an infinite TTL.";
    let early = "messagettl must be greater than visibilitytimeout";
    for (query, name, value, reason) in [
        ("messagettl=0", "messagettl", "0", endless),
        ("messagettl=-2", "messagettl", "-2", endless),
        ("messagettl=2147483648", "messagettl", "2147483648", endless),
        ("messagettl=30&visibilitytimeout=30", "visibilitytimeout", "30", early),
        ("visibilitytimeout=604800", "visibilitytimeout", "604800", early),
    ] {
        let failure = put(query, NEW).unwrap_err();
        assert_eq!(failure.code, ErrorCode::InvalidQueryParameterValue, "{query}");
        let details: Vec<&str> = failure.details.iter().map(|(_, value)| &**value).collect();
        assert_eq!(details, [name, value, reason], "{query}");
    }
}

/// QU-03: changes of a message need its receipt.
#[test]
fn receipts() {
    let request = |method: &str, query: &str| format!("{method} /my-queue/messages/{ID}?{query}");
    let target = MessageTarget { queue: queue(), id: ID.parse().unwrap(), receipt: receipt() };
    let good = format!("popreceipt={}", receipt_text());
    assert_eq!(ready(&request("DELETE", &good)), Operation::DeleteMessage(target.clone()));
    let intent = intent(&request("PUT", &format!("{good}&visibilitytimeout=5"))).unwrap();
    let operation = Operation::UpdateMessage { target, visibility: 5, text: None };
    assert_eq!(intent, Intent::Document(operation));
    for (method, query, code, name) in [
        ("DELETE", "", ErrorCode::MissingRequiredQueryParameter, "popreceipt"),
        ("PUT", "visibilitytimeout=5", ErrorCode::MissingRequiredQueryParameter, "popreceipt"),
        ("PUT", good.as_str(), ErrorCode::MissingRequiredQueryParameter, "visibilitytimeout"),
        ("DELETE", "popreceipt=", ErrorCode::InvalidQueryParameterValue, "popreceipt"),
        ("DELETE", "popreceipt=stale", ErrorCode::InvalidQueryParameterValue, "popreceipt"),
        ("PUT", "popreceipt=stale&visibilitytimeout=5", ErrorCode::InvalidQueryParameterValue, "popreceipt"),
    ] {
        let failure = rejected(&request(method, query), NEW);
        assert_eq!((failure.code, &*failure.details[0].1), (code, name), "{method} {query}");
    }
}

/// The first fault in the documented order decides.
#[test]
fn order_of_errors() {
    for (request, code) in [
        // The query before the path.
        ("GET /ab?x=%zz", ErrorCode::InvalidQueryParameterValue),
        // The path before the method.
        ("BREW /ab", ErrorCode::OutOfRangeInput),
        // The method before parameters.
        ("PUT /my-queue/messages?numofmessages=0", ErrorCode::UnsupportedHttpVerb),
        // The receipt before the visibility timeout.
        (
            &format!("PUT /my-queue/messages/{ID}?popreceipt=x&visibilitytimeout=-1"),
            ErrorCode::InvalidQueryParameterValue,
        ),
    ] {
        assert_eq!(rejected(request, NEW).code, code, "{request}");
    }
}

#[test]
fn bodies() {
    let version = ApiVersion::parse(NEW).unwrap();
    let with = |request: &str, body: &str| intent(request).unwrap().with_body(version, body.as_bytes());
    let message = "<QueueMessage><MessageText>hello</MessageText></QueueMessage>";
    let put =
        Operation::PutMessage { queue: queue(), text: "hello".into(), visibility: 0, ttl: Some(604_800) };
    assert_eq!(with("POST /my-queue/messages", message), Ok(put));
    assert_eq!(with("POST /my-queue/messages", "").unwrap_err().code, ErrorCode::InvalidXmlDocument);
    let update = format!("PUT /my-queue/messages/{ID}?popreceipt={}&visibilitytimeout=0", receipt_text());
    let updated = |body: &str| match with(&update, body) {
        Ok(Operation::UpdateMessage { text, .. }) => text,
        other => panic!("{other:?}"),
    };
    assert_eq!(updated(message).as_deref(), Some("hello"));
    assert_eq!(updated(""), None, "without a body the text stays");
    assert_eq!(updated("<QueueMessage><MessageText /></QueueMessage>").as_deref(), Some(""));
    assert_eq!(with(&update, "<QueueMessage/>").unwrap_err().code, ErrorCode::InvalidXmlDocument);
    let acl = "<SignedIdentifiers><SignedIdentifier><Id>p</Id></SignedIdentifier></SignedIdentifiers>";
    let policies = vec![SignedIdentifier { id: "p".into(), policy: None }];
    assert_eq!(with("PUT /my-queue?comp=acl", acl), Ok(Operation::SetAcl(queue(), policies)));
    assert_eq!(with("PUT /my-queue?comp=acl", ""), Ok(Operation::SetAcl(queue(), Vec::new())));
    let letters = acl.replace("</Id>", "</Id><AccessPolicy><Permission>rd</Permission></AccessPolicy>");
    assert_eq!(with("PUT /my-queue?comp=acl", &letters).unwrap_err().code, ErrorCode::InvalidXmlDocument);
    let cors = "<StorageServiceProperties><Cors /></StorageServiceProperties>";
    let update = PropertiesUpdate { cors: Some(Vec::new()), ..PropertiesUpdate::default() };
    let expected = Operation::SetProperties(Box::new(update));
    assert_eq!(with("PUT /?restype=service&comp=properties", cors), Ok(expected));
    assert_eq!(with("DELETE /my-queue", "ignored"), Ok(Operation::DeleteQueue(queue())));
}

/// The body is limited before it is parsed; its limit is in the error.
#[test]
fn large_bodies() {
    for (request, limit) in [("POST /my-queue/messages", "131584"), ("PUT /my-queue?comp=acl", "65536")] {
        let intent = intent(request).unwrap();
        let max = intent.body_max();
        assert_eq!(max.to_string(), limit);
        let failure = intent.with_body(ApiVersion::parse(NEW).unwrap(), &vec![b'x'; max + 1]).unwrap_err();
        assert_eq!(failure.code, ErrorCode::RequestBodyTooLarge);
        assert_eq!(failure.details, [("MaxLimit", limit.into())]);
    }
}
