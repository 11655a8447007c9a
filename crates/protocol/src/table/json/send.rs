//! JSON bodies of requests, as a client sends them.
//!
//! Every value whose type is not evident is annotated, including doubles, since several JSON libraries convert
//! `5.0` to `5`.

use lazuli_model::table::entity::{PARTITION_KEY, ROW_KEY};
use lazuli_model::{EdmType, ValueRef};

use super::text::push_string;
use super::write::{Object, needs_annotation, push_value};

/// An entity being written. Names are not checked here.
pub struct Entity(Object);

impl Entity {
    /// An entity with its keys.
    pub fn new(partition: &str, row: &str) -> Self {
        let mut object = Object::new(256);
        object.member(PARTITION_KEY, |out| push_string(out, partition));
        object.member(ROW_KEY, |out| push_string(out, row));
        Self(object)
    }

    /// Adds a property.
    pub fn property(&mut self, name: &str, value: ValueRef<'_>) {
        if needs_annotation(&value) || value.kind() == EdmType::Double {
            self.0.annotation(name, value.kind());
        }
        self.0.member(name, |out| push_value(out, value));
    }

    /// The body.
    pub fn finish(self) -> Vec<u8> {
        self.0.close()
    }
}

/// The body that creates a table.
pub fn table(name: &str) -> Vec<u8> {
    let mut object = Object::new(80);
    object.member("TableName", |out| push_string(out, name));
    object.close()
}

#[cfg(test)]
mod tests {
    use lazuli_model::{DateTime, Guid, Value};

    use super::*;
    use crate::table::json::read;

    /// Entities that are sent are read back with the same types.
    #[test]
    fn entities_read_back() {
        let values = [
            ("Text", Value::String("a \"quoted\" \u{1F600}\n".into())),
            ("Flag", Value::Boolean(true)),
            ("Small", Value::Int32(-5)),
            ("Big", Value::Int64(1 << 40)),
            ("Whole", Value::Double(5.0)),
            ("Huge", Value::Double(1e300)),
            ("Endless", Value::Double(f64::INFINITY)),
            ("Time", Value::DateTime(DateTime::parse("2022-05-06T00:31:05.0707164Z").unwrap())),
            ("Id", Value::Guid(Guid([7; 16]))),
            ("Bytes", Value::Binary(vec![0, 255, 7])),
        ];
        let mut entity = Entity::new("p'1", "");
        for (name, value) in &values {
            entity.property(name, value.as_ref());
        }
        let bytes = entity.finish();
        let draft = read::entity(&bytes).unwrap();
        assert_eq!(draft.partition.as_deref(), Some("p'1"));
        assert_eq!(draft.row.as_deref(), Some(""));
        let read: Vec<_> = draft.properties.into_iter().collect();
        assert_eq!(read, values.map(|(name, value)| (name.into(), value.into())));
    }

    #[test]
    fn tables_read_back() {
        assert_eq!(read::table(&table("People")), Ok(Some("People".to_owned())));
    }
}
