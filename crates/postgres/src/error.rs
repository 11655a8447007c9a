//! The reasons why a database cannot be opened.

use std::fmt;

/// The reason why a database cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseError(String);

impl fmt::Display for DatabaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DatabaseError {}

impl DatabaseError {
    /// The error for a database that cannot be used, with the reason.
    pub fn new(why: String) -> Self {
        Self(why)
    }
}
