//! A typed and flexible client for the Azure Table protocol: for Lazuli, Azure and its emulators.
//!
//! A first query:
//!
//! ```
//! # lazuli_embedded::doc_test(async |embedded| {
//! use lazuli_client::{Entity, TableService};
//!
//! #[derive(Entity)]
//! struct Person { #[table(partition_key)] city: String, #[table(row_key)] name: String, age: i32 }
//!
//! let service = TableService::from_connection_string("UseDevelopmentStorage=true")?;
//! # drop(service); let service = embedded;
//! let people = service.table("People")?;
//! people.create_if_missing().await?;
//! people.upsert(&Person { city: "Delft".into(), name: "Jan".into(), age: 35 }).await?;
//! let adults = people.query::<Person>().filter(Person::age().ge(18)).collect().await?;
//! assert_eq!(adults[0].name, "Jan");
//! # Ok(()) });
//! ```
//!
//! | to | see |
//! |---|---|
//! | connect: connection strings, keys, tokens, TLS | [`Account`], [`Credential`], [`TableService::builder`] |
//! | define what is stored | [`Entity`] and its derive, [`Props`], [`Dynamic`], [`kind`], [`Kinds`] |
//! | read and write one entity | [`Table::get`], [`Table::insert`], [`Table::update_if`], [`Table::modify`], [`Versioned`] |
//! | change several entities at once | [`Partition::batch`], [`Table::write_all`] |
//! | query | [`Table::query`], [`field`], [`query`] |
//! | track objects and save them later | [`Context`] |
//! | create keys that sort | [`keys`] |
//! | use types of `chrono`, `time`, `uuid` or `rust_decimal` | the features with these names, [`value`] |
//! | find out what went wrong, and whether anything was changed | [`Error`], [`Applied`] |
//! | configure retries | [`RetryOptions`] |
//! | test without a server | the crate `lazuli-embedded`: `lazuli_embedded::memory()` is a service in this process |
//! | use the client without async | [`blocking`] |
//! | replace the transport, the clock or the source of pages | [`Transport`], [`Environment`], [`PageSource`] |
//!
//! The guide is `docs/client.md` in the repository; `docs/requirements.md` lists the requirements with their tests.

extern crate self as lazuli_client;

/// Compiles the program in the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// Compiles the program on the crate's page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CratePage;

/// Runs the examples in the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/client.md")]
struct Guide;

pub mod account;
mod batch;
pub mod blocking;
mod bulk;
mod context;
pub mod decode;
mod derived;
pub mod dynamic;
pub mod entity;
pub mod environment;
pub mod error;
pub mod field;
pub mod filter;
mod http;
pub mod keys;
pub mod kind;
mod kinds;
pub mod page;
mod partition;
mod pipeline;
pub mod props;
pub mod query;
pub mod reference;
mod request;
pub mod retry;
mod service;
mod stored;
mod table;
mod trail;
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
pub use field::{Constant, Field, Prop, constant, partition_key, prop, row_key, timestamp};
pub use filter::Filter;
pub use http::{Http, HttpOptions};
pub use kinds::Kinds;
/// Derives the trait of the same name, [`trait@Entity`], which lists all attributes.
pub use lazuli_client_derive::Entity;
/// Derives the trait of the same name, [`trait@Shape`]. The attributes are those of [`trait@Entity`].
pub use lazuli_client_derive::Shape;
pub use page::{Continuation, Explain, PageRequest, PageSource, RawPage};
pub use partition::Partition;
pub use pipeline::{ReadFrom, RequestHook};
pub use props::Props;
pub use query::{Mapped, Page, PageToken, Pages, Plan, Query, Ran, Rows};
pub use reference::Ref;
pub use retry::RetryOptions;
pub use service::{Builder, Stats, TableService, TablesOptions, TablesPage};
pub use table::{GetOptions, ModifyOptions, Table};
pub use trail::Trail;
pub use transport::{BoxFuture, Transport, TransportError};
pub use versioned::{ETag, Versioned};
pub use write::{WriteMode, WriteOptions};

#[doc(inline)]
pub use lazuli_model::{
    AccessPolicy, CorsRule, DateTime, EdmType, ErrorCode, Guid, GuidError, LogVersion, Logging, Metrics,
    NameError, PropertiesUpdate, Retry, ServiceProperties, SignedIdentifier, TableName, Value, ValueRef,
    WasApplied,
};

/// Used by the derive macros. Not for direct use: it changes without notice.
#[doc(hidden)]
pub mod __private {
    pub use crate::decode::{DecodeError, Head, RawEntity};
    pub use crate::derived::{decode_shape, fill, settle, shape_names, shape_value};
    pub use crate::entity::{Builder, Entity, Shape, Writer};
    pub use crate::keys::KeyText;
    pub use crate::stored::*;
    pub use crate::value::{FieldType, ToValue, WireValue, class};
}
