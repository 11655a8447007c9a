//! Continuation tokens, ETags and dates: no panic, and a written value is read back.

#![no_main]

use lazuli_model::DateTime;
use lazuli_model::table::operation::Match;
use lazuli_protocol::table::{continuation, etag};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    assert_eq!(continuation::decode(&continuation::encode(text)).as_deref(), Ok(text));
    if let Ok(key) = continuation::decode(text) {
        assert_eq!(continuation::decode(&continuation::encode(&key)), Ok(key));
    }
    if let Ok(Match::Version(timestamp)) = etag::parse(text) {
        assert_eq!(etag::parse(&etag::header(timestamp)), Ok(Match::Version(timestamp)));
    }
    let _ = DateTime::parse_http(text);
});
