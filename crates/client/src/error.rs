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

use std::fmt;

use lazuli_model::error::{Retry, WasApplied};
use lazuli_model::{ErrorCode, Failure};

use crate::transport::{Reached, TransportError};

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

#[derive(Debug)]
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

/// What went wrong, by where it did.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// use lazuli_client::{Dynamic, ErrorKind};
///
/// let people = service.table("People")?;
/// // Refused by the service, and refused before it was sent.
/// let missing = people.get::<Dynamic>("a", "1").await.unwrap_err();
/// let no_key = people.get::<Dynamic>("a/b", "1").await.unwrap_err();
/// assert_eq!((missing.kind(), no_key.kind()), (ErrorKind::Service, ErrorKind::Input));
/// # Ok(()) })
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The service refused the request, or failed. [`Error::code`] says why.
    Service,
    /// One operation of a batch was refused, and with it the batch. [`Error::batch_index`] says which one.
    BatchOperation,
    /// No answer came.
    Transport,
    /// The time for the operation, retries included, is over.
    Deadline,
    /// The answer could not be understood.
    Answer,
    /// The request was not sent, because it is not one that a service would take.
    Input,
    /// A query would have to hold more rows here than its limit allows: see [`crate::Query::local_limit`].
    LocalLimit,
}

/// Was the change made?
///
/// ```
/// use lazuli_client::{Applied, Error, TransportError};
///
/// // Nothing was sent, or the answer alone is missing: the second must not be repeated without a look.
/// let refused = Error::from(TransportError::not_sent("connection refused"));
/// let lost = Error::from(TransportError::lost("connection reset"));
/// assert_eq!((refused.applied(), lost.applied()), (Applied::No, Applied::Unknown));
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Applied {
    /// Yes, it was made, although what came after failed.
    Yes,
    /// No, nothing was changed.
    No,
    /// Nobody knows: the answer was lost, or an earlier attempt may have been carried out.
    Unknown,
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

    /// More rows than a query may hold.
    pub(crate) fn local_limit(limit: usize, what: &str) -> Self {
        let message =
            format!("'{what}' would have to hold more than {limit} rows; filter more, or raise local_limit");
        Self::new(ErrorKind::LocalLimit, message)
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

    /// An answer that could not be understood, so that nobody knows whether what was asked for has been done.
    pub(crate) fn unclear(message: impl Into<String>) -> Self {
        Self::answer(message).with_applied(Applied::Unknown)
    }

    /// An answer to a read that could not be understood. A read changes nothing.
    pub(crate) fn unreadable(message: impl Into<String>) -> Self {
        Self::answer(message).with_applied(Applied::No)
    }

    /// What the service said.
    pub(crate) fn service(said: Said) -> Self {
        let code = ErrorCode::ALL.iter().copied();
        let mut same_name = code.filter(|code| code.name() == said.code);
        let first = same_name.clone().next();
        let code = same_name.find(|code| code.status() == said.status).or(first);
        let (index, message) = split_index(&said.message);
        let unknown = match code {
            Some(code) => code.applied() == WasApplied::Unknown,
            None => said.status >= 500 && said.status != 501,
        };
        let kind =
            if said.in_batch && index.is_some() { ErrorKind::BatchOperation } else { ErrorKind::Service };
        Self(Box::new(Inner {
            kind,
            code,
            status: Some(said.status),
            message: message.to_owned(),
            request_id: said.request_id,
            batch_index: index.filter(|_| said.in_batch),
            applied: if unknown { Applied::Unknown } else { Applied::No },
            source: None,
            code_text: said.code,
        }))
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

    /// The same error as the last one before the time for the operation was over.
    pub(crate) fn past_deadline(mut self) -> Self {
        self.0.kind = ErrorKind::Deadline;
        self.0.message = format!("the time for the operation is over; the last attempt: {}", self.0.message);
        self
    }

    /// The same error, of a request that may have been carried out by an earlier attempt.
    pub(crate) fn with_applied(mut self, applied: Applied) -> Self {
        self.0.applied = applied;
        self
    }
}

/// What an answer says about a failure.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub status: u16,
    pub code: String,
    pub message: String,
    pub request_id: Option<String>,
    /// Is it the answer to a part of a batch?
    pub in_batch: bool,
}

/// Takes the index off the front of a message, and the request id and time off its end.
fn split_index(message: &str) -> (Option<usize>, &str) {
    let text = message.split("\nRequestId:").next().unwrap_or(message);
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    match (text[..digits].parse(), text[digits..].strip_prefix(':')) {
        (Ok(index), Some(rest)) => (Some(index), rest),
        _ => (None, text),
    }
}

impl From<TransportError> for Error {
    fn from(error: TransportError) -> Self {
        let mut failed = Self::new(ErrorKind::Transport, error.to_string());
        failed.0.applied = match error.reached {
            Reached::Nothing => Applied::No,
            Reached::Perhaps => Applied::Unknown,
        };
        failed.0.source = Some(Box::new(error));
        failed
    }
}

/// A check of the data model, made before anything is sent.
impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        let mut error = Self::input(failure.message.into_owned());
        error.0.code = Some(failure.code);
        error.0.code_text = failure.code.name().to_owned();
        error
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
        fmt::Debug::fmt(&self.0, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests;
