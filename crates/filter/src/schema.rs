//! Which properties have a declared type. Comparing one of those with a constant of another type is an error of the
//! filter; comparing any other property so is an entity that does not match.

use lazuli_model::EdmType;
use lazuli_model::entity::{PARTITION_KEY, ROW_KEY, TIMESTAMP};

/// The one property of a table in the list of tables.
pub(crate) const TABLE_NAME: &str = "TableName";

/// What a filter is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schema {
    /// Entities: keys and timestamp are declared, every other property is open.
    Entity,
    /// The list of tables: there is `TableName` and nothing else.
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

    /// Can there be a property of that name?
    pub fn allows(self, name: &str) -> bool {
        self == Schema::Entity || self.declared(name).is_some()
    }
}
