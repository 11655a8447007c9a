//! The Queue service's part of the pipeline: from an authenticated request to a response.
//!
//! A request with several faults is rejected for the first of them in the order that `protocol::queue` lists.

use std::sync::Arc;

use lazuli_model::queue::limits::MESSAGE_BYTES_MAX;
use lazuli_model::queue::{Operation, Outcome};
use lazuli_model::{ErrorCode, Failure, Service};
use lazuli_protocol::error;
use lazuli_protocol::http::response::{Context, Response};
use lazuli_protocol::http::timeout::timeout;
use lazuli_protocol::queue::{Intent, decode, encode};
use lazuli_service::Services;
use lazuli_service::access::Authorized;
use lazuli_service::access::queue::AuthorizedHead;

use crate::http::Body;
use crate::memory::{MESSAGE_BYTES, PAGE_BYTES};
use crate::pipeline::Request;
use crate::pipeline::delegation::authorize_delegation;
use crate::pipeline::note::Note;
use crate::state::State;

const _: () = assert!(2 * MESSAGE_BYTES_MAX <= MESSAGE_BYTES);

/// Bytes of messages that are encoded without a permit.
const SMALL_BYTES_MAX: usize = 128 * 1024;

/// Processes an authenticated request.
pub(crate) async fn process(
    state: &State,
    request: &Request<'_>,
    body: &mut dyn Body,
    note: &mut Note,
) -> Response {
    match run(state, request, body, note).await {
        Ok(response) => response,
        Err(failure) => error::storage(request.context, &failure),
    }
}

async fn run(
    state: &State,
    request: &Request<'_>,
    body: &mut dyn Body,
    note: &mut Note,
) -> Result<Response, Failure> {
    let Request { head, address, grant, context, .. } = request;
    let (intent, wanted) = decode(head, address, context.version)?;
    let kind = intent.kind();
    note.kind = kind;
    let authorized = match intent {
        Intent::Ready(operation) => Authorized::new(grant, operation)?,
        Intent::Document(Operation::GetUserDelegationKey(_)) => {
            authorize_delegation(grant)?;
            let operation = complete(intent, context, body, note).await?;
            let Operation::GetUserDelegationKey(period) = operation else {
                return Err(ErrorCode::InternalError.into());
            };
            let key = state.delegation_key(Service::Queue, request, period)?;
            return Ok(encode::outcome(context, &wanted, &Outcome::UserDelegationKey(Box::new(key))));
        }
        Intent::Document(_) => {
            let head = AuthorizedHead::new(grant, intent.operation().clone())?;
            head.with_body(complete(intent, context, body, note).await?)?
        }
    };
    // Held until the response is encoded.
    let _room = state.room_to_build(build_bytes(authorized.operation())).await?;
    let longest = state.config.limits.request_time_max;
    let time = timeout(address.query)?.map_or(longest, |wanted| wanted.min(longest));
    let work = async {
        if !Services::changes_queue_catalog(kind) {
            return state.service.execute_queue(authorized).await;
        }
        let (service, detached) = (Arc::clone(&state.service), authorized.detach());
        Box::pin(state.detached(async move { service.execute_queue_detached(detached).await })).await
    };
    let outcome = state.within(context, time, work).await?;
    let _turn = state.turn_to_encode(is_large(&outcome)).await;
    Ok(encode::outcome(context, &wanted, &outcome))
}

/// Reads the body that completes the operation.
async fn complete(
    intent: Intent,
    context: &Context,
    body: &mut dyn Body,
    note: &mut Note,
) -> Result<Operation, Failure> {
    let read = note.receive(body.collect(intent.body_max())).await;
    let bytes = read.map_err(|failure| match failure.code {
        ErrorCode::RequestBodyTooLarge => intent.body_too_large(),
        _ => failure,
    })?;
    intent.with_body(context.version, &bytes)
}

/// The memory that an operation takes besides its body; see [`crate::memory`].
fn build_bytes(operation: &Operation) -> usize {
    match operation {
        Operation::ListQueues(_) => PAGE_BYTES,
        Operation::GetMessages { count, .. } | Operation::PeekMessages { count, .. } => {
            usize::try_from(*count).unwrap_or(usize::MAX).saturating_mul(MESSAGE_BYTES)
        }
        _ => 0,
    }
}

/// Is the response so large that the number of such responses being encoded is limited?
fn is_large(outcome: &Outcome) -> bool {
    let bytes: usize = match outcome {
        Outcome::Messages(messages) => messages.iter().map(|taken| taken.message.text.len()).sum(),
        Outcome::Peeked(messages) => messages.iter().map(|message| message.text.len()).sum(),
        _ => 0,
    };
    bytes > SMALL_BYTES_MAX
}
