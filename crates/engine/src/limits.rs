//! Limits on commits. All engines enforce the same ones, so a commit that one engine accepts is accepted by all.
//!
//! A commit needs memory for its input, for the rows that its updates read, and for the rows that it writes.
//! The input and the result are limited here. Rows that are read are at most as large as rows that were
//! written, and each engine limits how many of them it holds concurrently.

use crate::types::{Change, Write};
use crate::{Error, Result};

/// Largest value of one row.
pub const VALUE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Largest input of one commit: its keys and the values that it puts.
pub const COMMIT_INPUT_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Largest result of one commit: the keys and values that it writes, including values that updates compute.
///
/// Callers may merge a few bytes into each of 100 rows of 1 MiB. The service checks that its largest legal batch fits.
pub const COMMIT_BYTES_MAX: usize = 160 * 1024 * 1024;

/// Memory of one write besides its key and value.
pub const WRITE_BYTES: usize = 128;

const _: () = assert!(VALUE_BYTES_MAX < COMMIT_INPUT_BYTES_MAX && COMMIT_INPUT_BYTES_MAX <= COMMIT_BYTES_MAX);

/// Checks that the input of a commit is within its bounds, and returns its size.
pub fn input_bytes(partition: &str, writes: &[Write]) -> Result<usize> {
    let mut bytes = 0;
    for write in writes {
        let value = match &write.change {
            Change::Put(value) => check_value(value.len())?,
            Change::Update(_) | Change::Delete => 0,
        };
        bytes += WRITE_BYTES + partition.len() + write.row.len() + value;
        if bytes > COMMIT_INPUT_BYTES_MAX {
            return Err(too_large(COMMIT_INPUT_BYTES_MAX));
        }
    }
    Ok(bytes)
}

/// Checks that a value is within its bound, and returns its size.
pub fn check_value(bytes: usize) -> Result<usize> {
    if bytes > VALUE_BYTES_MAX {
        return Err(Error::TooLarge(format!("a value of {bytes} bytes; the limit is {VALUE_BYTES_MAX}")));
    }
    Ok(bytes)
}

/// Sums up the result of a commit.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResultBytes(usize);

impl ResultBytes {
    /// Adds a row that the commit writes; an error if the commit becomes too large.
    pub fn add(&mut self, key_bytes: usize, value_bytes: usize) -> Result<()> {
        self.0 += WRITE_BYTES + key_bytes + check_value(value_bytes)?;
        if self.0 > COMMIT_BYTES_MAX { Err(too_large(COMMIT_BYTES_MAX)) } else { Ok(()) }
    }

    /// The sum.
    pub fn total(self) -> usize {
        self.0
    }
}

fn too_large(limit: usize) -> Error {
    Error::TooLarge(format!("a commit of more than {limit} bytes"))
}
