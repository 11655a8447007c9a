//! An entity with the version that was read, so that a change can be conditional on it.

use std::borrow::Cow;
use std::fmt;

use lazuli_model::operation::Match;
use lazuli_model::{DateTime, Value};
use lazuli_protocol::etag;

use crate::decode::{DecodeError, RawEntity};
use crate::entity::{Entity, Writer};
use crate::error::Result;

/// The version of an entity. Opaque: equal tags mean the same version, and that is all they mean.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ETag(String);

impl ETag {
    /// A tag as the service wrote it.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The tag as it is sent.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The time in the tag, of services whose tags have one: the entity's Timestamp.
    pub fn timestamp(&self) -> Option<DateTime> {
        match etag::parse(&self.0) {
            Ok(Match::Version(time)) => Some(time),
            _ => None,
        }
    }
}

impl fmt::Display for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An entity as it was read: what it is, which version it is, and since when.
///
/// It is an [`Entity`] itself: a query for `Versioned<T>` gives each entity with its version.
#[derive(Clone, Debug, PartialEq)]
pub struct Versioned<T> {
    /// The entity.
    pub value: T,
    /// Its version, for [`crate::Table::update_if`] and its like.
    pub etag: ETag,
    /// When the service last changed it.
    pub timestamp: DateTime,
}

impl<T> Versioned<T> {
    /// The same version of something made from the entity.
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Versioned<U> {
        Versioned { value: make(self.value), etag: self.etag, timestamp: self.timestamp }
    }
}

impl<T: Entity> Entity for Versioned<T> {
    const TABLE: Option<&'static str> = T::TABLE;
    const LINEAGE: Option<&'static str> = T::LINEAGE;

    fn partition_key(&self) -> Cow<'_, str> {
        self.value.partition_key()
    }

    fn row_key(&self) -> Cow<'_, str> {
        self.value.row_key()
    }

    fn write(&self, out: &mut Writer) -> Result<()> {
        self.value.write(out)
    }

    /// The tag and the time each follow from the other where only one was told.
    fn decode(raw: &RawEntity<'_>) -> std::result::Result<Self, DecodeError> {
        let told = raw.head.etag.as_deref().map(ETag::new);
        let timestamp = raw.head.timestamp.or_else(|| told.as_ref().and_then(ETag::timestamp));
        let timestamp = timestamp.ok_or_else(|| DecodeError::missing("Timestamp"))?;
        let etag = told.unwrap_or_else(|| ETag::new(etag::header(timestamp)));
        Ok(Self { value: T::decode(raw)?, etag, timestamp })
    }

    fn value_of(&self, name: &str) -> Option<Value> {
        match name {
            "Timestamp" => Some(Value::DateTime(self.timestamp)),
            name => self.value.value_of(name),
        }
    }

    fn names() -> Option<Vec<String>> {
        T::names()
    }
}
