//! Fields that are stored as another type: `#[table(int64)]`, `#[table(json)]`, `#[table(indexed)]` and similar
//! attributes call these functions.

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lazuli_model::table::limits::PROPERTIES_MAX;
use lazuli_model::{DateTime, Guid, Value};

use crate::decode::{DecodeError, RawEntity};
use crate::entity::Writer;
use crate::error::{Error, Result};
use crate::keys::KeyText;
use crate::kind::KIND_PROPERTY;
use crate::value::{FromValue, Scalar, ToValue, WireValue, WrongType, class};

/// A field type that can be stored as the EDM type `W`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored as {W}",
    note = "int64 takes integers; double takes f32, f64 and integers up to 32 bits; guid takes Guid, [u8; 16] and String; binary takes Vec<u8>, [u8; N] and String; datetime takes DateTime, SystemTime, i64 (Unix seconds) and String"
)]
pub trait Stored<W>: Sized {
    /// The stored value; `None` for no value.
    fn to_stored(&self) -> Result<Option<Value>>;

    /// Converts it back.
    fn from_stored(value: &WireValue<'_>) -> Result<Self, WrongType>;

    /// The value for an absent property, if any.
    fn absent() -> Option<Self> {
        None
    }
}

impl<W, T: Stored<W>> Stored<W> for Option<T> {
    fn to_stored(&self) -> Result<Option<Value>> {
        self.as_ref().map_or(Ok(None), Stored::to_stored)
    }

    fn from_stored(value: &WireValue<'_>) -> Result<Self, WrongType> {
        T::from_stored(value).map(Some)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

macro_rules! int64 {
    ($($type:ty)*) => {$(
        impl Stored<class::Int64> for $type {
            fn to_stored(&self) -> Result<Option<Value>> {
                let wide = i64::try_from(*self).map_err(|_| Error::input(format!("{self} does not fit into Edm.Int64")))?;
                Ok(Some(Value::Int64(wide)))
            }

            fn from_stored(value: &WireValue<'_>) -> Result<Self, WrongType> {
                let wide = i64::from_value(value)?;
                <$type>::try_from(wide)
                    .map_err(|_| WrongType::because(format!("{wide} does not fit into {}", stringify!($type))))
            }
        }
    )*};
}

int64!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

macro_rules! double {
    ($($type:ty)*) => {$(
        impl Stored<class::Double> for $type {
            fn to_stored(&self) -> Result<Option<Value>> {
                Ok(Some(Value::Double(f64::from(*self))))
            }

            fn from_stored(value: &WireValue<'_>) -> Result<Self, WrongType> {
                let wide = f64::from_value(value)?;
                let own = wide as $type;
                match f64::from(own) == wide || wide.is_nan() {
                    true => Ok(own),
                    false => Err(WrongType::because(format!("{wide} does not fit into {}", stringify!($type)))),
                }
            }
        }
    )*};
}

double!(f64 i8 i16 i32 u8 u16 u32);

/// Like a plain `f32` field: other clients store doubles that are not equal to any `f32`.
impl Stored<class::Double> for f32 {
    fn to_stored(&self) -> Result<Option<Value>> {
        Ok(Some(self.scalar()))
    }

    fn from_stored(value: &WireValue<'_>) -> Result<Self, WrongType> {
        Self::from_value(value)
    }
}

/// Types that convert to a scalar: `class, type, to, from`.
macro_rules! through {
    ($($class:ident, $type:ty, |$own:ident| $out:expr, $scalar:ty, |$read:ident| $back:expr;)*) => {$(
        impl Stored<class::$class> for $type {
            fn to_stored(&self) -> Result<Option<Value>> {
                let $own = self;
                let scalar: $scalar = $out;
                Ok(Some(scalar.scalar()))
            }

            fn from_stored(value: &WireValue<'_>) -> Result<Self, WrongType> {
                let $read = <$scalar>::from_value(value)?;
                Ok($back)
            }
        }
    )*};
}

through! {
    Identifier, Guid, |own| *own, Guid, |read| read;
    Identifier, [u8; 16], |own| Guid(*own), Guid, |read| read.0;
    Identifier, String, |own| own.parse().map_err(|_| Error::input(format!("'{own}' is not a GUID")))?, Guid, |read| read.to_string();
    Bytes, Vec<u8>, |own| own.clone(), Vec<u8>, |read| read;
    Bytes, String, |own| own.clone().into_bytes(), Vec<u8>, |read| String::from_utf8(read).map_err(|_| WrongType::because("the bytes are not valid UTF-8"))?;
    Moment, DateTime, |own| *own, DateTime, |read| read;
    Moment, SystemTime, |own| crate::value::from_system_time(*own), DateTime, |read| crate::value::to_system_time(read);
    Moment, String, |own| DateTime::parse(own).ok_or_else(|| Error::input(format!("'{own}' is not a time")))?, DateTime, |read| read.to_string();
    Moment, i64, |own| unix_time(*own)?, DateTime, |read| read.unix_seconds();
}

impl<const N: usize> Stored<class::Bytes> for [u8; N] {
    fn to_stored(&self) -> Result<Option<Value>> {
        Ok(Some(Value::Binary(self.to_vec())))
    }

    fn from_stored(value: &WireValue<'_>) -> Result<Self, WrongType> {
        Self::from_value(value)
    }
}

fn unix_time(seconds: i64) -> Result<DateTime> {
    let span = Duration::from_secs(seconds.unsigned_abs());
    let moved = if seconds < 0 { UNIX_EPOCH.checked_sub(span) } else { UNIX_EPOCH.checked_add(span) };
    // A time out of range would otherwise be clamped to the first or last `DateTime`.
    let time = moved.map(crate::value::from_system_time).filter(|time| time.unix_seconds() == seconds);
    time.ok_or_else(|| Error::input(format!("Unix time {seconds} is not within the years 1 to 9999")))
}

type Decoded<T> = std::result::Result<T, DecodeError>;

/// Decodes a stored field into its slot.
pub fn fill_stored<W, T: Stored<W>>(
    place: &mut Option<T>,
    name: &str,
    value: &WireValue<'_>,
) -> Decoded<bool> {
    fill_with(place, name, value, T::from_stored)
}

/// The decoded value, or the value for an absent property.
pub fn settle_stored<W, T: Stored<W>>(place: Option<T>, name: &str) -> Decoded<T> {
    place.or_else(T::absent).ok_or_else(|| DecodeError::missing(name))
}

fn fill_with<T>(
    place: &mut Option<T>,
    name: &str,
    value: &WireValue<'_>,
    read: impl FnOnce(&WireValue<'_>) -> Result<T, WrongType>,
) -> Decoded<bool> {
    if *value != WireValue::Null {
        *place = Some(read(value).map_err(|wrong| DecodeError::wrong(name, &wrong))?);
    }
    Ok(true)
}

/// The value of a field that is stored as its own type.
pub fn plain<T: ToValue>(field: &T) -> Result<Option<Value>> {
    Ok(field.to_value())
}

/// A field as a string, by its `Display`.
pub fn to_text<T: Display>(field: &T) -> Result<Option<Value>> {
    Ok(Some(Value::String(field.to_string())))
}

/// An optional field as a string.
pub fn to_text_option<T: Display>(field: &Option<T>) -> Result<Option<Value>> {
    field.as_ref().map_or(Ok(None), to_text)
}

/// Decodes a string into its slot, by `FromStr`.
pub fn fill_text<T: FromStr<Err: Display>>(
    place: &mut Option<T>,
    name: &str,
    value: &WireValue<'_>,
) -> Decoded<bool> {
    fill_with(place, name, value, parsed)
}

/// Like `fill_text`, for an optional field.
pub fn fill_text_option<T: FromStr<Err: Display>>(
    place: &mut Option<Option<T>>,
    name: &str,
    value: &WireValue<'_>,
) -> Decoded<bool> {
    fill_with(place, name, value, |value| parsed(value).map(Some))
}

fn parsed<T: FromStr<Err: Display>>(value: &WireValue<'_>) -> Result<T, WrongType> {
    match value {
        WireValue::String(text) => {
            text.parse().map_err(|error| WrongType::because(format!("'{text}': {error}")))
        }
        other => Err(WrongType::new("Edm.String", other)),
    }
}

/// A field as JSON; `null` is not stored.
pub fn to_json<T: serde::Serialize>(field: &T) -> Result<Option<Value>> {
    let text = serde_json::to_string(field)
        .map_err(|error| Error::input(format!("cannot serialize a field as JSON: {error}")))?;
    Ok((text != "null").then_some(Value::String(text)))
}

/// Decodes JSON into its slot.
pub fn fill_json<T: serde::de::DeserializeOwned>(
    place: &mut Option<T>,
    name: &str,
    value: &WireValue<'_>,
) -> Decoded<bool> {
    fill_with(place, name, value, |value| match value {
        WireValue::String(text) => {
            serde_json::from_str(text).map_err(|error| WrongType::because(error.to_string()))
        }
        other => Err(WrongType::new("JSON in Edm.String", other)),
    })
}

/// The decoded value; the property may be absent if the type accepts null.
pub fn settle_json<T: serde::de::DeserializeOwned>(place: Option<T>, name: &str) -> Decoded<T> {
    place.or_else(|| serde_json::from_str("null").ok()).ok_or_else(|| DecodeError::missing(name))
}

/// A list that is stored as one property per item: `Tags_0`, `Tags_1`, …
#[diagnostic::on_unimplemented(message = "`{Self}` is not a list; #[table(indexed)] requires a `Vec`")]
pub trait Collection {
    /// Type of the items.
    type Item: ToValue + FromValue;
}

impl<T: ToValue + FromValue> Collection for Vec<T> {
    type Item = T;
}

/// Writes the items of a list.
pub fn write_indexed<T: ToValue>(out: &mut Writer, prefix: &str, items: &[T]) -> Result<()> {
    for (index, item) in items.iter().enumerate() {
        let value = item.to_value();
        if value.is_none() {
            return Err(Error::input(format!(
                "{prefix}{index} is empty: a list cannot have gaps, since they would be lost when it is read"
            )));
        }
        out.put_named(format!("{prefix}{index}"), value)?;
    }
    Ok(())
}

/// Decodes an item of a list, if the name matches.
pub fn fill_indexed<T: FromValue>(
    place: &mut Vec<(usize, T)>,
    prefix: &str,
    name: &str,
    value: &WireValue<'_>,
) -> Decoded<bool> {
    let Some(index) = index_of(prefix, name) else { return Ok(false) };
    if *value != WireValue::Null {
        let item = T::from_value(value).map_err(|wrong| DecodeError::wrong(name, &wrong))?;
        place.push((index, item));
    }
    Ok(true)
}

/// The items of a list in order; missing items are skipped.
pub fn settle_indexed<T>(mut place: Vec<(usize, T)>) -> Vec<T> {
    place.sort_by_key(|(index, _)| *index);
    place.into_iter().map(|(_, item)| item).collect()
}

/// The value of an item by its name.
pub fn value_indexed<T: ToValue>(prefix: &str, name: &str, items: &[T]) -> Option<Value> {
    items.get(index_of(prefix, name)?)?.to_value()
}

/// `Tags_7` is item 7; `Tags_07` and `Tags_x` are other properties.
fn index_of(prefix: &str, name: &str) -> Option<usize> {
    let digits = name.strip_prefix(prefix)?;
    let index: usize = digits.parse().ok().filter(|&index| index < PROPERTIES_MAX)?;
    (digits == "0" || !digits.starts_with(['0', '+'])).then_some(index)
}

/// A key decoded from the service's string.
pub fn key_from<T: KeyText>(text: &str, name: &str) -> Decoded<T> {
    T::from_key(text).map_err(|wrong| DecodeError::wrong(name, &wrong))
}

/// A key computed from the entity by a function.
pub fn computed<'a, T, K: Into<String>>(entity: &T, function: impl FnOnce(&T) -> K) -> Cow<'a, str> {
    Cow::Owned(function(entity).into())
}

/// The lineage that an entity was received with.
pub fn lineage_of<'a>(raw: &'a RawEntity<'_>) -> Option<&'a str> {
    match raw.member(KIND_PROPERTY) {
        Some(WireValue::String(text)) => Some(text),
        _ => None,
    }
}

/// Error for a kind without a variant.
pub fn unknown_kind(lineage: Option<&str>) -> DecodeError {
    let found = WrongType::because(format!("no variant for the kind {}", lineage.unwrap_or("(none)")));
    DecodeError::wrong(KIND_PROPERTY, &found)
}

/// Adds a property to the flexible ones.
pub fn keep(extra: &mut crate::Props, name: &str, value: &WireValue<'_>) {
    extra.keep(name, value);
}
