//! The listener of the web console: the page's files, and the data services under the page's own origin.
//!
//! | path | response |
//! |---|---|
//! | `/`, `/assets/…` | the page and its files, from `lazuli-console` |
//! | `/api/settings` | settings that the page needs before the first signed request |
//! | `/api/{blob,queue,table}/{account}/…` | the request without its first two segments, through the same pipeline as on the data ports |
//! | `/api/health/{account}` | counters, for requests that are signed with a key of the account |
//!
//! Nothing here is privileged: a request for data must be signed or carry a SAS, as on any other port. The page has the
//! origin of this listener, so stored data must never be rendered as a page of this origin: see [`guard`] and the
//! policies of the console.

mod guard;
mod health;
mod read_only;

use std::net::SocketAddr;
use std::sync::Arc;

use lazuli_console as files;
use lazuli_model::{Failure, Service};
use lazuli_protocol::http::head::Field;
use lazuli_protocol::{Head, Response};
use serde_json::json;

use crate::accounts::DEVELOPMENT_ACCOUNT;
use crate::config::Listen;
use crate::http::{Body, Handler, Peer, Reply, RequestHead};
use crate::pipeline::Endpoint;
use crate::state::State;

const API: &str = "/api/";
const POLICY: &str = "Content-Security-Policy";

/// A service behind the console.
struct Backend {
    service: Service,
    endpoint: Endpoint,
    /// Where other programs reach the service: the host of generated URLs.
    authority: String,
    url: String,
}

/// Handles requests to the console's listener.
pub struct Console {
    state: Arc<State>,
    backends: Vec<Backend>,
    is_read_only: bool,
}

impl Console {
    /// A console for the services that listen on `listen`.
    pub fn new(state: Arc<State>, listen: Listen, url_of: impl Fn(SocketAddr) -> String) -> Self {
        let backends = listen.iter().map(|(service, address)| {
            let url = url_of(address);
            let authority = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest).to_owned();
            Backend { service, endpoint: Endpoint::new(state.clone(), service), authority, url }
        });
        let backends = backends.collect();
        let is_read_only = state.config.console.is_some_and(|console| console.is_read_only);
        Self { state, backends, is_read_only }
    }

    async fn route(&self, head: &Head<'_>, peer: Peer, body: &mut dyn Body) -> Reply {
        let (path, query) = split(head.target);
        let Some(call) = path.strip_prefix(API) else {
            return file(head.method, path).into();
        };
        if let Err(rejection) = guard::check_call(head) {
            return rejection.into();
        }
        let (name, rest) = call.split_at(call.find('/').unwrap_or(call.len()));
        match name {
            "settings" if rest.is_empty() => self.settings(head.method).into(),
            "health" => self.health(head, (rest, query), peer).await.into(),
            _ => match self.backends.iter().find(|backend| backend.service.label() == name) {
                Some(backend) => self.forward(backend, head, rest, query, peer, body).await,
                None => guard::plain(404, "not found").into(),
            },
        }
    }

    /// Passes a request to the pipeline of its service, without the first two path segments.
    async fn forward(
        &self,
        backend: &Backend,
        head: &Head<'_>,
        path: &str,
        query: Option<&str>,
        peer: Peer,
        body: &mut dyn Body,
    ) -> Reply {
        if self.is_read_only && !read_only::allows(backend.service, head.method, path, query) {
            return read_only::rejection(self.state.ids.next().to_string()).into();
        }
        let target = match query {
            Some(query) => format!("{path}?{query}"),
            None => path.to_owned(),
        };
        let fields = forwarded(head, &backend.authority);
        let head = Head { method: head.method, target: &target, fields: &fields };
        backend.endpoint.respond(&head, peer, body).await
    }

    /// Public facts that the page needs before the first signed request.
    fn settings(&self, method: &str) -> Response {
        if method != "GET" && method != "HEAD" {
            return guard::plain(405, "only GET");
        }
        let endpoints: serde_json::Map<String, serde_json::Value> = self
            .backends
            .iter()
            .map(|backend| (backend.service.label().to_owned(), backend.url.as_str().into()))
            .collect();
        let development = self.state.directory.is_given(DEVELOPMENT_ACCOUNT);
        json_response(&json!({
            "version": env!("CARGO_PKG_VERSION"),
            "readOnly": self.is_read_only,
            "developmentAccount": development,
            "endpoints": endpoints,
        }))
    }
}

impl Handler for Console {
    async fn handle(&self, head: &RequestHead<'_>, peer: Peer, body: &mut dyn Body) -> Reply {
        let head = Head { method: head.method, target: head.target, fields: &head.fields };
        let mut reply = match guard::check_host(&head, &self.state.config.allowed_hosts) {
            Ok(()) => Box::pin(self.route(&head, peer, body)).await,
            Err(rejection) => rejection.into(),
        };
        secure(&mut reply.response);
        reply
    }

    fn rejection(&self, failure: &Failure, _: Peer) -> Response {
        let mut response = guard::plain(failure.code.status(), failure.code.name());
        secure(&mut response);
        response
    }
}

/// The header fields that the pipeline sees: the origin of the page has been checked already, and the host is
/// that of the service.
fn forwarded<'a>(head: &Head<'a>, authority: &'a str) -> Vec<Field<'a>> {
    let dropped = ["host", "origin", "referer", "cookie"];
    let kept =
        head.fields.iter().filter(|field| !dropped.iter().any(|name| field.name.eq_ignore_ascii_case(name)));
    std::iter::once(Field { name: "Host", value: authority }).chain(kept.copied()).collect()
}

fn split(target: &str) -> (&str, Option<&str>) {
    target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)))
}

fn file(method: &str, path: &str) -> Response {
    let Some(found) = files::find(path) else { return guard::plain(404, "not found") };
    if method != "GET" && method != "HEAD" {
        return guard::plain(405, "only GET");
    }
    Response::new(200)
        .with("Content-Type", found.content_type)
        .with("Cache-Control", found.cache_control)
        .with(POLICY, files::PAGE_POLICY)
        .with_body(found.bytes.to_vec())
}

fn json_response(value: &serde_json::Value) -> Response {
    Response::new(200)
        .with("Content-Type", "application/json")
        .with("Cache-Control", "no-store")
        .with_body(format!("{value}\n").into_bytes())
}

/// Adds the headers that every response of this listener carries. Only the page itself may run scripts.
fn secure(response: &mut Response) {
    if response.get(POLICY).is_none() {
        response.fields.push((POLICY.into(), files::API_POLICY.into()));
    }
    for (name, value) in files::COMMON_HEADERS {
        response.fields.retain(|(given, _)| !given.eq_ignore_ascii_case(name));
        response.fields.push((name.into(), value.into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A blob that is served through the console keeps its own type, but not the rights of the console's pages.
    #[test]
    fn only_the_page_may_run_scripts() {
        let mut page = file("GET", "/");
        secure(&mut page);
        assert_eq!(page.get(POLICY), Some(files::PAGE_POLICY));
        let mut blob = Response::new(200).with("Content-Type", "text/html");
        secure(&mut blob);
        assert!(blob.get(POLICY).unwrap().contains("sandbox"));
        assert_eq!(blob.get("X-Content-Type-Options"), Some("nosniff"));
    }

    #[test]
    fn the_pipeline_sees_the_host_of_the_service_and_no_origin() {
        let fields = [
            Field { name: "host", value: "localhost:10003" },
            Field { name: "Origin", value: "http://localhost:10003" },
            Field { name: "x-ms-date", value: "now" },
        ];
        let head = Head { method: "GET", target: "/", fields: &fields };
        let seen = forwarded(&head, "127.0.0.1:10000");
        let seen: Vec<_> = seen.iter().map(|field| (field.name, field.value)).collect();
        assert_eq!(seen, [("Host", "127.0.0.1:10000"), ("x-ms-date", "now")]);
    }
}
