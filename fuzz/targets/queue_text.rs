//! Small strings of the Queue service: pop receipts, markers, paths and names. No panic, and a written value is read back.

#![no_main]

use lazuli_model::queue::QueueName;
use lazuli_protocol::queue::{marker, parse_path, receipt};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(found) = receipt::decode(text) {
        assert_eq!(receipt::decode(receipt::encode(&found).as_str()), Ok(found));
    }
    if let Ok(name) = marker::decode("dev", text) {
        assert_eq!(marker::decode("dev", &marker::encode("dev", &name)), Ok(name));
    }
    if QueueName::new(text).is_ok() {
        assert!(parse_path(&format!("/{text}")).is_ok(), "{text}");
    }
    let _ = parse_path(text);
});
