//! Why a backup cannot be written or read.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The result of work on a backup.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a backup cannot be written or read.
#[derive(Debug)]
pub enum Error {
    /// There is something in the directory already.
    Exists(PathBuf),
    /// The directory is shared with others, or is another's: it cannot be made its owner's alone.
    Shared(PathBuf),
    /// The directory is no backup.
    NotABackup(PathBuf),
    /// It was begun and never finished.
    Unfinished(PathBuf),
    /// It is of a format that this version does not know.
    Format(String),
    /// It is not as it was written.
    Damaged(String),
    /// A file operation failed.
    Io {
        /// What was tried, and on what.
        what: String,
        /// What the system says.
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
                write!(f, "{} is not empty; a backup goes into a directory of its own", dir.display())
            }
            Self::Shared(dir) => {
                let dir = dir.display();
                write!(
                    f,
                    "{dir} is another user's or shared with others; name a directory in it that is not there yet"
                )
            }
            Self::NotABackup(dir) => write!(f, "there is no backup in {}", dir.display()),
            Self::Unfinished(dir) => {
                write!(f, "the backup in {} was interrupted and is not whole; remove it", dir.display())
            }
            Self::Format(found) => write!(f, "this version does not read backups of {found}"),
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
