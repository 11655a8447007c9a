//! Rows of the blob service, damaged in any way: blobs, containers, blocks, content, pages and events. An error, never a panic; a record
//! that is read is written back unchanged.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| lazuli_service::blob::check_records(bytes));
