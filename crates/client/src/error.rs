//! The client's one error: what went wrong, what the service said, and whether anything was changed.
//!
//! ```
//! # lazuli_embedded::doc_test(|service| async move {
//! use lazuli_client::{Dynamic, ErrorCode};
//!
//! let people = service.table("People")?;
//! let person = Dynamic::new("a", "1");
//! match people.insert(&person).await {
//!     Ok(_) => {}
//!     Err(error) if error.code() == Some(ErrorCode::TableNotFound) => {
//!         people.create().await?;
//!         people.insert(&person).await?;
//!     }
//!     Err(error) => return Err(error),
//! }
//! people.get::<Dynamic>("a", "1").await?;
//! # Ok(()) })
//! ```

mod kind;
mod made;

use std::fmt;

use lazuli_model::ErrorCode;
use lazuli_model::error::Retry;

pub use kind::{Applied, ErrorKind};
pub(crate) use made::Said;

/// A result of the client.
///
/// ```
/// fn key_of(year: u16, number: u32) -> lazuli_client::Result<String> {
///     match number {
///         0..=99_999 => Ok(format!("{year}-{number:05}")),
///         _ => Err(lazuli_client::Error::input("numbers have five digits")),
///     }
/// }
///
/// assert_eq!(key_of(2024, 7)?, "2024-00007");
/// assert!(key_of(2024, 100_000).is_err());
/// # Ok::<(), lazuli_client::Error>(())
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation failed.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// use lazuli_client::{Applied, Dynamic, ErrorCode, ErrorKind};
///
/// let table = service.create_table("Things").await?;
/// table.insert(&Dynamic::new("p", "r")).await?;
/// let error = table.insert(&Dynamic::new("p", "r")).await.unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Service);
/// assert_eq!(error.code(), Some(ErrorCode::EntityAlreadyExists));
/// assert_eq!(error.status(), Some(409));
/// assert_eq!(error.applied(), Applied::No);
/// assert!(!error.is_transient());
/// # Ok(()) })
/// ```
///
/// Small, since results carry it: everything stands behind one pointer.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    code: Option<ErrorCode>,
    code_text: String,
    status: Option<u16>,
    message: String,
    request_id: Option<String>,
    batch_index: Option<usize>,
    applied: Applied,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            code: None,
            code_text: String::new(),
            status: None,
            message: message.into(),
            request_id: None,
            batch_index: None,
            applied: Applied::No,
            source: None,
        }))
    }

    /// A request that is not sent because something about it is wrong.
    ///
    /// ```
    /// # use lazuli_client::{Applied, Error, ErrorKind};
    /// // For closures and traits of one's own that answer with an error of the client.
    /// let error = Error::input("the balance is too low");
    /// assert_eq!((error.kind(), error.applied()), (ErrorKind::Input, Applied::No));
    /// assert_eq!(error.to_string(), "the balance is too low");
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn input(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Input, message)
    }

    /// An answer that could not be understood. What was asked for has been done.
    ///
    /// ```
    /// # use lazuli_client::{Applied, Error, ErrorKind};
    /// // For sources of pages of one's own, whose answers may make no sense.
    /// let error = Error::answer("the page ends in the middle");
    /// assert_eq!((error.kind(), error.applied()), (ErrorKind::Answer, Applied::Yes));
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn answer(message: impl Into<String>) -> Self {
        let mut error = Self::new(ErrorKind::Answer, message);
        error.0.applied = Applied::Yes;
        error
    }

    /// What went wrong, by where it did.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Dynamic, ErrorKind};
    /// let people = service.create_table("People").await?.partition("a")?;
    /// let mut batch = people.batch();
    /// batch.update(&Dynamic::new("a", "1"))?;
    /// assert_eq!(batch.execute().await.unwrap_err().kind(), ErrorKind::BatchOperation);
    /// # Ok(()) })
    /// ```
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The code of the service, if it is one that is known.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Dynamic, ErrorCode};
    /// let people = service.table("People")?;
    /// let error = people.get::<Dynamic>("a", "1").await.unwrap_err();
    /// // More exact than the status: is it the entity that is missing, or its table?
    /// assert_eq!(error.code(), Some(ErrorCode::TableNotFound));
    /// # Ok(()) })
    /// ```
    pub fn code(&self) -> Option<ErrorCode> {
        self.0.code
    }

    /// The code of the service as it was sent, known or not; empty if the service did not fail the request.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Error;
    /// let error = service.table("People")?.delete().await.unwrap_err();
    /// assert_eq!(error.code_text(), "ResourceNotFound");
    /// assert_eq!(Error::input("never sent").code_text(), "");
    /// # Ok(()) })
    /// ```
    pub fn code_text(&self) -> &str {
        &self.0.code_text
    }

    /// The HTTP status, if there was an answer.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Error;
    /// let error = service.table("People")?.delete().await.unwrap_err();
    /// assert_eq!(error.status(), Some(404));
    /// assert_eq!(Error::input("never sent").status(), None);
    /// # Ok(()) })
    /// ```
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// What a person should read.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// let error = service.table("People")?.delete().await.unwrap_err();
    /// // The text alone; `to_string` tells code, status and request as well.
    /// assert_eq!(error.message(), "The specified resource does not exist.");
    /// assert!(error.to_string().starts_with("ResourceNotFound: The specified resource does not exist. (status 404"));
    /// # Ok(()) })
    /// ```
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// `x-ms-request-id`, by which the operator of the service finds the request in the log.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// let error = service.table("People")?.delete().await.unwrap_err();
    /// let id = error.request_id().expect("the service names its requests");
    /// assert!(error.to_string().contains(id));
    /// # Ok(()) })
    /// ```
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// The position of the operation that failed in its batch, from 0.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let mut batch = service.create_table("People").await?.partition("a")?.batch();
    /// batch.insert(&Dynamic::new("a", "1"))?.delete("2")?;
    /// // There is no second entity to delete.
    /// assert_eq!(batch.execute().await.unwrap_err().batch_index(), Some(1));
    /// # Ok(()) })
    /// ```
    pub fn batch_index(&self) -> Option<usize> {
        self.0.batch_index
    }

    /// Was the change made?
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Applied, Dynamic};
    /// let people = service.create_table("People").await?;
    /// let error = people.update(&Dynamic::new("a", "1")).await.unwrap_err();
    /// // A clear no: nothing to clean up. `Applied::Unknown` would call for a look.
    /// assert_eq!(error.applied(), Applied::No);
    /// # Ok(()) })
    /// ```
    pub fn applied(&self) -> Applied {
        self.0.applied
    }

    /// May the same request succeed later? (ER-09)
    ///
    /// ```
    /// # use lazuli_client::{Error, TransportError};
    /// // The client has retried by then; a program may do so later, or tell its user to.
    /// assert!(Error::from(TransportError::not_sent("connection refused")).is_transient());
    /// assert!(!Error::input("a key has no slash").is_transient());
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn is_transient(&self) -> bool {
        match (self.0.kind, self.0.code, self.0.status) {
            (ErrorKind::Transport | ErrorKind::Deadline, ..) => true,
            (ErrorKind::Answer | ErrorKind::Input | ErrorKind::LocalLimit, ..) => false,
            (_, Some(code), _) => code.retry() == Retry::Later,
            (_, None, Some(status)) => matches!(status, 408 | 429 | 500 | 502 | 503 | 504),
            (_, None, None) => false,
        }
    }

    /// Did the service answer that the entity, or its table, is not there?
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let people = service.create_table("People").await?;
    /// let no_entity = people.get::<Dynamic>("a", "1").await.unwrap_err();
    /// people.delete().await?;
    /// let no_table = people.get::<Dynamic>("a", "1").await.unwrap_err();
    /// assert!(no_entity.is_not_found() && no_table.is_not_found());
    /// # Ok(()) })
    /// ```
    pub fn is_not_found(&self) -> bool {
        self.0.status == Some(404)
    }

    /// Did the service answer that there is one already?
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let people = service.create_table("People").await?;
    /// people.insert(&Dynamic::new("a", "1")).await?;
    /// assert!(people.insert(&Dynamic::new("a", "1")).await.unwrap_err().is_conflict());
    /// assert!(people.create().await.unwrap_err().is_conflict());
    /// # Ok(()) })
    /// ```
    pub fn is_conflict(&self) -> bool {
        self.0.status == Some(409)
    }

    /// Did the service answer that the entity has changed since it was read?
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let people = service.create_table("People").await?;
    /// let first = people.insert(&Dynamic::new("a", "1")).await?;
    /// people.merge(&Dynamic::new("a", "1").with("Age", 30)?).await?;
    /// let late = people.delete_entity_if("a", "1", &first).await.unwrap_err();
    /// assert!(late.is_precondition_failed());
    /// # Ok(()) })
    /// ```
    pub fn is_precondition_failed(&self) -> bool {
        self.0.status == Some(412)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { code_text, status, message, request_id, batch_index, .. } = &*self.0;
        if let Some(index) = batch_index {
            write!(f, "operation {index} of the batch: ")?;
        }
        if !code_text.is_empty() {
            write!(f, "{code_text}: ")?;
        }
        f.write_str(message)?;
        if let Some(status) = status {
            write!(f, " (status {status}")?;
            if let Some(id) = request_id {
                write!(f, ", request {id}")?;
            }
            f.write_str(")")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What `fn main() -> Result<()>` prints.
        let Inner { kind, code, code_text, status, message, request_id, batch_index, applied, source } =
            &*self.0;
        f.debug_struct("Error")
            .field("kind", kind)
            .field("code", code)
            .field("code_text", code_text)
            .field("status", status)
            .field("message", message)
            .field("request_id", request_id)
            .field("batch_index", batch_index)
            .field("applied", applied)
            .field("source", source)
            .finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests;
