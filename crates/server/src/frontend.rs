//! The pipeline: what happens to a request, step by step.
//!
//! | step | where |
//! |---|---|
//! | address | `protocol::address` |
//! | a preflight | `protocol::cors` |
//! | who | [`admit`], `protocol::auth`, [`crate::accounts`] |
//! | what, by the head | `protocol::table::decode` |
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

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use lazuli_engine::{Clock, Engine, SharedState};
use lazuli_model::error::Origin;
use lazuli_model::limits::BODY_BYTES_MAX;
use lazuli_model::{ErrorCode, Failure, Operation, OperationKind, Outcome, ServiceProperties, TableName};
use lazuli_protocol::address::path::PathError;
use lazuli_protocol::address::{self, Resource};
use lazuli_protocol::batch::{self, Plan};
use lazuli_protocol::response::{Context, Response, Shape};
use lazuli_protocol::table::decode::{self, Intent};
use lazuli_protocol::url::Base;
use lazuli_protocol::{Address, ApiVersion, Head, cors, error, table, xml};
use lazuli_service::access::{Announced, authorize_announced, authorize_batch};
use lazuli_service::{Grant, Options, Service};
use tokio::sync::Semaphore;
use tokio::time::timeout;

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

    /// What an authenticated request wants, and what comes of it.
    async fn process(&self, request: &Request<'_>, body: &mut impl BodySource, note: &mut Note) -> Response {
        let Request { head, address, context, .. } = request;
        if xml::is_asked_for(address) {
            return self.run_xml(request, body, note).await;
        }
        let resource = match address::parse_path(address.account, address.resource_path) {
            Ok(resource) => resource,
            Err(refused) if is_elsewhere(&request.grant, &refused) => {
                let failure = request.grant.refusal(ErrorCode::AuthorizationFailure);
                return error::front_end(context, Some(head), &failure);
            }
            Err(refused) => {
                let (shape, _) = decode::shape(head, address.query, context.version, &Resource::Service);
                let failure = self.table_first(&request.grant, refused.table.as_ref(), refused.failure).await;
                return error::odata(context, &shape, &failure);
            }
        };
        if resource.table().is_some_and(|table| !request.grant.covers(table)) {
            let failure = request.grant.refusal(ErrorCode::AuthorizationFailure);
            return error::front_end(context, Some(head), &failure);
        }
        let (shape, refusal) = decode::shape(head, address.query, context.version, &resource);
        let table = resource.table().cloned();
        let intent = match refusal {
            Some(failure) => Err(failure),
            None => decode::intent(head, address.query, context.version, resource),
        };
        let intent = intent.map_err(|failure| rights_first(request, table.as_ref(), failure));
        let answered = match intent {
            Ok(Intent::ServiceDocument) => Ok(table::encode::service_document(context)),
            Ok(Intent::Batch) => self.run_batch(request, body, note).await,
            Ok(intent) => self.run(intent, request, &shape, table.as_ref(), body, note).await,
            Err(failure) => Err(failure),
        };
        match answered {
            Ok(response) => response,
            Err(failure) if failure.origin == Origin::FrontEnd => {
                error::front_end(context, Some(head), &failure)
            }
            Err(failure) => {
                let failure = self.table_first(&request.grant, table.as_ref(), failure).await;
                error::odata(context, &shape, &failure)
            }
        }
    }

    /// Reads the body, does the operation, encodes what came of it.
    async fn run(
        &self,
        intent: Intent,
        request: &Request<'_>,
        shape: &Shape,
        table: Option<&TableName>,
        body: &mut impl BodySource,
        note: &mut Note,
    ) -> Result<Response, Failure> {
        if let Some((kind, key)) = intent.awaited() {
            authorize_announced(&request.grant, &Announced { kind, table, key })?;
        }
        let bytes = if intent.needs_body() {
            note.receive(read_body(&request.head, body)).await?
        } else {
            Vec::new()
        };
        let operation = intent.with_body(&bytes)?;
        drop(bytes);
        let place = self.place_for(&operation).await?;
        let outcome = self.execute(request, operation, note).await?;
        let name = table.map_or("Tables", TableName::as_str);
        note.encode(encode::answer(request.context, shape, name, outcome, place)).await
    }

    /// The same for the operations that speak XML, whatever the client accepts.
    async fn run_xml(&self, request: &Request<'_>, body: &mut impl BodySource, note: &mut Note) -> Response {
        let Request { head, address, context, .. } = request;
        let work = async {
            let intent = xml::intent(head, address, context.version)
                .map_err(|failure| rights_first(request, None, failure))?;
            if let Some((kind, table)) = intent.awaited() {
                authorize_announced(&request.grant, &Announced { kind, table, key: None })?;
            }
            let table = intent.awaited().and_then(|(_, table)| table.cloned());
            let bytes = if intent.needs_body() { note.receive(body.read()).await? } else { Vec::new() };
            let operation = match intent.with_body(&bytes, context.version) {
                Ok(operation) => operation,
                Err(failure) => return Err(self.table_first(&request.grant, table.as_ref(), failure).await),
            };
            let outcome = self.execute(request, operation, note).await?;
            encode::answer(context, &Shape::fallback(context.version), "", outcome, None).await
        };
        match work.await {
            Ok(response) => response,
            Err(failure) if failure.origin == Origin::FrontEnd => error::front_end(context, None, &failure),
            Err(failure) => error::xml_operation(context, &failure),
        }
    }

    /// The same for a batch: what is wrong with one of its operations is told inside the answer.
    async fn run_batch(
        &self,
        request: &Request<'_>,
        body: &mut impl BodySource,
        note: &mut Note,
    ) -> Result<Response, Failure> {
        let Request { head, address, context, grant, .. } = request;
        authorize_batch(grant)?;
        let bytes = note.receive(read_body(head, body)).await?;
        let mut batch = batch::decode(head, address, context.version, &bytes)?;
        drop(bytes);
        let outcome = match std::mem::replace(&mut batch.plan, Plan::Nothing) {
            Plan::Run(operation) => {
                let _place = self.place_for(&operation).await?;
                self.execute(request, operation, note).await
            }
            Plan::Nothing => Ok(Outcome::Batch(Vec::new())),
            Plan::Refused(failure) => Err(self.table_first(grant, batch.table(), failure).await),
        };
        let ids = [self.ids.next(), self.ids.next()];
        note.encode(async { batch::encode(context, &batch, outcome.as_ref(), ids) })
            .await
            .map_err(|corrupt| encode::unreadable(context, &corrupt))
    }

    /// Does an operation, in time.
    async fn execute(
        &self,
        request: &Request<'_>,
        operation: Operation,
        note: &mut Note,
    ) -> Result<Outcome, Failure> {
        let watch = note.begin(&operation);
        self.partition_within_rate(&request.grant, &operation)?;
        let longest = self.config.limits.request_time_max;
        let time = table::timeout(request.address.query)?.map_or(longest, |wanted| wanted.min(longest));
        let work = self.carry_out(&request.grant, operation, time);
        let outcome = match timeout(time, work).await {
            Ok(Ok(outcome)) => Ok(outcome),
            Ok(Err(failed)) => {
                if let lazuli_service::Error::Engine(error) = &failed {
                    tracing::error!(request_id = %request.context.request_id, %error, "the storage engine failed");
                }
                Err(failed.failure())
            }
            Err(_) => Err(ErrorCode::OperationTimedOut.into()),
        };
        note.observe(outcome.as_ref().map_err(|failure: &Failure| failure.code), watch);
        outcome
    }

    /// A change of what is cached goes on when its request has run out of time: given up half way, it could be made by
    /// the engine and stay unknown to the cache.
    async fn carry_out(
        &self,
        grant: &Grant,
        operation: Operation,
        time: Duration,
    ) -> lazuli_service::Result<Outcome> {
        let changes_cached = matches!(
            operation,
            Operation::CreateTable(_)
                | Operation::DeleteTable(_)
                | Operation::SetAcl(..)
                | Operation::SetProperties(_)
        );
        if !changes_cached {
            // A query that stops with a quarter of its time left can still send what it has.
            return self.service.execute_within(grant, operation, time * 3 / 4).await;
        }
        let (service, grant) = (self.service.clone(), grant.clone());
        let task = tokio::spawn(async move { service.execute(&grant, operation).await });
        task.await.unwrap_or_else(|_| Err(ErrorCode::InternalError.into()))
    }

    /// A request that fails in its body or its options is told first that its table does not exist.
    async fn table_first(&self, grant: &Grant, table: Option<&TableName>, failure: Failure) -> Failure {
        let Some(table) = table else { return failure };
        let decided = matches!(failure.code.status(), 403 | 404 | 409 | 412 | 415 | 500 | 503)
            || !grant.covers(table)
            || !grant.reaches_entities();
        let index = failure.index;
        if decided || self.service.has_table(&grant.account, table).await.unwrap_or(true) {
            return failure;
        }
        Failure { index: index.map(|_| 0), ..ErrorCode::TableNotFound.into() }
    }
}

/// Does the path name a table that the caller has nothing to do with, be it one that cannot exist?
fn is_elsewhere(grant: &Grant, refused: &PathError) -> bool {
    let bad_name =
        matches!(refused.failure.code, ErrorCode::InvalidResourceName | ErrorCode::OutOfRangeInput);
    match &refused.table {
        Some(table) => !grant.covers(table),
        None => bad_name && grant.is_for_one_table(),
    }
}

/// Who may not do what the head names is told that, not what else is wrong with the request.
fn rights_first(request: &Request<'_>, table: Option<&TableName>, failure: Failure) -> Failure {
    let kind = table::kind::named(&request.head, &request.address);
    if kind == OperationKind::Unknown {
        return failure;
    }
    let announced = Announced { kind, table, key: None };
    authorize_announced(&request.grant, &announced).err().unwrap_or(failure)
}

/// Reads a body that must be there: a client that sends one says where it ends. The server may be set to take more than
/// the service does.
async fn read_body(head: &Head<'_>, body: &mut impl BodySource) -> Result<Vec<u8>, Failure> {
    if head.get("content-length").is_none() && head.get("transfer-encoding").is_none() {
        return Err(Failure::from(ErrorCode::MissingContentLengthHeader).found_in(Origin::FrontEnd));
    }
    let bytes = body.read().await?;
    if bytes.len() > BODY_BYTES_MAX {
        return Err(Failure::from(ErrorCode::RequestBodyTooLarge).found_in(Origin::FrontEnd));
    }
    Ok(bytes)
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
