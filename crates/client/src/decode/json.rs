//! Parses the JSON of responses in one pass: each member goes to a [`RawEntity`] as it is read.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::decode::RawEntity;
use crate::error::{Error, Result};
use crate::value::WireValue;

/// Parses one entity.
pub(super) fn entity(body: &[u8]) -> Result<RawEntity<'_>> {
    let mut raw = RawEntity::default();
    let mut reader = serde_json::Deserializer::from_slice(body);
    EntitySeed(&mut raw).deserialize(&mut reader).map_err(|error| unreadable(&error))?;
    reader.end().map_err(|error| unreadable(&error))?;
    Ok(raw)
}

/// Parses a page and calls back for each entity.
pub(super) fn each_entity<'a>(
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
        let mut found = false;
        while let Some(Text(name)) = map.next_key::<Text<'de>>()? {
            if name == "value" {
                map.next_value_seed(RowsSeed(&mut self.0))?;
                found = true;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        // An error with status 200 must not be mistaken for an empty page.
        if found { Ok(()) } else { Err(de::Error::missing_field("value")) }
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

/// A string that is borrowed unless it has escapes.
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

fn unreadable(error: &serde_json::Error) -> Error {
    Error::unreadable(format!("the response is not from a table service: {error}"))
}
