//! Decodes the head and the body of a request into an operation.
//!
//! This takes two steps, so that a request with an invalid head is rejected before its body is read.

use lazuli_model::error::Origin;
use lazuli_model::queue::limits::{LIST_PAGE_MAX, MESSAGE_BODY_BYTES_MAX};
use lazuli_model::queue::operation::{MessageTarget, QueueQuery};
use lazuli_model::queue::{Operation, QueueName};
use lazuli_model::{DateTime, ErrorCode, Failure, Guid, KeyPeriod, OperationKind, PropertiesUpdate, Service};

use super::message::{self, too_large};
use super::path::{Resource, parse_path};
use super::response_format::{Listing, ResponseFormat};
use super::{limits, marker, receipt};
use crate::http::metadata::metadata;
use crate::http::params::{Params, invalid, invalid_because, missing};
use crate::xml::{DOCUMENT_BYTES_MAX, acl, delegation, properties};
use crate::{Address, ApiVersion, Head};

/// The operation of a request, as far as its head determines it.
#[derive(Clone, Debug, PartialEq)]
pub enum Intent {
    /// The operation is complete.
    Ready(Operation),
    /// The body is a document that completes the operation; until then, that part of the operation is empty.
    Document(Operation),
}

/// A request, as input of the decoders.
struct Ask<'a> {
    head: &'a Head<'a>,
    address: &'a Address<'a>,
    params: &'a Params<'a>,
    version: ApiVersion,
}

/// Parses the head: the operation, and the format of the response.
pub fn decode(
    head: &Head<'_>,
    address: &Address<'_>,
    version: ApiVersion,
) -> Result<(Intent, ResponseFormat), Failure> {
    let params = Params::parse(address.query)?;
    let resource = parse_path(address.resource_path)?;
    let ask = Ask { head, address, params: &params, version };
    let mut wanted = ResponseFormat::default();
    check_verb(head.method)?;
    let intent = match resource {
        Resource::Service => service(&ask, &mut wanted)?,
        Resource::Queue(queue) => of_queue(&ask, queue)?,
        Resource::Messages(queue) => messages(&ask, queue)?,
        Resource::Message(queue, id) => of_message(&ask, queue, id)?,
    };
    Ok((intent, wanted))
}

fn check_verb(method: &str) -> Result<(), Failure> {
    match method {
        "GET" | "HEAD" | "PUT" | "POST" | "DELETE" | "MERGE" | "PATCH" | "TRACE" | "CONNECT" => Ok(()),
        "OPTIONS" => Err(Failure::from(ErrorCode::CorsPreflightFailure).found_in(Origin::FrontEnd)),
        _ => Err(ErrorCode::InvalidHttpVerb.into()),
    }
}

fn service(ask: &Ask<'_>, wanted: &mut ResponseFormat) -> Result<Intent, Failure> {
    let restype = ask.params.get("restype").unwrap_or_default().to_ascii_lowercase();
    match (restype.as_str(), ask.params.comp().as_str(), ask.head.method) {
        ("", "list", "GET") => list(ask, wanted),
        ("service", "properties", "GET") => Ok(Intent::Ready(Operation::GetProperties)),
        ("service", "properties", "PUT") => {
            let update = Box::new(PropertiesUpdate::default());
            Ok(Intent::Document(Operation::SetProperties(update)))
        }
        // Only the secondary endpoint can report the replication delay.
        ("service", "stats", "GET" | "HEAD") if ask.address.secondary => {
            Ok(Intent::Ready(Operation::GetStats))
        }
        ("service", "stats", "GET" | "HEAD") => Err(invalid_because("comp", "stats", "")),
        ("service", "userdelegationkey", "POST") => {
            let period = KeyPeriod { start: None, expiry: DateTime::MIN };
            Ok(Intent::Document(Operation::GetUserDelegationKey(period)))
        }
        ("", "list", _) | ("service", "properties" | "stats" | "userdelegationkey", _) => {
            Err(unsupported_verb())
        }
        _ => Err(unknown_comp(ask)),
    }
}

fn list(ask: &Ask<'_>, wanted: &mut ResponseFormat) -> Result<Intent, Failure> {
    let params = ask.params;
    let includes = params.all("include").flat_map(|list| list.split(',')).filter(|name| !name.is_empty());
    let mut query = QueueQuery {
        prefix: params.get("prefix").unwrap_or_default().to_owned(),
        from: None,
        limit: max_results(params)?,
        metadata: false,
    };
    for name in includes {
        if !name.eq_ignore_ascii_case("metadata") {
            return Err(invalid("include", name));
        }
        query.metadata = true;
    }
    if let Some(text) = params.filled("marker") {
        query.from = Some(marker::decode(ask.address.account, text)?);
    }
    wanted.listing = Some(Box::new(Listing::of(params)));
    Ok(Intent::Ready(Operation::ListQueues(query)))
}

/// Values above the page size count as the page size; zero and negative values are errors.
fn max_results(params: &Params<'_>) -> Result<u32, Failure> {
    match params.number("maxresults", 1, LIST_PAGE_MAX.into()) {
        Ok(number) => Ok(number.and_then(|number| u32::try_from(number).ok()).unwrap_or(LIST_PAGE_MAX)),
        Err(failure) => {
            let text = params.filled("maxresults").unwrap_or_default();
            let is_large = failure.code == ErrorCode::OutOfRangeQueryParameterValue
                && !text.starts_with('-')
                && text.bytes().any(|b| b != b'0');
            if is_large { Ok(LIST_PAGE_MAX) } else { Err(failure) }
        }
    }
}

fn of_queue(ask: &Ask<'_>, queue: QueueName) -> Result<Intent, Failure> {
    match (ask.params.comp().as_str(), ask.head.method) {
        ("", "PUT") => Ok(Intent::Ready(Operation::CreateQueue(queue, metadata(ask.head)?))),
        ("", "DELETE") => Ok(Intent::Ready(Operation::DeleteQueue(queue))),
        ("metadata", "GET" | "HEAD") => Ok(Intent::Ready(Operation::GetMetadata(queue))),
        ("metadata", "PUT") => Ok(Intent::Ready(Operation::SetMetadata(queue, metadata(ask.head)?))),
        // Access policies were introduced with shared access signatures.
        ("acl", _) if ask.version < ApiVersion::V2012_02_12 => Err(unknown_comp(ask)),
        ("acl", "GET" | "HEAD") => Ok(Intent::Ready(Operation::GetAcl(queue))),
        ("acl", "PUT") => Ok(Intent::Document(Operation::SetAcl(queue, Vec::new()))),
        ("metadata" | "acl", _) | ("", "POST" | "MERGE" | "PATCH") => Err(unsupported_verb()),
        _ => Err(unknown_comp(ask)),
    }
}

fn messages(ask: &Ask<'_>, queue: QueueName) -> Result<Intent, Failure> {
    let Ask { params, version, .. } = *ask;
    match ask.head.method {
        "GET" if peeks(params)? => {
            Ok(Intent::Ready(Operation::PeekMessages { queue, count: limits::count(params)? }))
        }
        "GET" => {
            let count = limits::count(params)?;
            let visibility = limits::get_visibility(params, version)?;
            Ok(Intent::Ready(Operation::GetMessages { queue, count, visibility }))
        }
        "POST" => {
            let (visibility, ttl) = limits::put_times(params, version)?;
            let operation = Operation::PutMessage { queue, text: Box::default(), visibility, ttl };
            Ok(Intent::Document(operation))
        }
        "DELETE" => Ok(Intent::Ready(Operation::ClearMessages(queue))),
        "PUT" if params.comp() == "move" => {
            let to = params.filled("to").ok_or_else(|| missing("to"))?;
            let to = QueueName::new(to).map_err(|_| invalid("to", to))?;
            Ok(Intent::Ready(Operation::MoveMessages { from: queue, to, max: limits::move_count(params)? }))
        }
        _ => Err(unsupported_verb()),
    }
}

fn peeks(params: &Params<'_>) -> Result<bool, Failure> {
    match params.filled("peekonly") {
        None => Ok(false),
        Some(text) if text.eq_ignore_ascii_case("true") => Ok(true),
        Some(text) if text.eq_ignore_ascii_case("false") => Ok(false),
        Some(text) => Err(invalid("peekonly", text)),
    }
}

/// Update Message was introduced in 2011-08-18. Azure reports a receipt that is not Base64 before it looks up
/// the message, and one with a wrong length afterwards.
fn of_message(ask: &Ask<'_>, queue: QueueName, id: Option<Guid>) -> Result<Intent, Failure> {
    let target = || -> Result<MessageTarget, Failure> {
        let text = ask.params.get("popreceipt").ok_or_else(|| missing("popreceipt"))?;
        match (id, receipt::decode(text)) {
            (Some(id), receipt) => Ok(MessageTarget { queue, id, receipt: receipt? }),
            (None, Err(malformed)) if !receipt::is_base64(text) => Err(malformed),
            (None, _) => Err(Failure::from(ErrorCode::MessageNotFound).found_in(Origin::Routing)),
        }
    };
    match ask.head.method {
        "PUT" if ask.version >= ApiVersion::V2011_08_18 => {
            let target = target()?;
            let visibility = limits::update_visibility(ask.params)?;
            let operation = Operation::UpdateMessage { target, visibility, text: None };
            Ok(Intent::Document(operation))
        }
        "DELETE" => Ok(Intent::Ready(Operation::DeleteMessage(target()?))),
        _ => Err(unsupported_verb()),
    }
}

fn unsupported_verb() -> Failure {
    ErrorCode::UnsupportedHttpVerb.into()
}

/// A combination of `restype` and `comp` that the resource does not support.
fn unknown_comp(ask: &Ask<'_>) -> Failure {
    invalid_because("comp", ask.params.get("comp").unwrap_or_default(), "")
}

impl Intent {
    /// The kind of the operation, for logs and metrics.
    pub fn kind(&self) -> OperationKind {
        self.operation().kind()
    }

    /// The operation as far as it is known, to check the rights of the caller before the body is read.
    pub fn operation(&self) -> &Operation {
        match self {
            Intent::Ready(operation) | Intent::Document(operation) => operation,
        }
    }

    /// The queue of the request.
    pub fn queue(&self) -> Option<&QueueName> {
        self.operation().queue()
    }

    /// Must the body be read to determine the operation?
    pub fn needs_body(&self) -> bool {
        matches!(self, Intent::Document(_))
    }

    /// The largest body.
    pub fn body_max(&self) -> usize {
        match self.operation() {
            Operation::PutMessage { .. } | Operation::UpdateMessage { .. } => MESSAGE_BODY_BYTES_MAX,
            _ => DOCUMENT_BYTES_MAX,
        }
    }

    /// The error for a larger body.
    pub fn body_too_large(&self) -> Failure {
        too_large(self.body_max())
    }

    /// The operation, once the body has been read. A body that the operation does not need is ignored.
    pub fn with_body(self, version: ApiVersion, body: &[u8]) -> Result<Operation, Failure> {
        if body.len() > self.body_max() {
            return Err(self.body_too_large());
        }
        match self {
            Intent::Ready(operation) => Ok(operation),
            Intent::Document(operation) => complete(operation, version, body),
        }
    }
}

fn complete(mut operation: Operation, version: ApiVersion, body: &[u8]) -> Result<Operation, Failure> {
    match &mut operation {
        Operation::SetProperties(update) => **update = properties::decode(Service::Queue, body, version)?,
        Operation::GetUserDelegationKey(period) => *period = delegation::decode(body)?,
        Operation::SetAcl(_, policies) => *policies = acl::decode(body, Service::Queue)?,
        Operation::PutMessage { text, .. } => *text = message::decode(body, version)?,
        // Without a body, the text is not changed.
        Operation::UpdateMessage { text, .. } if !body.is_empty() => {
            *text = Some(message::decode(body, version)?)
        }
        _ => {}
    }
    Ok(operation)
}

#[cfg(test)]
mod tests;
