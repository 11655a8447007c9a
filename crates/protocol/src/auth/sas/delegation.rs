//! User delegation keys: keys that a user with a bearer token requests, and that sign tokens on behalf of that
//! user.
//!
//! Such a key is derived from a key of the account, the fields that every token signed with it repeats, and the
//! rights of the user. The server therefore stores nothing: it derives the key again from the token. A token
//! does not state the rights of the user, so the server tries each set of rights that roles can grant, and the
//! set whose key signed the token limits what the token permits. A key becomes invalid when it expires, when
//! the account's key is replaced, or when a new version of the server changes the rights of the user's roles.

use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_model::{DateTime, ErrorCode, Failure, KeyPeriod, Permissions, Service, UserDelegationKey};

use super::Token;
use crate::ApiVersion;
use crate::auth::bearer::Roles;
use crate::auth::{AccountKey, Signature};

/// Longest lifetime of a user delegation key: 7 days.
pub const DELEGATION_KEY_SECONDS_MAX: u64 = 7 * 24 * 60 * 60;

/// The fields that a user delegation key is derived from, besides the account, its key and the rights of the user. All of
/// them are strings as they appear in the response and in tokens.
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
    /// The secret of a user with these rights: `Value` of the response is its Base64 form.
    ///
    /// Its string to sign starts with a byte with which no other string to sign can start, so the secret is
    /// never the signature of a request or token. The rights come before the fields that clients choose, so
    /// that no field can be mistaken for them.
    pub fn secret(&self, account: &str, key: &AccountKey, rights: Permissions) -> Signature {
        let Self { oid, tid, start, expiry, service, version, delegated_tid } = self;
        key.sign(&format!(
            "\0user delegation key\n{rights}\n{account}\n{oid}\n{tid}\n{start}\n{expiry}\n{service}\n{version}\n{delegated_tid}"
        ))
    }

    /// The secret as a signing key.
    pub fn signing_key(&self, account: &str, key: &AccountKey, rights: Permissions) -> AccountKey {
        AccountKey::new(&self.secret(account, key, rights))
    }

    /// The rights of the user whose key meets the condition, which is tested at most once per account key and
    /// set of rights ([`Roles::delegable`]).
    pub(super) fn find_rights(
        &self,
        service: Service,
        account: &str,
        keys: &[AccountKey],
        condition: impl Fn(&AccountKey) -> bool,
    ) -> Option<Permissions> {
        let fits = |rights| keys.iter().any(|key| condition(&self.signing_key(account, key, rights)));
        Roles::delegable(service).into_iter().find(|rights| fits(*rights))
    }
}

/// A user who requests a key.
#[derive(Clone, Copy, Debug)]
pub struct Delegator<'a> {
    /// The object id of the user.
    pub oid: &'a str,
    /// The tenant of the user.
    pub tid: &'a str,
    /// The rights of the user in the service, one of [`Roles::delegable`].
    pub rights: Permissions,
}

/// Issues a key to a user. The period must lie within the next 7 days; otherwise the request is `InvalidXmlNodeValue`.
pub fn issue(
    service: Service,
    version: ApiVersion,
    account: &str,
    key: &AccountKey,
    user: Delegator<'_>,
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
        oid: user.oid.to_owned(),
        tid: user.tid.to_owned(),
        start: start.iso_seconds().as_str().to_owned(),
        expiry: expiry.iso_seconds().as_str().to_owned(),
        service: service.sas_letter().to_string(),
        version: version.to_string(),
        delegated_tid: String::new(),
    };
    let value = issued.secret(account, key, user.rights);
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
