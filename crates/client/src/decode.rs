//! From the bytes of an answer straight into the caller's type.
//!
//! A row is read once: its members are borrowed from the answer, given their types, and offered to the places that the
//! derive made for them. Nothing is built in between.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::entity::{PARTITION_KEY, ROW_KEY, TIMESTAMP};
use lazuli_model::{DateTime, EdmType};
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::entity::Entity;
use crate::error::{Error, Result};
use crate::value::{FromValue, WireValue, WrongType};

/// Most members of one entity that are read: properties, their annotations, and what services add.
const MEMBERS_MAX: usize = 2048;

const ANNOTATION: &str = "@odata.type";
const ETAG: &str = "odata.etag";

/// Why an entity could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    property: String,
    reason: String,
}

impl DecodeError {
    /// A property that has no value but must have one.
    pub fn missing(name: &str) -> Self {
        Self { property: name.to_owned(), reason: "is missing".to_owned() }
    }

    /// A property that has another type than its field.
    pub fn wrong(name: &str, wrong: &WrongType) -> Self {
        Self { property: name.to_owned(), reason: wrong.to_string() }
    }

    /// A property that a strict type does not have (MB-13).
    pub fn unknown(name: &str) -> Self {
        Self { property: name.to_owned(), reason: "is not a property of this type".to_owned() }
    }

    /// The property that could not be read.
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
        Error::answer(error.to_string())
    }
}

/// What the service says of an entity besides its properties.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Head<'a> {
    /// PartitionKey, if it was selected.
    pub partition: Cow<'a, str>,
    /// RowKey, if it was selected.
    pub row: Cow<'a, str>,
    /// Timestamp, if it was selected.
    pub timestamp: Option<DateTime>,
    /// The ETag, if the service told it.
    pub etag: Option<Cow<'a, str>>,
}

/// An entity as it came: its keys and version, and its members with their types.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawEntity<'a> {
    /// Keys, timestamp and ETag.
    pub head: Head<'a>,
    members: Vec<(Cow<'a, str>, WireValue<'a>)>,
    /// Types that came before their property.
    annotations: Vec<(Cow<'a, str>, EdmType)>,
}

impl<'a> RawEntity<'a> {
    /// The properties in the order in which they came.
    pub fn members(&self) -> impl Iterator<Item = (&str, &WireValue<'a>)> {
        self.members.iter().map(|(name, value)| (&**name, value))
    }

    /// The value of a property.
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
            return Err("an entity with too many members".to_owned());
        }
        Ok(())
    }

    fn annotate(
        &mut self,
        name: Cow<'a, str>,
        length: usize,
        kind: &WireValue<'_>,
    ) -> std::result::Result<(), String> {
        let WireValue::String(kind) = kind else { return Err(format!("{name} is not a text")) };
        let kind = EdmType::from_name(kind).ok_or_else(|| format!("{name} is not a known type"))?;
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
            None if self.annotations.len() >= MEMBERS_MAX => return Err("too many types".to_owned()),
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

/// Gives a value the type that its annotation says.
fn typed<'a>(name: &str, value: WireValue<'a>, kind: EdmType) -> std::result::Result<WireValue<'a>, String> {
    let converted = match (kind, value) {
        (_, WireValue::Null) => Some(WireValue::Null),
        (EdmType::String, WireValue::String(text)) => Some(WireValue::String(text)),
        (EdmType::Boolean, WireValue::Boolean(value)) => Some(WireValue::Boolean(value)),
        (EdmType::Int32, WireValue::Int32(value)) => Some(WireValue::Int32(value)),
        (EdmType::Int64, WireValue::Int32(value)) => Some(WireValue::Int64(i64::from(value))),
        (EdmType::Int64, WireValue::Int64(value)) => Some(WireValue::Int64(value)),
        (EdmType::Double, WireValue::Double(value)) => Some(WireValue::Double(value)),
        (EdmType::Double, WireValue::Int32(value)) => Some(WireValue::Double(f64::from(value))),
        (EdmType::Double, WireValue::Int64(value)) => Some(WireValue::Double(value as f64)),
        (kind, WireValue::String(text)) => parse(kind, &text),
        _ => None,
    };
    converted.ok_or_else(|| format!("property {name} is not of the type {}", kind.name()))
}

fn parse(kind: EdmType, text: &str) -> Option<WireValue<'static>> {
    match kind {
        EdmType::Binary => STANDARD.decode(text).ok().map(WireValue::Binary),
        EdmType::Boolean => text.parse().ok().map(WireValue::Boolean),
        EdmType::DateTime => DateTime::parse(text).map(WireValue::DateTime),
        EdmType::Double => match text {
            "NaN" => Some(WireValue::Double(f64::NAN)),
            "Infinity" | "INF" => Some(WireValue::Double(f64::INFINITY)),
            "-Infinity" | "-INF" => Some(WireValue::Double(f64::NEG_INFINITY)),
            number => number.parse().ok().map(WireValue::Double),
        },
        EdmType::Guid => text.parse().ok().map(WireValue::Guid),
        EdmType::Int32 => text.parse().ok().map(WireValue::Int32),
        EdmType::Int64 => text.parse().ok().map(WireValue::Int64),
        EdmType::String => None,
    }
}

/// Reads the entities of a page.
pub fn decode_page<T: Entity>(body: &[u8]) -> Result<Vec<T>> {
    let mut out = Vec::new();
    each_entity(body, |raw| {
        out.push(T::decode(raw).map_err(|error| named(raw, &error))?);
        Ok(())
    })?;
    Ok(out)
}

/// Reads one entity.
pub fn decode_entity<T: Entity>(body: &[u8]) -> Result<T> {
    let mut raw = RawEntity::default();
    let mut reader = serde_json::Deserializer::from_slice(body);
    EntitySeed(&mut raw).deserialize(&mut reader).map_err(|error| unreadable(&error))?;
    reader.end().map_err(|error| unreadable(&error))?;
    T::decode(&raw).map_err(|error| Error::answer(named(&raw, &error)))
}

fn named(raw: &RawEntity<'_>, error: &DecodeError) -> String {
    format!("entity ('{}', '{}'): {error}", raw.head.partition, raw.head.row)
}

fn unreadable(error: &serde_json::Error) -> Error {
    Error::answer(format!("the answer is not one of a table service: {error}"))
}

/// Walks a page and shows each entity.
fn each_entity<'a>(
    body: &'a [u8],
    mut see: impl FnMut(&RawEntity<'a>) -> std::result::Result<(), String>,
) -> Result<()> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    PageSeed(&mut see).deserialize(&mut reader).map_err(|error| unreadable(&error))?;
    reader.end().map_err(|error| unreadable(&error))
}

struct PageSeed<F>(F);

impl<'de, F: FnMut(&RawEntity<'de>) -> std::result::Result<(), String>> DeserializeSeed<'de> for PageSeed<F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, F: FnMut(&RawEntity<'de>) -> std::result::Result<(), String>> Visitor<'de> for PageSeed<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a page of entities")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> std::result::Result<(), A::Error> {
        while let Some(Text(name)) = map.next_key::<Text<'de>>()? {
            if name == "value" {
                map.next_value_seed(RowsSeed(&mut self.0))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

struct RowsSeed<'f, F>(&'f mut F);

impl<'de, F: FnMut(&RawEntity<'de>) -> std::result::Result<(), String>> DeserializeSeed<'de>
    for RowsSeed<'_, F>
{
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, F: FnMut(&RawEntity<'de>) -> std::result::Result<(), String>> Visitor<'de> for RowsSeed<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of entities")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<(), A::Error> {
        let mut raw = RawEntity::default();
        while seq.next_element_seed(EntitySeed(&mut raw))?.is_some() {
            (self.0)(&raw).map_err(de::Error::custom)?;
            raw.clear();
        }
        Ok(())
    }
}

struct EntitySeed<'r, 'a>(&'r mut RawEntity<'a>);

impl<'de> DeserializeSeed<'de> for EntitySeed<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for EntitySeed<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an entity")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        while let Some(Text(name)) = map.next_key::<Text<'de>>()? {
            let value = map.next_value_seed(ValueSeed)?;
            self.0.add(name, value).map_err(de::Error::custom)?;
        }
        Ok(())
    }
}

/// A text that is borrowed unless it has escapes.
struct Text<'a>(Cow<'a, str>);

impl<'de> de::Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor).map(Text)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> std::result::Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> std::result::Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

struct ValueSeed;

impl<'de> DeserializeSeed<'de> for ValueSeed {
    type Value = WireValue<'de>;

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed {
    type Value = WireValue<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> std::result::Result<Self::Value, E> {
        Ok(WireValue::Null)
    }

    fn visit_bool<E>(self, value: bool) -> std::result::Result<Self::Value, E> {
        Ok(WireValue::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> std::result::Result<Self::Value, E> {
        Ok(i32::try_from(value).map_or(WireValue::Int64(value), WireValue::Int32))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> std::result::Result<Self::Value, E> {
        match i64::try_from(value) {
            Ok(value) => self.visit_i64(value),
            Err(_) => Ok(WireValue::Double(value as f64)),
        }
    }

    fn visit_f64<E>(self, value: f64) -> std::result::Result<Self::Value, E> {
        Ok(WireValue::Double(value))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> std::result::Result<Self::Value, E> {
        Ok(WireValue::String(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> std::result::Result<Self::Value, E> {
        Ok(WireValue::String(Cow::Owned(text.to_owned())))
    }
}

/// Reads a property into its place: what the derive calls. Null is no value.
pub fn fill<T: FromValue>(
    place: &mut Option<T>,
    name: &str,
    value: &WireValue<'_>,
) -> std::result::Result<bool, DecodeError> {
    if *value != WireValue::Null {
        *place = Some(T::from_value(value).map_err(|wrong| DecodeError::wrong(name, &wrong))?);
    }
    Ok(true)
}

/// What was read, or what an absent property is read as: what the derive calls.
pub fn settle<T: FromValue>(place: Option<T>, name: &str) -> std::result::Result<T, DecodeError> {
    place.or_else(T::absent).ok_or_else(|| DecodeError::missing(name))
}

#[cfg(test)]
mod tests;
