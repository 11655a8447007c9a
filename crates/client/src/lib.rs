//! A typed and flexible client for the Azure Table protocol: Lazuli, the original service and its emulators alike.

pub mod environment;
pub mod error;
pub mod page;
pub mod transport;

pub use environment::{Environment, System};
pub use error::{Applied, Error, ErrorKind, Result};
pub use page::{Continuation, Explain, PageRequest, PageSource, RawPage};
pub use transport::{BoxFuture, Transport, TransportError};

pub use lazuli_model::{DateTime, EdmType, ErrorCode, Guid, TableName, Value};
