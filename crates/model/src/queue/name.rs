//! Queue names: validated once; the type guarantees that they are valid.

use std::fmt;
use std::str::FromStr;

use crate::label::{self, LabelError};

/// A legal queue name: 3 to 63 lower-case letters, digits and single hyphens.
///
/// ```
/// use lazuli_model::queue::QueueName;
///
/// let name: QueueName = "delete-channel-and-blogs".parse()?;
/// assert_eq!(name.as_str(), "delete-channel-and-blogs");
/// # Ok::<(), lazuli_model::label::LabelError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueName(Box<str>);

impl QueueName {
    /// Checks `text`.
    pub fn new(text: &str) -> Result<Self, LabelError> {
        label::check(text).map(|()| Self(text.into()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl FromStr for QueueName {
    type Err = LabelError;

    fn from_str(text: &str) -> Result<Self, LabelError> {
        Self::new(text)
    }
}
