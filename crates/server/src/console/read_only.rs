//! Read-only mode: decides which requests only read.
//!
//! The server enforces it, so it does not depend on the page. Getting messages of a queue hides them, so only
//! peeking counts as reading.

use lazuli_model::Service;
use lazuli_protocol::Response;
use lazuli_protocol::http::query::Query;

/// Does the request change nothing?
pub fn allows(service: Service, method: &str, path: &str, query: Option<&str>) -> bool {
    if method != "GET" && method != "HEAD" {
        return false;
    }
    if service != Service::Queue {
        return true;
    }
    // Any path that could decode to the path of messages is treated as one.
    let may_be_messages = path.trim_matches('/').split('/').count() > 2 || path.contains('%');
    !may_be_messages || peeks(query.unwrap_or_default())
}

/// Do all relevant parameters request only a peek?
fn peeks(query: &str) -> bool {
    let mut said = Query(query).pairs().flatten().filter(|(name, _)| name.eq_ignore_ascii_case("peekonly"));
    let is_true = |value: &str| value.eq_ignore_ascii_case("true");
    said.next().is_some_and(|(_, value)| is_true(&value)) && said.all(|(_, value)| is_true(&value))
}

/// The response to a request that would change something.
pub fn rejection(request_id: String) -> Response {
    let body = "<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>ConsoleReadOnly</Code>\
                <Message>The console is read-only (--console-read-only).</Message></Error>";
    Response::new(403)
        .with("Content-Type", "application/xml")
        .with("x-ms-error-code", "ConsoleReadOnly")
        .with("x-ms-request-id", request_id)
        .with_body(body.as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reads_are_allowed() {
        for service in Service::ALL {
            for method in ["PUT", "POST", "DELETE", "MERGE", "PATCH", "OPTIONS", "get"] {
                assert!(!allows(service, method, "/dev/a", None), "{service:?} {method}");
            }
            for method in ["GET", "HEAD"] {
                assert!(allows(service, method, "/dev/a", Some("comp=metadata")), "{service:?} {method}");
            }
        }
    }

    /// Get Messages is a GET that hides messages and counts how often they were read.
    #[test]
    fn dequeuing_is_not_a_read() {
        let get = |path, query| allows(Service::Queue, "GET", path, query);
        assert!(get("/dev/q/messages", Some("peekonly=true")));
        assert!(!get("/dev/q/messages", None));
        assert!(!get("/dev/q/%6dessages", Some("numofmessages=32")));
        assert!(!get("/dev/q/messages", Some("peekonly=false")));
        assert!(!get("/dev/q/messages/", Some("visibilitytimeout=1")));
        assert!(!get("/dev/q%2Fmessages", None));
        assert!(!get("/dev/q/messages", Some("peekonly=true&PeekOnly=false")));
        assert!(get("/dev/", Some("comp=list")));
    }
}
