//! The values of properties.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// A value. Doubles carry halves only, which every notation writes alike.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum {
    /// Not a value: a property that is not stored.
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
        }
    }

    /// As a constant of the filter language.
    pub fn literal(&self) -> String {
        match self {
            Datum::Null => "null".into(),
            Datum::Flag(value) => value.to_string(),
            Datum::Int32(value) => value.to_string(),
            Datum::Int64(value) => format!("{value}L"),
            Datum::Halves(value) => (f64::from(*value) + 0.5).to_string(),
            Datum::Text(value) => format!("'{}'", value.replace('\'', "''")),
        }
    }
}

/// Properties by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Properties(pub BTreeMap<String, Datum>);

impl Properties {
    /// What is stored of them.
    pub fn without_nulls(&self) -> Self {
        let kept = self.0.iter().filter(|(_, value)| **value != Datum::Null);
        Self(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// These, and over them those that are given; a null leaves what is there.
    pub fn overlaid(&self, with: &Properties) -> Self {
        let mut all = self.0.clone();
        all.extend(with.without_nulls().0);
        Self(all)
    }

    /// As members of a JSON object, with the types that JSON has no words for.
    pub fn members(&self) -> Map<String, Value> {
        let mut members = Map::new();
        for (name, value) in &self.0 {
            members.insert(name.clone(), value.json());
            if let Datum::Int64(_) = value {
                members.insert(format!("{name}@odata.type"), json!("Edm.Int64"));
            }
        }
        members
    }
}
