//! The Blob service's part of the pipeline: from an authenticated request to a response.
//!
//! A request with several faults is rejected for the first of them in the order that `protocol::blob` lists. Content is
//! streamed in both directions and never held whole.

mod batch;
mod cost;
mod remote;
mod source;
mod stream;
mod structured;
pub(crate) mod website;

use std::time::Duration;

use bytes::Bytes;
use lazuli_model::blob::limits::PUT_PAGE_BYTES_MAX;
use lazuli_model::blob::operation::BlobAction;
use lazuli_model::blob::{Operation, Outcome};
use lazuli_model::{ErrorCode, Failure, OperationKind, Service};
use lazuli_protocol::blob::{Intent, ResponseFormat, decode, encode, is_structured};
use lazuli_protocol::http::timeout::timeout;
use lazuli_service::access::Authorized;
use lazuli_service::access::blob::AuthorizedHead;
use lazuli_service::blob::{BlobReader, Blobs, Supply};
use lazuli_service::stream::{Source, Whole};

use crate::http::{Body, Reply};
use crate::pipeline::Request;
use crate::pipeline::delegation::authorize_delegation;
use crate::pipeline::execute::logged;
use crate::pipeline::note::Note;
use crate::state::State;
pub(crate) use remote::Background;
use stream::{BodySource, Download};
use structured::Unwrapped;

/// The overhead of a structured message of pages: clients send few segments.
const STRUCTURED_PAGES_MORE_MAX: usize = 64 * 1024;

/// A request in progress.
struct Work<'a> {
    state: &'a State,
    blobs: &'a Blobs,
    request: &'a Request<'a>,
}

/// Processes an authenticated request.
pub(crate) async fn process(
    state: &State,
    request: &Request<'_>,
    body: &mut dyn Body,
    note: &mut Note,
) -> Reply {
    let done = match &state.blobs {
        Some(blobs) => Work { state, blobs, request }.run(body, note).await,
        None => Err(ErrorCode::NotImplemented.into()),
    };
    done.unwrap_or_else(|failure| encode::failure(request.context, note.kind, &failure).into())
}

impl Work<'_> {
    async fn run(&self, body: &mut dyn Body, note: &mut Note) -> Result<Reply, Failure> {
        let Request { head, address, grant, context, .. } = self.request;
        let is_account = |name: &str| self.state.is_host_account(name);
        let (intent, mut wanted) = decode(head, address, context.version, &is_account)?;
        note.kind = intent.kind();
        let (authorized, time) = match intent {
            Intent::Batch(container) => return self.run_batch(container.as_ref(), body, note).await,
            Intent::Ready(operation) => (Authorized::new(grant, operation)?, timeout(address.query)?),
            Intent::Document(Operation::GetUserDelegationKey(_), _) => {
                authorize_delegation(grant)?;
                timeout(address.query)?;
                let operation = self.complete(intent, &mut wanted, body, note).await?;
                let Operation::GetUserDelegationKey(period) = operation else {
                    return Err(ErrorCode::InternalError.into());
                };
                let key = self.state.delegation_key(Service::Blob, self.request, period)?;
                let outcome = Outcome::UserDelegationKey(Box::new(key));
                return Ok(encode::outcome(context, &wanted, &outcome).into());
            }
            Intent::Document(ref announced, _) => {
                let checked = AuthorizedHead::new(grant, announced.clone())?;
                let time = timeout(address.query)?;
                (checked.with_body(self.complete(intent, &mut wanted, body, note).await?)?, time)
            }
        };
        self.execute(authorized, wanted, time, body, note).await
    }

    /// Reads the document in the body and completes the operation with it.
    async fn complete(
        &self,
        intent: Intent,
        wanted: &mut ResponseFormat,
        body: &mut dyn Body,
        note: &mut Note,
    ) -> Result<Operation, Failure> {
        let Request { head, context, .. } = self.request;
        let max = usize::try_from(intent.body_max(context.version)).unwrap_or(usize::MAX);
        let bytes = note.receive(body.collect(max)).await?;
        intent.with_body(head, context.version, &bytes, wanted)
    }

    async fn execute(
        &self,
        authorized: Authorized<'_, Operation>,
        wanted: ResponseFormat,
        time: Option<Duration>,
        body: &mut dyn Body,
        note: &mut Note,
    ) -> Result<Reply, Failure> {
        let Request { head, context, .. } = self.request;
        // Held until the response is encoded.
        let _room = self.state.room_to_build(cost::build_bytes(authorized.operation())).await?;
        let kind = authorized.operation().kind();
        let streams = streams(authorized.operation());
        let is_structured = (streams || kind == OperationKind::GetBlob) && is_structured(head)?;
        let done = match streams {
            // Pages become rows, so the whole body is in memory, within the budget of all bodies.
            true if kind == OperationKind::PutPage => {
                let max = usize::try_from(PUT_PAGE_BYTES_MAX).unwrap_or(usize::MAX);
                let framing = if is_structured { STRUCTURED_PAGES_MORE_MAX } else { 0 };
                let bytes = note.receive(body.collect(max + framing)).await?;
                let mut source = Whole::from(Bytes::from(bytes));
                let mut unwrapped;
                let source: &mut dyn Source = match is_structured {
                    true => {
                        unwrapped = Unwrapped::new(&mut source);
                        &mut unwrapped
                    }
                    false => &mut source,
                };
                let done = self.blobs.execute(authorized, Supply::Body(source)).await;
                done.map_err(|error| logged(context, &error))
            }
            true => {
                let mut source = BodySource::new(body);
                let overdue = source.overdue(self.state.config.limits.request_time_max);
                let mut unwrapped;
                let supply: &mut dyn Source = match is_structured {
                    true => {
                        unwrapped = Unwrapped::new(&mut source);
                        &mut unwrapped
                    }
                    false => &mut source,
                };
                let done = tokio::select! {
                    biased;
                    done = self.blobs.execute(authorized, Supply::Body(supply)) => {
                        done.map_err(|error| logged(context, &error))
                    }
                    () = overdue.passed() => Err(ErrorCode::OperationTimedOut.into()),
                };
                note.body_bytes = source.bytes();
                done
            }
            false => self.without_body(authorized, time).await,
        };
        let (outcome, reader) = done?;
        let turn = self.state.turn_to_encode(cost::is_large(&outcome)).await;
        let response = encode::outcome(context, &wanted, &outcome);
        drop((outcome, turn));
        let content = match reader {
            Some(reader) => Some(Download::begin(reader, context).await?),
            None => None,
        };
        if is_structured { Ok(structured::reply(response, content)) } else { Ok(Reply { response, content }) }
    }

    /// An operation without a body, within the request timeout or the shorter one that the client sets. A copy has no time
    /// limit.
    async fn without_body(
        &self,
        authorized: Authorized<'_, Operation>,
        time: Option<Duration>,
    ) -> Result<(Outcome, Option<BlobReader>), Failure> {
        let Request { context, .. } = self.request;
        if let Some(source) = source::of(authorized.operation()) {
            let supply = self.supply(authorized.operation(), source).await?;
            let done = self.blobs.execute(authorized, supply).await;
            return done.map_err(|error| logged(context, &error));
        }
        let longest = self.state.config.limits.request_time_max;
        let time = time.map_or(longest, |wanted| wanted.min(longest));
        if changes_catalog(authorized.operation().kind()) {
            let (blobs, detached) = (self.blobs.clone(), authorized.detach());
            let work = async move { blobs.execute_detached(detached).await };
            let outcome = self.state.within(context, time, self.state.detached(work)).await?;
            return Ok((outcome, None));
        }
        self.state.within(context, time, self.blobs.execute(authorized, Supply::Nothing)).await
    }
}

/// Does the body of the request go into the content of a blob?
fn streams(operation: &Operation) -> bool {
    matches!(operation, Operation::Blob(request) if matches!(
        request.action,
        BlobAction::PutBlob(..)
            | BlobAction::PutBlock(..)
            | BlobAction::AppendBlock(..)
            | BlobAction::PutPage(..)
    ))
}

/// Does the operation change cached records? Such a change must not be cancelled midway.
fn changes_catalog(kind: OperationKind) -> bool {
    use OperationKind as Kind;
    matches!(
        kind,
        Kind::CreateContainer
            | Kind::DeleteContainer
            | Kind::RestoreContainer
            | Kind::SetContainerMetadata
            | Kind::SetContainerAcl
            | Kind::AcquireContainerLease
            | Kind::RenewContainerLease
            | Kind::ChangeContainerLease
            | Kind::ReleaseContainerLease
            | Kind::BreakContainerLease
            | Kind::SetBlobServiceProperties
    )
}
