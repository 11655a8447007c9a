//! Error kinds, and whether a change was applied.

/// The origin of an error.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// use lazuli_client::{Dynamic, ErrorKind};
///
/// let people = service.table("People")?;
/// // Rejected by the service, and rejected before it was sent.
/// let missing = people.get::<Dynamic>("a", "1").await.unwrap_err();
/// let no_key = people.get::<Dynamic>("a/b", "1").await.unwrap_err();
/// assert_eq!((missing.kind(), no_key.kind()), (ErrorKind::Service, ErrorKind::Input));
/// # Ok(()) })
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The service rejected the request, or failed: see [`crate::Error::code`].
    Service,
    /// One operation of a batch failed, and with it the batch. [`crate::Error::batch_index`] says which one.
    BatchOperation,
    /// No response was received.
    Transport,
    /// The operation, including retries, exceeded its deadline.
    Deadline,
    /// The response could not be parsed, or is too large.
    InvalidResponse,
    /// The request was not sent, because it is invalid.
    Input,
    /// A query would need more rows in the client than its limit allows: see [`crate::Query::local_limit`].
    LocalLimit,
}

/// Was the change applied?
///
/// ```
/// use lazuli_client::{Applied, Error, TransportError};
///
/// // Nothing was sent, or only the response is missing: do not repeat the second one without checking.
/// let refused = Error::from(TransportError::not_sent("connection refused"));
/// let lost = Error::from(TransportError::lost("connection reset"));
/// assert_eq!((refused.applied(), lost.applied()), (Applied::No, Applied::Unknown));
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Applied {
    /// Yes, it was applied, although a later step failed.
    Yes,
    /// No, nothing was changed.
    No,
    /// Unknown: the response was lost, or an earlier attempt may have been applied.
    Unknown,
}
