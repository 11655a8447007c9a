//! JSON requests: an entity or a table from one flat object.
//!
//! Members are read in order with their duplicates, which a map would lose; a type annotation may come before or
//! after its property.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::table::entity::TIMESTAMP;
use lazuli_model::{DateTime, EdmType, ErrorCode, Failure, Value};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::table::draft::{DraftValue, EntityDraft, MEMBERS_MAX};

const ANNOTATION: &str = "@odata.type";
/// Number of members that most entities do not exceed.
const MEMBERS_USUAL: usize = 16;

/// The JSON values of properties.
#[derive(Clone, Debug, PartialEq)]
enum Raw<'a> {
    Null,
    Boolean(bool),
    Integer(i64),
    /// An integer outside the range of 64 bits, or a number with a point or an exponent.
    Number(f64),
    Text(Cow<'a, str>),
    /// An array or object.
    Nested,
}

/// Reads an entity.
pub fn entity(body: &[u8]) -> Result<EntityDraft<'_>, Failure> {
    let (values, annotations) = split_members(members(body)?)?;
    let mut draft = EntityDraft { properties: Vec::with_capacity(values.len()), ..EntityDraft::default() };
    for (name, raw) in values {
        let kind = annotations.iter().find(|(given, _)| *given == name).map(|(_, kind)| *kind);
        draft.take(name, raw, kind)?;
    }
    Ok(draft)
}

/// Reads the name of a table to create: `None` if it is not given.
pub fn table(body: &[u8]) -> Result<Option<String>, Failure> {
    let mut found = members(body)?.into_iter().filter(|(name, _)| name == "TableName").map(|(_, raw)| raw);
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(ErrorCode::DuplicatePropertiesSpecified.into()),
        (None | Some(Raw::Null), None) => Ok(None),
        (Some(Raw::Text(name)), None) => Ok(Some(name.into_owned())),
        (Some(_), None) => Err(Failure::unreadable_body()),
    }
}

impl<'a> EntityDraft<'a> {
    fn take(&mut self, name: Cow<'a, str>, raw: Raw<'a>, kind: Option<EdmType>) -> Result<(), Failure> {
        if EntityDraft::is_system(&name) {
            let text = match raw {
                Raw::Null => None,
                Raw::Text(text) if kind.is_none_or(|kind| kind == EdmType::String) => Some(text),
                Raw::Nested | Raw::Text(_) | Raw::Boolean(_) | Raw::Integer(_) | Raw::Number(_) => {
                    self.set_system_of_wrong_type(&name);
                    return Ok(());
                }
            };
            return self.set_system(&name, text);
        }
        match convert(raw, kind)? {
            Some(value) => self.properties.push((name, value)),
            None => self.nulls.push(name),
        }
        Ok(())
    }
}

/// Properties with their values, and properties with their types.
type Member<'a> = (Cow<'a, str>, Raw<'a>);
type Annotation<'a> = (Cow<'a, str>, EdmType);

/// Separates properties from their metadata.
fn split_members<'a>(members: Vec<Member<'a>>) -> Result<(Vec<Member<'a>>, Vec<Annotation<'a>>), Failure> {
    if !members.iter().any(|(name, _)| EntityDraft::is_control(name)) {
        return Ok((members, Vec::new()));
    }
    let mut values = Vec::with_capacity(members.len());
    let mut annotations = Vec::new();
    for (name, raw) in members {
        if let Some(property) = name.strip_suffix(ANNOTATION) {
            if property == TIMESTAMP {
                continue;
            }
            let Raw::Text(kind) = raw else { return Err(Failure::unreadable_body()) };
            let kind = EdmType::from_name(&kind).ok_or_else(Failure::unreadable_body)?;
            let property = match &name {
                Cow::Borrowed(name) => Cow::Borrowed(&name[..property.len()]),
                Cow::Owned(_) => Cow::Owned(property.to_owned()),
            };
            annotations.push((property, kind));
        } else if !EntityDraft::is_control(&name) {
            values.push((name, raw));
        }
    }
    Ok((values, annotations))
}

/// The value of a property; `None` for null.
fn convert(raw: Raw<'_>, kind: Option<EdmType>) -> Result<Option<DraftValue<'_>>, Failure> {
    let value = match (kind, raw) {
        (_, Raw::Null) => return Ok(None),
        (None | Some(EdmType::String), Raw::Text(text)) => return Ok(Some(DraftValue::Text(text))),
        (None | Some(EdmType::Boolean), Raw::Boolean(value)) => Some(Value::Boolean(value)),
        (None, Raw::Integer(value)) => Some(match i32::try_from(value) {
            Ok(value) => Value::Int32(value),
            Err(_) => Value::Double(value as f64),
        }),
        (None | Some(EdmType::Double), Raw::Number(value)) => Some(Value::Double(value)),
        (Some(EdmType::Double), Raw::Integer(value)) => Some(Value::Double(value as f64)),
        // `-0`, which is parsed as a floating-point number.
        (Some(EdmType::Int32), Raw::Number(0.0)) => Some(Value::Int32(0)),
        (Some(EdmType::Int64), Raw::Number(0.0)) => Some(Value::Int64(0)),
        (Some(EdmType::Int32), Raw::Integer(value)) => i32::try_from(value).ok().map(Value::Int32),
        (Some(EdmType::Int64), Raw::Integer(value)) => Some(Value::Int64(value)),
        (Some(kind), Raw::Text(text)) => parse(kind, &text),
        _ => None,
    };
    value.map(|value| Some(DraftValue::Other(value))).ok_or_else(Failure::unreadable_body)
}

/// Parses a value that was sent as a string with a type.
pub fn parse(kind: EdmType, text: &str) -> Option<Value> {
    match kind {
        EdmType::Binary => STANDARD.decode(text).ok().map(Value::Binary),
        EdmType::Boolean => match text {
            "1" => Some(Value::Boolean(true)),
            "0" => Some(Value::Boolean(false)),
            // Spreadsheets write it in capitals.
            _ if text.eq_ignore_ascii_case("true") => Some(Value::Boolean(true)),
            _ if text.eq_ignore_ascii_case("false") => Some(Value::Boolean(false)),
            _ => None,
        },
        EdmType::DateTime => DateTime::parse(text).map(Value::DateTime),
        EdmType::Double => double(text).map(Value::Double),
        EdmType::Guid => text.parse().ok().map(Value::Guid),
        EdmType::Int32 => text.parse().ok().map(Value::Int32),
        EdmType::Int64 => text.parse().ok().map(Value::Int64),
        EdmType::String => Some(Value::String(text.to_owned())),
    }
}

fn double(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" | "INF" => Some(f64::INFINITY),
        "-Infinity" | "-INF" => Some(f64::NEG_INFINITY),
        // Rust also parses names such as `inf`, and turns numbers that are too large into infinity: neither is valid
        // here.
        _ if text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b)) => {
            text.parse().ok().filter(|value: &f64| value.is_finite())
        }
        _ => None,
    }
}

/// The members of the single object in the body, in order.
fn members(body: &[u8]) -> Result<Vec<Member<'_>>, Failure> {
    // Some clients start with a byte order mark.
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    // Once for all strings in it.
    let body = std::str::from_utf8(body).map_err(|_| Failure::unreadable_body())?;
    let mut reader = serde_json::Deserializer::from_str(body);
    let members = Members.deserialize(&mut reader).map_err(|_| Failure::unreadable_body())?;
    reader.end().map_err(|_| Failure::unreadable_body())?;
    if members.len() > MEMBERS_MAX {
        return Err(ErrorCode::TooManyProperties.into());
    }
    Ok(members)
}

struct Members;

impl<'de> DeserializeSeed<'de> for Members {
    type Value = Vec<Member<'de>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Members {
    type Value = Vec<Member<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::with_capacity(MEMBERS_USUAL);
        while let Some(name) = map.next_key_seed(Name)? {
            let value = map.next_value_seed(RawValue)?;
            members.push((name, value));
            if members.len() > MEMBERS_MAX {
                // There are too many members already; only check that the rest is JSON.
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            }
        }
        Ok(members)
    }
}

struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

struct RawValue;

impl<'de> DeserializeSeed<'de> for RawValue {
    type Value = Raw<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw<'de>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for RawValue {
    type Value = Raw<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Raw<'de>, E> {
        Ok(Raw::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw<'de>, E> {
        Ok(Raw::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw<'de>, E> {
        Ok(Raw::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw<'de>, E> {
        Ok(i64::try_from(value).map_or(Raw::Number(value as f64), Raw::Integer))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw<'de>, E> {
        Ok(Raw::Number(value))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Raw<'de>, E> {
        Ok(Raw::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Raw<'de>, E> {
        Ok(Raw::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Raw<'de>, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Raw::Nested)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw<'de>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Raw::Nested)
    }
}
