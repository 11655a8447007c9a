//! User delegation keys: issued by the server, which has the keys of the accounts.

use lazuli_model::{ErrorCode, Failure, KeyPeriod, Service, UserDelegationKey};
use lazuli_protocol::auth::bearer::{self, Token};
use lazuli_protocol::auth::sas::issue;
use lazuli_service::Scope;

use super::Request;
use crate::state::State;

impl State {
    /// Issues a key to the user whose bearer token authenticates the request; nobody else can get one.
    pub(crate) fn delegation_key(
        &self,
        service: Service,
        request: &Request<'_>,
        period: KeyPeriod,
    ) -> Result<UserDelegationKey, Failure> {
        let Request { head, address, grant, context, .. } = request;
        let rejected = || grant.refusal(ErrorCode::AuthorizationFailure);
        if !matches!(grant.scope, Scope::Roles { .. }) {
            let detail = "Only authentication scheme Bearer is supported";
            let failure = grant.refusal(ErrorCode::AuthenticationFailed);
            return Err(failure.detail("AuthenticationErrorDetail", detail));
        }
        let token = bearer::token_of(head).and_then(|text| Token::parse(text).ok()).ok_or_else(rejected)?;
        let entry = self.directory.find(address.account).ok_or_else(rejected)?;
        let key = entry.keys.first().ok_or_else(rejected)?;
        issue(service, context.version, address.account, key, token.user(), period, context.now)
    }
}
