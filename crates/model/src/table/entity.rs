//! An entity to be stored: its key, and properties that have passed all checks of the data model.

use crate::error::{ErrorCode, Failure};
use crate::table::key::utf16_len;
use crate::table::limits::{
    BINARY_BYTES_MAX, ENTITY_BYTES_MAX, PROPERTIES_MAX, PROPERTY_NAME_CHARS_MAX, STRING_UNITS_MAX,
};
use crate::{DateTime, Key, PackedRow, Value, ValueRef};

/// The name of the first key property.
pub const PARTITION_KEY: &str = "PartitionKey";
/// The name of the second key property.
pub const ROW_KEY: &str = "RowKey";
/// The name of the property that the service sets.
pub const TIMESTAMP: &str = "Timestamp";

/// The keys that identify an entity in its table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityKey {
    /// PartitionKey.
    pub partition: Key,
    /// RowKey.
    pub row: Key,
}

/// A property with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// Case-sensitive name.
    pub name: String,
    /// Its value.
    pub value: Value,
}

/// The properties of an entity, except system properties: names are valid and unique, values within their
/// limits. They are packed in the stored form, so that parsing a request allocates once for all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Properties(PackedRow);

impl Default for Properties {
    fn default() -> Self {
        Self(PackedRow::of(&[]))
    }
}

impl Properties {
    /// Checks the properties and keeps them in their order.
    pub fn new(properties: Vec<Property>) -> Result<Self, Failure> {
        let borrowed: Vec<_> = properties.iter().map(|p| (p.name.as_str(), p.value.as_ref())).collect();
        Self::of(&borrowed)
    }

    /// Like [`Self::new`], for borrowed properties.
    pub fn of(properties: &[(&str, ValueRef<'_>)]) -> Result<Self, Failure> {
        check(properties)?;
        Ok(Self(PackedRow::of(properties)))
    }

    /// Checks the properties and sorts them by name in ordinal order: replacing and merging store them in this
    /// order, inserting keeps the original one.
    pub fn sorted(mut properties: Vec<(&str, ValueRef<'_>)>) -> Result<Self, Failure> {
        check(&properties)?;
        properties.sort_by(|(a, _), (b, _)| crate::utf16_cmp(a, b));
        Ok(Self(PackedRow::of(&properties)))
    }

    /// The properties as they are stored.
    pub fn row(&self) -> &PackedRow {
        &self.0
    }

    /// The properties in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, ValueRef<'_>)> {
        // They were packed here, so they can be read.
        self.0.iter().filter_map(Result::ok)
    }
}

/// Checks names and values, individually and together.
fn check(properties: &[(&str, ValueRef<'_>)]) -> Result<(), Failure> {
    for (name, value) in properties {
        check_name(name)?;
        check_value(name, value)?;
    }
    // Most clients send them in order.
    let is_ascending = properties.windows(2).all(|pair| pair[0].0 < pair[1].0);
    if !is_ascending {
        let mut names: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        if names.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(ErrorCode::DuplicatePropertiesSpecified.into());
        }
    }
    if properties.len() > PROPERTIES_MAX {
        return Err(ErrorCode::TooManyProperties.into());
    }
    Ok(())
}

/// Is this a valid property name? The rule is that of C# identifiers, implemented with Unicode's identifiers: letters
/// of every script, and after the first one also marks, digits and connectors. The derive macros of the client have the same
/// rule; property_names.txt tests both.
pub fn is_property_name(name: &str) -> bool {
    if let [first, rest @ ..] = name.as_bytes()
        && name.is_ascii()
    {
        let is_start = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
        return is_start(*first) && rest.iter().all(|&byte| byte.is_ascii_digit() || is_start(byte));
    }
    let mut chars = name.chars();
    chars.next().is_some_and(|c| unicode_ident::is_xid_start(c) || c == '_')
        && chars.all(|c| unicode_ident::is_xid_continue(c) || is_joiner(c))
}

/// Marks that join letters or keep them apart, which some scripts, such as Persian, need inside words.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// Rejects an invalid property name, and a value that cannot be stored.
pub fn check_property(name: &str, value: &Value) -> Result<(), Failure> {
    check_name(name)?;
    check_value(name, &value.as_ref())
}

fn check_name(name: &str) -> Result<(), Failure> {
    // A name has at most as many characters as bytes.
    if name.len() > PROPERTY_NAME_CHARS_MAX && name.chars().count() > PROPERTY_NAME_CHARS_MAX {
        return Err(ErrorCode::PropertyNameTooLong.into());
    }
    if !is_property_name(name) {
        return Err(ErrorCode::PropertyNameInvalid.into());
    }
    Ok(())
}

fn check_value(name: &str, value: &ValueRef<'_>) -> Result<(), Failure> {
    match value {
        // A string has at most as many code units as bytes.
        ValueRef::String(text) if text.len() > STRING_UNITS_MAX && utf16_len(text) > STRING_UNITS_MAX => {
            Err(ErrorCode::PropertyValueTooLarge.into())
        }
        ValueRef::Binary(bytes) if bytes.len() > BINARY_BYTES_MAX => {
            Err(ErrorCode::PropertyValueTooLarge.into())
        }
        ValueRef::DateTime(time) if *time < DateTime::STORABLE_MIN => {
            Err(Failure::out_of_range(name, &time.to_string()))
        }
        _ => Ok(()),
    }
}

/// The size of an entity by the service's published measure, in bytes; its strings count as UTF-16.
pub fn entity_bytes<'a>(key: &EntityKey, properties: impl Iterator<Item = (&'a str, ValueRef<'a>)>) -> usize {
    let keys = 4 + (utf16_len(key.partition.as_str()) + utf16_len(key.row.as_str())) * 2;
    let timestamp = property_bytes(TIMESTAMP, &ValueRef::DateTime(DateTime::MIN));
    properties.fold(keys + timestamp, |sum, (name, value)| sum + property_bytes(name, &value))
}

/// Bytes that one property adds to [`entity_bytes`].
pub fn property_bytes(name: &str, value: &ValueRef<'_>) -> usize {
    let value = match value {
        ValueRef::String(text) => utf16_len(text) * 2 + 4,
        ValueRef::Binary(bytes) => bytes.len() + 4,
        ValueRef::DateTime(_) | ValueRef::Double(_) | ValueRef::Int64(_) => 8,
        ValueRef::Guid(_) => 16,
        ValueRef::Int32(_) => 4,
        ValueRef::Boolean(_) => 1,
    };
    8 + utf16_len(name) * 2 + value
}

/// Rejects an entity that is larger than the service stores.
pub fn check_size(key: &EntityKey, row: &PackedRow) -> Result<(), Failure> {
    // The packed form is at most about as large as the measured one, so small rows need no count.
    if row.as_bytes().len() < ENTITY_BYTES_MAX / 8 {
        return Ok(());
    }
    let bytes = entity_bytes(key, row.iter().filter_map(Result::ok));
    if bytes > ENTITY_BYTES_MAX { Err(ErrorCode::EntityTooLarge.into()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn property(name: &str, value: Value) -> Property {
        Property { name: name.into(), value }
    }

    #[track_caller]
    fn rejected(properties: Vec<Property>, code: ErrorCode) {
        assert_eq!(Properties::new(properties).map_err(|failure| failure.code), Err(code));
    }

    /// DM-15, DM-16, DM-17.
    #[test]
    fn names() {
        let table = include_str!("property_names.txt").replace("ZWNJ", "\u{200c}").replace("ZWJ", "\u{200d}");
        for line in table.lines().filter(|line| !line.starts_with('#')) {
            let (verdict, name) = line.split_once(' ').unwrap();
            assert_eq!(if is_property_name(name) { "valid" } else { "invalid" }, verdict, "{name:?}");
        }
        assert!(!is_property_name("") && !is_property_name("a\u{0}"));
        let int = Value::Int32(1);
        assert!(
            Properties::new(vec![property("Rating", int.clone()), property("rating", int.clone())]).is_ok()
        );
        rejected(
            vec![property("a", int.clone()), property("a", int.clone())],
            ErrorCode::DuplicatePropertiesSpecified,
        );
        rejected(vec![property("a-b", int.clone())], ErrorCode::PropertyNameInvalid);
        assert!(Properties::new(vec![property(&"x".repeat(255), int.clone())]).is_ok());
        rejected(vec![property(&"x".repeat(256), int)], ErrorCode::PropertyNameTooLong);
    }

    /// DM-18.
    #[test]
    fn count() {
        let many =
            |n: usize| (0..n).map(|i| property(&format!("p{i}"), Value::Boolean(true))).collect::<Vec<_>>();
        assert!(Properties::new(many(252)).is_ok());
        rejected(many(253), ErrorCode::TooManyProperties);
    }

    /// DM-20, DM-21, DM-22.
    #[test]
    fn value_limits() {
        assert!(Properties::new(vec![property("s", Value::String("\u{4e00}".repeat(32768)))]).is_ok());
        rejected(vec![property("s", Value::String("a".repeat(32769)))], ErrorCode::PropertyValueTooLarge);
        rejected(
            vec![property("s", Value::String("\u{10000}".repeat(16385)))],
            ErrorCode::PropertyValueTooLarge,
        );
        assert!(Properties::new(vec![property("b", Value::Binary(vec![0; 65536]))]).is_ok());
        rejected(vec![property("b", Value::Binary(vec![0; 65537]))], ErrorCode::PropertyValueTooLarge);
        assert!(Properties::new(vec![property("d", Value::DateTime(DateTime::STORABLE_MIN))]).is_ok());
        rejected(vec![property("d", Value::DateTime(DateTime::MIN))], ErrorCode::OutOfRangeInput);
    }

    /// DM-19: rejected one byte above the limit by the service's measure, accepted at it.
    #[test]
    fn size_at_the_limit() {
        let key = EntityKey { partition: Key::new("p").unwrap(), row: Key::new("r").unwrap() };
        let filled = |last: usize| {
            let mut list: Vec<_> =
                (0..15).map(|i| property(&format!("p{i:02}"), Value::Binary(vec![0; 65536]))).collect();
            list.push(property("end", Value::Binary(vec![0; last])));
            PackedRow::pack(&Properties::new(list).unwrap())
        };
        let size = |row: &PackedRow| entity_bytes(&key, row.iter().map(Result::unwrap));
        let exact = 65536 - (size(&filled(65536)) - ENTITY_BYTES_MAX);
        assert_eq!(size(&filled(exact)), ENTITY_BYTES_MAX);
        assert!(check_size(&key, &filled(exact)).is_ok());
        assert_eq!(check_size(&key, &filled(exact + 1)).map_err(|f| f.code), Err(ErrorCode::EntityTooLarge));
    }
}
