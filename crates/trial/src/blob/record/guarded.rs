//! The blob that holds and policies protect, and that a key of the client or an encryption scope may belong to.

use super::block::BLOBS;
use super::{BlobCondition, Output, holds};

/// The object of the blob.
pub const OBJECT: usize = BLOBS + 6;

/// What belongs to the content of the blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlobSecret {
    /// Nothing.
    None,
    /// A key of the client: no read without it.
    Key,
    /// An encryption scope, which a read does not need.
    Scope,
}

impl BlobSecret {
    /// All of them.
    pub const ALL: [Self; 3] = [BlobSecret::None, BlobSecret::Key, BlobSecret::Scope];
}

/// What a client asks for of the blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuardedCall {
    /// Reads its content.
    Get {
        /// The request has the key.
        has_key: bool,
    },
    /// Asks for its protection, and for what belongs to it.
    GetGuard,
    /// Writes it.
    Put {
        /// The change, and the new content.
        number: u32,
        /// What belongs to the new content.
        secret: BlobSecret,
        /// What it must be.
        condition: BlobCondition,
    },
    /// Sets the legal hold, or ends it. The ETag stays.
    SetHold(bool),
    /// Sets a policy that does not end during a trial, or removes it. The ETag stays.
    SetPolicy(bool),
    /// Deletes it.
    Delete {
        /// What it must be.
        condition: BlobCondition,
    },
}

/// The blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GuardedBlob {
    /// The change that wrote it.
    pub number: u32,
    /// What belongs to its content.
    pub secret: BlobSecret,
    /// Does it have a legal hold?
    pub has_hold: bool,
    /// Does it have a policy?
    pub has_policy: bool,
}

impl GuardedCall {
    /// Changes the blob. Returns the response that the server must give.
    pub fn apply(&self, blob: &mut Option<GuardedBlob>) -> Output {
        let changed = blob.map(|blob| blob.number);
        let is_free = blob.is_none_or(|blob| !blob.has_hold && !blob.has_policy);
        match (self, blob) {
            (GuardedCall::Get { .. }, None) => Output::Value(None),
            (GuardedCall::Get { has_key }, Some(blob)) if *has_key == (blob.secret == BlobSecret::Key) => {
                Output::Value(Some(blob.number))
            }
            (GuardedCall::GetGuard, blob) => Output::Guard(*blob),
            (GuardedCall::Put { number, secret, condition }, blob)
                if holds(*condition, changed) && is_free =>
            {
                let (number, secret) = (*number, *secret);
                *blob = Some(GuardedBlob { number, secret, has_hold: false, has_policy: false });
                Output::Applied
            }
            (GuardedCall::SetHold(has_hold), Some(blob)) => {
                blob.has_hold = *has_hold;
                Output::Applied
            }
            (GuardedCall::SetPolicy(has_policy), Some(blob)) => {
                blob.has_policy = *has_policy;
                Output::Applied
            }
            (GuardedCall::Delete { condition }, blob)
                if changed.is_some() && holds(*condition, changed) && is_free =>
            {
                *blob = None;
                Output::Applied
            }
            _ => Output::Rejected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(number: u32, secret: BlobSecret) -> GuardedCall {
        GuardedCall::Put { number, secret, condition: BlobCondition::None }
    }

    #[test]
    fn what_is_protected_stays() {
        for protect in [GuardedCall::SetHold, GuardedCall::SetPolicy] {
            let mut blob = None;
            assert_eq!(protect(true).apply(&mut blob), Output::Rejected, "there is none");
            assert_eq!(put(1, BlobSecret::None).apply(&mut blob), Output::Applied);
            assert_eq!(protect(true).apply(&mut blob), Output::Applied);
            let delete = GuardedCall::Delete { condition: BlobCondition::None };
            for change in [put(2, BlobSecret::Key), delete.clone()] {
                assert_eq!(change.apply(&mut blob), Output::Rejected);
            }
            assert_eq!(GuardedCall::Get { has_key: false }.apply(&mut blob), Output::Value(Some(1)));
            assert_eq!(protect(false).apply(&mut blob), Output::Applied);
            assert_eq!(delete.apply(&mut blob), Output::Applied);
        }
    }

    #[test]
    fn a_key_is_needed_exactly_where_it_belongs() {
        for secret in BlobSecret::ALL {
            let mut blob = None;
            put(1, secret).apply(&mut blob);
            for has_key in [false, true] {
                let is_right = has_key == (secret == BlobSecret::Key);
                let wanted = if is_right { Output::Value(Some(1)) } else { Output::Rejected };
                assert_eq!(GuardedCall::Get { has_key }.apply(&mut blob), wanted, "{secret:?}");
            }
        }
    }
}
