//! Sources of copies, and the permission to read them.
//!
//! A source on this server is read directly, with the rights of the signature in its URL, of the bearer token for it, of an
//! anonymous client, or, for the asynchronous Copy Blob within one account, of the key that signed the request. A source on
//! another server is fetched if the operator allows its host: see [`remote`](super::remote).

use lazuli_model::blob::Operation;
use lazuli_model::blob::container::PublicAccess;
use lazuli_model::blob::copy::{CopySource, SourceBlob, unreadable_source};
use lazuli_model::blob::operation::BlobAction;
use lazuli_model::{ErrorCode, Failure, Service};
use lazuli_protocol::auth::sas::{Caller, Token};
use lazuli_protocol::http::head::Field;
use lazuli_protocol::{Address, ApiVersion, Head};
use lazuli_service::access::blob::AuthorizedSource;
use lazuli_service::blob::Supply;
use lazuli_service::{Grant, Scope};

use super::Work;
use crate::pipeline::{Arrival, Request};

/// The source that an operation copies from.
pub fn of(operation: &Operation) -> Option<&CopySource> {
    let Operation::Blob(request) = operation else { return None };
    match &request.action {
        BlobAction::PutBlobFromUrl(put) => Some(&put.source),
        BlobAction::Copy(copy) => Some(&copy.source),
        BlobAction::PutBlockFromUrl(_, source, _)
        | BlobAction::AppendBlockFromUrl(source, ..)
        | BlobAction::PutPageFromUrl(_, source, ..)
        | BlobAction::IncrementalCopy(source) => Some(source),
        _ => None,
    }
}

impl Work<'_> {
    /// Access to the source of an operation.
    pub(super) async fn supply(
        &self,
        operation: &Operation,
        source: &CopySource,
    ) -> Result<Supply<'static>, Failure> {
        let Some(blob) = source.blob.as_ref().filter(|blob| self.is_local(blob)) else {
            return self.remote(operation, source);
        };
        let is_async = matches!(operation, Operation::Blob(request)
            if matches!(&request.action, BlobAction::Copy(copy) if !copy.is_sync)
                || matches!(request.action, BlobAction::IncrementalCopy(_)));
        let grant = self.source_grant(source, blob, is_async).await?;
        let authorized = AuthorizedSource::new(grant, operation, blob.clone()).map_err(|failure| {
            let code = match failure.code.status() {
                404 => ErrorCode::CopySourceNotFound,
                _ => ErrorCode::CopySourceForbidden,
            };
            unreadable_source(code, &failure)
        })?;
        Ok(Supply::Local(Box::new(authorized)))
    }

    /// Is the source on this server? A host name that differs only in its account label counts as this server.
    fn is_local(&self, blob: &SourceBlob) -> bool {
        let own = self.request.address.authority;
        // The first number of an IP address is not an account.
        let is_name = |authority: &str| authority.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
        let rest = |authority: &str| {
            let (_, rest) = authority.split_once('.').filter(|_| is_name(authority))?;
            Some(rest.to_ascii_lowercase())
        };
        let is_sibling = rest(own).is_some() && rest(own) == rest(&blob.authority);
        let is_loopback = |authority: &str| {
            let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
            host.eq_ignore_ascii_case("localhost") || host == "127.0.0.1" || host == "[::1]"
        };
        let port = |authority: &str| authority.rsplit_once(':').map(|(_, port)| port.to_owned());
        let is_same_machine =
            is_loopback(own) && is_loopback(&blob.authority) && port(own) == port(&blob.authority);
        self.state.directory.contains(&blob.account) && (blob.is_same_host || is_sibling || is_same_machine)
    }

    async fn source_grant(
        &self,
        source: &CopySource,
        blob: &SourceBlob,
        is_async: bool,
    ) -> Result<Grant, Failure> {
        let Request { address, grant, context, peer, .. } = self.request;
        let host = Field { name: "host", value: &blob.authority };
        let bearer = source.bearer.as_ref().map(|token| format!("Bearer {token}"));
        let fields: Vec<Field<'_>> = std::iter::once(host)
            .chain(bearer.as_deref().map(|value| Field { name: "authorization", value }))
            .collect();
        let head = Head { method: "GET", target: &source.url, fields: &fields };
        let state = self.state;
        let at = Address::parse(&head, Service::Blob, |name| state.is_host_account(name))?;
        let arrival = Arrival { head, address: at, peer: *peer };
        let forbidden = |failure: Failure| match failure.code.status() {
            500.. => failure,
            _ => unreadable_source(ErrorCode::CopySourceForbidden, &failure),
        };
        if let Some(token) = &source.bearer {
            let admitted = state.admit_bearer(Service::Blob, token, &arrival, context).await;
            // Recorded: an invalid token is 401, even in versions in which it would be 403 elsewhere.
            return admitted.map_err(|failure| match failure.code.status() {
                500.. => failure,
                _ => unreadable_source(ErrorCode::CopySourceUnauthorized, &failure),
            });
        }
        if let Some(token) = Token::parse(arrival.address.query) {
            let caller = Caller {
                now: context.now,
                address: state.client_address(&self.request.head, *peer),
                is_https: state.scheme(&self.request.head, *peer) == "https",
            };
            let admitted = state.admit_token(Service::Blob, &token, &arrival, &caller, context.version).await;
            return admitted.map_err(forbidden);
        }
        // The bearer token of the request is also valid for a source in the same account; its key is used for
        // Copy Blob only.
        let suffices = match grant.scope {
            Scope::Everything => is_async,
            Scope::Roles { .. } => true,
            Scope::Account { .. } | Scope::Public { .. } | Scope::Resource { .. } => false,
        };
        if suffices && blob.account == address.account {
            return Ok(grant.clone());
        }
        let home = state.home(&blob.account);
        let access =
            self.blobs.public_access(&home, &blob.container).await.map_err(|error| error.failure())?;
        match access {
            PublicAccess::None => Err(private(context.version)),
            PublicAccess::Blob | PublicAccess::Container => {
                let container = blob.container.as_str().to_owned();
                Ok(Grant { scope: Scope::Public { container, lists: false }, ..Grant::everything(home) })
            }
        }
    }
}

/// The failure of a copy from a private container without credentials, the same as for an anonymous read.
fn private(version: ApiVersion) -> Failure {
    let (code, read) = match version >= ApiVersion::V2020_12_06 {
        true => (ErrorCode::CopySourceUnauthorized, ErrorCode::NoAuthenticationInformation),
        false => (ErrorCode::CopySourceNotFound, ErrorCode::ResourceNotFound),
    };
    unreadable_source(code, &read.into())
}
