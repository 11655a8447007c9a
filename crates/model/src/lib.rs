//! What the data means: tables, keys, EDM values, entities, operations and error codes as plain data.
//!
//! Nothing here does I/O, waits, or reads a clock; time is an argument.

pub mod entity;
pub mod error;
pub mod filter;
pub mod guid;
pub mod key;
pub mod kind;
pub mod limits;
pub mod name;
pub mod operation;
pub mod policy;
pub mod row;
pub mod service;
pub mod text;
pub mod time;
pub mod value;

pub use entity::{EntityKey, Properties, Property};
pub use error::{ErrorCode, Failure, Retry, WasApplied};
pub use guid::{Guid, GuidError};
pub use key::Key;
pub use kind::{Class, Effort, OperationKind};
pub use name::{NameError, TableName};
pub use operation::{Operation, Outcome};
pub use policy::{AccessPolicy, Permissions, SignedIdentifier};
pub use row::PackedRow;
pub use service::{CorsRule, Logging, Metrics, PropertiesUpdate, ServiceProperties};
pub use time::DateTime;
pub use value::{EdmType, Value, ValueRef};
