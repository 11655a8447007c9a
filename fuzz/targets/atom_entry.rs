//! Atom entries: no panic, bounded time, and an accepted entry is read back unchanged in both layouts.

#![no_main]

use lazuli_fuzz::{check_round_trip, context};
use lazuli_model::table::entity::is_property_name;
use lazuli_protocol::ApiVersion;
use lazuli_protocol::table::atom;
use lazuli_protocol::table::media::Format;
use lazuli_protocol::table::response_format::ResponseFormat;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let _ = atom::read::table(body);
    let Ok(draft) = atom::read::entity(body) else { return };
    // Names that are valid in C# but not in XML are escaped.
    if draft.properties.iter().any(|(name, _)| !name.is_ascii() || !is_property_name(name)) {
        return;
    }
    let wanted = ResponseFormat { format: Format::Atom, prefer: None, select: None };
    for version in [ApiVersion::V2011_08_18, ApiVersion::V2013_08_15] {
        check_round_trip(
            draft.clone(),
            |row| {
                atom::write::entity(&context(version), &wanted, "Posts", row)
                    .expect("a row just packed is whole")
            },
            |written| atom::read::entity(written).expect("we read what we write"),
        );
    }
});
