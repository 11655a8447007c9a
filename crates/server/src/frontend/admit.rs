//! Where a request goes and who sent it.

use std::net::IpAddr;
use std::sync::Arc;

use lazuli_model::error::Origin;
use lazuli_model::{ErrorCode, Failure, ServiceProperties};
use lazuli_protocol::response::Context;
use lazuli_protocol::url::Base;
use lazuli_protocol::{Address, ApiVersion, Head, auth};
use lazuli_service::Grant;

use super::Frontend;

impl Frontend {
    /// The account and the resource that are addressed.
    pub(super) fn locate<'a>(
        &self,
        head: &Head<'a>,
        peer: IpAddr,
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

    /// Version and signature: who wants something.
    pub(super) fn admit(
        &self,
        head: &Head<'_>,
        address: &Address<'_>,
        properties: &ServiceProperties,
        context: &mut Context,
    ) -> Result<Grant, Failure> {
        context.version = ApiVersion::of(head)?;
        if context.version == ApiVersion::NONE {
            let default = properties.default_version.as_deref().and_then(ApiVersion::parse);
            context.version = default.unwrap_or(ApiVersion::NONE);
        }
        let Some(credential) = auth::credential(head)? else {
            let challenged = context.version >= ApiVersion::V2020_12_06;
            return Err(refuse(if challenged {
                ErrorCode::NoAuthenticationInformation
            } else {
                ErrorCode::AuthenticationFailed
            }));
        };
        let keys = self.directory.keys(address.account);
        let keys = keys.ok_or_else(|| refuse(ErrorCode::AuthenticationFailed))?;
        auth::verify(head, address, &credential, &keys, context.now)?;
        Ok(Grant { account: address.account.to_owned(), read_only: address.secondary })
    }

    /// The scheme that the client used, as far as it can be known.
    fn scheme(&self, head: &Head<'_>, peer: IpAddr) -> &'static str {
        let forwarded = head.get("x-forwarded-proto").filter(|_| self.config.trusted_proxies.contains(&peer));
        match forwarded {
            Some(scheme) if scheme.eq_ignore_ascii_case("https") => "https",
            Some(scheme) if scheme.eq_ignore_ascii_case("http") => "http",
            _ => self.config.public_scheme.as_str(),
        }
    }
}

fn refuse(code: ErrorCode) -> Failure {
    Failure::from(code).found_in(Origin::FrontEnd)
}
