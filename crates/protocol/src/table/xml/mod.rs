//! The operations that always use XML: access policies, service properties, stats.
//!
//! `comp` and `restype` in the query select them.

use lazuli_model::error::Origin;
use lazuli_model::table::Operation;
use lazuli_model::{ErrorCode, Failure, OperationKind, Service, TableName};

use crate::address::Address;
use crate::table::path::{Resource, parse_path};
use crate::xml::{DOCUMENT_BYTES_MAX, acl, properties};
use crate::{ApiVersion, Head};

/// The operation of a request, as far as its head determines it.
#[derive(Clone, Debug, PartialEq)]
pub enum XmlIntent {
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

/// The requested operation.
pub fn intent(head: &Head<'_>, address: &Address<'_>, version: ApiVersion) -> Result<XmlIntent, Failure> {
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

fn of_service(head: &Head<'_>, address: &Address<'_>, comp: &str) -> Result<XmlIntent, Failure> {
    match (comp, head.method) {
        ("properties", "GET" | "HEAD") => Ok(XmlIntent::Ready(Operation::GetProperties)),
        ("properties", "PUT") => Ok(XmlIntent::SetProperties),
        ("stats", "GET" | "HEAD") if address.secondary => Ok(XmlIntent::Ready(Operation::GetStats)),
        ("properties", _) | ("stats", "PUT" | "POST" | "DELETE" | "MERGE" | "PATCH") => {
            Err(ErrorCode::UnsupportedHttpVerb.into())
        }
        _ => Err(parameter()),
    }
}

fn of_table(head: &Head<'_>, address: &Address<'_>) -> Result<XmlIntent, Failure> {
    let resource = parse_path(address.account, address.resource_path).map_err(|rejected| rejected.failure)?;
    let table = match resource.on_path() {
        Resource::Entities(table) => table,
        _ => return Err(parameter()),
    };
    match head.method {
        "GET" | "HEAD" => Ok(XmlIntent::Ready(Operation::GetAcl(table))),
        "PUT" => Ok(XmlIntent::SetAcl(table)),
        _ => Err(ErrorCode::UnsupportedHttpVerb.into()),
    }
}

impl XmlIntent {
    /// Is the body needed?
    pub fn needs_body(&self) -> bool {
        !matches!(self, XmlIntent::Ready(_))
    }

    /// The kind of an operation whose body is not read yet, and its table.
    pub fn awaited(&self) -> Option<(OperationKind, Option<&TableName>)> {
        match self {
            XmlIntent::Ready(_) => None,
            XmlIntent::SetAcl(table) => Some((OperationKind::SetTableAcl, Some(table))),
            XmlIntent::SetProperties => Some((OperationKind::SetTableServiceProperties, None)),
        }
    }

    /// The operation, once the body has been read.
    pub fn with_body(self, body: &[u8], version: ApiVersion) -> Result<Operation, Failure> {
        if body.len() > DOCUMENT_BYTES_MAX {
            return Err(ErrorCode::RequestBodyTooLarge.into());
        }
        match self {
            XmlIntent::Ready(operation) => Ok(operation),
            XmlIntent::SetAcl(table) => Ok(Operation::SetAcl(table, acl::decode(body, Service::Table)?)),
            XmlIntent::SetProperties => {
                Ok(Operation::SetProperties(Box::new(properties::decode(Service::Table, body, version)?)))
            }
        }
    }
}

fn parameter() -> Failure {
    ErrorCode::InvalidQueryParameterValue.into()
}

#[cfg(test)]
mod tests;
