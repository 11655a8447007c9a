//! Blob Batch: several deletions or tier changes in one request. Each part is a separate request, with its own
//! signature and response; one that fails does not stop the others. If the whole batch is rejected, the
//! response has a single part, which does not correspond to any part of the request.

use std::borrow::Cow;

use lazuli_model::blob::ContainerName;
use lazuli_model::{ErrorCode, Failure, OperationKind, Service};
use lazuli_protocol::auth::bearer;
use lazuli_protocol::blob::batch::BatchPart;
use lazuli_protocol::blob::{Intent, batch, decode, encode};
use lazuli_protocol::http::head::Field;
use lazuli_protocol::http::multipart::HttpMessage;
use lazuli_protocol::http::response::{Context, Response};
use lazuli_protocol::{Address, Head};
use lazuli_service::access::Authorized;
use lazuli_service::access::blob::authorize_batch;
use lazuli_service::blob::Supply;
use lazuli_service::{Grant, Scope};

use super::Work;
use crate::http::{Body, Reply, reason};
use crate::pipeline::execute::logged;
use crate::pipeline::note::Note;
use crate::pipeline::{Arrival, Request, finish};

/// Maximum size of a batch.
const BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;

impl Work<'_> {
    pub(super) async fn run_batch(
        &self,
        container: Option<&ContainerName>,
        body: &mut dyn Body,
        note: &mut Note,
    ) -> Result<Reply, Failure> {
        let Request { head, grant, context, .. } = self.request;
        authorize_batch(grant, container.map(ContainerName::as_str))?;
        let bytes = note.receive(body.collect(BATCH_BYTES_MAX)).await?;
        if head.get_filled("content-type").is_none() {
            return Err(ErrorCode::InvalidHeaderValue.into());
        }
        let boundary = format!("batchresponse_{}", self.state.ids.next());
        let mut out = Vec::new();
        match self.accept(batch::decode(head, &bytes), container) {
            Ok(parts) => {
                for part in &parts {
                    let (reason, response) = self.run_part(&part.message, container).await;
                    batch::write_part(&mut out, &boundary, part.id, &reason, &response);
                }
            }
            Err(failure) => {
                let response = encode::failure(context, OperationKind::BlobBatch, &failure);
                let response = finish::finish(Service::Blob, response, context, head);
                batch::write_part(&mut out, &boundary, None, &phrase(&failure), &response);
            }
        }
        batch::write_end(&mut out, &boundary);
        let content_type = format!("multipart/mixed; boundary={boundary}");
        Ok(Response::new(202).with("Content-Type", content_type).with_body(out).into())
    }

    /// The parts of a batch, or the failure that the response reports as its only part: the body is not a
    /// batch, has too many parts or mixes operations, or a part addresses a container other than that of the
    /// batch.
    fn accept<'a>(
        &self,
        parts: Result<Vec<BatchPart<'a>>, Failure>,
        container: Option<&ContainerName>,
    ) -> Result<Vec<BatchPart<'a>>, Failure> {
        let parts = parts?;
        let intents: Vec<Intent> = parts.iter().filter_map(|part| self.intent_of(&part.message)).collect();
        if container.is_some() && intents.iter().any(|intent| intent.container() != container) {
            return Err(ErrorCode::InvalidInput.into());
        }
        if !intents.windows(2).all(|pair| pair[0].kind() == pair[1].kind()) {
            return Err(ErrorCode::AllBatchSubRequestsShouldBeSameApi.into());
        }
        Ok(parts)
    }

    /// The operation of a part, if it can be decoded.
    fn intent_of(&self, message: &HttpMessage<'_>) -> Option<Intent> {
        let (method, target) = message.request_line().ok()?;
        let host = Field { name: "host", value: self.request.address.authority };
        let own = message.fields.iter().filter(|field| !field.name.eq_ignore_ascii_case("host")).copied();
        let fields: Vec<Field<'_>> = std::iter::once(host).chain(own).collect();
        let head = Head { method, target, fields: &fields };
        let is_account = |name: &str| self.state.is_host_account(name);
        let address = Address::parse(&head, Service::Blob, is_account).ok()?;
        decode(&head, &address, self.request.context.version, &is_account).ok().map(|(intent, _)| intent)
    }

    /// Executes one part, from checking its signature to its response. Returns the reason phrase, too.
    async fn run_part(
        &self,
        message: &HttpMessage<'_>,
        container: Option<&ContainerName>,
    ) -> (Cow<'static, str>, Response) {
        let Request { context: outer, .. } = self.request;
        let mut context = Context { request_id: self.state.ids.next().to_string(), ..(*outer).clone() };
        let mut kind = OperationKind::Unknown;
        let host = Field { name: "host", value: self.request.address.authority };
        let own = message.fields.iter().filter(|field| !field.name.eq_ignore_ascii_case("host")).copied();
        let fields: Vec<Field<'_>> = std::iter::once(host).chain(own).collect();
        let (method, target) = message.request_line().unwrap_or(("", "/"));
        let head = Head { method, target, fields: &fields };
        let done = self.execute_part(head, container, &mut context, &mut kind).await;
        let (phrase, response) = match done {
            Ok(response) => (reason(response.status).into(), response),
            Err(failure) => (phrase(&failure), encode::failure(&context, kind, &failure)),
        };
        (phrase, finish::finish(Service::Blob, response, &context, &head))
    }

    async fn execute_part(
        &self,
        head: Head<'_>,
        container: Option<&ContainerName>,
        context: &mut Context,
        kind: &mut OperationKind,
    ) -> Result<Response, Failure> {
        let state = self.state;
        let is_account = |name: &str| state.is_host_account(name);
        let address = Address::parse(&head, Service::Blob, is_account)?;
        let version = context.version;
        let (intent, wanted) = decode(&head, &address, version, &is_account)?;
        *kind = intent.kind();
        batch::check(&intent, container)?;
        let Intent::Ready(operation) = intent else { return Err(ErrorCode::InvalidInput.into()) };
        let grant = self.part_grant(head, address, context).await;
        // A part has the version of the batch, even if its signature is wrong.
        context.version = version;
        let grant = grant?;
        let authorized = Authorized::new(&grant, operation)?;
        let outcome = self.blobs.execute(authorized, Supply::Nothing).await;
        let (outcome, _) = outcome.map_err(|error| logged(context, &error))?;
        Ok(encode::outcome(context, &wanted, &outcome))
    }

    /// The rights of a part: those of its own signature, or of the shared access signature or token of the whole batch.
    async fn part_grant(
        &self,
        head: Head<'_>,
        address: Address<'_>,
        context: &mut Context,
    ) -> Result<Grant, Failure> {
        let Request { grant, peer, .. } = self.request;
        let signs = head.get("authorization").is_some() || address.query.get("sig").is_some();
        if !signs && grant.scope != Scope::Everything {
            return Ok(grant.clone());
        }
        let arrival = Arrival { head, address, peer: *peer };
        if let Some(token) = bearer::token_of(&head) {
            // A part has the version of the batch; some clients do not repeat it.
            return self.state.admit_bearer(Service::Blob, token, &arrival, context).await;
        }
        self.state.admit(Service::Blob, &arrival, &Default::default(), context).await
    }
}

/// The reason phrase of a part that failed: the first line of its message, as in Azure.
fn phrase(failure: &Failure) -> Cow<'static, str> {
    failure.message.lines().next().unwrap_or_default().to_owned().into()
}
