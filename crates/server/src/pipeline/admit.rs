//! Resolves the address of a request and authenticates its sender.

use std::net::IpAddr;
use std::sync::Arc;

use lazuli_model::blob::ContainerName;
use lazuli_model::blob::container::PublicAccess;
use lazuli_model::error::Origin;
use lazuli_model::{ErrorCode, Failure, Service, ServiceProperties};
use lazuli_protocol::auth::bearer;
use lazuli_protocol::auth::sas::{Caller, Token};
use lazuli_protocol::http::response::{Context, Response};
use lazuli_protocol::http::url::Base;
use lazuli_protocol::{Address, ApiVersion, Head, auth};
use lazuli_service::{Grant, Scope};

use super::Arrival;
use crate::accounts::ServedAccount;
use crate::http::Peer;
use crate::state::State;

impl State {
    /// The account and the resource that are addressed.
    pub(crate) fn locate<'a>(
        &self,
        service: Service,
        head: &Head<'a>,
        peer: Peer,
        context: &mut Context,
    ) -> Result<Address<'a>, Failure> {
        let address = Address::parse(head, service, |name| self.is_host_account(name))?;
        self.check_host(address.authority)?;
        context.account = address.account.to_owned();
        context.base =
            Base::new(self.scheme(head, peer), address.authority, address.account_segment().as_deref());
        Ok(address)
    }

    /// Can a host name this account? No host can if only paths name accounts.
    pub(crate) fn is_host_account(&self, name: &str) -> bool {
        self.config.host_style && self.directory.contains(name)
    }

    /// The properties of the addressed service, or the defaults if they cannot be read.
    pub(crate) async fn properties(&self, service: Service, account: &str) -> Arc<ServiceProperties> {
        let Some(home) = self.directory.home(account) else { return Arc::default() };
        match self.service.properties(service, &home).await {
            Ok(properties) => properties,
            Err(error) => {
                tracing::error!(account, %error, "failed to read service properties");
                Arc::default()
            }
        }
    }

    /// Determines the version and the sender of the request. A signature in the `Authorization` header takes
    /// precedence over one in the query.
    pub(crate) async fn admit(
        &self,
        service: Service,
        arrival: &Arrival<'_>,
        properties: &ServiceProperties,
        context: &mut Context,
    ) -> Result<Grant, Failure> {
        let Arrival { head, address, peer } = arrival;
        context.version = ApiVersion::of(head)?;
        if let Some(token) = bearer::token_of(head) {
            return self.admit_bearer(service, token, arrival, context).await;
        }
        let credential = auth::credential(head)?;
        let token = if credential.is_none() { Token::parse(address.query) } else { None };
        if let Some(token) = token {
            context.version = token.request_version(service, address.query, context.version)?;
            let caller = Caller {
                now: context.now,
                address: self.client_address(head, *peer),
                is_https: self.scheme(head, *peer) == "https",
            };
            return self.admit_token(service, &token, arrival, &caller, context.version).await;
        }
        if context.version == ApiVersion::NONE {
            let default = properties.default_version.as_deref().and_then(ApiVersion::parse);
            context.version = default.unwrap_or(ApiVersion::NONE);
        }
        let Some(credential) = credential else {
            if let Some(grant) = self.admit_anonymous(service, arrival).await? {
                // Recorded: an anonymous request without a version is served as 2009-09-19, not as the oldest version.
                if context.version == ApiVersion::NONE {
                    context.version = ApiVersion::V2009_09_19;
                }
                return Ok(grant);
            }
            let challenged = context.version >= ApiVersion::V2020_12_06;
            return Err(rejection(match service {
                _ if challenged => ErrorCode::NoAuthenticationInformation,
                // Do not reveal whether a private container or a queue exists.
                Service::Blob | Service::Queue => ErrorCode::ResourceNotFound,
                Service::Table => ErrorCode::AuthenticationFailed,
            }));
        };
        let entry = self.entry(arrival)?;
        auth::verify(service, head, address, &credential, &entry.keys, context.now)?;
        Ok(Grant { read_only: address.secondary, ..Grant::everything(&*entry.home) })
    }

    /// The grant of a client without credentials: reads of a public container. `None` if the container is private.
    async fn admit_anonymous(
        &self,
        service: Service,
        arrival: &Arrival<'_>,
    ) -> Result<Option<Grant>, Failure> {
        let Some(blobs) = self.blobs.as_ref().filter(|_| service == Service::Blob) else { return Ok(None) };
        let entry = self.entry(arrival)?;
        let path = arrival.address.resource_path.trim_start_matches('/');
        let (first, is_lone) = match path.split_once('/') {
            Some((first, rest)) => (first, rest.is_empty()),
            None => (path, true),
        };
        // A single segment is a container if the query says so, else a blob of the root container.
        let is_container = !is_lone || arrival.address.query.get("restype").is_some();
        let Ok(container) = ContainerName::new(if is_container { first } else { "$root" }) else {
            return Ok(None);
        };
        let access = blobs.public_access(&entry.home, &container).await.map_err(|error| error.failure())?;
        let lists = match access {
            PublicAccess::None => return Ok(None),
            PublicAccess::Blob => false,
            PublicAccess::Container => true,
        };
        Ok(Some(Grant {
            read_only: arrival.address.secondary,
            scope: Scope::Public { container: container.as_str().to_owned(), lists },
            ..Grant::everything(&*entry.home)
        }))
    }

    /// The rights of a bearer token. As on Azure, a token is rejected over plain HTTP, and in versions before
    /// bearer tokens existed; the challenge was added in a later version.
    pub(crate) async fn admit_bearer(
        &self,
        service: Service,
        token: &str,
        arrival: &Arrival<'_>,
        context: &Context,
    ) -> Result<Grant, Failure> {
        let Arrival { head, address, peer } = arrival;
        let entry = self.entry(arrival)?;
        let bad = |why: &dyn std::fmt::Display| {
            tracing::debug!(request_id = %context.request_id, %why, "a bearer token was rejected");
            let challenged = context.version >= ApiVersion::V2020_12_06;
            rejection(if challenged {
                ErrorCode::InvalidBearerToken
            } else {
                ErrorCode::AuthenticationFailed
            })
        };
        let oauth = self
            .oauth
            .as_ref()
            .ok_or_else(|| bad(&"no issuer is trusted; configure one with --oauth-issuer"))?;
        let is_safe = oauth.allows_http() || self.scheme(head, *peer) == "https";
        if !is_safe || context.version < ApiVersion::V2017_11_09 {
            return Err(rejection(ErrorCode::AuthenticationFailed));
        }
        let verified = oauth.verify(token, service, address.account, context.now).await;
        let roles = verified.map_err(|why| match why.detail() {
            Some(detail) => bad(&why).detail("AuthenticationErrorDetail", detail),
            None => bad(&why),
        })?;
        Ok(Grant {
            read_only: address.secondary,
            scope: Scope::Roles { permissions: roles.permissions(service) },
            ..Grant::everything(&*entry.home)
        })
    }

    /// Adds the challenge that names the issuer of tokens.
    pub(crate) fn challenge(&self, mut response: Response) -> Response {
        if let Some(oauth) = &self.oauth {
            for (name, value) in &mut response.fields {
                if name == "WWW-Authenticate" {
                    *value = oauth.challenge().to_owned().into();
                }
            }
        }
        response
    }

    /// The account, if it accepts this kind of access. Its keys and its home are read together: otherwise they
    /// could belong to two successive accounts of the same name.
    pub(crate) fn entry(&self, arrival: &Arrival<'_>) -> Result<Arc<ServedAccount>, Failure> {
        let Arrival { head, address, peer } = arrival;
        let entry =
            self.directory.find(address.account).ok_or_else(|| rejection(ErrorCode::AuthenticationFailed))?;
        if entry.https_only && self.scheme(head, *peer) != "https" {
            return Err(rejection(ErrorCode::AccountRequiresHttps));
        }
        Ok(entry)
    }

    /// The address of the client: behind trusted proxies, the last forwarded address that is not a trusted proxy.
    pub(crate) fn client_address(&self, head: &Head<'_>, peer: Peer) -> IpAddr {
        let trusted = |address: &IpAddr| self.config.trusted_proxies.contains(address);
        let peer = peer.address.ip();
        if !trusted(&peer) {
            return peer;
        }
        let forwarded: Vec<&str> = head.all("x-forwarded-for").flat_map(|list| list.split(',')).collect();
        let seen = forwarded.iter().rev().map(|text| text.trim().parse::<IpAddr>());
        seen.map_while(Result::ok).find(|address| !trusted(address)).unwrap_or(peer)
    }

    /// The scheme that the client used, if it can be determined.
    pub(crate) fn scheme(&self, head: &Head<'_>, peer: Peer) -> &'static str {
        let proxies = &self.config.trusted_proxies;
        let forwarded = head.get("x-forwarded-proto").filter(|_| proxies.contains(&peer.address.ip()));
        match forwarded {
            Some(scheme) if scheme.eq_ignore_ascii_case("https") => "https",
            Some(scheme) if scheme.eq_ignore_ascii_case("http") => "http",
            _ if peer.is_tls => "https",
            _ => self.config.public_scheme.as_str(),
        }
    }
}

pub(crate) fn rejection(code: ErrorCode) -> Failure {
    Failure::from(code).found_in(Origin::FrontEnd)
}
