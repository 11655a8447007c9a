//! The types in annotations: those that the service stores, and those that only other data services have
//! (WR-14). The latter are read as the stored type that holds their values.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::{DateTime, EdmType};

use crate::value::WireValue;

/// A type in an annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WireType {
    /// A type that the service stores.
    Stored(EdmType),
    /// Read as Int32.
    Byte,
    /// Read as Int32.
    SByte,
    /// Read as Int32.
    Int16,
    /// Read as Double.
    Single,
    /// Read as String, with all its digits, unless it came as a JSON number.
    Decimal,
}

impl WireType {
    pub fn from_name(name: &str) -> Option<Self> {
        let others = [Self::Byte, Self::SByte, Self::Int16, Self::Single, Self::Decimal];
        let stored = EdmType::from_name(name).map(Self::Stored);
        stored.or_else(|| others.into_iter().find(|kind| kind.name() == name))
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Stored(kind) => kind.name(),
            Self::Byte => "Edm.Byte",
            Self::SByte => "Edm.SByte",
            Self::Int16 => "Edm.Int16",
            Self::Single => "Edm.Single",
            Self::Decimal => "Edm.Decimal",
        }
    }

    /// The value, or `None` if it is not of this type.
    pub fn read(self, value: WireValue<'_>) -> Option<WireValue<'_>> {
        match self {
            Self::Stored(kind) => stored(kind, value),
            Self::Byte => small(value, u8::MIN.into(), u8::MAX.into()),
            Self::SByte => small(value, i8::MIN.into(), i8::MAX.into()),
            Self::Int16 => small(value, i16::MIN.into(), i16::MAX.into()),
            Self::Single => stored(EdmType::Double, value),
            Self::Decimal => match value {
                WireValue::String(text) => is_decimal(&text).then_some(WireValue::String(text)),
                WireValue::Null | WireValue::Int32(_) | WireValue::Int64(_) | WireValue::Double(_) => {
                    Some(value)
                }
                _ => None,
            },
        }
    }
}

fn small(value: WireValue<'_>, min: i32, max: i32) -> Option<WireValue<'_>> {
    let value = stored(EdmType::Int32, value)?;
    match value {
        WireValue::Int32(number) if !(min..=max).contains(&number) => None,
        other => Some(other),
    }
}

/// Digits with an optional sign and decimal point, and no exponent.
fn is_decimal(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    [whole, part].iter().all(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

fn stored(kind: EdmType, value: WireValue<'_>) -> Option<WireValue<'_>> {
    match (kind, value) {
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
    }
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
            // Rust parses a number that is too large as infinity; here it is an error.
            number => number.parse().ok().filter(|number: &f64| number.is_finite()).map(WireValue::Double),
        },
        EdmType::Guid => text.parse().ok().map(WireValue::Guid),
        EdmType::Int32 => text.parse().ok().map(WireValue::Int32),
        EdmType::Int64 => text.parse().ok().map(WireValue::Int64),
        EdmType::String => None,
    }
}
