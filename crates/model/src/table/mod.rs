//! The Table service's data: names, keys, EDM values, entities, filters, and the operations on them.

pub mod entity;
pub mod filter;
pub mod key;
pub mod limits;
pub mod name;
pub mod operation;
pub mod row;
pub mod value;

pub use entity::{EntityKey, Properties, Property};
pub use key::Key;
pub use name::{NameError, TableName};
pub use operation::{Operation, Outcome};
pub use row::PackedRow;
pub use value::{EdmType, Value, ValueRef};
