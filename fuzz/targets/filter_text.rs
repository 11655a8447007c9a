//! Filters as text: never a panic, and what is understood is understood the same when it is printed.

#![no_main]

use lazuli_filter::{RANGES_MAX, Schema, parse, plan, print};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = parse(text, Schema::Tables);
    let Ok(filter) = parse(text, Schema::Entity) else { return };
    let printed = print(&filter);
    let again = parse(&printed, Schema::Entity).unwrap_or_else(|error| panic!("{printed}: {error}"));
    // Printed once more, so that not-a-number, which is not equal to itself, does no harm.
    assert_eq!(print(&again), printed);
    assert!(plan(&filter).ranges.len() <= RANGES_MAX);
});
