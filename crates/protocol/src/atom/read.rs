//! Atom requests.

use lazuli_model::Failure;

use crate::table::draft::Draft;

/// Reads an entity from an entry.
pub fn entity(_body: &[u8]) -> Result<Draft, Failure> {
    Err(Failure::unreadable_body())
}

/// Reads the name of a table to create: `None` if it is not given.
pub fn table(_body: &[u8]) -> Result<Option<String>, Failure> {
    Err(Failure::unreadable_body())
}
