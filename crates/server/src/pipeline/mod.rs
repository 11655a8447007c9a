//! The pipeline: the steps that every request of every service goes through.
//!
//! | step | where |
//! |---|---|
//! | pick up changes by other front ends | [`State::freshen`] |
//! | address: account and resource | [`admit`], `protocol::address` |
//! | service properties: CORS, analytics, default version | [`admit`] |
//! | reject web pages and host names that are not allowed | [`origin`] |
//! | a preflight | `protocol::cors` |
//! | authenticate: version, signature, grant | [`admit`], [`sas`], `protocol::auth`, [`crate::accounts`] |
//! | rate of the account | [`rate`] |
//! | decode, authorise, read the body, execute, encode | [`crate::table`], [`crate::queue`], [`crate::blob`] |
//! | headers that every response carries | [`finish`] |
//! | CORS headers | `protocol::cors` |
//! | log, metrics, analytics | [`note`], [`log`], [`crate::metrics`], [`crate::analytics`] |
//!
//! Only the step in the middle differs between services; each service's module lists the order of its checks.

mod admit;
pub(crate) mod delegation;
pub(crate) mod execute;
pub(crate) mod finish;
mod log;
pub(crate) mod note;
pub(crate) mod origin;
mod rate;
mod sas;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use lazuli_model::{ErrorCode, Failure, LogVersion, OperationKind, Service, ServiceProperties};
use lazuli_protocol::auth::bearer::{self, Identity};
use lazuli_protocol::http::response::{Context, Response};
use lazuli_protocol::{Address, Head, cors};
use lazuli_service::Grant;

use crate::analytics::{self, CompletedExchange, Record};
use crate::clock::Stopwatch;
use crate::http::{Body, BoxFuture, Handler, Peer, Reply, RequestHead};
use crate::state::State;
use crate::{blob, queue, table};
use finish::{finish, reject};
use note::Note;

/// The health of the server, on every port. No account, container or table can have this name.
pub const HEALTH_PATH: &str = "/-/health";

/// A request whose sender is not authenticated yet.
pub(crate) struct Arrival<'a> {
    pub(crate) head: Head<'a>,
    pub(crate) address: Address<'a>,
    /// The address of the client.
    pub(crate) peer: Peer,
}

/// An authenticated request.
pub(crate) struct Request<'a> {
    pub(crate) head: Head<'a>,
    pub(crate) address: Address<'a>,
    pub(crate) grant: Grant,
    pub(crate) context: &'a Context,
    pub(crate) peer: Peer,
}

/// Handles the requests to one service of a server.
pub struct Endpoint {
    state: Arc<State>,
    service: Service,
    /// Serves only the static websites of accounts.
    is_for_websites: bool,
}

impl Endpoint {
    /// The endpoint of a service.
    pub fn new(state: Arc<State>, service: Service) -> Self {
        Self { state, service, is_for_websites: false }
    }

    /// The endpoint of static websites: `/ACCOUNT/PATH`.
    pub fn of_websites(state: Arc<State>) -> Self {
        Self { state, service: Service::Blob, is_for_websites: true }
    }

    /// The service.
    pub fn service(&self) -> Service {
        self.service
    }

    /// The state shared with the other endpoints.
    pub fn state(&self) -> &Arc<State> {
        &self.state
    }

    /// Responds to a request.
    pub fn respond<'a>(
        &'a self,
        head: &'a Head<'a>,
        peer: Peer,
        body: &'a mut dyn Body,
    ) -> BoxFuture<'a, Reply> {
        Box::pin(self.process(head, peer, body))
    }

    async fn process(&self, head: &Head<'_>, peer: Peer, body: &mut dyn Body) -> Reply {
        let watch = Stopwatch::start();
        let mut note = Note::new(head);
        let mut context = self.state.context();
        let located = match self.state.freshen().await {
            Ok(shared) => {
                self.state.locate(self.service, head, peer, &mut context).map(|address| (shared, address))
            }
            Err(failure) => Err(failure),
        };
        let reply = match located {
            Err(failure) => self.rejected(&context, head, &failure),
            Ok((shared, address)) => {
                let properties = self.state.properties(self.service, address.account).await;
                note.records = self.state.config.analytics && analytics::is_wanted(&properties);
                let arrival = Arrival { head: *head, address: address.clone(), peer };
                let is_website =
                    self.is_for_websites || self.service == Service::Blob && address.is_website();
                let mut reply = if is_website {
                    let website = &properties.static_website;
                    blob::website::process(&self.state, &arrival, website, body, &mut context, &mut note)
                        .await
                } else {
                    self.admitted(arrival, &properties, body, &mut context, &mut note).await
                };
                reply.response = finish(self.service, reply.response, &context, head);
                if is_website {
                    blob::website::brand(&mut reply.response);
                }
                note.name(self.service, head, &address);
                if sets_properties(note.kind) && reply.response.error.is_none() {
                    analytics::prepare(&self.state, self.service, address.account).await;
                }
                if self.state.service.has_moved(shared) {
                    reply = self.rejected(&context, head, &ErrorCode::OperationTimedOut.into());
                }
                note.explain(&mut reply.response);
                if !is_website {
                    reply.response = share(reply.response, head, &properties);
                }
                self.record((head, &address, peer), &context, &note, &reply.response, &properties, &watch);
                reply
            }
        };
        self.tell(&note, head, &context, &reply.response, peer, watch.elapsed());
        reply
    }

    fn rejected(&self, context: &Context, head: &Head<'_>, failure: &Failure) -> Reply {
        let response = reject(self.service, context, Some(head), failure);
        finish(self.service, response, context, head).into()
    }

    /// Authenticates the request and processes it. A preflight is not authenticated: browsers cannot sign it.
    async fn admitted(
        &self,
        arrival: Arrival<'_>,
        properties: &ServiceProperties,
        body: &mut dyn Body,
        context: &mut Context,
        note: &mut Note,
    ) -> Reply {
        let head = &arrival.head;
        if head.method == "OPTIONS" {
            note.kind = preflight_kind(self.service);
            let response = cors::preflight(head, &properties.cors);
            return response.unwrap_or_else(|failure| self.reject(context, head, &failure)).into();
        }
        let Address { account, authority, .. } = arrival.address;
        let page = self.state.check_page(head, (account, authority), properties);
        let admitted = match page {
            Ok(()) => self.state.admit(self.service, &arrival, properties, context).await,
            Err(failure) => Err(failure),
        };
        if admitted.is_ok() && note.records && properties.logging.version == LogVersion::V2 {
            // The token was verified.
            note.identity = bearer::token_of(head).and_then(Identity::of).map(Box::new);
        }
        let admitted = admitted.map_err(|failure| {
            let address = self.state.client_address(head, arrival.peer);
            let told = self.state.not_admitted(failure, address);
            // Rejecting requests from an address beyond its rate costs nothing but the response.
            note.records &= told.code != ErrorCode::ServerBusy;
            told
        });
        match admitted.and_then(|grant| self.state.within_rate(grant, context.version)) {
            Err(failure) => self.state.challenge(self.reject(context, head, &failure)).into(),
            Ok(grant) => {
                let Arrival { head, address, peer } = arrival;
                let request = Request { head, address, grant, context, peer };
                match self.service {
                    Service::Table => table::process(&self.state, &request, body, note).await.into(),
                    Service::Blob => blob::process(&self.state, &request, body, note).await,
                    Service::Queue => queue::process(&self.state, &request, body, note).await.into(),
                }
            }
        }
    }

    fn reject(&self, context: &Context, head: &Head<'_>, failure: &Failure) -> Response {
        reject(self.service, context, Some(head), failure)
    }

    /// Records a completed request, if its account is configured for it.
    fn record(
        &self,
        (head, address, peer): (&Head<'_>, &Address<'_>, Peer),
        context: &Context,
        note: &Note,
        response: &Response,
        properties: &ServiceProperties,
        watch: &Stopwatch,
    ) {
        if !note.records {
            return;
        }
        let state = &self.state;
        let exchange = CompletedExchange {
            service: self.service,
            head,
            address,
            peer: SocketAddr::new(state.client_address(head, peer), peer.address.port()),
            context,
            kind: note.kind,
            body_bytes: note.body_bytes,
            body_time: note.body_time,
            identity: note.identity.as_deref(),
            response,
            time: watch.elapsed(),
            scheme: state.scheme(head, peer),
        };
        if let Some(record) = Record::take(&exchange, properties) {
            state.analytics.leave(record, state.watch.elapsed());
        }
    }

    /// Counts a completed request, and logs it where that is configured.
    fn tell(
        &self,
        note: &Note,
        head: &Head<'_>,
        context: &Context,
        response: &Response,
        peer: Peer,
        time: Duration,
    ) {
        let completed = note.completed(response, time);
        self.state.metrics.count(&completed);
        if self.state.metrics.is_wasteful(&completed) {
            log::warn(note, head, context);
        }
        if self.state.metrics.slow().wants(&completed) {
            self.state.metrics.slow().note(
                &self.state.home(&context.account),
                head.target,
                context.now,
                &completed,
            );
        }
        if self.state.config.log_requests {
            log::write(note, head, context, response, peer.address.ip(), time);
        }
    }
}

fn sets_properties(kind: OperationKind) -> bool {
    use OperationKind::{SetBlobServiceProperties, SetQueueServiceProperties, SetTableServiceProperties};
    matches!(kind, SetBlobServiceProperties | SetQueueServiceProperties | SetTableServiceProperties)
}

fn preflight_kind(service: Service) -> OperationKind {
    match service {
        Service::Blob => OperationKind::BlobPreflightRequest,
        Service::Queue => OperationKind::QueuePreflightRequest,
        Service::Table => OperationKind::TablePreflightRequest,
    }
}

/// Adds the CORS headers for web pages of other origins, according to the rules of the account.
fn share(mut response: Response, head: &Head<'_>, properties: &ServiceProperties) -> Response {
    if head.method != "OPTIONS" {
        let fields = cors::fields(head, &properties.cors, &response);
        response.fields.extend(fields);
    }
    response
}

impl Endpoint {
    /// The health check for load balancers, which cannot sign requests. It reveals only whether writes are
    /// accepted.
    async fn health(&self) -> Response {
        let readiness = self.state.health.check().await;
        let code = if readiness.reason().is_none() { 200 } else { 503 };
        let text = format!("{{\"status\":\"{}\"}}\n", readiness.name());
        Response::new(code).with("Content-Type", "application/json").with_body(text.into_bytes())
    }
}

impl Handler for Endpoint {
    async fn handle(&self, head: &RequestHead<'_>, peer: Peer, body: &mut dyn Body) -> Reply {
        if matches!(head.method, "GET" | "HEAD") && head.target == HEALTH_PATH {
            return self.health().await.into();
        }
        let head = Head { method: head.method, target: head.target, fields: &head.fields };
        self.process(&head, peer, body).await
    }

    fn rejection(&self, failure: &Failure, peer: Peer) -> Response {
        let head = Head { method: "-", target: "-", fields: &[] };
        let context = self.state.context();
        let response = reject(self.service, &context, None, failure);
        let response = finish(self.service, response, &context, &head);
        self.tell(&Note::default(), &head, &context, &response, peer, Duration::ZERO);
        response
    }
}
