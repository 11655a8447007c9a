//! The list of sorted files, and the file that names it, damaged in any way: never a panic; a list that is read is written back unchanged.

#![no_main]

use std::collections::BTreeMap;

use lazuli_store::fuzzing::{read_current, read_list};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some((number, checksum)) = read_current(bytes) {
        assert_eq!([&number.to_le_bytes()[..], &checksum.to_le_bytes(), &[0]].concat(), bytes);
    }
    let Some(tables) = read_list(bytes) else { return };
    // No list names more files than it has room for.
    assert!(tables.len() * TABLE_BYTES <= bytes.len());
    assert_eq!(read_list(&list(&tables)).as_ref(), Some(&tables));
    // A truncated list is invalid, and so is one with a foreign end.
    assert_eq!(read_list(&bytes[..bytes.len() - 1]), None);
});

/// Id, kind of checksum, checksum, number.
const TABLE_BYTES: usize = 8 + 1 + 16 + 8;

/// A list of these files in one run of one level.
fn list(tables: &BTreeMap<u64, u128>) -> Vec<u8> {
    let mut section = vec![1, 1];
    section.extend((tables.len() as u32).to_le_bytes());
    for (id, checksum) in tables {
        section.extend(id.to_le_bytes());
        section.push(0);
        section.extend(checksum.to_le_bytes());
        section.extend([0; 8]);
    }
    let mut list = section.clone();
    list.extend(b"TOC!");
    list.extend(1_u32.to_le_bytes());
    list.extend(0_u64.to_le_bytes());
    list.extend((section.len() as u64).to_le_bytes());
    list.extend(6_u16.to_le_bytes());
    list.extend(b"tables");
    list.extend(b"SFA!\x01\x00");
    list.extend([0; 16]);
    list.extend((section.len() as u64).to_le_bytes());
    list.extend(((list.len() - section.len()) as u64).to_le_bytes());
    list
}
