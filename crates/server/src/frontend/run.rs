//! An authenticated request: what it wants, whether it may, and what comes of it.
//!
//! The order of the checks is the service's, and is visible: rights come before formats, the absence of a table before
//! what is wrong with a body.

use std::time::Duration;

use lazuli_model::error::Origin;
use lazuli_model::limits::BODY_BYTES_MAX;
use lazuli_model::{ErrorCode, Failure, Operation, OperationKind, Outcome, TableName};
use lazuli_protocol::address::path::PathError;
use lazuli_protocol::address::{self, Resource};
use lazuli_protocol::batch::{self, Plan};
use lazuli_protocol::response::{Response, Shape};
use lazuli_protocol::table::decode::{self, Intent};
use lazuli_protocol::{Head, error, table, xml};
use lazuli_service::Grant;
use lazuli_service::access::{Announced, authorize, authorize_announced, authorize_batch};
use tokio::time::timeout;

use super::note::Note;
use super::{Frontend, Request, encode};
use crate::http::BodySource;

impl Frontend {
    /// What an authenticated request wants, and what comes of it.
    pub(super) async fn process(
        &self,
        request: &Request<'_>,
        body: &mut impl BodySource,
        note: &mut Note,
    ) -> Response {
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
        note.encode(encode::answer(request.context, shape, name, outcome, place, &self.encodings)).await
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
            encode::answer(context, &Shape::fallback(context.version), "", outcome, None, &self.encodings)
                .await
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
        // The service asks again; here it is so that rates and options are not told to who may not ask.
        authorize(&request.grant, &operation)?;
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
        let place = self.place_for_change().await?;
        let (service, grant) = (self.service.clone(), grant.clone());
        let task = tokio::spawn(async move {
            let _place = place;
            service.execute(&grant, operation).await
        });
        task.await.unwrap_or_else(|error| {
            tracing::error!(%error, "a change ended without an outcome");
            Err(ErrorCode::InternalError.into())
        })
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
    let allowed = match kind {
        // It names no table.
        OperationKind::EntityGroupTransaction => authorize_batch(&request.grant),
        _ => authorize_announced(&request.grant, &Announced { kind, table, key: None }),
    };
    allowed.err().unwrap_or(failure)
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
