//! Rows as they are stored, damaged in any way: an error, never a panic, in bounded time.

#![no_main]

use lazuli_filter::{EntityRow, Matcher, Schema, parse};
use lazuli_fuzz::context;
use lazuli_model::table::operation::StoredEntity;
use lazuli_model::table::row::RowRef;
use lazuli_model::{DateTime, PackedRow};
use lazuli_protocol::ApiVersion;
use lazuli_protocol::table::json;
use lazuli_protocol::table::media::{Format, MetadataLevel};
use lazuli_protocol::table::response_format::ResponseFormat;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(row) = RowRef::new(bytes) else { return };
    for property in row.iter() {
        let Ok((name, value)) = property else { break };
        let _ = row.find(name);
        let _ = value.to_value();
    }
    let filter = parse("P0 eq 1 or not (P1 gt 'a') or P2 eq true", Schema::Entity).expect("a filter");
    let stored = EntityRow { partition: "p", row: "r", timestamp: DateTime::STORABLE_MIN, properties: row };
    let _ = Matcher::new(Some(&filter)).matches(&stored);
    let Ok(properties) = PackedRow::from_bytes(bytes.to_vec().into()) else { return };
    let stored = StoredEntity {
        partition: "p".into(),
        row: "r".into(),
        timestamp: DateTime::STORABLE_MIN,
        properties,
    };
    let wanted = ResponseFormat { format: Format::Json(MetadataLevel::Full), prefer: None, select: None };
    let _ = json::write::entity(
        &context(ApiVersion::V2019_02_02),
        &wanted,
        MetadataLevel::Full,
        "Posts",
        &stored,
    );
});
