//! The operation that a request names, for the logs and metrics of requests that fail before they are decoded.

use lazuli_model::OperationKind;

use super::path::{Resource, parse_path};
use crate::http::query::Query;
use crate::{Address, Head};

/// The kind of operation that the head names. Nothing is checked; the kind is [`OperationKind::Unknown`] if the
/// head does not determine it.
pub fn named(head: &Head<'_>, address: &Address<'_>) -> OperationKind {
    use OperationKind as Kind;
    if head.method == "OPTIONS" {
        return Kind::QueuePreflightRequest;
    }
    let Ok(resource) = parse_path(address.resource_path) else { return Kind::Unknown };
    let comp = address.query.find("comp").unwrap_or_default().to_ascii_lowercase();
    match (resource, comp.as_str(), head.method) {
        (Resource::Service, "list", _) => Kind::ListQueues,
        (Resource::Service, "properties", "PUT") => Kind::SetQueueServiceProperties,
        (Resource::Service, "properties", _) => Kind::GetQueueServiceProperties,
        (Resource::Service, "stats", _) => Kind::GetQueueServiceStats,
        (Resource::Service, "userdelegationkey", _) => Kind::GetQueueUserDelegationKey,
        (Resource::Queue(_), "", "PUT") => Kind::CreateQueue,
        (Resource::Queue(_), "", "DELETE") => Kind::DeleteQueue,
        (Resource::Queue(_), "metadata", "PUT") => Kind::SetQueueMetadata,
        (Resource::Queue(_), "metadata", _) => Kind::GetQueueMetadata,
        (Resource::Queue(_), "acl", "PUT") => Kind::SetQueueAcl,
        (Resource::Queue(_), "acl", _) => Kind::GetQueueAcl,
        (Resource::Messages(_), _, "GET") => reading(address.query),
        (Resource::Messages(_), _, "POST") => Kind::PutMessage,
        (Resource::Messages(_), _, "DELETE") => Kind::ClearMessages,
        (Resource::Messages(_), "move", "PUT") => Kind::MoveMessages,
        (Resource::Message(..), _, "PUT") => Kind::UpdateMessage,
        (Resource::Message(..), _, "DELETE") => Kind::DeleteMessage,
        _ => Kind::Unknown,
    }
}

/// One or several messages, dequeued or peeked at.
fn reading(query: Query<'_>) -> OperationKind {
    let one = query.find("numofmessages").is_none_or(|text| text.is_empty() || text == "1");
    let peeks = query.find("peekonly").is_some_and(|text| text.eq_ignore_ascii_case("true"));
    match (peeks, one) {
        (true, true) => OperationKind::PeekMessage,
        (true, false) => OperationKind::PeekMessages,
        (false, true) => OperationKind::GetMessage,
        (false, false) => OperationKind::GetMessages,
    }
}
