//! An entity for tests, with its packed row.

use lazuli_filter::EntityRow;
use lazuli_model::table::row::{RowBuilder, RowRef};
use lazuli_model::{DateTime, PackedRow, Value};

#[derive(Clone, Debug)]
pub struct Entity {
    pub partition: String,
    pub row: String,
    pub timestamp: DateTime,
    pub properties: Vec<(String, Value)>,
}

impl Entity {
    /// An entity with keys that do not matter to the test.
    pub fn with(properties: &[(&str, Value)]) -> Self {
        Self {
            partition: "p".into(),
            row: "r".into(),
            timestamp: DateTime::parse("2020-01-01T00:00:00Z").unwrap(),
            properties: properties.iter().map(|(name, value)| ((*name).into(), value.clone())).collect(),
        }
    }

    pub fn pack(&self) -> PackedRow {
        let mut builder = RowBuilder::default();
        for (name, value) in &self.properties {
            builder.push(name, value.as_ref());
        }
        builder.finish()
    }

    pub fn view<'a>(&'a self, packed: &'a PackedRow) -> EntityRow<'a> {
        EntityRow {
            partition: &self.partition,
            row: &self.row,
            timestamp: self.timestamp,
            properties: RowRef::new(packed.as_bytes()).unwrap(),
        }
    }
}
