//! Fields that are stored as another type, at the limits of both.

use lazuli_client_derive::Entity;

use super::round_trip;
use crate::decode::decode_entity;
use crate::entity::encode;

#[derive(Clone, Debug, PartialEq, Entity)]
struct Reading {
    #[table(partition_key)]
    place: String,
    #[table(row_key)]
    number: String,
    #[table(double)]
    mean: f32,
    #[table(datetime)]
    seconds: i64,
}

fn reading(mean: f32, seconds: i64) -> Reading {
    Reading { place: "p".into(), number: "1".into(), mean, seconds }
}

/// Other clients store doubles that are not equal to any `f32`: they are decoded as the nearest one, if there
/// is one.
#[test]
fn doubles_decode_to_the_nearest_f32() {
    let body = |mean: &str| {
        format!(
            r#"{{"PartitionKey":"p","RowKey":"1","mean":{mean},"seconds@odata.type":"Edm.DateTime","seconds":"1970-01-01T00:00:00Z"}}"#
        )
    };
    assert_eq!(decode_entity::<Reading>(body("0.1").as_bytes()).unwrap(), reading(0.1, 0));
    let error = decode_entity::<Reading>(body("1e300").as_bytes()).unwrap_err();
    assert!(error.message().contains("does not fit into f32"), "{error}");
}

/// LA-06: a time that cannot be stored is rejected, not clamped.
#[test]
fn out_of_range_seconds_are_rejected() {
    for seconds in [-11_644_473_600, -1, 0, 253_402_300_799] {
        let reading = reading(0.5, seconds);
        assert_eq!(round_trip(&reading), reading);
    }
    for seconds in [i64::MIN, -70_000_000_000, -11_644_473_601, 253_402_300_800, i64::MAX] {
        assert!(encode(&reading(0.5, seconds)).is_err(), "{seconds}");
    }
}
