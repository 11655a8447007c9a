//! Requests to the table service: from head and body to an operation, from an outcome to an answer.

pub mod decode;
pub mod draft;
pub mod encode;
pub mod kind;
mod query;
mod verb;

pub use query::{TIMEOUT_MAX, timeout};
