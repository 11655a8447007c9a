//! A typed and flexible client for the Azure Table protocol: Lazuli, the original service and its emulators alike.

extern crate self as lazuli_client;

pub mod decode;
pub mod dynamic;
pub mod entity;
pub mod environment;
pub mod error;
pub mod field;
pub mod filter;
pub mod keys;
pub mod kind;
pub mod page;
pub mod props;
mod stored;
pub mod transport;
pub mod value;

pub use dynamic::Dynamic;
pub use entity::{Entity, Shape};
pub use environment::{Environment, System};
pub use error::{Applied, Error, ErrorKind, Result};
pub use field::{Field, Prop, partition_key, prop, row_key, timestamp};
pub use filter::Filter;
pub use lazuli_client_derive::{Entity, Shape};
pub use page::{Continuation, Explain, PageRequest, PageSource, RawPage};
pub use props::Props;
pub use transport::{BoxFuture, Transport, TransportError};

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
