//! The service's own records, damaged in any way: an error, never a panic; what is read is written as it was.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| lazuli_service::check_records(bytes));
