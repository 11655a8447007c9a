//! Names of containers and blobs: validated once; the type guarantees that they are valid.

use std::fmt;
use std::str::FromStr;

use crate::blob::limits::{BLOB_NAME_CHARS_MAX, BLOB_NAME_SEGMENTS_MAX};
use crate::label::{self, LabelError};
use crate::{ErrorCode, Failure};

/// The reason why a string is not a valid name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameError {
    /// Too short, too long, or with too many segments.
    Length,
    /// A character that a name cannot have.
    Characters,
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NameError::Length => "the name is too short or too long",
            NameError::Characters => "the name contains invalid characters",
        })
    }
}

impl std::error::Error for NameError {}

impl From<NameError> for Failure {
    fn from(error: NameError) -> Self {
        match error {
            NameError::Length => Failure::new(
                ErrorCode::OutOfRangeInput,
                "The specified resource name length is not within the permissible limits.",
            ),
            NameError::Characters => ErrorCode::InvalidResourceName.into(),
        }
    }
}

/// A legal container name.
///
/// ```
/// use lazuli_model::blob::{ContainerName, NameError};
///
/// assert!(ContainerName::new("backups-2024").is_ok());
/// assert!(ContainerName::new("$web").is_ok());
/// assert_eq!(ContainerName::new("Backups"), Err(NameError::Characters));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContainerName(Box<str>);

impl ContainerName {
    /// The container of blobs whose URL contains no container.
    pub const ROOT: &str = "$root";
    /// The container of a static website.
    pub const WEB: &str = "$web";
    /// The container of request logs.
    pub const LOGS: &str = "$logs";
    /// The valid names with a dollar sign.
    pub const SYSTEM: [&str; 4] = [Self::ROOT, Self::WEB, Self::LOGS, "$blobchangefeed"];

    /// Checks `text`. The length is checked first.
    pub fn new(text: &str) -> Result<Self, NameError> {
        if Self::SYSTEM.contains(&text) {
            return Ok(Self(text.into()));
        }
        label::check(text).map_err(|error| match error {
            LabelError::Length => NameError::Length,
            LabelError::Characters => NameError::Characters,
        })?;
        Ok(Self(text.into()))
    }

    /// The root container.
    pub fn root() -> Self {
        Self(Self::ROOT.into())
    }

    /// The container of request logs.
    pub fn logs() -> Self {
        Self(Self::LOGS.into())
    }

    /// The container of a static website.
    pub fn web() -> Self {
        Self(Self::WEB.into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Is it `$root`?
    pub fn is_root(&self) -> bool {
        &*self.0 == Self::ROOT
    }

    /// Is it the container of request logs, which only the server writes?
    pub fn is_logs(&self) -> bool {
        &*self.0 == Self::LOGS
    }

    /// Is it listed only if system containers are requested? `$root` and `$web` belong to users.
    pub fn is_hidden(&self) -> bool {
        self.0.starts_with('$') && !matches!(&*self.0, Self::ROOT | Self::WEB)
    }
}

/// A legal blob name: any characters except NUL, with slashes anywhere.
///
/// ```
/// use lazuli_model::blob::BlobName;
///
/// assert!(BlobName::new("2024/05//Grüße.txt").is_ok());
/// assert!(BlobName::new("").is_err());
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobName(Box<str>);

impl BlobName {
    /// Checks `text`.
    pub fn new(text: &str) -> Result<Self, NameError> {
        let length = text.chars().count();
        let segments = text.split('/').count();
        if length == 0 || length > BLOB_NAME_CHARS_MAX || segments > BLOB_NAME_SEGMENTS_MAX {
            return Err(NameError::Length);
        }
        if text.contains('\0') {
            return Err(NameError::Characters);
        }
        Ok(Self(text.into()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

macro_rules! text_name {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::new(text)
            }
        }
    };
}

text_name!(ContainerName);
text_name!(BlobName);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn container_names() {
        for good in ["abc", "a-1", "1a2", "$root", "$web", "$logs", "$blobchangefeed", &"x".repeat(63)] {
            assert!(ContainerName::new(good).is_ok(), "{good}");
        }
        for wrong in ["", "ab", &"x".repeat(64), "é"] {
            assert_eq!(ContainerName::new(wrong), Err(NameError::Length), "{wrong}");
        }
        for wrong in ["Abc", "-ab", "ab-", "a--b", "a_b", "a.b", "$any", "äöü", "a/b"] {
            assert_eq!(ContainerName::new(wrong), Err(NameError::Characters), "{wrong}");
        }
        let hidden: Vec<bool> =
            ContainerName::SYSTEM.map(|name| name.parse::<ContainerName>().unwrap().is_hidden()).into();
        assert_eq!(hidden, [false, false, true, true]);
    }

    #[test]
    fn blob_names() {
        let segments = |count| vec!["s"; count].join("/");
        for good in ["a", "/", "//a", "a b", "a%20b", "\u{1}", &"é".repeat(1024), &segments(254)] {
            assert!(BlobName::new(good).is_ok(), "{good}");
        }
        for wrong in ["", &"x".repeat(1025), &segments(255)] {
            assert_eq!(BlobName::new(wrong), Err(NameError::Length), "{wrong}");
        }
        assert_eq!(BlobName::new("a\0b"), Err(NameError::Characters));
    }
}
