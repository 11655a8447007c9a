//! Requests of the Queue service: never a panic, and every request gets an operation or an error. An accepted text comes
//! back from Peek Messages unchanged. The first byte of the input picks the version; the lines are those of a request
//! head, and a blank line starts the body.

#![no_main]

use lazuli_fuzz::{VERSIONS, context};
use lazuli_model::queue::limits::{MESSAGE_BYTES_MAX, MESSAGES_PER_GET_MAX};
use lazuli_model::queue::{Message, Operation, Outcome};
use lazuli_model::{DateTime, Guid, OperationKind, Service};
use lazuli_protocol::error;
use lazuli_protocol::http::head::Field;
use lazuli_protocol::queue::{ResponseFormat, decode, encode};
use lazuli_protocol::{Address, ApiVersion, Head};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let [version, text @ ..] = input else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let version = VERSIONS[usize::from(*version) % VERSIONS.len()];
    let (lines, body) = text.split_once("\n\n").unwrap_or((text, ""));
    let mut lines = lines.lines();
    let Some((method, target)) = lines.next().and_then(|line| line.split_once(' ')) else { return };
    let mut fields = vec![Field { name: "Host", value: "127.0.0.1:10001" }];
    fields.extend(lines.filter_map(|line| line.split_once(": ")).map(|(name, value)| Field { name, value }));
    let head = Head { method, target, fields: &fields };
    let Ok(address) = Address::parse(&head, Service::Queue, |name: &str| name == "dev") else { return };
    let failure = match decode(&head, &address, version) {
        Ok((intent, _)) => {
            let kind = intent.kind();
            assert_ne!(kind, OperationKind::Unknown);
            match intent.with_body(version, body.as_bytes()) {
                Ok(operation) => {
                    assert_eq!(operation.kind(), kind);
                    return check(&operation, version);
                }
                Err(failure) => failure,
            }
        }
        Err(failure) => failure,
    };
    assert!(error::storage(&context(version), &failure).status >= 400);
});

fn check(operation: &Operation, version: ApiVersion) {
    match operation {
        Operation::PutMessage { text, .. } | Operation::UpdateMessage { text: Some(text), .. } => {
            assert!(text.len() <= MESSAGE_BYTES_MAX);
            check_text(text, version);
        }
        Operation::GetMessages { count, .. } | Operation::PeekMessages { count, .. } => {
            assert!((1..=MESSAGES_PER_GET_MAX).contains(count));
        }
        _ => {}
    }
}

/// The text as Peek Messages writes it is the body that puts the same text.
fn check_text(text: &str, version: ApiVersion) {
    let message = Message {
        id: Guid([0; 16]),
        inserted: DateTime::STORABLE_MIN,
        expires: DateTime::MAX,
        dequeue_count: 0,
        text: text.into(),
    };
    let response =
        encode::outcome(&context(version), &ResponseFormat::default(), &Outcome::Peeked(vec![message]));
    let written = std::str::from_utf8(response.body.as_ref()).expect("a response is UTF-8");
    let element = written.split_once("<MessageText").expect("a message has a text").1;
    let element = element.split_once("</QueueMessage>").expect("a message ends").0;
    let body = format!("<QueueMessage><MessageText{element}</QueueMessage>");
    let head =
        Head { method: "POST", target: "/dev/abc/messages", fields: &[Field { name: "Host", value: "h" }] };
    let address = Address::parse(&head, Service::Queue, |name: &str| name == "dev").expect("a good address");
    let (intent, _) = decode(&head, &address, version).expect("a good request");
    let again = intent.with_body(version, body.as_bytes()).expect("what was sent is accepted");
    assert!(matches!(&again, Operation::PutMessage { text: read, .. } if **read == *text), "{again:?}");
}
