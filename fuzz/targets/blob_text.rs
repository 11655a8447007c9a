//! Small strings of the Blob service: markers, ETags, tag expressions. No panic, and a written value is read back.

#![no_main]

use lazuli_model::blob::tag::TagQuery;
use lazuli_model::blob::{ETag, TagExpression, Tags};
use lazuli_protocol::blob::marker;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(position) = marker::decode_blob(text) {
        assert_eq!(marker::decode_blob(&marker::encode_blob(&position)), Ok(position));
    }
    if let Ok(position) = marker::decode_found(text) {
        assert_eq!(marker::decode_found(&marker::encode_found(&position)), Ok(position));
    }
    let _ = marker::decode_container(text);
    let _ = marker::decode_offset(text);
    if let Some(tag) = ETag::parse(text) {
        assert_eq!(ETag::parse(&tag.to_string()), Some(tag));
    }
    let mut tags = Tags::default();
    let _ = tags.insert("a", "b");
    match TagExpression::parse(text) {
        Ok(expression) => drop(expression.matches(&tags)),
        Err(error) => assert!(error.at <= text.len()),
    }
    if let Ok(query) = TagQuery::parse(text) {
        assert!(!query.comparisons.is_empty());
        let _ = query.matches(&tags);
    }
});
