//! Atom bodies: entities, tables and errors, in and out.

pub(crate) mod document;
pub mod read;
pub mod write;
mod writer;

/// The namespace of entries and feeds.
const ATOM: &str = "http://www.w3.org/2005/Atom";
/// The namespace of property elements.
const DATA: &str = "http://schemas.microsoft.com/ado/2007/08/dataservices";
/// The namespace of the metadata of properties.
const METADATA: &str = "http://schemas.microsoft.com/ado/2007/08/dataservices/metadata";
/// The scheme of the category that names an entity's type.
const SCHEME: &str = "http://schemas.microsoft.com/ado/2007/08/dataservices/scheme";
