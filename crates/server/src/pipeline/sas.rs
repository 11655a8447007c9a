//! The grant of a shared access signature: checks its signature first, then its terms, which may be in a stored
//! policy.

use std::borrow::Cow;
use std::sync::Arc;

use lazuli_model::error::Origin;
use lazuli_model::{ErrorCode, Failure, Permissions, Service, SignedIdentifier};
use lazuli_protocol::auth::sas::{Caller, Kind, Presented, Signed, SignedResource, Token};
use lazuli_protocol::http::percent;
use lazuli_protocol::{Address, ApiVersion};
use lazuli_service::{Grant, RangeEnds, Scope, SignedPart};

use super::Arrival;
use super::admit::rejection;
use crate::state::State;

impl State {
    /// The grant of a request with a shared access signature.
    pub(crate) async fn admit_token(
        &self,
        service: Service,
        token: &Token,
        arrival: &Arrival<'_>,
        caller: &Caller,
        version: ApiVersion,
    ) -> Result<Grant, Failure> {
        let address = &arrival.address;
        let presented = Presented::new(service, &arrival.head, address);
        let entry = self.entry(arrival)?;
        let Signed { kind, rights } = token.check_signature(presented, &entry.keys)?;
        let container = container(token, kind, address);
        let policies = self.policies(service, token, &entry.home, container.as_deref()).await?;
        let terms = token.terms(&policies)?;
        terms.check(caller)?;
        let permissions = terms.permissions.and(rights);
        // Some operations need no particular permission, but a token without any permission allows none of
        // them.
        if matches!(kind, Kind::UserDelegation(_)) && permissions.is_empty() {
            return Err(rejection(ErrorCode::AuthorizationPermissionMismatch));
        }
        let scope = match (kind, container) {
            (Kind::Account, _) if !token.ss.contains(service.sas_letter()) => {
                return Err(rejection(ErrorCode::AuthorizationServiceMismatch));
            }
            (Kind::Account, _) => Scope::Account { resources: Permissions::of(&token.srt), permissions },
            (Kind::Service(service) | Kind::UserDelegation(service), Some(name)) => {
                Scope::Resource { service, name, permissions, part: part(service, token, address)? }
            }
            (Kind::Service(_) | Kind::UserDelegation(_), None) => {
                return Err(rejection(ErrorCode::AuthenticationFailed));
            }
        };
        Ok(Grant {
            read_only: address.secondary,
            scope,
            hides_rejections: version < ApiVersion::V2015_04_05,
            encryption_scope: Some(&*token.ses).filter(|name| !name.is_empty()).map(Into::into),
            ..Grant::everything(&*entry.home)
        })
    }

    /// The stored policies, read only if the token refers to one.
    async fn policies(
        &self,
        service: Service,
        token: &Token,
        home: &str,
        container: Option<&str>,
    ) -> Result<Arc<[SignedIdentifier]>, Failure> {
        let failed = || rejection(ErrorCode::AuthenticationFailed);
        if token.si.is_empty() {
            return Ok(Arc::default());
        }
        let container = container.ok_or_else(failed)?;
        match self.service.policies(service, home, container).await {
            Ok(found) => found.ok_or_else(failed),
            Err(error) => {
                tracing::error!(home, %error, "failed to read stored access policies");
                Err(error.failure().found_in(Origin::FrontEnd))
            }
        }
    }
}

/// The table, queue or container that a service SAS covers, in lower case. Tables are named in the token,
/// queues and containers in the path.
fn container(token: &Token, kind: Kind, address: &Address<'_>) -> Option<String> {
    match kind {
        Kind::Account => None,
        Kind::Service(Service::Table) | Kind::UserDelegation(Service::Table) => Some(token.tn.to_lowercase()),
        Kind::Service(Service::Queue) | Kind::UserDelegation(Service::Queue) => {
            segments(address).0.map(Cow::into_owned)
        }
        Kind::Service(Service::Blob) | Kind::UserDelegation(Service::Blob) => {
            let is_container = token.resource() == Some(SignedResource::Container);
            match segments(address) {
                (Some(name), rest) if rest.is_some() || is_container => Some(name.into_owned()),
                (Some(_), None) => Some("$root".into()),
                _ => None,
            }
        }
    }
}

/// The first segment of the path and the rest after it, decoded. A single segment of the Blob service may be a
/// blob of the root container.
fn segments<'a>(address: &Address<'a>) -> (Option<Cow<'a, str>>, Option<Cow<'a, str>>) {
    let path = address.resource_path.strip_prefix('/').unwrap_or(address.resource_path);
    match path.split_once('/') {
        Some((first, rest)) => (percent::decode(first), percent::decode(rest)),
        None => (percent::decode(path), None),
    }
}

/// The first segments of a blob's name.
fn directory(blob: &str, depth: usize) -> String {
    blob.split('/').take(depth).collect::<Vec<_>>().join("/")
}

/// The part of the table, queue or container that a service SAS covers.
fn part(service: Service, token: &Token, address: &Address<'_>) -> Result<SignedPart, Failure> {
    let failed = || rejection(ErrorCode::AuthenticationFailed);
    match service {
        Service::Queue => Ok(SignedPart::Whole),
        Service::Table => {
            let ends = RangeEnds { first: (&token.spk, &token.srk), last: (&token.epk, &token.erk) };
            Ok(SignedPart::Entities(ends.window()))
        }
        Service::Blob => {
            let blob = || {
                let (first, rest) = segments(address);
                // Spelled like the name in the request.
                rest.or(first).map(|name| name.replace('\\', "/")).ok_or_else(failed)
            };
            let named = |name: &str| address.query.get(name).map(Cow::into_owned);
            match token.resource().ok_or_else(failed)? {
                SignedResource::Container => Ok(SignedPart::Whole),
                SignedResource::Blob => Ok(SignedPart::Blob { name: blob()?, instance: None }),
                SignedResource::Snapshot => {
                    Ok(SignedPart::Blob { name: blob()?, instance: named("snapshot") })
                }
                SignedResource::Version => {
                    Ok(SignedPart::Blob { name: blob()?, instance: named("versionid") })
                }
                SignedResource::Directory(_) if token.version() < Some(ApiVersion::V2020_02_10) => {
                    Err(failed())
                }
                SignedResource::Directory(depth) => Ok(SignedPart::Directory(directory(&blob()?, depth))),
            }
        }
    }
}
