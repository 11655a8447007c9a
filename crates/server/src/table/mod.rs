//! The Table service's part of the pipeline: from an authenticated request to a response.
//!
//! A request with several faults is rejected for the first of them in this order:
//!
//! 1. the path names a table that the grant does not cover: `AuthorizationFailure`
//! 2. the path names no resource: the error of the path
//! 3. permissions for the operation in the head
//! 4. format, headers and query options, `timeout` included
//! 5. the body: length, size, syntax, content
//! 6. permissions for the key or name in the body
//! 7. request rate of the partition; for operations that use XML, `timeout`
//! 8. the operation itself
//!
//! A missing table is reported before every 400 of steps 2, 4, 5 and 7. Operations that use XML (`comp`,
//! `restype`) go through the same steps without format negotiation; a batch reports the faults of its operations inside
//! the response. Path, kind, format and intent are decoded once ([`Decoded`]), and permissions are checked once: step 6
//! checks only the parts that step 3 could not know, and the service accepts only operations that passed both
//! ([`Authorized`]).

mod encode;
mod order;

use std::time::Duration;

use lazuli_model::error::Origin;
use lazuli_model::table::limits::{BODY_BYTES_MAX, PAGE_BYTES_MAX};
use lazuli_model::table::{Operation, Outcome};
use lazuli_model::{ErrorCode, Failure, OperationKind, TableName};
use lazuli_protocol::Head;
use lazuli_protocol::http::response::Response;
use lazuli_protocol::table::batch::{self, BatchPlan};
use lazuli_protocol::table::decode::{self, Intent};
use lazuli_protocol::table::response_format::ResponseFormat;
use lazuli_protocol::table::{self, Resource, error, xml};
use lazuli_service::access::Authorized;
use lazuli_service::access::table::{
    AnnouncedOperation, AuthorizedHead, authorize_announced, authorize_batch,
};

use crate::http::Body;
use crate::memory::PAGE_BYTES;
use crate::pipeline::Request;
use crate::pipeline::note::Note;
use crate::state::State;

/// Memory of a decoded batch as a multiple of its body: names, values and keys each have a header.
const DECODED_PER_BODY_BYTE: usize = 4;

const _: () = assert!(2 * PAGE_BYTES_MAX <= PAGE_BYTES);

/// The memory that the response takes while it is built.
fn build_bytes(operation: &Operation) -> usize {
    let is_page = matches!(operation, Operation::QueryEntities { .. } | Operation::QueryTables(_));
    if is_page { PAGE_BYTES } else { 0 }
}

/// The head of a request, decoded.
struct Decoded {
    kind: OperationKind,
    table: Option<TableName>,
    wanted: ResponseFormat,
    intent: Result<Intent, Failure>,
}

/// A request in progress.
struct Work<'a> {
    state: &'a State,
    request: &'a Request<'a>,
}

/// Processes an authenticated request.
pub(crate) async fn process(
    state: &State,
    request: &Request<'_>,
    body: &mut dyn Body,
    note: &mut Note,
) -> Response {
    let work = Work { state, request };
    if xml::is_asked_for(&request.address) {
        return Box::pin(work.run_xml(body, note)).await;
    }
    match work.decode().await {
        Ok(decoded) => work.respond(decoded, body, note).await,
        Err(response) => response,
    }
}

impl Work<'_> {
    /// Steps 1 to 4, as far as they concern the head. A bad path is rejected immediately.
    async fn decode(&self) -> Result<Decoded, Response> {
        let Request { head, address, grant, context, .. } = self.request;
        let elsewhere = || {
            let failure = grant.rejection(ErrorCode::AuthorizationFailure);
            error::front_end(context, Some(head), &failure)
        };
        let resource = match table::parse_path(address.account, address.resource_path) {
            Ok(resource) => resource,
            Err(rejected) if order::is_elsewhere(grant, &rejected) => return Err(elsewhere()),
            Err(rejected) => {
                let (wanted, _) =
                    decode::response_format(head, address.query, context.version, &Resource::Service);
                let failure = self.table_first(rejected.table.as_ref(), rejected.failure).await;
                return Err(error::odata(context, &wanted, &failure));
            }
        };
        if resource.table().is_some_and(|table| !grant.covers(table)) {
            return Err(elsewhere());
        }
        let kind = table::kind::of(head, &resource);
        let (wanted, rejected) = decode::response_format(head, address.query, context.version, &resource);
        let table = resource.table().cloned();
        let intent = match rejected {
            Some(failure) => Err(failure),
            None => decode::intent(head, address.query, context.version, resource),
        };
        let intent = intent.map_err(|failure| order::permissions_first(grant, kind, table.as_ref(), failure));
        Ok(Decoded { kind, table, wanted, intent })
    }

    async fn respond(&self, decoded: Decoded, body: &mut dyn Body, note: &mut Note) -> Response {
        let Request { head, context, .. } = self.request;
        let Decoded { kind, table, wanted, intent } = decoded;
        note.kind = kind;
        let done = match intent {
            Ok(Intent::ServiceDocument) => Ok(table::encode::service_document(context)),
            // Boxed, so that the futures of other requests do not reserve space for it.
            Ok(Intent::Batch) => Box::pin(self.run_batch(body, note)).await,
            Ok(intent) => self.run(intent, &wanted, table.as_ref(), body, note).await,
            Err(failure) => Err(failure),
        };
        match done {
            Ok(response) => response,
            Err(failure) if failure.origin == Origin::FrontEnd => {
                error::front_end(context, Some(head), &failure)
            }
            Err(failure) => error::odata(context, &wanted, &self.table_first(table.as_ref(), failure).await),
        }
    }

    /// Reads the body, executes the operation, encodes the outcome.
    async fn run(
        &self,
        intent: Intent,
        wanted: &ResponseFormat,
        table: Option<&TableName>,
        body: &mut dyn Body,
        note: &mut Note,
    ) -> Result<Response, Failure> {
        let grant = &self.request.grant;
        let announced = intent.awaited().map(|(kind, key)| AnnouncedOperation { kind, table, key });
        let checked = announced.map(|announced| authorize_announced(grant, &announced)).transpose()?;
        let bytes = if intent.needs_body() { note.receive(self.read_body(body)).await? } else { Vec::new() };
        let operation = intent.with_body(&bytes)?;
        drop(bytes);
        let room = self.state.room_to_build(build_bytes(&operation)).await?;
        let outcome = self.execute(checked, operation, note).await?;
        let name = table.map_or("Tables", TableName::as_str);
        let encodings = &self.state.encodings;
        note.encode(encode::response(self.request.context, wanted, name, outcome, Some(room), encodings))
            .await
    }

    /// The operations that use XML, regardless of the formats that the client accepts.
    async fn run_xml(&self, body: &mut dyn Body, note: &mut Note) -> Response {
        let Request { head, address, context, grant, .. } = self.request;
        note.kind = table::kind::of_query(head, address);
        let work = async {
            let intent = xml::intent(head, address, context.version)
                .map_err(|failure| order::permissions_first(grant, note.kind, None, failure))?;
            let announced =
                intent.awaited().map(|(kind, table)| AnnouncedOperation { kind, table, key: None });
            let checked = announced.map(|announced| authorize_announced(grant, &announced)).transpose()?;
            let table = intent.awaited().and_then(|(_, table)| table.cloned());
            let max = self.state.config.limits.body_bytes_max;
            let bytes = if intent.needs_body() { note.receive(body.collect(max)).await? } else { Vec::new() };
            let operation = match intent.with_body(&bytes, context.version) {
                Ok(operation) => operation,
                Err(failure) => return Err(self.table_first(table.as_ref(), failure).await),
            };
            let outcome = self.execute(checked, operation, note).await?;
            let (wanted, encodings) = (ResponseFormat::fallback(context.version), &self.state.encodings);
            encode::response(context, &wanted, "", outcome, None, encodings).await
        };
        match work.await {
            Ok(response) => response,
            Err(failure) if failure.origin == Origin::FrontEnd => error::front_end(context, None, &failure),
            Err(failure) => error::xml_operation(context, &failure),
        }
    }

    /// A batch: a fault of one of its operations is reported inside the response.
    async fn run_batch(&self, body: &mut dyn Body, note: &mut Note) -> Result<Response, Failure> {
        let Request { head, address, context, grant, .. } = self.request;
        authorize_batch(grant)?;
        let bytes = note.receive(self.read_body(body)).await?;
        body.hold(bytes.len().saturating_mul(DECODED_PER_BODY_BYTE))?;
        let mut batch = batch::decode(head, address, context.version, &bytes)?;
        drop(bytes);
        let outcome = match std::mem::replace(&mut batch.plan, BatchPlan::Nothing) {
            BatchPlan::Run(operation) => {
                let _room = self.state.room_to_build(build_bytes(&operation)).await?;
                self.execute(None, operation, note).await
            }
            BatchPlan::Nothing => Ok(Outcome::Batch(Vec::new())),
            BatchPlan::Rejected(failure) => Err(self.table_first(batch.table(), failure).await),
        };
        let ids = [self.state.ids.next(), self.state.ids.next()];
        note.encode(async { batch::encode(context, &batch, outcome.as_ref(), ids) })
            .await
            .map_err(|corrupt| encode::unreadable(context, &corrupt))
    }

    /// Executes an operation within its timeout. Permissions that `checked` has already verified are not
    /// checked again.
    async fn execute(
        &self,
        checked: Option<AuthorizedHead<'_>>,
        operation: Operation,
        note: &mut Note,
    ) -> Result<Outcome, Failure> {
        let Request { address, context, grant, .. } = self.request;
        let watch = note.begin(&operation);
        // Before rates and `timeout`: a caller without permission neither uses up rates nor sees errors in options.
        let authorized = match checked {
            Some(head) => head.with_body(operation)?,
            None => Authorized::new(grant, operation)?,
        };
        self.state.partition_within_rate(grant, authorized.operation())?;
        let longest = self.state.config.limits.request_time_max;
        let time = table::timeout(address.query)?.map_or(longest, |wanted| wanted.min(longest));
        let outcome = self.state.within(context, time, self.carry_out(authorized, time)).await;
        note.observe(outcome.as_ref().map_err(|failure: &Failure| failure.code), watch);
        outcome
    }

    /// A change of cached records must not be cancelled midway.
    async fn carry_out(
        &self,
        authorized: Authorized<'_, Operation>,
        time: Duration,
    ) -> lazuli_service::Result<Outcome> {
        let changes_cached = matches!(
            authorized.operation(),
            Operation::CreateTable(_)
                | Operation::DeleteTable(_)
                | Operation::SetAcl(..)
                | Operation::SetProperties(_)
        );
        if !changes_cached {
            // A query that stops with a quarter of its time left can still send its results.
            return self.state.service.execute_table_within(authorized, time * 3 / 4).await;
        }
        let (service, detached) = (self.state.service.clone(), authorized.detach());
        Box::pin(self.state.detached(async move { service.execute_table_detached(detached).await })).await
    }

    /// Reports a missing table before any fault in the body or the options.
    async fn table_first(&self, table: Option<&TableName>, failure: Failure) -> Failure {
        let grant = &self.request.grant;
        let Some(table) = table.filter(|table| order::may_hide_missing_table(grant, table, &failure)) else {
            return failure;
        };
        let index = failure.index;
        match self.state.service.has_table(&grant.home, table).await {
            Ok(false) => Failure { index: index.map(|_| 0), ..ErrorCode::TableNotFound.into() },
            Ok(true) => failure,
            Err(error) => {
                tracing::warn!(%error, "failed to check whether the table exists; returning the request's first error");
                failure
            }
        }
    }

    /// Reads a required body: its client must announce its length or use chunks. The server may be configured
    /// to accept larger bodies than the service does.
    async fn read_body(&self, body: &mut dyn Body) -> Result<Vec<u8>, Failure> {
        let head: &Head<'_> = &self.request.head;
        if head.get("content-length").is_none() && head.get("transfer-encoding").is_none() {
            return Err(Failure::from(ErrorCode::MissingContentLengthHeader).found_in(Origin::FrontEnd));
        }
        let bytes = body.collect(self.state.config.limits.body_bytes_max).await?;
        if bytes.len() > BODY_BYTES_MAX {
            return Err(Failure::from(ErrorCode::RequestBodyTooLarge).found_in(Origin::FrontEnd));
        }
        Ok(bytes)
    }
}
