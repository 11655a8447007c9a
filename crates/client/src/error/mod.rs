//! The client's error type: its origin, the report of the service, and whether anything was changed.
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
//! }
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

/// Result of an operation of the client.
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

/// The reason why an operation failed.
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
/// assert!(error.to_string().ends_with("/Things, entity Things(PartitionKey='p',RowKey='r')"));
/// assert!(!error.is_transient());
/// # Ok(()) })
/// ```
///
/// Small, since results carry it: everything is behind one pointer.
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
    /// The request that failed: its method and URL without the query.
    request: Option<String>,
    /// The path of the entity that the request concerns, if its URL does not contain it.
    entity: Option<String>,
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
            request: None,
            entity: None,
            source: None,
        }))
    }

    /// A request that is not sent because it is invalid.
    ///
    /// ```
    /// # use lazuli_client::{Applied, Error, ErrorKind};
    /// // For closures and traits of your own that return an error of the client.
    /// let error = Error::input("the balance is too low");
    /// assert_eq!((error.kind(), error.applied()), (ErrorKind::Input, Applied::No));
    /// assert_eq!(error.to_string(), "the balance is too low");
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn input(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Input, message)
    }

    /// A response that could not be parsed. The requested change was applied.
    ///
    /// ```
    /// # use lazuli_client::{Applied, Error, ErrorKind};
    /// // For sources of pages of your own, whose responses may be invalid.
    /// let error = Error::invalid_response("the page ends in the middle");
    /// assert_eq!((error.kind(), error.applied()), (ErrorKind::InvalidResponse, Applied::Yes));
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn invalid_response(message: impl Into<String>) -> Self {
        let mut error = Self::new(ErrorKind::InvalidResponse, message);
        error.0.applied = Applied::Yes;
        error
    }

    /// The origin of the error.
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

    /// The error code of the service, if known to the client.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Dynamic, ErrorCode};
    /// let people = service.table("People")?;
    /// let error = people.get::<Dynamic>("a", "1").await.unwrap_err();
    /// // More exact than the status: is the entity missing, or its table?
    /// assert_eq!(error.code(), Some(ErrorCode::TableNotFound));
    /// # Ok(()) })
    /// ```
    pub fn code(&self) -> Option<ErrorCode> {
        self.0.code
    }

    /// The error code of the service as sent, known or not; empty if the error is not from the service.
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

    /// The HTTP status, if there was a response.
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

    /// The human-readable message.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// let error = service.table("People")?.delete().await.unwrap_err();
    /// // The message alone; `to_string` also includes code, status and request id.
    /// assert_eq!(error.message(), "The specified resource does not exist.");
    /// assert!(error.to_string().starts_with("ResourceNotFound: The specified resource does not exist. (status 404"));
    /// # Ok(()) })
    /// ```
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// `x-ms-request-id`, which identifies the request in the service's log.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// let error = service.table("People")?.delete().await.unwrap_err();
    /// let id = error.request_id().expect("responses have a request id");
    /// assert!(error.to_string().contains(id));
    /// # Ok(()) })
    /// ```
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// The request that failed, if one was sent: its method and URL, which contains the address, the table and
    /// the keys. The query is omitted, since it can contain a signature.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let people = service.create_table("People").await?;
    /// let error = people.get::<Dynamic>("a", "1").await.unwrap_err();
    /// let request = error.request().expect("it was sent");
    /// assert!(request.starts_with("GET http://") && request.ends_with("/People(PartitionKey='a',RowKey='1')"));
    /// assert!(error.to_string().contains(request));
    /// # Ok(()) })
    /// ```
    pub fn request(&self) -> Option<&str> {
        self.0.request.as_deref()
    }

    /// The index of the failed operation in its batch, from 0.
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

    /// Was the change applied?
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Applied, Dynamic};
    /// let people = service.create_table("People").await?;
    /// let error = people.update(&Dynamic::new("a", "1")).await.unwrap_err();
    /// // A clear no: nothing to clean up. `Applied::Unknown` would require a check.
    /// assert_eq!(error.applied(), Applied::No);
    /// # Ok(()) })
    /// ```
    pub fn applied(&self) -> Applied {
        self.0.applied
    }

    /// Can the same request succeed later? (ER-09)
    ///
    /// ```
    /// # use lazuli_client::{Error, TransportError};
    /// // The client has already retried; a program can try again later, or ask its user to.
    /// assert!(Error::from(TransportError::not_sent("connection refused")).is_transient());
    /// assert!(!Error::input("a key cannot contain a slash").is_transient());
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn is_transient(&self) -> bool {
        match (self.0.kind, self.0.code, self.0.status) {
            (ErrorKind::Transport | ErrorKind::Deadline, ..) => true,
            (ErrorKind::InvalidResponse | ErrorKind::Input | ErrorKind::LocalLimit, ..) => false,
            (_, Some(code), _) => code.retry() == Retry::Later,
            (_, None, Some(status)) => matches!(status, 408 | 429 | 500 | 502 | 503 | 504),
            (_, None, None) => false,
        }
    }

    /// Did the service report that the entity or its table does not exist?
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

    /// Did the service report that the entity or table already exists?
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

    /// Did the service report that the entity has changed since it was read?
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
        let Inner { code_text, status, message, request_id, batch_index, request, entity, .. } = &*self.0;
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
        if let Some(request) = request {
            write!(f, ": {request}")?;
        }
        entity.as_ref().map_or(Ok(()), |entity| write!(f, ", entity {entity}"))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `fn main() -> Result<()>` prints this.
        let Inner {
            kind,
            code,
            code_text,
            status,
            message,
            request_id,
            batch_index,
            applied,
            request,
            entity,
            source,
        } = &*self.0;
        f.debug_struct("Error")
            .field("kind", kind)
            .field("code", code)
            .field("code_text", code_text)
            .field("status", status)
            .field("message", message)
            .field("request_id", request_id)
            .field("batch_index", batch_index)
            .field("applied", applied)
            .field("request", request)
            .field("entity", entity)
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
