//! Atom requests: an entity or a table from one entry.
//!
//! The input is hostile: a document type is rejected, so that only the five predefined entities and character
//! references exist; depth, elements and attributes are bounded, so that parsing takes linear time. Namespaces
//! are significant, prefixes are not.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::error::Origin;
use lazuli_model::{EdmType, ErrorCode, Failure, Value};

use super::document::{self, RawProperty};
use crate::table::draft::EntityDraft;
use crate::table::json;
use crate::xml::text;

/// Reads an entity from an entry.
pub fn entity(body: &[u8]) -> Result<EntityDraft<'static>, Failure> {
    let mut draft = EntityDraft::default();
    document::each_property(body, |property| draft.take_atom(property))?;
    Ok(draft)
}

/// Reads the name of a table to create: `None` if it is missing.
pub fn table(body: &[u8]) -> Result<Option<String>, Failure> {
    let mut name = None;
    document::each_property(body, |property| {
        if property.name == "TableName" && !property.is_null {
            if property.kind()? != EdmType::String {
                return Err(invalid_value());
            }
            if name.replace(property.text).is_some() {
                return Err(ErrorCode::DuplicatePropertiesSpecified.into());
            }
        }
        Ok(())
    })?;
    Ok(name)
}

impl EntityDraft<'_> {
    fn take_atom(&mut self, property: RawProperty) -> Result<(), Failure> {
        if EntityDraft::is_system(&property.name) {
            return match property.kind() {
                Ok(EdmType::String) => {
                    let text = (!property.is_null).then(|| property.text.into());
                    self.set_system(&property.name, text)
                }
                _ => {
                    self.set_system_of_wrong_type(&property.name);
                    Ok(())
                }
            };
        }
        if property.is_null {
            self.nulls.push(text::read_name(property.name).into());
            return Ok(());
        }
        let value = value(property.kind()?, property.text).ok_or_else(invalid_value)?;
        self.properties.push((text::read_name(property.name).into(), value.into()));
        Ok(())
    }
}

impl RawProperty {
    /// The specified type; by default, a string.
    fn kind(&self) -> Result<EdmType, Failure> {
        match self.kind.as_deref() {
            None | Some("") => Ok(EdmType::String),
            Some(name) => EdmType::from_name(name).ok_or_else(|| {
                let text = format!("The type '{name}' of the property '{}' is not known.", self.name);
                Failure::new(ErrorCode::InvalidInput, text).found_in(Origin::Routing)
            }),
        }
    }
}

/// Reads a value of a type. Leading and trailing white space is significant only in strings.
fn value(kind: EdmType, text: String) -> Option<Value> {
    match kind {
        EdmType::String => Some(Value::String(text)),
        EdmType::Binary => {
            let digits: String = text.split_ascii_whitespace().collect();
            STANDARD.decode(digits).ok().map(Value::Binary)
        }
        EdmType::Boolean
        | EdmType::DateTime
        | EdmType::Double
        | EdmType::Guid
        | EdmType::Int32
        | EdmType::Int64 => json::read::parse(kind, text.trim()),
    }
}

fn invalid_value() -> Failure {
    ErrorCode::InvalidValueType.into()
}

#[cfg(test)]
mod tests;
