//! The operations that speak XML whatever the client accepts: access policies, service properties, stats.
//!
//! They are named by `comp` and `restype` in the query. Documents are small: what is larger, deeper or otherwise than any
//! of them is refused before it can cost anything.

mod acl;
mod properties;
pub mod send;
mod tree;

use lazuli_model::error::Origin;
use lazuli_model::{
    ErrorCode, Failure, Operation, OperationKind, ServiceProperties, SignedIdentifier, TableName,
};

use crate::address::{Address, Resource, parse_path};
use crate::atom::text::push_text;
use crate::response::{Context, Response};
use crate::{ApiVersion, Head};

/// The largest document. Larger is `RequestBodyTooLarge`.
pub const DOCUMENT_BYTES_MAX: usize = 64 * 1024;

/// What a request asks for, as far as its head tells.
#[derive(Clone, Debug, PartialEq)]
pub enum Intent {
    /// It needs no body.
    Ready(Operation),
    /// The body has the policies of this table.
    SetAcl(TableName),
    /// The body has properties.
    SetProperties,
}

/// Is this one of these operations?
pub fn is_asked_for(address: &Address<'_>) -> bool {
    address.query.get("comp").is_some() || is_of_service(address)
}

fn is_of_service(address: &Address<'_>) -> bool {
    address.query.get("restype").is_some_and(|value| value == "service")
}

/// What the head asks for.
pub fn intent(head: &Head<'_>, address: &Address<'_>, version: ApiVersion) -> Result<Intent, Failure> {
    let comp = address.query.get("comp").unwrap_or_default();
    if is_of_service(address) {
        if !address.resource_path.trim_matches('/').is_empty() {
            return Err(parameter().found_in(Origin::FrontEnd));
        }
        return of_service(head, address, &comp);
    }
    match comp.as_ref() {
        "acl" if version >= ApiVersion::V2012_02_12 => of_table(head, address),
        _ => Err(parameter()),
    }
}

fn of_service(head: &Head<'_>, address: &Address<'_>, comp: &str) -> Result<Intent, Failure> {
    match (comp, head.method) {
        ("properties", "GET" | "HEAD") => Ok(Intent::Ready(Operation::GetProperties)),
        ("properties", "PUT") => Ok(Intent::SetProperties),
        ("stats", "GET" | "HEAD") if address.secondary => Ok(Intent::Ready(Operation::GetStats)),
        ("properties", _) | ("stats", "PUT" | "POST" | "DELETE" | "MERGE" | "PATCH") => {
            Err(ErrorCode::UnsupportedHttpVerb.into())
        }
        _ => Err(parameter()),
    }
}

fn of_table(head: &Head<'_>, address: &Address<'_>) -> Result<Intent, Failure> {
    let table = match parse_path(address.account, address.resource_path).map_err(|refused| refused.failure)? {
        Resource::Entities(table) => table,
        _ => return Err(parameter()),
    };
    match head.method {
        "GET" | "HEAD" => Ok(Intent::Ready(Operation::GetAcl(table))),
        "PUT" => Ok(Intent::SetAcl(table)),
        _ => Err(ErrorCode::UnsupportedHttpVerb.into()),
    }
}

impl Intent {
    /// Does the body matter?
    pub fn needs_body(&self) -> bool {
        !matches!(self, Intent::Ready(_))
    }

    /// What it will be once the body is there, and the table it names.
    pub fn awaited(&self) -> Option<(OperationKind, Option<&TableName>)> {
        match self {
            Intent::Ready(_) => None,
            Intent::SetAcl(table) => Some((OperationKind::SetTableAcl, Some(table))),
            Intent::SetProperties => Some((OperationKind::SetTableServiceProperties, None)),
        }
    }

    /// The operation, once the body is there.
    pub fn with_body(self, body: &[u8], version: ApiVersion) -> Result<Operation, Failure> {
        if body.len() > DOCUMENT_BYTES_MAX {
            return Err(ErrorCode::RequestBodyTooLarge.into());
        }
        match self {
            Intent::Ready(operation) => Ok(operation),
            Intent::SetAcl(table) => Ok(Operation::SetAcl(table, acl::decode(body)?)),
            Intent::SetProperties => {
                Ok(Operation::SetProperties(Box::new(properties::decode(body, version)?)))
            }
        }
    }
}

/// The answer to Get Table ACL.
pub fn acl(policies: &[SignedIdentifier]) -> Response {
    document(|out| acl::encode(out, policies))
}

/// The answer to Get Table Service Properties.
pub fn properties(context: &Context, found: &ServiceProperties) -> Response {
    document(|out| properties::encode(out, found, context.version))
}

/// The answer to Get Table Service Stats: the secondary reads the same rows, so it is in step.
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

/// An answer whose document starts with a byte order mark, as the original's do.
fn document(write: impl FnOnce(&mut Vec<u8>)) -> Response {
    let mut body = b"\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?>".to_vec();
    write(&mut body);
    Response::new(200).with("Content-Type", "application/xml").with_body(body)
}

fn nest(out: &mut Vec<u8>, name: &str, content: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(format!("<{name}>").as_bytes());
    content(out);
    out.extend_from_slice(format!("</{name}>").as_bytes());
}

fn leaf(out: &mut Vec<u8>, name: &str, text: &str) {
    if text.is_empty() {
        out.extend_from_slice(format!("<{name} />").as_bytes());
    } else {
        nest(out, name, |out| push_text(out, text));
    }
}

/// What is wrong with a document is not told in detail: one code for all of it, as recorded.
fn invalid() -> Failure {
    ErrorCode::InvalidXmlDocument.into()
}

fn parameter() -> Failure {
    ErrorCode::InvalidQueryParameterValue.into()
}

#[cfg(test)]
mod tests;
