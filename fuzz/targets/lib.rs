//! Code that the targets share: the context of a request, and the checks of an accepted entity.

pub mod filter;
pub mod log;

use lazuli_model::table::operation::StoredEntity;
use lazuli_model::{DateTime, PackedRow, ValueRef};
use lazuli_protocol::ApiVersion;
use lazuli_protocol::http::response::Context;
use lazuli_protocol::http::url::Base;
use lazuli_protocol::table::draft::EntityDraft;

/// Versions of each era.
pub const VERSIONS: [ApiVersion; 6] = [
    ApiVersion::V2009_04_14,
    ApiVersion::V2011_08_18,
    ApiVersion::V2013_08_15,
    ApiVersion::V2019_02_02,
    ApiVersion::V2021_02_12,
    ApiVersion::V2025_07_05,
];

/// Where and when the server responds to a request.
pub fn context(version: ApiVersion) -> Context {
    Context {
        account: "dev".into(),
        base: Base::new("http", "127.0.0.1:10002", Some("dev")),
        now: DateTime::MAX,
        request_id: "11111111-2222-3333-4444-555555555555".into(),
        version,
    }
}

/// Writes an accepted entity and reads it again: it must be unchanged.
pub fn check_round_trip(
    draft: EntityDraft<'_>,
    write: impl Fn(&StoredEntity) -> Vec<u8>,
    read: impl Fn(&[u8]) -> EntityDraft<'_>,
) {
    let Ok((key, properties)) = draft.into_insert() else { return };
    let stored = StoredEntity {
        partition: key.partition.as_str().into(),
        row: key.row.as_str().into(),
        timestamp: DateTime::STORABLE_MIN,
        properties: PackedRow::pack(&properties),
    };
    let (again, properties_again) = read(&write(&stored)).into_insert().expect("what was stored is legal");
    assert_eq!(again, key);
    assert_eq!(properties_again.row().count(), properties.row().count());
    let is_same = properties.iter().zip(properties_again.iter()).all(|(a, b)| same(a, b));
    assert!(is_same, "{properties:?} {properties_again:?}");
}

/// Equality that treats not-a-number as equal to itself.
fn same(a: (&str, ValueRef<'_>), b: (&str, ValueRef<'_>)) -> bool {
    let equal = match (a.1, b.1) {
        (ValueRef::Double(a), ValueRef::Double(b)) => {
            a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
        }
        (a, b) => a == b,
    };
    a.0 == b.0 && equal
}
