//! Errors of a save.

use std::fmt;

use lazuli_model::EntityKey;

use crate::error::Error;

/// A change that was not saved. It stays pending.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// # use lazuli_client::{Context, Dynamic};
/// let blogs = service.create_table("Blogs").await?;
/// blogs.insert(&Dynamic::new("Channel9", "a")).await?;
/// let mut context = Context::new(&service);
/// context.add(&blogs, Dynamic::new("Channel9", "a"))?;
/// let failed = &context.save().await.unwrap_err().failed[0];
/// assert_eq!(failed.table, "Blogs");
/// assert_eq!(failed.key.as_ref().map(|key| key.row.as_str()), Some("a"));
/// assert!(failed.error.is_conflict());
/// # Ok(()) })
/// ```
#[derive(Debug)]
pub struct FailedChange {
    /// The table.
    pub table: String,
    /// The entity; `None` for a change of the table itself.
    pub key: Option<EntityKey>,
    /// The reason.
    pub error: Error,
}

/// A save with failures. Unsaved changes stay pending, and the next save sends them again (CL-08).
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// # use lazuli_client::{Context, Dynamic};
/// let blogs = service.table("Blogs")?;
/// let mut context = Context::new(&service);
/// context.add(&blogs, Dynamic::new("Channel9", "a"))?;
/// let error = context.save().await.unwrap_err();
/// assert_eq!((error.saved, error.failed.len(), context.pending()), (0, 1, 1));
///
/// // Once the cause is removed, the next save sends the change again.
/// blogs.create().await?;
/// assert_eq!(context.save().await?, 1);
/// # Ok(()) })
/// ```
#[derive(Debug)]
pub struct SaveError {
    /// Number of changes that were saved.
    pub saved: usize,
    /// The failures, at least one. For a batch, the change that caused it, or its first change.
    pub failed: Vec<FailedChange>,
}

impl fmt::Display for SaveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.failed.len();
        write!(f, "{count} {} failed", if count == 1 { "change" } else { "changes" })?;
        match self.failed.first() {
            Some(first) => write!(f, ", first in table {}: {}", first.table, first.error),
            None => Ok(()),
        }
    }
}

impl std::error::Error for SaveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.failed.first().map(|failed| &failed.error as _)
    }
}

/// The first failure.
impl From<SaveError> for Error {
    fn from(error: SaveError) -> Self {
        let text = error.to_string();
        error.failed.into_iter().next().map_or_else(|| Error::input(text), |failed| failed.error)
    }
}
