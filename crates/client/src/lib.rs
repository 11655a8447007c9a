//! A typed and flexible client for the Azure Table protocol: Lazuli, the original service and its emulators alike.

extern crate self as lazuli_client;

pub mod account;
mod batch;
pub mod blocking;
mod bulk;
mod context;
pub mod decode;
pub mod dynamic;
pub mod entity;
pub mod environment;
pub mod error;
pub mod field;
pub mod filter;
mod http;
pub mod keys;
pub mod kind;
pub mod page;
mod partition;
mod pipeline;
pub mod props;
pub mod query;
mod request;
pub mod retry;
mod service;
mod stored;
mod table;
pub mod transport;
pub mod value;
mod versioned;
mod write;

pub use account::{Account, Credential, Endpoint, SasOptions, SasProtocol, TokenProvider};
pub use batch::Batch;
pub use bulk::{BulkError, BulkOptions};
pub use context::{Context, FailedChange, Handle, MergeOption, SaveError, SaveMode, SaveOptions};
pub use dynamic::Dynamic;
pub use entity::{Entity, Shape};
pub use environment::{Environment, System};
pub use error::{Applied, Error, ErrorKind, Result};
pub use field::{Field, Prop, partition_key, prop, row_key, timestamp};
pub use filter::Filter;
pub use http::{Http, HttpOptions};
pub use lazuli_client_derive::{Entity, Shape};
pub use page::{Continuation, Explain, PageRequest, PageSource, RawPage};
pub use partition::Partition;
pub use pipeline::{ReadFrom, RequestHook};
pub use props::Props;
pub use query::{Mapped, Page, PageToken, Pages, Plan, Query, Ran, Rows};
pub use retry::RetryOptions;
pub use service::{Builder, Stats, TableService, TablesOptions, TablesPage};
pub use table::{GetOptions, ModifyOptions, Table};
pub use transport::{BoxFuture, Transport, TransportError};
pub use versioned::{ETag, Versioned};
pub use write::{WriteMode, WriteOptions};

pub use lazuli_model::policy::{AccessPolicy, SignedIdentifier};
pub use lazuli_model::service::{CorsRule, Logging, Metrics, PropertiesUpdate, ServiceProperties};
pub use lazuli_model::{DateTime, EdmType, ErrorCode, Guid, TableName, Value};

/// What the derive macros call. Not for use by hand: it changes without notice.
#[doc(hidden)]
pub mod __private {
    pub use crate::decode::{DecodeError, Head, RawEntity, fill, settle};
    pub use crate::entity::{Builder, Entity, Shape, Writer, decode_shape, shape_names, shape_value};
    pub use crate::keys::KeyText;
    pub use crate::stored::*;
    pub use crate::value::{FieldType, ToValue, WireValue, class};
}
