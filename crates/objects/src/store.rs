//! The five calls that this crate makes to an object store, each of which may be repeated.

use std::fmt;
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use lazuli_engine::Error;

/// The future of a call.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, ObjectFailure>> + Send + 'a>>;
/// The bytes of an object, as they arrive.
pub type ObjectBody = UnsyncBoxBody<Bytes, ObjectFailure>;

/// An object store. Names consist of letters, digits, `.`, `-`, `_` and `/`.
pub trait Objects: fmt::Debug + Send + Sync + 'static {
    /// Stores an object that consists of these parts. It is durable when this returns. With `is_new`, an object of that name is an error.
    fn put<'a>(&'a self, name: &'a str, parts: Vec<Bytes>, is_new: bool) -> StoreFuture<'a, ()>;

    /// Reads a range of an object, which is not empty. The call fails unless the object contains the whole
    /// range.
    fn get<'a>(&'a self, name: &'a str, range: Range<u64>) -> StoreFuture<'a, ObjectBody>;

    /// The size of an object.
    fn head<'a>(&'a self, name: &'a str) -> StoreFuture<'a, u64>;

    /// Deletes an object, which may already be missing.
    fn delete<'a>(&'a self, name: &'a str) -> StoreFuture<'a, ()>;

    /// Objects whose names start with `prefix` and are greater than `after`, in order.
    fn list<'a>(&'a self, prefix: &'a str, after: &'a str) -> StoreFuture<'a, ObjectPage>;
}

/// One page of a listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectPage {
    /// Names and sizes.
    pub objects: Vec<(String, u64)>,
    /// There are more.
    pub is_truncated: bool,
}

/// The reason why a call failed. It contains nothing of a response, since some stores put keys into their
/// errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectFailure {
    /// There is no such object or bucket.
    Missing,
    /// There is an object of that name.
    Exists,
    /// The credentials are wrong, or do not allow this.
    Denied,
    /// Another status.
    Status(u16),
    /// No connection.
    Unreachable,
    /// The connection broke.
    Broken,
    /// No response in time.
    Late,
    /// The response cannot be understood.
    Unclear,
}

impl ObjectFailure {
    /// The same call may succeed later.
    pub fn is_transient(self) -> bool {
        match self {
            Self::Unreachable | Self::Broken | Self::Late => true,
            Self::Status(status) => status >= 500 || status == 429 || status == 408,
            Self::Missing | Self::Exists | Self::Denied | Self::Unclear => false,
        }
    }

    /// The error of an engine, for a call that was made for this reason.
    pub fn during(self, what: &str) -> Error {
        let why = format!("the object store {self}, {what}");
        match self {
            Self::Late | Self::Status(429 | 503) => Error::Busy(why),
            _ => Error::Unavailable(why),
        }
    }
}

impl fmt::Display for ObjectFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("has no such object or bucket"),
            Self::Exists => f.write_str("already has an object of that name"),
            Self::Denied => f.write_str("denied permission"),
            Self::Status(status) => write!(f, "failed with status {status}"),
            Self::Unreachable => f.write_str("cannot be reached"),
            Self::Broken => f.write_str("broke the connection"),
            Self::Late => f.write_str("did not respond in time"),
            Self::Unclear => f.write_str("sent a response that is not S3"),
        }
    }
}

impl std::error::Error for ObjectFailure {}
