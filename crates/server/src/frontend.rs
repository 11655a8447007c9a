//! The pipeline: what happens to a request, step by step.
//!
//! | step | where |
//! |---|---|
//! | address | `protocol::address` |
//! | a preflight | `protocol::cors` |
//! | who | [`admit`], `protocol::auth`, [`crate::accounts`] |
//! | what, by the head | [`run`], `protocol::table::decode` |
//! | read body | the connection, only now |
//! | what, by the body | `protocol::table::decode`, `protocol::batch` |
//! | may they, do it | `service` |
//! | encode | `protocol::table::encode`, `protocol::xml` |
//! | share with web pages | `protocol::cors` |
//! | tell how it was answered | [`note`], [`log`], [`crate::metrics`], [`crate::analytics`] |

mod admit;
mod busy;
mod encode;
mod log;
mod note;
mod run;

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use lazuli_engine::{Clock, Engine, SharedState};
use lazuli_model::{ErrorCode, Failure, OperationKind, ServiceProperties};
use lazuli_protocol::response::{Context, Response};
use lazuli_protocol::url::Base;
use lazuli_protocol::{Address, ApiVersion, Head, cors, error};
use lazuli_service::{Grant, Options, Service};
use tokio::sync::Semaphore;

use crate::accounts::Directory;
use crate::analytics::{self, Analytics, Exchange, Record};
use crate::clock::{self, Stopwatch};
use crate::config::Config;
use crate::entropy::Ids;
use crate::http::{BodySource, Handler, Peer, RequestHead};
use crate::metrics::Metrics;
use crate::oauth::Oauth;
use crate::throttle::Throttle;
use note::Note;

/// Longest `x-ms-client-request-id` that is echoed.
const CLIENT_REQUEST_ID_BYTES_MAX: usize = 1024;
const SERVER: &str = "Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0";
const SERVER_FRONT_END: &str = "Microsoft-HTTPAPI/2.0";

/// A request whose sender is not known yet.
struct Arrival<'a> {
    head: Head<'a>,
    address: Address<'a>,
    /// Whoever is at the other end of the socket.
    peer: Peer,
}

/// A request that is known to come from who it says.
struct Request<'a> {
    head: Head<'a>,
    address: Address<'a>,
    grant: Grant,
    context: &'a Context,
}

/// Answers requests to the Table service.
pub struct Frontend {
    service: Arc<Service>,
    directory: Directory,
    config: Config,
    ids: Ids,
    metrics: Metrics,
    analytics: Analytics,
    oauth: Option<Arc<Oauth>>,
    throttle: Throttle,
    /// Places for pages that are being made.
    pages: Arc<Semaphore>,
    /// Of these, turns of large ones to be encoded.
    encodings: Arc<Semaphore>,
    /// Places for changes that go on when their requests have run out of time.
    changes: Arc<Semaphore>,
    watch: Stopwatch,
}

impl Frontend {
    /// A front end of a service.
    pub fn new(service: Service, directory: Directory, config: Config) -> std::io::Result<Self> {
        Ok(Self {
            service: Arc::new(service),
            directory,
            ids: Ids::new()?,
            metrics: Metrics::default(),
            analytics: Analytics::default(),
            oauth: None,
            throttle: Throttle::new(config.rates),
            pages: Arc::new(Semaphore::new(config.limits.pages_max())),
            encodings: Arc::new(Semaphore::new(config.limits.encodings_max())),
            changes: Arc::new(Semaphore::new(busy::CHANGES_MAX)),
            watch: Stopwatch::start(),
            config,
        })
    }

    /// A front end of an engine, with the service between them.
    pub fn over(engine: Arc<dyn Engine>, directory: Directory, config: Config) -> std::io::Result<Self> {
        let watch = Stopwatch::start();
        let options = Options {
            clock: Clock::system(),
            elapsed: Arc::new(move || watch.elapsed()),
            query_time_max: config.query_time_max,
            name_hold: config.name_hold,
        };
        Self::new(Service::new(engine, options), directory, config)
    }

    /// The same, accepting bearer tokens.
    pub fn with_oauth(self, oauth: Option<Arc<Oauth>>) -> Self {
        Self { oauth, ..self }
    }

    /// The service behind it.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// What it counts.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Where requests leave records for the logs and metrics that service properties switch on.
    pub fn analytics(&self) -> &Analytics {
        &self.analytics
    }

    /// The accounts it serves.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Answers a request. `peer` is whoever is at the other end of the socket.
    pub async fn answer(&self, head: &Head<'_>, peer: Peer, body: &mut impl BodySource) -> Response {
        let watch = Stopwatch::start();
        let mut note = Note::new(head);
        let mut context = self.context();
        let located = match self.freshen().await {
            Ok(state) => self.locate(head, peer, &mut context).map(|address| (state, address)),
            Err(failure) => Err(failure),
        };
        let response = match located {
            Err(failure) => finish(error::front_end(&context, Some(head), &failure), &context, head),
            Ok((state, address)) => {
                let properties = self.properties(address.account).await;
                note.records = analytics::is_wanted(&properties);
                let arrival = Arrival { head: *head, address: address.clone(), peer };
                let work = self.respond(arrival, &properties, body, &mut context, &mut note);
                let mut response = finish(work.await, &context, head);
                note.name(head, &address);
                if self.service.has_moved(state) {
                    let failure = ErrorCode::OperationTimedOut.into();
                    response = finish(error::front_end(&context, Some(head), &failure), &context, head);
                }
                note.explain(&mut response);
                response = share(response, head, &properties);
                self.record((head, &address, peer), &context, &note, &response, &properties, &watch);
                response
            }
        };
        self.tell(&note, head, &context, &response, peer, watch.elapsed());
        response
    }

    /// Leaves a record of a request that has been answered, if its account wants that.
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
        let exchange = Exchange {
            head,
            address,
            peer: SocketAddr::new(self.client_address(head, peer), peer.address.port()),
            context,
            kind: note.kind,
            body_bytes: note.body_bytes,
            body_time: note.body_time,
            response,
            time: watch.elapsed(),
            scheme: self.scheme(head, peer),
        };
        if let Some(record) = Record::take(&exchange, properties) {
            self.analytics.leave(record);
        }
    }

    /// Counts a request that has been answered, and logs it where that is wanted.
    fn tell(
        &self,
        note: &Note,
        head: &Head<'_>,
        context: &Context,
        response: &Response,
        peer: Peer,
        time: Duration,
    ) {
        let answered = note.answered(response, time);
        self.metrics.count(&answered);
        if self.metrics.is_wasteful(&answered) {
            log::warn(note, head, context);
        }
        if self.config.log_requests {
            log::write(note, head, context, response, peer.address.ip(), time);
        }
    }

    /// Learns what other front ends of a shared engine have changed, before anything is decided by what is remembered.
    async fn freshen(&self) -> Result<Option<SharedState>, Failure> {
        let logged = |error: lazuli_service::Error| {
            tracing::error!(%error, "the shared engine cannot be asked");
            error.failure()
        };
        let state = self.service.freshen().await.map_err(logged)?;
        if let Some(SharedState { changes, .. }) = state {
            self.directory.refresh_since(changes, &self.service.accounts()).await.map_err(logged)?;
        }
        Ok(state)
    }

    /// What is known before anything is checked.
    fn context(&self) -> Context {
        Context {
            account: String::new(),
            base: Base::default(),
            now: clock::now(),
            request_id: self.ids.next().to_string(),
            version: ApiVersion::NONE,
        }
    }

    /// Who wants what from which account, and what comes of it. A preflight is not authenticated: browsers cannot.
    async fn respond(
        &self,
        arrival: Arrival<'_>,
        properties: &ServiceProperties,
        body: &mut impl BodySource,
        context: &mut Context,
        note: &mut Note,
    ) -> Response {
        let head = &arrival.head;
        if head.method == "OPTIONS" {
            note.kind = OperationKind::TablePreflightRequest;
            let answer = cors::preflight(head, &properties.cors);
            return answer.unwrap_or_else(|failure| error::front_end(context, Some(head), &failure));
        }
        let admitted = self.admit(&arrival, properties, context).await;
        match admitted.and_then(|grant| self.within_rate(grant, context.version)) {
            Err(failure) => self.challenge(error::front_end(context, Some(head), &failure)),
            Ok(grant) => {
                let Arrival { head, address, .. } = arrival;
                let request = Request { head, address, grant, context };
                self.process(&request, body, note).await
            }
        }
    }
}

/// Adds what web pages of other origins need, by the rules of the account.
fn share(mut response: Response, head: &Head<'_>, properties: &ServiceProperties) -> Response {
    if head.method != "OPTIONS" {
        let fields = cors::fields(head, &properties.cors, &response);
        response.fields.extend(fields);
    }
    response
}

/// Adds what every answer carries.
fn finish(mut response: Response, context: &Context, head: &Head<'_>) -> Response {
    let server = if response.front_end { SERVER_FRONT_END } else { SERVER };
    let mut add = |name, value: Cow<'static, str>| response.fields.push((name, value));
    add("Server", server.into());
    add("x-ms-request-id", context.request_id.clone().into());
    if !response.front_end && context.version >= ApiVersion::V2009_09_19 {
        add("x-ms-version", context.version.text());
    }
    if let Some(id) = client_request_id(head).filter(|_| context.version >= ApiVersion::V2019_02_02) {
        add("x-ms-client-request-id", id.to_owned().into());
    }
    add("Date", context.now.http().as_str().to_owned().into());
    response
}

fn client_request_id<'a>(head: &Head<'a>) -> Option<&'a str> {
    let id = head.get_filled("x-ms-client-request-id")?;
    (id.len() <= CLIENT_REQUEST_ID_BYTES_MAX && id.bytes().all(|b| (0x21..0x7f).contains(&b))).then_some(id)
}

impl Handler for Frontend {
    async fn handle(&self, head: &RequestHead<'_>, peer: Peer, body: &mut impl BodySource) -> Response {
        let head = Head { method: head.method, target: head.target, fields: &head.fields };
        self.answer(&head, peer, body).await
    }

    fn refuse(&self, failure: &Failure, peer: Peer) -> Response {
        let head = Head { method: "-", target: "-", fields: &[] };
        let context = self.context();
        let response = finish(error::front_end(&context, None, failure), &context, &head);
        self.tell(&Note::default(), &head, &context, &response, peer, Duration::ZERO);
        response
    }
}

/// A body that is there already: for callers without a socket.
pub struct ReadyBody(pub Vec<u8>);

impl BodySource for ReadyBody {
    async fn read(&mut self) -> Result<Vec<u8>, Failure> {
        Ok(std::mem::take(&mut self.0))
    }
}
