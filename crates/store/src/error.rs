//! The reasons why a store cannot be opened, and the conversion of the sorted store's errors to engine errors.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use lazuli_engine::Error;

/// The reason why a store cannot be opened. Its complete batches were not changed. An unfinished end of the log
/// may already have been moved to `cut-N`; after relaxed durability, so may a damaged end, which can contain
/// complete batches.
#[derive(Debug)]
pub enum OpenError {
    /// Another process, or another part of this one, has the store open.
    InUse {
        /// The store's directory.
        dir: PathBuf,
        /// The process id in the lock file, if any.
        by: String,
    },
    /// The directory contains something else, or a store in a format that this version does not support.
    Format {
        /// The store's directory.
        dir: PathBuf,
        /// A description of the directory's contents.
        found: String,
    },
    /// There is no store in the directory.
    NoStore(PathBuf),
    /// A new store was requested in a directory that is not empty.
    NotEmpty(PathBuf),
    /// A restore into this directory was interrupted.
    Unfinished(PathBuf),
    /// The files have unexpected contents.
    Corrupt(String),
    /// Data that was acknowledged is missing. [`Options::accept_data_loss`](crate::Options::accept_data_loss) opens the store
    /// without it.
    Lost(String),
    /// A file operation failed.
    Io {
        /// The operation, and the file.
        what: String,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl OpenError {
    pub(crate) fn io<'a>(what: &'a str, path: &'a Path) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| Self::Io { what: format!("{what} {}", path.display()), source }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse { dir, by } if by.is_empty() => write!(f, "{} is in use", dir.display()),
            Self::InUse { dir, by } => write!(f, "{} is in use by process {by}", dir.display()),
            Self::Format { dir, found } => {
                write!(f, "{} is not a store of this version: {found}", dir.display())
            }
            Self::NoStore(dir) => write!(f, "there is no store in {}", dir.display()),
            Self::NotEmpty(dir) => {
                write!(f, "{} is not empty; a new store needs a new directory", dir.display())
            }
            Self::Unfinished(dir) => {
                write!(f, "{} is left over from an interrupted restore; remove it", dir.display())
            }
            Self::Corrupt(why) => write!(f, "the store is damaged: {why}"),
            Self::Lost(why) => write!(f, "acknowledged data is missing: {why}"),
            Self::Io { what, source } => write!(f, "cannot {what}: {source}"),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::InUse { .. }
            | Self::Format { .. }
            | Self::NoStore(_)
            | Self::NotEmpty(_)
            | Self::Unfinished(_)
            | Self::Corrupt(_)
            | Self::Lost(_) => None,
        }
    }
}

/// A failed read of the sorted store.
pub(crate) fn read_error(error: &fjall::Error) -> Error {
    match error {
        fjall::Error::Io(io) | fjall::Error::Storage(fjall::LsmError::Io(io)) if !is_short(io) => {
            Error::Unavailable(format!("reading failed: {io}"))
        }
        other => Error::Corrupt(other.to_string()),
    }
}

/// A failed opening of the sorted store.
pub(crate) fn open_error(error: fjall::Error, dir: &Path) -> OpenError {
    match error {
        fjall::Error::Io(io) | fjall::Error::Storage(fjall::LsmError::Io(io)) if !is_short(&io) => {
            OpenError::io("open", dir)(io)
        }
        fjall::Error::Locked => OpenError::InUse { dir: dir.into(), by: String::new() },
        other => OpenError::Corrupt(other.to_string()),
    }
}

/// Does the error mean that the contents of a file are wrong, rather than that the system failed?
fn is_short(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::NotFound
    )
}

/// The reason why writes are no longer accepted.
pub(crate) fn poisoned(why: &str) -> Error {
    Error::Poisoned(why.into())
}

/// The store was closed.
pub(crate) fn closed() -> Error {
    Error::Unavailable("the store is closed".into())
}
