//! The resource with a path. The path is decoded once; the address keeps the raw form for signatures.

use lazuli_model::error::Origin;
use lazuli_model::queue::QueueName;
use lazuli_model::{ErrorCode, Failure, Guid};

use crate::http::percent;

/// A resource of the Queue service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource {
    /// The service.
    Service,
    /// A queue.
    Queue(QueueName),
    /// The messages of a queue.
    Messages(QueueName),
    /// One message. Ids are GUIDs: a message with another id, `None`, does not exist.
    Message(QueueName, Option<Guid>),
}

/// Parses the path below the account. A final slash is ignored.
pub fn parse_path(path: &str) -> Result<Resource, Failure> {
    let routing = |failure: Failure| failure.found_in(Origin::Routing);
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    if path.is_empty() {
        return Ok(Resource::Service);
    }
    let mut segments = path.split('/');
    let mut next = || -> Result<Option<_>, Failure> {
        segments
            .next()
            .map(|text| percent::decode(text).ok_or_else(|| ErrorCode::InvalidUri.into()))
            .transpose()
    };
    let queue = next()?.unwrap_or_default();
    let queue = QueueName::new(&queue).map_err(|error| routing(error.into()))?;
    match (next()?.as_deref(), next()?, next()?) {
        (None, ..) => Ok(Resource::Queue(queue)),
        (Some("messages"), None, _) => Ok(Resource::Messages(queue)),
        (Some("messages"), Some(id), None) => Ok(Resource::Message(queue, id.parse().ok())),
        _ => Err(routing(ErrorCode::InvalidUri.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources() {
        let queue = |name: &str| QueueName::new(name).unwrap();
        let id = "f24068a1-6ca0-4ae9-b3cc-133d4df349e1";
        for (path, expected) in [
            ("", Resource::Service),
            ("/", Resource::Service),
            ("/my-queue", Resource::Queue(queue("my-queue"))),
            ("/my-queue/", Resource::Queue(queue("my-queue"))),
            ("/%6dy-queue", Resource::Queue(queue("my-queue"))),
            ("/my-queue/messages", Resource::Messages(queue("my-queue"))),
            ("/my-queue/messages/", Resource::Messages(queue("my-queue"))),
            (&format!("/q-1/messages/{id}"), Resource::Message(queue("q-1"), id.parse().ok())),
            (
                &format!("/q-1/messages/{}", id.to_uppercase()),
                Resource::Message(queue("q-1"), id.parse().ok()),
            ),
        ] {
            assert_eq!(parse_path(path), Ok(expected), "{path}");
        }
    }

    #[test]
    fn illegal_paths() {
        for (path, code) in [
            ("/ab", ErrorCode::OutOfRangeInput),
            (&format!("/{}", "q".repeat(64)), ErrorCode::OutOfRangeInput),
            ("//messages", ErrorCode::OutOfRangeInput),
            ("/DeleteChannelAndBlogs", ErrorCode::InvalidResourceName),
            ("/my--queue", ErrorCode::InvalidResourceName),
            ("/-queue", ErrorCode::InvalidResourceName),
            ("/my%2Fqueue", ErrorCode::InvalidResourceName),
            ("/my-queue/other", ErrorCode::InvalidUri),
            ("/my-queue//", ErrorCode::InvalidUri),
            ("/my-queue/messages/f24068a1-6ca0-4ae9-b3cc-133d4df349e1/x", ErrorCode::InvalidUri),
            ("/%zz", ErrorCode::InvalidUri),
            ("/my-queue/%ff", ErrorCode::InvalidUri),
        ] {
            assert_eq!(parse_path(path).map_err(|failure| failure.code), Err(code), "{path}");
        }
    }
}
