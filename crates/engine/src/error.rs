//! Errors of an engine, classified by the action that the caller should take.

use std::fmt;

/// The result of a call to an engine.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why a call failed. The messages are for the log, never for a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Nothing was applied; the same call may succeed immediately.
    Conflict,
    /// The engine has too much work to start this in time; nothing was applied.
    Busy(String),
    /// It is unknown whether the change was applied.
    Unknown(String),
    /// The engine is currently unavailable; nothing was applied.
    Unavailable(String),
    /// The engine cannot store a key, value or commit of that size; nothing was applied.
    TooLarge(String),
    /// Stored bytes differ from the written ones.
    Corrupt(String),
    /// A write to stable storage failed; nothing more is acknowledged until the store has been opened again.
    Poisoned(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Conflict => f.write_str("another change was faster; nothing was applied"),
            Error::Busy(why) => write!(f, "too busy; nothing was applied: {why}"),
            Error::Unknown(why) => write!(f, "unknown whether the change was applied: {why}"),
            Error::Unavailable(why) => write!(f, "the storage engine is not available: {why}"),
            Error::TooLarge(why) => write!(f, "too large for this storage engine: {why}"),
            Error::Corrupt(why) => write!(f, "stored data is corrupt: {why}"),
            Error::Poisoned(why) => write!(f, "the store accepts no writes until it is reopened: {why}"),
        }
    }
}

impl std::error::Error for Error {}
