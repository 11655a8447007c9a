//! The data model: tables, queues, blobs, operations and error codes as plain data.
//!
//! Nothing here does I/O, waits, or reads a clock; time is an argument. Each service has its own folder; code
//! that several services share is next to the folders.

pub mod blob;
pub mod delegation;
pub mod error;
pub mod guid;
pub mod kind;
pub mod label;
pub mod metadata;
pub mod policy;
pub mod properties;
pub mod queue;
pub mod service;
pub mod table;
pub mod text;
pub mod time;
mod utf16;

pub use delegation::{KeyPeriod, UserDelegationKey};
pub use error::{ErrorCode, Failure, Retry, WasApplied};
pub use guid::{Guid, GuidError};
pub use kind::{Class, OperationKind, ReadCost};
pub use label::LabelError;
pub use metadata::Metadata;
pub use policy::{AccessPolicy, Permissions, SignedIdentifier};
pub use properties::{
    CorsRule, DeleteRetention, LogVersion, Logging, Metrics, PropertiesUpdate, ServiceProperties,
    StaticWebsite,
};
pub use service::Service;
pub use table::{
    EdmType, EntityKey, Key, NameError, PackedRow, Properties, Property, TableName, Value, ValueRef,
};
pub use time::DateTime;
pub use utf16::utf16_cmp;
