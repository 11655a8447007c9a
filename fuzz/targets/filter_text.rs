//! Filter strings: parsing never panics, and printing and parsing a filter returns the same filter.

#![no_main]

use lazuli_filter::{RANGES_MAX, Schema, parse, plan, print};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = parse(text, Schema::Tables);
    let Ok(filter) = parse(text, Schema::Entity) else { return };
    let printed = print(&filter);
    let again = parse(&printed, Schema::Entity).unwrap_or_else(|error| panic!("{printed}: {error}"));
    // Compared as strings, because not-a-number is not equal to itself.
    assert_eq!(print(&again), printed);
    assert!(plan(&filter).ranges.len() <= RANGES_MAX);
});
