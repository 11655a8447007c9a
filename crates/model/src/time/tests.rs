//! Parsing, printing and comparing points in time.

use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(text: &str, printed: &str) {
    assert_eq!(DateTime::parse(text).map(|t| t.to_string()).as_deref(), Some(printed), "{text}");
}

#[test]
fn accepted_forms() {
    check("1973-10-04", "1973-10-04T00:00:00Z");
    check("1973-10-04T10:20", "1973-10-04T10:20:00Z");
    check("1973-10-04T10:20:30", "1973-10-04T10:20:30Z");
    check("1973-10-04T10:20:30.5Z", "1973-10-04T10:20:30.5Z");
    check("1973-10-04T10:20:30.1234567Z", "1973-10-04T10:20:30.1234567Z");
    check("1973-10-04T10:20:30.12345678Z", "1973-10-04T10:20:30.1234567Z");
    check("1973-10-04T10:20:30.8204980Z", "1973-10-04T10:20:30.820498Z");
    check("1973-10-04T10:20:30+02:00", "1973-10-04T08:20:30Z");
    check("1973-10-04T10:20-08:00", "1973-10-04T18:20:00Z");
    check("2000-02-29", "2000-02-29T00:00:00Z");
    check("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z");
    check("9999-12-31T23:59:59.9999999Z", "9999-12-31T23:59:59.9999999Z");
}

#[test]
fn rejected_forms() {
    for text in [
        "",
        "1973",
        "1973-13-01",
        "1973-02-30",
        "1900-02-29",
        "1973-10-04T",
        "1973-10-04T25:00",
        "1973-10-04T10:20:30.",
        "1973-10-04T10:20:30Zx",
        "10000-01-01",
        "0001-01-01T00:00:00+01:00",
        "2020-01-01T00:00:60Z",
    ] {
        assert_eq!(DateTime::parse(text), None, "{text}");
    }
}

#[test]
fn http_dates() {
    let text = "Mon, 27 Jun 2022 20:11:08 GMT";
    let time = DateTime::parse_http(text).unwrap();
    assert_eq!(time.to_string(), "2022-06-27T20:11:08Z");
    assert_eq!(time.http().as_str(), text);
    assert_eq!(DateTime::parse_http("27 Jun 2022"), None);
    assert_eq!(DateTime::parse_http("Mon, 27 Xxx 2022 20:11:08 GMT"), None);
}

#[test]
fn well_known_ticks() {
    assert_eq!(DateTime::parse("1601-01-01"), Some(DateTime::STORABLE_MIN));
    assert_eq!(DateTime::parse("1970-01-01"), Some(DateTime(UNIX_EPOCH_TICKS)));
    assert_eq!(DateTime::from_unix(std::time::Duration::from_secs(1)).unix_seconds(), 1);
}

proptest! {
    #[test]
    fn prints_what_it_reads(ticks in 0..=DateTime::MAX.0) {
        let time = DateTime(ticks);
        prop_assert_eq!(DateTime::parse(time.iso().as_str()), Some(time));
        prop_assert_eq!(DateTime::parse(time.iso_seven_digits().as_str()), Some(time));
        prop_assert_eq!(DateTime::parse_http(time.http().as_str()).map(|t| t.0), Some(ticks - ticks % TICKS_PER_SECOND));
    }
}
