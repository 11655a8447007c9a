//! Decodes the bytes of a response directly into the caller's type.
//!
//! A row is parsed once: its members are borrowed from the response, given their types, and passed to the slots that the
//! derive generated for them, without intermediate structures.
//!
//! ```
//! use lazuli_client::{Entity, decode::decode_page};
//!
//! #[derive(Entity)]
//! struct Person {
//!     #[table(partition_key)] city: String,
//!     #[table(row_key)] name: String,
//!     age: i32,
//! }
//!
//! // A stored page, decoded later without a service.
//! let body = br#"{"value": [{"PartitionKey": "Delft", "RowKey": "Ann", "age": 41}]}"#;
//! let people: Vec<Person> = decode_page(body)?;
//! assert_eq!((people[0].name.as_str(), people[0].age), ("Ann", 41));
//! # Ok::<(), lazuli_client::Error>(())
//! ```

mod json;
mod wire_type;

use std::borrow::Cow;
use std::fmt;

use lazuli_model::DateTime;
use lazuli_model::table::entity::{PARTITION_KEY, ROW_KEY, TIMESTAMP};

use crate::entity::Entity;
use crate::error::{Error, Result};
use crate::kind::KIND_PROPERTY;
use crate::props::Props;
use crate::stored::lineage_of;
use crate::value::{WireValue, WrongType};

use self::wire_type::WireType;

/// Maximum number of members of one entity: properties, their annotations, and additions of services.
const MEMBERS_MAX: usize = 2048;

const ANNOTATION: &str = "@odata.type";
const ETAG: &str = "odata.etag";

/// The reason why an entity could not be decoded.
///
/// ```
/// # use lazuli_embedded::doc::Person;
///
/// use lazuli_client::{Entity, decode::RawEntity};
///
/// let raw = RawEntity::parse(br#"{"PartitionKey": "Delft", "RowKey": "Ann", "Age": "many"}"#).unwrap();
/// let error = Person::decode(&raw).unwrap_err();
/// assert_eq!(error.to_string(), "property Age: expected Edm.Int32, found Edm.String");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    property: String,
    reason: String,
}

impl DecodeError {
    /// A required property that is missing.
    ///
    /// ```
    /// use lazuli_client::decode::DecodeError;
    ///
    /// assert_eq!(DecodeError::missing("Age").to_string(), "property Age: is missing");
    /// ```
    pub fn missing(name: &str) -> Self {
        Self { property: name.to_owned(), reason: "is missing".to_owned() }
    }

    /// A property with another type than its field.
    ///
    /// ```
    /// use lazuli_client::decode::DecodeError;
    /// use lazuli_client::value::{FromValue, WireValue};
    ///
    /// let wrong = i32::from_value(&WireValue::Boolean(true)).unwrap_err();
    /// let error = DecodeError::wrong("Age", &wrong);
    /// assert_eq!(error.to_string(), "property Age: expected Edm.Int32, found Edm.Boolean");
    /// ```
    pub fn wrong(name: &str, wrong: &WrongType) -> Self {
        Self { property: name.to_owned(), reason: wrong.to_string() }
    }

    /// A property that a strict type does not have (MB-13).
    ///
    /// ```
    /// # use lazuli_client::Entity;
    /// use lazuli_client::decode::{DecodeError, RawEntity};
    ///
    /// #[derive(Debug, Entity)]
    /// #[table(strict)]
    /// struct Strict { #[table(partition_key)] a: String, #[table(row_key)] b: String }
    ///
    /// let raw = RawEntity::parse(br#"{"PartitionKey": "a", "RowKey": "b", "Hats": 3}"#).unwrap();
    /// assert_eq!(Strict::decode(&raw).unwrap_err(), DecodeError::unknown("Hats"));
    /// ```
    pub fn unknown(name: &str) -> Self {
        Self { property: name.to_owned(), reason: "is not a property of this type".to_owned() }
    }

    /// The property that could not be decoded.
    ///
    /// ```
    /// assert_eq!(lazuli_client::decode::DecodeError::missing("Age").property(), "Age");
    /// ```
    pub fn property(&self) -> &str {
        &self.property
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "property {}: {}", self.property, self.reason)
    }
}

impl std::error::Error for DecodeError {}

impl From<DecodeError> for Error {
    fn from(error: DecodeError) -> Self {
        Error::unreadable(error.to_string())
    }
}

/// System properties of an entity.
///
/// ```
/// use lazuli_client::decode::RawEntity;
///
/// let raw = RawEntity::parse(br#"{"odata.etag": "W/\"1\"", "PartitionKey": "Delft", "RowKey": "Ann"}"#)?;
/// assert_eq!((&*raw.head.partition, &*raw.head.row), ("Delft", "Ann"));
/// assert_eq!(raw.head.etag.as_deref(), Some("W/\"1\""));
/// assert_eq!(raw.head.timestamp, None); // not in the JSON
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Head<'a> {
    /// PartitionKey, if selected.
    pub partition: Cow<'a, str>,
    /// RowKey, if selected.
    pub row: Cow<'a, str>,
    /// Timestamp, if selected.
    pub timestamp: Option<DateTime>,
    /// The ETag, if the service sent it.
    pub etag: Option<Cow<'a, str>>,
}

/// An entity as received: its keys and version, and its members with their types.
///
/// ```
/// use lazuli_client::{decode::RawEntity, value::WireValue};
///
/// let body = br#"{"PartitionKey": "a", "RowKey": "b", "Sold@odata.type": "Edm.Int64", "Sold": "5"}"#;
/// let raw = RawEntity::parse(body)?;
/// assert_eq!(raw.member("Sold"), Some(&WireValue::Int64(5)));
/// assert_eq!(raw.head.row, "b");
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawEntity<'a> {
    /// Keys, timestamp and ETag.
    pub head: Head<'a>,
    members: Vec<(Cow<'a, str>, WireValue<'a>)>,
    /// Types that came before their property.
    annotations: Vec<(Cow<'a, str>, WireType)>,
}

impl<'a> RawEntity<'a> {
    /// Parses an entity from the JSON of a response.
    ///
    /// ```
    /// use lazuli_client::decode::RawEntity;
    ///
    /// let raw = RawEntity::parse(br#"{"PartitionKey": "a", "RowKey": "b", "Age": 41}"#).unwrap();
    /// assert_eq!(raw.members().count(), 1);
    /// assert!(RawEntity::parse(br#"["no", "entity"]"#).is_err());
    /// ```
    pub fn parse(body: &'a [u8]) -> Result<Self> {
        json::entity(body)
    }

    /// As if these properties had been received.
    pub(crate) fn of(head: Head<'a>, props: &'a Props) -> Self {
        let members = props.iter().map(|(name, value)| (Cow::Borrowed(name), WireValue::from(value)));
        Self { head, members: members.collect(), annotations: Vec::new() }
    }

    /// Decodes it, unless it names another kind: writing it back would change its kind.
    pub(crate) fn decode<T: Entity>(&self) -> Result<T> {
        check_kind::<T>(self)
            .and_then(|()| T::decode(self))
            .map_err(|error| Error::unreadable(named(self, &error)))
    }

    /// The properties in the order received.
    ///
    /// ```
    /// use lazuli_client::decode::RawEntity;
    ///
    /// let raw = RawEntity::parse(br#"{"RowKey": "b", "Hats": 3, "Age": 41}"#)?;
    /// assert_eq!(raw.members().map(|(name, _)| name).collect::<Vec<_>>(), ["Hats", "Age"]);
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn members(&self) -> impl Iterator<Item = (&str, &WireValue<'a>)> {
        self.members.iter().map(|(name, value)| (&**name, value))
    }

    /// The value of a property.
    ///
    /// ```
    /// use lazuli_client::{decode::RawEntity, value::WireValue};
    ///
    /// let raw = RawEntity::parse(br#"{"Age": 41, "Hats": null}"#)?;
    /// assert_eq!(raw.member("Age"), Some(&WireValue::Int32(41)));
    /// assert_eq!(raw.member("Hats"), Some(&WireValue::Null)); // selected, but absent
    /// assert_eq!(raw.member("Shoes"), None);
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn member(&self, name: &str) -> Option<&WireValue<'a>> {
        self.members.iter().find(|(given, _)| given == name).map(|(_, value)| value)
    }

    fn clear(&mut self) {
        self.head = Head::default();
        self.members.clear();
        self.annotations.clear();
    }

    fn add(&mut self, name: Cow<'a, str>, value: WireValue<'a>) -> std::result::Result<(), String> {
        match &*name {
            PARTITION_KEY => self.head.partition = text_of(value),
            ROW_KEY => self.head.row = text_of(value),
            TIMESTAMP => self.head.timestamp = DateTime::parse(&text_of(value)),
            ETAG => self.head.etag = Some(text_of(value)),
            other if other.starts_with("odata.") => {}
            other => match other.strip_suffix(ANNOTATION).map(str::len) {
                Some(length) => return self.annotate(name, length, &value),
                None if other.contains("@odata.") => {}
                None => return self.property(name, value),
            },
        }
        Ok(())
    }

    fn property(&mut self, name: Cow<'a, str>, value: WireValue<'a>) -> std::result::Result<(), String> {
        let known = match self.annotations.last() {
            Some((given, kind)) if *given == name => Some(*kind),
            Some(_) => self.annotations.iter().find(|(given, _)| *given == name).map(|(_, kind)| *kind),
            None => None,
        };
        let value = match known {
            Some(kind) => typed(&name, value, kind)?,
            None => value,
        };
        self.members.push((name, value));
        if self.members.len() > MEMBERS_MAX {
            return Err("the entity has too many members".to_owned());
        }
        Ok(())
    }

    fn annotate(
        &mut self,
        name: Cow<'a, str>,
        length: usize,
        kind: &WireValue<'_>,
    ) -> std::result::Result<(), String> {
        let WireValue::String(kind) = kind else { return Err(format!("{name} is not a string")) };
        let kind = WireType::from_name(kind).ok_or_else(|| format!("{name} is not a known type"))?;
        let name = match name {
            Cow::Borrowed(text) => Cow::Borrowed(&text[..length]),
            Cow::Owned(mut text) => {
                text.truncate(length);
                Cow::Owned(text)
            }
        };
        match self.members.iter_mut().find(|(given, _)| *given == name) {
            Some((_, value)) => {
                let before = std::mem::replace(value, WireValue::Null);
                *value = typed(&name, before, kind)?;
            }
            None if self.annotations.len() >= MEMBERS_MAX => {
                return Err("the entity has too many type annotations".to_owned());
            }
            None => self.annotations.push((name, kind)),
        }
        Ok(())
    }
}

fn text_of(value: WireValue<'_>) -> Cow<'_, str> {
    match value {
        WireValue::String(text) => text,
        _ => Cow::Borrowed(""),
    }
}

/// Converts a value to the type of its annotation.
fn typed<'a>(name: &str, value: WireValue<'a>, kind: WireType) -> std::result::Result<WireValue<'a>, String> {
    kind.read(value).ok_or_else(|| format!("property {name} is not a valid {}", kind.name()))
}

/// Decodes the entities of a page.
///
/// ```
/// # use lazuli_embedded::doc::Person;
///
/// use lazuli_client::decode::decode_page;
///
/// let body = br#"{"value": [{"PartitionKey": "Delft", "RowKey": "Ann", "Age": 41},
///                           {"PartitionKey": "Delft", "RowKey": "Bob", "Age": 28}]}"#;
/// let people: Vec<Person> = decode_page(body)?;
/// assert_eq!(people[1], Person::new("Delft", "Bob", 28));
/// # Ok::<(), lazuli_client::Error>(())
/// ```
pub fn decode_page<T: Entity>(body: &[u8]) -> Result<Vec<T>> {
    let (mut out, mut misfit) = (Vec::new(), None);
    let walked = json::each_entity(body, |raw| {
        let entity = T::decode(raw).map_err(|error| misfit.insert(named(raw, &error)).clone())?;
        out.push(entity);
        Ok(())
    });
    // An entity that the type cannot decode does not make the response invalid.
    match misfit {
        Some(text) => Err(Error::unreadable(text)),
        None => walked.map(|()| out),
    }
}

/// Decodes one entity. An entity that names another kind is rejected: writing it back would change its
/// kind.
///
/// ```
/// use lazuli_client::{Dynamic, decode::decode_entity};
///
/// let ann: Dynamic = decode_entity(br#"{"PartitionKey": "Delft", "RowKey": "Ann", "Age": 41}"#)?;
/// assert_eq!(ann.get::<i32>("Age")?, Some(41));
/// # Ok::<(), lazuli_client::Error>(())
/// ```
pub fn decode_entity<T: Entity>(body: &[u8]) -> Result<T> {
    RawEntity::parse(body)?.decode()
}

/// Queries leave this check to the service, but a single entity is not requested by kind (LA-14, LA-16).
fn check_kind<T: Entity>(raw: &RawEntity<'_>) -> std::result::Result<(), DecodeError> {
    match (T::LINEAGE, lineage_of(raw)) {
        (Some(own), Some(found)) if !found.starts_with(own) => {
            let wrong = WrongType::because(format!("the kind is '{found}', expected '{own}'"));
            Err(DecodeError::wrong(KIND_PROPERTY, &wrong))
        }
        _ => Ok(()),
    }
}

fn named(raw: &RawEntity<'_>, error: &DecodeError) -> String {
    format!("entity ('{}', '{}'): {error}", raw.head.partition, raw.head.row)
}

#[cfg(test)]
mod tests;
