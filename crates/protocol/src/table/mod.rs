//! The Table service on the wire: decodes head and body into an operation, and encodes an outcome as a
//! response.

pub mod atom;
pub mod batch;
pub mod continuation;
pub mod decode;
pub mod draft;
pub mod encode;
pub mod error;
pub mod etag;
pub mod json;
pub mod kind;
pub mod media;
pub mod path;
mod query;
pub mod response_format;
pub mod url;
mod verb;
pub mod xml;

pub use crate::http::timeout::{TIMEOUT_MAX, timeout};
pub use path::{Resource, parse_path};
