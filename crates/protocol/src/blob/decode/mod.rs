//! Decodes the head and the body of a request into an operation.
//!
//! This takes two steps, so that a request with an invalid head is rejected before its body is read. Content is
//! not handled here: operations only declare it.

mod append;
mod blob;
mod block;
mod container;
mod copy;
mod lease;
mod list;
mod page;
mod protection;
mod read;
mod service;
mod update;
mod write;

use lazuli_digest::{digest, verify};
use lazuli_model::blob::container::ContainerAction;
use lazuli_model::blob::operation::BlobAction;
use lazuli_model::blob::write::{Digested, Digests, StreamedBody};
use lazuli_model::blob::{BlobName, ContainerName, Operation};
use lazuli_model::error::Origin;
use lazuli_model::{ErrorCode, Failure, OperationKind, Service};

use super::params::Params;
use super::path::{Resource, parse_path};
use super::response_format::ResponseFormat;
use super::{block_list, header, limits, tags};
use crate::xml::{acl, delegation, properties};
use crate::{Address, ApiVersion, Head};

/// The operation of a request, as far as its head determines it.
#[derive(Clone, Debug, PartialEq)]
pub enum Intent {
    /// The operation is complete. If it declares a body, the body is streamed separately.
    Ready(Operation),
    /// The body is a document that completes the operation; until then, that part of the operation is empty.
    Document(Operation, Document),
    /// The body is a batch, possibly limited to a container.
    Batch(Option<ContainerName>),
}

/// The documents that complete operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
    /// The properties of the service.
    Properties,
    /// The period of a user delegation key.
    KeyInfo,
    /// Stored access policies.
    Acl,
    /// A block list.
    BlockList,
    /// Tags.
    Tags,
}

/// A request, as input of the decoders.
struct Ask<'a> {
    head: &'a Head<'a>,
    params: &'a Params<'a>,
    version: ApiVersion,
    address: &'a Address<'a>,
    is_account: &'a dyn Fn(&str) -> bool,
}

/// Parses the head: the operation, and the format of the response. `is_account` says whether a host can name
/// an account, for the URLs of copy sources.
pub fn decode(
    head: &Head<'_>,
    address: &Address<'_>,
    version: ApiVersion,
    is_account: &dyn Fn(&str) -> bool,
) -> Result<(Intent, ResponseFormat), Failure> {
    let params = Params::parse(address.query)?;
    let resource = parse_path(address.resource_path, &params)?;
    let mut wanted = ResponseFormat::of(head, &params);
    let ask = Ask { head, params: &params, version, address, is_account };
    if head.method == "OPTIONS" {
        return Err(Failure::from(ErrorCode::CorsPreflightFailure).found_in(Origin::FrontEnd));
    }
    if asks_for_namespace(&params) {
        return Err(ErrorCode::HierarchicalNamespaceNotEnabled.into());
    }
    let intent = match resource {
        Resource::Service => service::decode(&ask, &mut wanted)?,
        Resource::Container(container) => container::decode(&ask, container, &mut wanted)?,
        Resource::Blob(container, blob) => Intent::from(blob::decode(&ask, container, blob)?),
    };
    if let Some(body) = intent.streams() {
        limits::check_body(intent.kind(), version, body.length)?;
    }
    Ok((intent, wanted))
}

/// Is it a request to the API for hierarchical namespaces? Clients probe for it and examine the error code.
fn asks_for_namespace(params: &Params<'_>) -> bool {
    const ACTIONS: [&str; 8] = [
        "getaccesscontrol",
        "setaccesscontrol",
        "setaccesscontrolrecursive",
        "getstatus",
        "checkaccess",
        "append",
        "flush",
        "setproperties",
    ];
    let action = params.get("action").map(str::to_ascii_lowercase);
    action.is_some_and(|action| ACTIONS.contains(&action.as_str()))
        || params.get("resource").is_some_and(|resource| {
            ["filesystem", "directory", "file", "account"]
                .iter()
                .any(|kind| resource.eq_ignore_ascii_case(kind))
        })
}

impl Intent {
    /// The kind of the operation, for logs and metrics.
    pub fn kind(&self) -> OperationKind {
        match self {
            Intent::Ready(operation) | Intent::Document(operation, _) => operation.kind(),
            Intent::Batch(_) => OperationKind::BlobBatch,
        }
    }

    /// The operation as far as it is known, to check the rights of the caller before the body is read.
    pub fn operation(&self) -> Option<&Operation> {
        match self {
            Intent::Ready(operation) | Intent::Document(operation, _) => Some(operation),
            Intent::Batch(_) => None,
        }
    }

    /// The container of the request.
    pub fn container(&self) -> Option<&ContainerName> {
        match self {
            Intent::Batch(container) => container.as_ref(),
            _ => self.operation().and_then(Operation::container),
        }
    }

    /// The blob of the request.
    pub fn blob(&self) -> Option<&BlobName> {
        self.operation().and_then(Operation::blob)
    }

    /// Must the whole body be read to determine the operation?
    pub fn needs_body(&self) -> bool {
        !matches!(self, Intent::Ready(_))
    }

    /// The body, which is streamed separately from the operation.
    pub fn streams(&self) -> Option<&StreamedBody> {
        match self {
            Intent::Ready(Operation::Blob(request)) => request.action.body(),
            _ => None,
        }
    }

    /// The largest body.
    pub fn body_max(&self, version: ApiVersion) -> u64 {
        limits::body_max(self.kind(), version)
    }

    /// The operation, once the body has been read. A batch has none.
    pub fn with_body(
        self,
        head: &Head<'_>,
        version: ApiVersion,
        body: &[u8],
        wanted: &mut ResponseFormat,
    ) -> Result<Operation, Failure> {
        limits::check_body(self.kind(), version, body.len() as u64)?;
        match self {
            Intent::Ready(operation) => Ok(operation),
            Intent::Document(operation, document) => {
                let crc64 = version >= ApiVersion::V2019_02_02 && document == Document::BlockList;
                wanted.document = check_document(head, body, Digests { md5: !crc64, crc64 })?;
                complete(operation, document, version, body)
            }
            Intent::Batch(_) => Err(ErrorCode::InvalidInput.into()),
        }
    }
}

/// Verifies the checksums that the client sent, and returns those that the response needs.
fn check_document(head: &Head<'_>, body: &[u8], needed: Digests) -> Result<Digested, Failure> {
    let declared =
        StreamedBody { length: body.len() as u64, expected: write::transfer_checksums(head)?, needed };
    let found = digest(body, declared.computed());
    verify(&declared.expected, &found)?;
    Ok(Digested { md5: found.md5.filter(|_| needed.md5), crc64: found.crc64.filter(|_| needed.crc64) })
}

fn complete(
    operation: Operation,
    document: Document,
    version: ApiVersion,
    body: &[u8],
) -> Result<Operation, Failure> {
    match (document, operation) {
        (Document::Properties, _) => {
            Ok(Operation::SetProperties(Box::new(properties::decode(Service::Blob, body, version)?)))
        }
        (Document::KeyInfo, _) => Ok(Operation::GetUserDelegationKey(delegation::decode(body)?)),
        (Document::Acl, Operation::Container(mut request)) => {
            if let ContainerAction::SetAcl { policies, .. } = &mut request.action {
                *policies = acl::decode(body, Service::Blob)?;
            }
            Ok(Operation::Container(request))
        }
        (_, Operation::Blob(mut request)) => {
            match &mut request.action {
                BlobAction::PutBlockList(blocks, _) => *blocks = block_list::decode(body)?,
                BlobAction::SetTags(tags) => *tags = tags::decode(body)?,
                _ => {}
            }
            Ok(Operation::Blob(request))
        }
        (_, operation) => Ok(operation),
    }
}

/// 405 for a method that a resource does not support.
fn verb() -> Failure {
    ErrorCode::UnsupportedHttpVerb.into()
}

/// A value of `comp` that a resource does not support.
fn unknown_comp(params: &Params<'_>) -> Failure {
    let value = params.get("comp").unwrap_or_default();
    super::params::invalid_because("comp", value, "")
}

/// The id of the lease that the client holds.
fn lease_id(head: &Head<'_>) -> Result<Option<lazuli_model::Guid>, Failure> {
    header::guid(head, "x-ms-lease-id")
}

#[cfg(test)]
mod tests;
