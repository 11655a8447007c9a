//! What an error tells its reader to do next.

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
    /// The service refused the request, or failed. [`crate::Error::code`] says why.
    Service,
    /// One operation of a batch was refused, and with it the batch. [`crate::Error::batch_index`] says which one.
    BatchOperation,
    /// No answer came.
    Transport,
    /// The time for the operation, retries included, is over.
    Deadline,
    /// The answer could not be understood, or is larger than what is taken.
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
