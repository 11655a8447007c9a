//! Authorization headers and the dates beside them: never a panic, and nothing made up is let in.

#![no_main]

use lazuli_model::DateTime;
use lazuli_protocol::address::Address;
use lazuli_protocol::auth::{AccountKey, credential, verify};
use lazuli_protocol::head::{Field, Head};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut lines = text.split('\n');
    let mut line = || lines.next().unwrap_or_default();
    let (authorization, date, target) = (line(), line(), line());
    let fields = [
        Field { name: "Authorization", value: authorization },
        Field { name: "x-ms-date", value: date },
        Field { name: "Host", value: "dev.table.localhost" },
    ];
    let head = Head { method: "GET", target, fields: &fields };
    let Ok(Some(credential)) = credential(&head) else { return };
    let Ok(address) = Address::parse(&head, |_| true) else { return };
    let keys = [AccountKey::new(b"a key that no input knows")];
    let now = DateTime::parse_http(date).unwrap_or(DateTime::STORABLE_MIN);
    assert!(verify(&head, &address, &credential, &keys, now).is_err(), "a signature was guessed");
});
