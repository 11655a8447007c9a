//! User delegation keys: keys that a user with a bearer token requests, and that sign tokens in that user's name.
//!
//! Such a key is derived from a key of the account and the fields that every token signed with it repeats. The server
//! therefore stores nothing: it derives the key again from the token. A key ends with its expiry, or when the account's
//! key is replaced.

use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_model::{DateTime, ErrorCode, Failure, KeyPeriod, Service, UserDelegationKey};

use super::Token;
use crate::ApiVersion;
use crate::auth::{AccountKey, Signature};

/// Longest lifetime of a user delegation key: 7 days.
pub const DELEGATION_KEY_SECONDS_MAX: u64 = 7 * 24 * 60 * 60;

/// The fields that a user delegation key is derived from, besides the account and its key. All of them are strings as
/// they appear in the response and in tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DelegationKey {
    /// The object id of the user.
    pub oid: String,
    /// The tenant of the user.
    pub tid: String,
    /// The first moment: `YYYY-MM-DDThh:mm:ssZ`.
    pub start: String,
    /// The last moment.
    pub expiry: String,
    /// The letter of the service.
    pub service: String,
    /// The version by which the key was requested.
    pub version: String,
    /// The tenant of the user who may use the tokens; usually empty.
    pub delegated_tid: String,
}

impl DelegationKey {
    /// The secret: `Value` of the response is its Base64 form.
    ///
    /// Its string to sign starts with a byte that no other string to sign of the services can start with, so the
    /// secret is never the signature of a request or token.
    pub fn secret(&self, account: &str, key: &AccountKey) -> Signature {
        let Self { oid, tid, start, expiry, service, version, delegated_tid } = self;
        key.sign(&format!(
            "\0user delegation key\n{account}\n{oid}\n{tid}\n{start}\n{expiry}\n{service}\n{version}\n{delegated_tid}"
        ))
    }

    /// The secret as a key that signs.
    pub fn signing_key(&self, account: &str, key: &AccountKey) -> AccountKey {
        AccountKey::new(&self.secret(account, key))
    }
}

/// Issues a key to a user. The period must lie within the next 7 days; otherwise the request is `InvalidXmlNodeValue`.
pub fn issue(
    service: Service,
    version: ApiVersion,
    account: &str,
    key: &AccountKey,
    user: (&str, &str),
    period: KeyPeriod,
    now: DateTime,
) -> Result<UserDelegationKey, Failure> {
    let last = now.ticks().saturating_add(DELEGATION_KEY_SECONDS_MAX * TICKS_PER_SECOND);
    // Tokens repeat the times to the second.
    let whole = |time: DateTime| {
        DateTime::from_ticks(time.ticks() / TICKS_PER_SECOND * TICKS_PER_SECOND).unwrap_or(time)
    };
    let (start, expiry) = (whole(period.start.unwrap_or(now)), whole(period.expiry));
    if expiry <= now || expiry.ticks() > last || start >= expiry {
        return Err(ErrorCode::InvalidXmlNodeValue.into());
    }
    // A period that starts long ago would last longer than a key may.
    let first = DateTime::from_ticks(expiry.ticks() - DELEGATION_KEY_SECONDS_MAX * TICKS_PER_SECOND);
    let start = start.max(first.unwrap_or(start));
    let issued = DelegationKey {
        oid: user.0.to_owned(),
        tid: user.1.to_owned(),
        start: start.iso_seconds().as_str().to_owned(),
        expiry: expiry.iso_seconds().as_str().to_owned(),
        service: service.sas_letter().to_string(),
        version: version.to_string(),
        delegated_tid: String::new(),
    };
    let value = issued.secret(account, key);
    Ok(UserDelegationKey { object_id: issued.oid, tenant_id: issued.tid, start, expiry, value })
}

impl Token {
    /// The user delegation key that a token claims to be signed with.
    pub fn delegation_key(&self) -> DelegationKey {
        DelegationKey {
            oid: self.skoid.clone(),
            tid: self.sktid.clone(),
            start: self.skt.clone(),
            expiry: self.ske.clone(),
            service: self.sks.clone(),
            version: self.skv.clone(),
            delegated_tid: self.skdutid.clone(),
        }
    }
}
