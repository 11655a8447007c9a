//! Where a request goes and who sent it.

use std::net::IpAddr;
use std::sync::Arc;

use lazuli_model::error::Origin;
use lazuli_model::{ErrorCode, Failure, Permissions, ServiceProperties, SignedIdentifier, TableName};
use lazuli_protocol::auth::AccountKey;
use lazuli_protocol::auth::bearer;
use lazuli_protocol::auth::sas::{Caller, Kind, Token};
use lazuli_protocol::response::{Context, Response};
use lazuli_protocol::url::Base;
use lazuli_protocol::{Address, ApiVersion, Head, auth};
use lazuli_service::{Grant, RangeEnds, Scope};

use super::{Arrival, Frontend};
use crate::http::Peer;

impl Frontend {
    /// The account and the resource that are addressed.
    pub(super) fn locate<'a>(
        &self,
        head: &Head<'a>,
        peer: Peer,
        context: &mut Context,
    ) -> Result<Address<'a>, Failure> {
        let address = Address::parse(head, |name| self.directory.contains(name))?;
        context.account = address.account.to_owned();
        context.base =
            Base::new(self.scheme(head, peer), address.authority, address.account_segment().as_deref());
        Ok(address)
    }

    /// The properties of the service that is addressed: those of a new account where there are none to be had.
    pub(super) async fn properties(&self, account: &str) -> Arc<ServiceProperties> {
        if !self.directory.contains(account) {
            return Arc::default();
        }
        match self.service.properties(account).await {
            Ok(properties) => properties,
            Err(error) => {
                tracing::error!(account, %error, "the properties of an account cannot be read");
                Arc::default()
            }
        }
    }

    /// Version and signature: who wants something. A header that signs beats a signature in the query.
    pub(super) async fn admit(
        &self,
        arrival: &Arrival<'_>,
        properties: &ServiceProperties,
        context: &mut Context,
    ) -> Result<Grant, Failure> {
        let Arrival { head, address, peer } = arrival;
        context.version = ApiVersion::of(head)?;
        if let Some(token) = bearer::token_of(head) {
            return self.admit_bearer(token, arrival, context).await;
        }
        let credential = auth::credential(head)?;
        let token = if credential.is_none() { Token::parse(address.query) } else { None };
        if let Some(token) = token {
            context.version = token.request_version(address.query, context.version)?;
            let caller = Caller {
                now: context.now,
                address: self.client_address(head, *peer),
                is_https: self.scheme(head, *peer) == "https",
            };
            return self.admit_token(&token, arrival, &caller, context.version).await;
        }
        if context.version == ApiVersion::NONE {
            let default = properties.default_version.as_deref().and_then(ApiVersion::parse);
            context.version = default.unwrap_or(ApiVersion::NONE);
        }
        let Some(credential) = credential else {
            let challenged = context.version >= ApiVersion::V2020_12_06;
            return Err(refuse(if challenged {
                ErrorCode::NoAuthenticationInformation
            } else {
                ErrorCode::AuthenticationFailed
            }));
        };
        auth::verify(head, address, &credential, &self.keys(arrival)?, context.now)?;
        Ok(Grant { read_only: address.secondary, ..Grant::everything(address.account) })
    }

    /// What a bearer token grants. Like the original, it is refused where others could read it, and before there were
    /// such tokens; a challenge came later still.
    async fn admit_bearer(
        &self,
        token: &str,
        arrival: &Arrival<'_>,
        context: &Context,
    ) -> Result<Grant, Failure> {
        let Arrival { head, address, peer } = arrival;
        self.keys(arrival)?;
        let bad = |why: &dyn std::fmt::Display| {
            tracing::debug!(request_id = %context.request_id, %why, "a bearer token was refused");
            let challenged = context.version >= ApiVersion::V2020_12_06;
            refuse(if challenged { ErrorCode::InvalidBearerToken } else { ErrorCode::AuthenticationFailed })
        };
        let oauth =
            self.oauth.as_ref().ok_or_else(|| bad(&"no issuer is trusted: --oauth-issuer names one"))?;
        let is_safe = oauth.allows_http() || self.scheme(head, *peer) == "https";
        if !is_safe || context.version < ApiVersion::V2017_11_09 {
            return Err(refuse(ErrorCode::AuthenticationFailed));
        }
        let verified = oauth.verify(token, address.account, context.now).await;
        let roles = verified.map_err(|why| bad(&why))?;
        Ok(Grant {
            account: address.account.to_owned(),
            read_only: address.secondary,
            scope: Scope::Roles { permissions: roles.permissions() },
            hides_refusals: false,
        })
    }

    /// Tells whoever is to get a token where to get it.
    pub(super) fn challenge(&self, mut response: Response) -> Response {
        if let Some(oauth) = &self.oauth {
            for (name, value) in &mut response.fields {
                if *name == "WWW-Authenticate" {
                    *value = oauth.challenge().to_owned().into();
                }
            }
        }
        response
    }

    /// What a shared access signature grants: its signature first, then its terms, which may stand in a stored policy.
    async fn admit_token(
        &self,
        token: &Token,
        arrival: &Arrival<'_>,
        caller: &Caller,
        version: ApiVersion,
    ) -> Result<Grant, Failure> {
        let address = &arrival.address;
        let kind = token.check_signature(address.account, &self.keys(arrival)?)?;
        let policies = self.policies(token, address.account).await?;
        let terms = token.terms(&policies)?;
        terms.check(caller)?;
        let permissions = terms.permissions;
        let scope = match kind {
            Kind::Account if !token.ss.contains('t') => {
                return Err(refuse(ErrorCode::AuthorizationServiceMismatch));
            }
            Kind::Account => Scope::Account { resources: Permissions::of(&token.srt), permissions },
            Kind::Table => {
                let ends = RangeEnds { first: (&token.spk, &token.srk), last: (&token.epk, &token.erk) };
                Scope::Table { table: token.tn.to_lowercase(), permissions, window: ends.window() }
            }
        };
        Ok(Grant {
            account: address.account.to_owned(),
            read_only: address.secondary,
            scope,
            hides_refusals: version < ApiVersion::V2015_04_05,
        })
    }

    /// The policies that a token may refer to, read only if it does.
    async fn policies(&self, token: &Token, account: &str) -> Result<Arc<[SignedIdentifier]>, Failure> {
        let failed = || refuse(ErrorCode::AuthenticationFailed);
        if token.si.is_empty() {
            return Ok(Arc::default());
        }
        let table = TableName::new(&token.tn).map_err(|_| failed())?;
        match self.service.policies(account, &table).await {
            Ok(found) => found.ok_or_else(failed),
            Err(error) => {
                tracing::error!(account, %error, "the policies of a table cannot be read");
                Err(error.failure().found_in(Origin::FrontEnd))
            }
        }
    }

    /// The keys of the account, if it may be reached in this way.
    fn keys(&self, arrival: &Arrival<'_>) -> Result<Arc<[AccountKey]>, Failure> {
        let Arrival { head, address, peer } = arrival;
        let entry =
            self.directory.find(address.account).ok_or_else(|| refuse(ErrorCode::AuthenticationFailed))?;
        if entry.https_only && self.scheme(head, *peer) != "https" {
            return Err(refuse(ErrorCode::AccountRequiresHttps));
        }
        Ok(entry.keys)
    }

    /// Where the request comes from: from behind a trusted proxy, what the last proxy that is not trusted saw.
    pub(super) fn client_address(&self, head: &Head<'_>, peer: Peer) -> IpAddr {
        let trusted = |address: &IpAddr| self.config.trusted_proxies.contains(address);
        let peer = peer.address.ip();
        if !trusted(&peer) {
            return peer;
        }
        let forwarded: Vec<&str> = head.all("x-forwarded-for").flat_map(|list| list.split(',')).collect();
        let seen = forwarded.iter().rev().map(|text| text.trim().parse::<IpAddr>());
        seen.map_while(Result::ok).find(|address| !trusted(address)).unwrap_or(peer)
    }

    /// The scheme that the client used, as far as it can be known.
    pub(super) fn scheme(&self, head: &Head<'_>, peer: Peer) -> &'static str {
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

fn refuse(code: ErrorCode) -> Failure {
    Failure::from(code).found_in(Origin::FrontEnd)
}
