//! User delegation keys: keys that a user with a bearer token requests, to sign shared access signatures.

use std::fmt;

use crate::DateTime;

/// The period for which a user delegation key is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyPeriod {
    /// The start; `None` means now.
    pub start: Option<DateTime>,
    /// The last moment.
    pub expiry: DateTime,
}

/// A user delegation key as the service issues it.
#[derive(Clone, PartialEq, Eq)]
pub struct UserDelegationKey {
    /// The object id of the user.
    pub object_id: String,
    /// The tenant of the user.
    pub tenant_id: String,
    /// The first moment.
    pub start: DateTime,
    /// The last moment.
    pub expiry: DateTime,
    /// The key itself.
    pub value: [u8; 32],
}

/// The key is a secret: it is never printed.
impl fmt::Debug for UserDelegationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UserDelegationKey({}, …)", self.object_id)
    }
}
