//! Properties with a declared type. Comparing one of them with a constant of another type is an error in the
//! filter; a comparison of any other property with another type just does not match the entity.

use lazuli_model::EdmType;
use lazuli_model::table::entity::{PARTITION_KEY, ROW_KEY, TIMESTAMP};

/// The only property of a table in the list of tables.
pub(crate) const TABLE_NAME: &str = "TableName";

/// The subject of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schema {
    /// Entities: keys and timestamp are declared, every other property is open.
    Entity,
    /// The list of tables: `TableName` is the only property.
    Tables,
}

impl Schema {
    /// The declared type of a property, if it has one.
    pub fn declared(self, name: &str) -> Option<EdmType> {
        match (self, name) {
            (Schema::Entity, PARTITION_KEY | ROW_KEY) => Some(EdmType::String),
            (Schema::Entity, TIMESTAMP) => Some(EdmType::DateTime),
            (Schema::Tables, TABLE_NAME) => Some(EdmType::String),
            _ => None,
        }
    }

    /// Can a property have this name?
    pub fn allows(self, name: &str) -> bool {
        self == Schema::Entity || self.declared(name).is_some()
    }
}
