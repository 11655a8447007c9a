//! Requests of the Blob service: never a panic, and every request gets an operation or a response. The first byte of the
//! input picks the version; the lines are those of a request head, and a blank line starts the body.

#![no_main]

use lazuli_fuzz::{VERSIONS, context};
use lazuli_model::blob::{ByteRange, ResponseExtent};
use lazuli_model::{OperationKind, Service};
use lazuli_protocol::blob::{decode, encode};
use lazuli_protocol::http::head::Field;
use lazuli_protocol::{Address, Head};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let [version, text @ ..] = input else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let version = VERSIONS[usize::from(*version) % VERSIONS.len()];
    let (lines, body) = text.split_once("\n\n").unwrap_or((text, ""));
    let mut lines = lines.lines();
    let Some((method, target)) = lines.next().and_then(|line| line.split_once(' ')) else { return };
    let mut fields = vec![Field { name: "Host", value: "127.0.0.1:10000" }];
    fields.extend(lines.filter_map(|line| line.split_once(": ")).map(|(name, value)| Field { name, value }));
    let head = Head { method, target, fields: &fields };
    let is_account = |name: &str| name == "dev";
    let Ok(address) = Address::parse(&head, Service::Blob, is_account) else { return };
    if let Some(range) = head.get("range").and_then(ByteRange::parse) {
        check_range(range);
    }
    let failure = match decode(&head, &address, version, &is_account) {
        Ok((intent, mut wanted)) => {
            assert_ne!(intent.kind(), OperationKind::Unknown);
            assert!(!(intent.needs_body() && intent.streams().is_some()));
            let kind = intent.kind();
            match intent.with_body(&head, version, body.as_bytes(), &mut wanted) {
                Ok(operation) => return assert_eq!(operation.kind(), kind),
                Err(failure) => failure,
            }
        }
        Err(failure) => failure,
    };
    let response = encode::failure(&context(version), OperationKind::Unknown, &failure);
    assert!(response.status == 304 || response.status >= 400);
});

/// A range that is satisfied lies within the blob.
fn check_range(range: ByteRange) {
    for size in [0, 1, 511, u64::MAX] {
        match ResponseExtent::resolve(Some(range), size) {
            Some(ResponseExtent::Part { first, last }) => assert!(first <= last && last < size),
            Some(ResponseExtent::Full) => panic!("a range is never the whole"),
            None => assert!(range.first >= size),
        }
    }
}
