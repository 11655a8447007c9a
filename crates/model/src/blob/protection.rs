//! The parts of requests and responses for customer-provided keys, immutability, soft delete and versions.

use std::fmt;

use crate::DateTime;

/// A key that the client sends with every request for a blob.
#[derive(Clone, PartialEq, Eq)]
pub struct CustomerKey {
    /// The AES-256 key.
    pub key: [u8; 32],
    /// Its SHA-256, which identifies it in responses.
    pub sha256: [u8; 32],
}

// The key is a secret: it is never printed.
impl fmt::Debug for CustomerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CustomerKey(…)")
    }
}

/// The encryption that was requested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encryption {
    /// A key of the client.
    pub key: Option<CustomerKey>,
    /// The name of an encryption scope.
    pub scope: Option<String>,
}

/// The encryption of a blob, as shown in responses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EncryptionView {
    /// The SHA-256 of the client's key.
    pub key_sha256: Option<[u8; 32]>,
    /// The encryption scope.
    pub scope: Option<String>,
}

impl Encryption {
    /// The part that is shown in responses.
    pub fn view(&self) -> EncryptionView {
        EncryptionView { key_sha256: self.key.as_ref().map(|key| key.sha256), scope: self.scope.clone() }
    }
}

/// The mode of an immutability policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImmutabilityMode {
    /// It can be removed.
    Unlocked,
    /// It can only be extended.
    Locked,
}

impl ImmutabilityMode {
    /// The name in headers and listings.
    pub const fn name(self) -> &'static str {
        match self {
            ImmutabilityMode::Unlocked => "unlocked",
            ImmutabilityMode::Locked => "locked",
        }
    }

    /// Reads a name in any letter case.
    pub fn parse(text: &str) -> Option<Self> {
        let all = [ImmutabilityMode::Unlocked, ImmutabilityMode::Locked];
        all.into_iter().find(|mode| mode.name().eq_ignore_ascii_case(text))
    }
}

/// An immutability policy: until its end, the blob can be neither changed nor deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImmutabilityPolicy {
    /// Until when.
    pub until: DateTime,
    /// How firmly.
    pub mode: ImmutabilityMode,
}

/// The protection that a write sets on a blob.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Immutability {
    /// A policy.
    pub policy: Option<ImmutabilityPolicy>,
    /// A legal hold.
    pub legal_hold: Option<bool>,
}

/// The version of a blob in an account with versioning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionInfo {
    /// Its id.
    pub id: DateTime,
    /// Is it the current version, which requests without a version id read?
    pub is_current: bool,
}

/// The state of a blob or container that was deleted and can be restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeletedInfo {
    /// When it was deleted.
    pub time: DateTime,
    /// The number of days for which it is still kept.
    pub remaining_days: u32,
}
