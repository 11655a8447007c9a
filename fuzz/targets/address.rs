//! Request targets: never a panic, and a path that is accepted names a legal resource.

#![no_main]

use lazuli_protocol::address::{Address, split_target};
use lazuli_protocol::http::head::{Field, Head};
use lazuli_protocol::table::path::parse_path;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (target, host) = text.split_once('\n').unwrap_or((text, "dev.table.localhost"));
    let fields = [Field { name: "Host", value: host }];
    let head = Head { method: "GET", target, fields: &fields };
    for known in [true, false] {
        if let Ok(address) = Address::parse(&head, lazuli_model::Service::Table, |_| known) {
            let _ = address.account_segment();
            address.query.pairs().for_each(drop);
            let _ = address.query.get("comp");
        }
    }
    let _ = split_target(target);
    if let Ok(resource) = parse_path("dev", target) {
        if let Some(name) = resource.table() {
            assert!(lazuli_protocol::table::path::table_name(&name.to_string()).is_ok(), "{name}");
        }
    }
});
