//! An entity with its version, so that a change can be conditional on it.

use std::borrow::Cow;
use std::fmt;

use lazuli_model::table::entity::TIMESTAMP;
use lazuli_model::table::operation::Match;
use lazuli_model::{DateTime, Value};
use lazuli_protocol::table::etag;

use crate::decode::{DecodeError, RawEntity};
use crate::entity::{Entity, Writer};
use crate::error::Result;

/// The version of an entity. It is opaque: only equality of tags is meaningful, and means the same version.
///
/// ```
/// # use lazuli_embedded::doc::*; people(async |people| {
/// let read = people.get::<Person>("Delft", "Ann").await?;
/// let older = Person { age: Some(42), ..read.value.clone() };
/// let written = people.update_if(&older, &read.etag).await?;
/// assert_ne!(written, read.etag);
/// assert!(people.update_if(&older, &read.etag).await.unwrap_err().is_precondition_failed());
/// # Ok(()) });
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ETag(String);

impl ETag {
    /// A tag as the service sent it.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// use lazuli_client::ETag;
    ///
    /// // Through a web form and back, for example.
    /// let sent = people.get::<Person>("Delft", "Ann").await?.etag.to_string();
    /// people.delete_entity_if("Delft", "Ann", &ETag::new(sent)).await?;
    /// # Ok(()) });
    /// ```
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The tag as sent.
    ///
    /// ```
    /// use lazuli_client::ETag;
    ///
    /// assert_eq!(ETag::new("W/\"1\"").as_str(), "W/\"1\"");
    /// ```
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The Timestamp of the entity, if the service encodes it in the tag.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// use lazuli_client::ETag;
    ///
    /// let read = people.get::<Person>("Delft", "Ann").await?;
    /// assert_eq!(read.etag.timestamp(), Some(read.timestamp));
    /// assert_eq!(ETag::new("W/\"from another service\"").timestamp(), None);
    /// # Ok(()) });
    /// ```
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

/// An entity as read, with its version and Timestamp.
///
/// It is an [`Entity`] itself: a query for `Versioned<T>` returns each entity with its version.
///
/// ```
/// # use lazuli_embedded::doc::*; people(async |people| {
/// use lazuli_client::Versioned;
///
/// for person in people.query::<Versioned<Person>>().filter(Person::age().lt(30)).collect().await? {
///     let older = Person { age: person.value.age.map(|age| age + 1), ..person.value };
///     people.update_if(&older, &person.etag).await?; // unless it has changed since
/// }
/// assert_eq!(people.get::<Person>("Delft", "Bob").await?.value.age, Some(29));
/// # Ok(()) });
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Versioned<T> {
    /// The entity.
    pub value: T,
    /// Its version, for conditional operations such as [`crate::Table::update_if`].
    pub etag: ETag,
    /// Time of its last change.
    pub timestamp: DateTime,
}

impl<T> Versioned<T> {
    /// The same version with a converted entity.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let ann = people.get::<Person>("Delft", "Ann").await?;
    /// let age = ann.clone().map(|person| person.age);
    /// assert_eq!((age.value, age.etag), (Some(41), ann.etag));
    /// # Ok(()) });
    /// ```
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

    /// If only one of tag and time was sent, the other is derived from it.
    fn decode(raw: &RawEntity<'_>) -> std::result::Result<Self, DecodeError> {
        let told = raw.head.etag.as_deref().map(ETag::new);
        let timestamp = raw.head.timestamp.or_else(|| told.as_ref().and_then(ETag::timestamp));
        let timestamp = timestamp.ok_or_else(|| DecodeError::missing("Timestamp"))?;
        let etag = told.unwrap_or_else(|| ETag::new(etag::header(timestamp)));
        Ok(Self { value: T::decode(raw)?, etag, timestamp })
    }

    fn value_of(&self, name: &str) -> Option<Value> {
        match name {
            TIMESTAMP => Some(Value::DateTime(self.timestamp)),
            name => self.value.value_of(name),
        }
    }

    fn names() -> Option<Vec<String>> {
        let mut names = T::names()?;
        if !names.iter().any(|name| name == TIMESTAMP) {
            names.push(TIMESTAMP.to_owned());
        }
        Some(names)
    }
}
