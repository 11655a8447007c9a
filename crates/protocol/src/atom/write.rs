//! Atom answers.

use lazuli_model::operation::Stored;
use lazuli_model::row::CorruptRow;

use crate::ApiVersion;
use crate::response::{Context, Shape};

/// An error in the form of OData operations.
pub fn error(_version: ApiVersion, code: &str, message: &str) -> Vec<u8> {
    format!("<?xml version=\"1.0\" encoding=\"utf-8\"?><error xmlns=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\"><code>{code}</code><message xml:lang=\"en-US\">{message}</message></error>").into_bytes()
}

/// An error in the form of the front end and of XML operations.
pub fn prefixed_error(code: &str, message: &str) -> Vec<u8> {
    format!("<?xml version=\"1.0\" encoding=\"utf-8\"?><m:error xmlns:m=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\"><m:code>{code}</m:code><m:message xml:lang=\"en-US\">{message}</m:message></m:error>").into_bytes()
}

/// One table.
pub fn table(_context: &Context, _name: &str) -> Vec<u8> {
    Vec::new()
}

/// A page of tables.
pub fn tables(_context: &Context, _names: &[String]) -> Vec<u8> {
    Vec::new()
}

/// One entity.
pub fn entity(
    _context: &Context,
    _shape: &Shape,
    _table: &str,
    _row: &Stored,
) -> Result<Vec<u8>, CorruptRow> {
    Ok(Vec::new())
}

/// A page of entities.
pub fn entities(
    _context: &Context,
    _shape: &Shape,
    _table: &str,
    _rows: &[Stored],
) -> Result<Vec<u8>, CorruptRow> {
    Ok(Vec::new())
}

/// The APP service document.
pub fn service_document(_context: &Context) -> Vec<u8> {
    Vec::new()
}
