//! Authorization headers, dates and queries of every service: never a panic, and no made-up signature is accepted.

#![no_main]

use lazuli_model::{DateTime, Service};
use lazuli_protocol::address::Address;
use lazuli_protocol::auth::{AccountKey, Scheme, authorize, credential, verify};
use lazuli_protocol::http::head::{Field, Head};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut lines = text.split('\n');
    let mut line = || lines.next().unwrap_or_default();
    let (authorization, date, target, version) = (line(), line(), line(), line());
    let (name, value) = line().split_once(':').unwrap_or(("x-ms-meta-a", ""));
    let unsigned = [
        Field { name: "x-ms-date", value: date },
        Field { name: "Host", value: "dev.table.localhost" },
        Field { name: "x-ms-version", value: version },
        Field { name, value },
    ];
    for service in Service::ALL {
        let head = Head { method: "GET", target, fields: &unsigned };
        let keys = [AccountKey::new(b"a key that no input knows")];
        let now = DateTime::parse_http(date).unwrap_or(DateTime::STORABLE_MIN);
        let guessed = accepts(service, &head, authorization, &keys, now);
        assert_ne!(guessed, Some(true), "a signature was guessed");
        for scheme in [Scheme::SharedKey, Scheme::SharedKeyLite] {
            let Ok(signed) = authorize(service, scheme, "dev", &keys[0], &head) else { continue };
            let accepted = accepts(service, &head, &signed, &keys, now);
            let dated = DateTime::parse_http(date).is_some();
            assert!(!dated || accepted != Some(false), "{service:?} {scheme:?}");
        }
    }
});

/// Whether the request is accepted with that header; `None` if the header is not checked.
fn accepts(
    service: Service,
    head: &Head<'_>,
    authorization: &str,
    keys: &[AccountKey],
    now: DateTime,
) -> Option<bool> {
    let mut fields = vec![Field { name: "Authorization", value: authorization }];
    fields.extend_from_slice(head.fields);
    let head = Head { fields: &fields, ..*head };
    let credential = credential(&head).ok()??;
    let address = Address::parse(&head, service, |name| name == "dev").ok()?;
    if address.account != credential.account {
        return None;
    }
    Some(verify(service, &head, &address, &credential, keys, now).is_ok())
}
