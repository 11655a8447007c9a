//! JSON entities: no panic, bounded time, and an accepted entity is read back unchanged.

#![no_main]

use lazuli_fuzz::{check_round_trip, context};
use lazuli_protocol::ApiVersion;
use lazuli_protocol::table::json;
use lazuli_protocol::table::media::{Format, MetadataLevel};
use lazuli_protocol::table::response_format::ResponseFormat;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let _ = json::read::table(body);
    let Ok(draft) = json::read::entity(body) else { return };
    for level in [MetadataLevel::Minimal, MetadataLevel::Full] {
        let wanted = ResponseFormat { format: Format::Json(level), prefer: None, select: None };
        let context = context(ApiVersion::V2019_02_02);
        check_round_trip(
            draft.clone(),
            |row| {
                json::write::entity(&context, &wanted, level, "Posts", row)
                    .expect("a row just packed is whole")
            },
            |written| json::read::entity(written).expect("we read what we write"),
        );
    }
});
