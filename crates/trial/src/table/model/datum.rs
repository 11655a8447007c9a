//! The values of properties.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// A value. Doubles are multiples of 0.5, which all formats print identically.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum {
    /// Null: a property that is not stored.
    Null,
    /// Edm.Boolean.
    Flag(bool),
    /// Edm.Int32.
    Int32(i32),
    /// Edm.Int64.
    Int64(i64),
    /// Edm.Double, in halves.
    Halves(i32),
    /// Edm.String.
    Text(String),
    /// Edm.DateTime, at this second of a day plus 1234567 ticks.
    Moment(u8),
    /// Edm.Guid with sixteen equal bytes, so that the order of comparison does not matter.
    Guid(u8),
    /// Edm.Binary.
    Bytes(Vec<u8>),
}

impl Datum {
    fn json(&self) -> Value {
        match self {
            Datum::Null => Value::Null,
            Datum::Flag(value) => json!(value),
            Datum::Int32(value) => json!(value),
            Datum::Int64(value) => json!(value.to_string()),
            Datum::Halves(value) => json!(f64::from(*value) + 0.5),
            Datum::Text(value) => json!(value),
            Datum::Moment(seconds) => json!(moment(*seconds)),
            Datum::Guid(byte) => json!(guid(*byte)),
            Datum::Bytes(bytes) => json!(STANDARD.encode(bytes)),
        }
    }

    /// The type, if JSON does not imply it.
    fn annotation(&self) -> Option<&'static str> {
        match self {
            Datum::Int64(_) => Some("Edm.Int64"),
            Datum::Moment(_) => Some("Edm.DateTime"),
            Datum::Guid(_) => Some("Edm.Guid"),
            Datum::Bytes(_) => Some("Edm.Binary"),
            Datum::Null | Datum::Flag(_) | Datum::Int32(_) | Datum::Halves(_) | Datum::Text(_) => None,
        }
    }

    /// The value as a constant of the filter language.
    pub fn literal(&self) -> String {
        match self {
            Datum::Null => "null".into(),
            Datum::Flag(value) => value.to_string(),
            Datum::Int32(value) => value.to_string(),
            Datum::Int64(value) => format!("{value}L"),
            Datum::Halves(value) => (f64::from(*value) + 0.5).to_string(),
            Datum::Text(value) => format!("'{}'", value.replace('\'', "''")),
            Datum::Moment(seconds) => format!("datetime'{}'", moment(*seconds)),
            Datum::Guid(byte) => format!("guid'{}'", guid(*byte)),
            Datum::Bytes(bytes) => {
                let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                format!("X'{digits}'")
            }
        }
    }
}

fn moment(seconds: u8) -> String {
    format!("2024-02-29T12:{:02}:{:02}.1234567Z", seconds / 60, seconds % 60)
}

fn guid(byte: u8) -> String {
    let digits = format!("{byte:02x}").repeat(16);
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

/// Properties by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelProperties(pub BTreeMap<String, Datum>);

impl ModelProperties {
    /// The properties that are stored.
    pub fn without_nulls(&self) -> Self {
        let kept = self.0.iter().filter(|(_, value)| **value != Datum::Null);
        Self(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// Merges the given properties over these; a null keeps the existing value.
    pub fn overlaid(&self, with: &ModelProperties) -> Self {
        let mut all = self.0.clone();
        all.extend(with.without_nulls().0);
        Self(all)
    }

    /// The properties as members of a JSON object, with the types that JSON cannot express.
    pub fn members(&self) -> Map<String, Value> {
        let mut members = Map::new();
        for (name, value) in &self.0 {
            members.insert(name.clone(), value.json());
            if let Some(kind) = value.annotation() {
                members.insert(format!("{name}@odata.type"), json!(kind));
            }
        }
        members
    }
}
