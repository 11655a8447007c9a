//! The blob that moves between tiers. It may start to leave the archive, but does not finish during a trial.

use super::block::BLOBS;
use super::{BlobCondition, Output, holds};

/// The object of the blob.
pub const OBJECT: usize = BLOBS + 5;

/// The tiers that clients choose.
pub const TIERS: [&str; 3] = ["Hot", "Cool", "Archive"];
/// The last of them: an archived blob can be neither read nor replaced.
pub const ARCHIVE: usize = 2;

/// An operation of a client on the blob. A tier is an index into [`TIERS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TierCall {
    /// Reads its content.
    Get,
    /// Asks for its tier.
    GetTier,
    /// Writes it.
    Put {
        /// The change, and the new content.
        number: u32,
        /// The tier in the request, if any.
        tier: Option<usize>,
        /// What it must be.
        condition: BlobCondition,
    },
    /// Moves it to a tier. The ETag does not change.
    SetTier {
        /// The tier.
        tier: usize,
    },
    /// Deletes it.
    Delete {
        /// What it must be.
        condition: BlobCondition,
    },
}

/// The blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TieredBlob {
    /// The change that wrote it.
    pub number: u32,
    /// Its tier, if one was set explicitly.
    pub tier: Option<usize>,
    /// The tier to which it moves from the archive.
    pub goes_to: Option<usize>,
}

impl TieredBlob {
    fn is_archived(&self) -> bool {
        self.tier == Some(ARCHIVE)
    }
}

impl TierCall {
    /// Changes the blob. Returns the expected response.
    pub fn apply(&self, blob: &mut Option<TieredBlob>) -> Output {
        let changed = blob.map(|blob| blob.number);
        match (self, blob) {
            (TierCall::Get, None) => Output::Value(None),
            (TierCall::Get, Some(blob)) if !blob.is_archived() => Output::Value(Some(blob.number)),
            (TierCall::GetTier, blob) => Output::Tier(*blob),
            (TierCall::Put { number, tier, condition }, blob)
                if holds(*condition, changed) && !blob.is_some_and(|blob| blob.is_archived()) =>
            {
                *blob = Some(TieredBlob { number: *number, tier: *tier, goes_to: None });
                Output::Applied
            }
            (TierCall::SetTier { tier }, Some(blob)) if blob.goes_to.is_none() => {
                if blob.is_archived() && *tier != ARCHIVE {
                    blob.goes_to = Some(*tier);
                } else {
                    blob.tier = Some(*tier);
                }
                Output::Applied
            }
            (TierCall::Delete { condition }, blob) if changed.is_some() && holds(*condition, changed) => {
                *blob = None;
                Output::Applied
            }
            _ => Output::Rejected,
        }
    }
}
