//! Errors of writing or reading a backup.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Result of an operation on a backup.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why a backup cannot be written or read.
#[derive(Debug)]
pub enum Error {
    /// The directory is not empty.
    Exists(PathBuf),
    /// The directory is shared, or belongs to another user, so access cannot be restricted to its owner.
    Shared(PathBuf),
    /// The directory does not contain a backup.
    NotABackup(PathBuf),
    /// The backup was started but never finished.
    Unfinished(PathBuf),
    /// This version does not support the backup's format.
    Format(String),
    /// The backup differs from the written one.
    Damaged(String),
    /// A file operation failed.
    Io {
        /// The attempted operation and its path.
        what: String,
        /// The error from the system.
        source: io::Error,
    },
}

impl Error {
    pub(crate) fn io<'a>(what: &'a str, path: &'a Path) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| Self::Io { what: format!("{what} {}", path.display()), source }
    }

    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged(what.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists(dir) => {
                write!(f, "{} is not empty; a backup needs its own directory", dir.display())
            }
            Self::Shared(dir) => {
                let dir = dir.display();
                write!(f, "{dir} belongs to another user or is shared; choose a new directory inside it")
            }
            Self::NotABackup(dir) => write!(f, "{} does not contain a backup", dir.display()),
            Self::Unfinished(dir) => {
                write!(f, "the backup in {} was interrupted and is incomplete; remove it", dir.display())
            }
            Self::Format(found) => write!(f, "this version cannot read backups of {found}"),
            Self::Damaged(why) => write!(f, "the backup is damaged: {why}"),
            Self::Io { what, source } => write!(f, "cannot {what}: {source}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Exists(_)
            | Self::Shared(_)
            | Self::NotABackup(_)
            | Self::Unfinished(_)
            | Self::Format(_)
            | Self::Damaged(_) => None,
        }
    }
}
