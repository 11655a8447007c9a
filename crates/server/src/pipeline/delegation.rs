//! User delegation keys: issued by the server, which has the keys of the accounts.

use lazuli_model::{ErrorCode, Failure, KeyPeriod, Permissions, Service, UserDelegationKey};
use lazuli_protocol::auth::bearer::{self, DELEGATE, Token};
use lazuli_protocol::auth::sas::{Delegator, issue};
use lazuli_service::{Grant, Scope};

use super::Request;
use crate::state::State;

impl State {
    /// Issues a key to the user whose bearer token authenticates the request. It carries the rights of the user.
    pub(crate) fn delegation_key(
        &self,
        service: Service,
        request: &Request<'_>,
        period: KeyPeriod,
    ) -> Result<UserDelegationKey, Failure> {
        let Request { head, address, grant, context, .. } = request;
        let rejected = || grant.rejection(ErrorCode::AuthorizationFailure);
        let rights = authorize_delegation(grant)?;
        let token = bearer::token_of(head).and_then(|text| Token::parse(text).ok()).ok_or_else(rejected)?;
        let entry = self.directory.find(address.account).ok_or_else(rejected)?;
        let key = entry.keys.first().ok_or_else(rejected)?;
        let (oid, tid) = token.user();
        let user = Delegator { oid, tid, rights };
        issue(service, context.version, address.account, key, user, period, context.now)
    }
}

/// Checks that the request has a bearer token with a role that permits user delegation keys. Returns the rights of all its
/// roles.
pub(crate) fn authorize_delegation(grant: &Grant) -> Result<Permissions, Failure> {
    match grant.scope {
        Scope::Roles { permissions } if permissions.allow(DELEGATE) => Ok(permissions),
        Scope::Roles { .. } => Err(grant.rejection(ErrorCode::AuthorizationPermissionMismatch)),
        Scope::Everything | Scope::Account { .. } | Scope::Public { .. } | Scope::Resource { .. } => {
            let detail = "Only authentication scheme Bearer is supported";
            let failure = grant.rejection(ErrorCode::AuthenticationFailed);
            Err(failure.detail("AuthenticationErrorDetail", detail))
        }
    }
}
