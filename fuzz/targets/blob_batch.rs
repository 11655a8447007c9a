//! Batches of blob operations: never a panic, never too many parts, and every part is decoded or rejected.

#![no_main]

use lazuli_fuzz::VERSIONS;
use lazuli_model::Service;
use lazuli_model::blob::limits::BATCH_OPERATIONS_MAX;
use lazuli_protocol::blob::{batch, decode};
use lazuli_protocol::http::head::Field;
use lazuli_protocol::http::response::Response;
use lazuli_protocol::{Address, Head};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let fields = [Field { name: "Content-Type", value: "multipart/mixed; boundary=batch_1" }];
    let head = Head { method: "POST", target: "/dev/?comp=batch", fields: &fields };
    let Ok(parts) = batch::decode(&head, body) else { return };
    assert!((1..=BATCH_OPERATIONS_MAX).contains(&parts.len()));
    let is_account = |name: &str| name == "dev";
    let mut out = Vec::new();
    for part in &parts {
        let Ok((method, target)) = part.message.request_line() else { continue };
        let mut fields = vec![Field { name: "Host", value: "127.0.0.1:10000" }];
        fields.extend(&part.message.fields);
        let head = Head { method, target, fields: &fields };
        let Ok(address) = Address::parse(&head, Service::Blob, is_account) else { continue };
        for version in VERSIONS {
            if let Ok((intent, _)) = decode(&head, &address, version, &is_account) {
                let _ = batch::check(&intent, None);
            }
        }
        batch::write_part(&mut out, "b", part.id, "Accepted", &Response::new(202));
    }
    batch::write_end(&mut out, "b");
});
