//! XML documents, access policies and service properties: no panic, bounded time, and an accepted document is read back unchanged.

#![no_main]

use lazuli_fuzz::VERSIONS;
use lazuli_model::table::Operation;
use lazuli_protocol::ApiVersion;
use lazuli_protocol::table::xml::XmlIntent;
use lazuli_protocol::xml::send;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let _ = send::read_stats(body);
    if let Ok(policies) = send::read_acl(body) {
        assert_eq!(send::read_acl(&send::write_acl(&policies)), Ok(policies));
    }
    for version in VERSIONS {
        let Ok(Operation::SetProperties(update)) = XmlIntent::SetProperties.with_body(body, version) else {
            continue;
        };
        // The latest format can express everything that an older one can.
        let again =
            XmlIntent::SetProperties.with_body(&send::write_properties(&update), ApiVersion::V2013_08_15);
        assert_eq!(again, Ok(Operation::SetProperties(update)));
    }
});
