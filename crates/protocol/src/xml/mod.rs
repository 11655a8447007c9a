//! XML documents that the services share: access policies, service properties, stats; and reading and writing of XML.
//!
//! Documents are small. A document that is larger or deeper than any valid one is rejected early.

pub mod acl;
pub mod delegation;
pub mod properties;
pub mod read;
pub mod send;
pub mod text;
pub mod tree;
pub mod write;

use lazuli_model::{ErrorCode, Failure, Service, ServiceProperties, SignedIdentifier};

use crate::http::response::{Context, Response};
use write::{leaf, nest};

/// Maximum size of a document. A larger one is `RequestBodyTooLarge`.
pub const DOCUMENT_BYTES_MAX: usize = 64 * 1024;

/// The response to the request for the access policies of a table, queue or container.
pub fn acl(policies: &[SignedIdentifier]) -> Response {
    document(|out| acl::encode(out, policies))
}

/// The response to the request for the properties of a service.
pub fn properties(service: Service, context: &Context, found: &ServiceProperties) -> Response {
    document(|out| properties::encode(out, service, found, context.version))
}

/// The response to the request for the stats of a service: the secondary reads the same rows, so it is up to
/// date.
pub fn stats(context: &Context) -> Response {
    document(|out| {
        nest(out, "StorageServiceStats", |out| {
            nest(out, "GeoReplication", |out| {
                leaf(out, "Status", "live");
                leaf(out, "LastSyncTime", context.now.http().as_str());
            });
        });
    })
}

/// A response whose document starts with a byte order mark.
pub fn document(write: impl FnOnce(&mut Vec<u8>)) -> Response {
    let body = write::document(write);
    Response::new(200).with("Content-Type", "application/xml").with_body(body)
}

/// A position in a document. Lines and columns count from 1; 0 means that the position is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl Default for Position {
    fn default() -> Self {
        Self { line: 1, column: 1 }
    }
}

impl Position {
    /// The position after some more text.
    pub fn after(self, text: &str) -> Self {
        match text.rfind('\n') {
            None => Self { column: self.column + text.chars().count(), ..self },
            Some(last) => Self {
                line: self.line + text.bytes().filter(|&b| b == b'\n').count(),
                column: text[last + 1..].chars().count() + 1,
            },
        }
    }
}

/// The error for a document with illegal content. Blob and Queue report no position for most of those errors.
pub fn invalid() -> Failure {
    invalid_at(Position { line: 0, column: 0 }, "")
}

/// The error for a document that is invalid at a known position.
pub fn invalid_at(position: Position, reason: &'static str) -> Failure {
    Failure::from(ErrorCode::InvalidXmlDocument)
        .detail("LineNumber", position.line.to_string())
        .detail("LinePosition", position.column.to_string())
        .detail("Reason", reason)
}

#[cfg(test)]
mod tests;
