//! For fuzz targets: the functions that read files before the sorted store opens them, each callable
//! separately.

use std::collections::BTreeMap;

pub use crate::journal::{Summary, Tail, read_bytes as read_log};
use crate::{inspect, preflight};

/// Reads the file that names a keyspace's list of files: the number of the list, and its checksum.
pub fn read_current(bytes: &[u8]) -> Option<(u64, u128)> {
    preflight::read_current(bytes).ok()
}

/// Reads a list of sorted files: their ids, and their checksums.
pub fn read_list(bytes: &[u8]) -> Option<BTreeMap<u64, u128>> {
    inspect::listed_tables(bytes)
}
