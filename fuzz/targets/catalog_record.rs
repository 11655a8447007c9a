//! The service's own records, damaged in any way: an error, never a panic; a record that is read is written back unchanged.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| lazuli_service::check_records(bytes));
