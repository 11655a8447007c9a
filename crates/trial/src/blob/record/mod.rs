//! The operations of a history of blobs, and what each does: one file per type of blob, with a plain model of it.
//!
//! Every change has a number that no other change of the history has. A condition on an ETag names the number of the change that
//! made the ETag, so the model needs no ETags.

pub mod append;
pub mod block;
pub mod guarded;
pub mod kept;
#[cfg(test)]
mod kept_tests;
pub mod page;
pub mod tagged;
#[cfg(test)]
mod tests;
pub mod tiered;

pub use append::{AppendCall, AppendView};
pub use block::BlockCall;
pub use guarded::GuardedCall;
pub use kept::{Keeping, KeptCall, KeptState};
pub use page::{PageCall, PagesView};
pub use tagged::TagCall;
pub use tiered::TierCall;

use crate::linear;
use append::AppendBlob;
use block::Blob;
use guarded::GuardedBlob;
use kept::KeptBlob;
use page::PageBlob;
use tagged::TaggedBlob;
use tiered::TieredBlob;

/// The state that a blob must have for a write to be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlobCondition {
    /// Anything.
    None,
    /// If-Match with the ETag that this change gave it.
    Is(u32),
    /// If-None-Match: *
    Absent,
}

/// Does a blob meet a condition whose ETag is that of this change?
fn holds(condition: BlobCondition, changed: Option<u32>) -> bool {
    match condition {
        BlobCondition::None => true,
        BlobCondition::Is(expected) => changed == Some(expected),
        BlobCondition::Absent => changed.is_none(),
    }
}

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlobCall {
    /// Of one of the block blobs.
    Block(BlockCall),
    /// Of the append blob.
    Append(AppendCall),
    /// Of the page blob.
    Page(PageCall),
    /// Of the blob with tags.
    Tag(TagCall),
    /// Of the blob in the account that keeps this.
    Kept(Keeping, KeptCall),
    /// Of the blob that moves between tiers.
    Tier(TierCall),
    /// Of the blob that holds, policies and keys protect.
    Guarded(GuardedCall),
}

/// What a client sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// The value of the blob.
    Value(Option<u32>),
    /// The change was applied.
    Applied,
    /// 404, 409 or 412: nothing changed.
    Rejected,
    /// The append was applied.
    Appended {
        /// Where its bytes begin.
        offset: u64,
        /// Appends so far.
        count: u32,
    },
    /// The content of the append blob.
    Appends(Option<AppendView>),
    /// The content of the page blob.
    Pages(Option<PagesView>),
    /// The pages of it that are written.
    Ranges(Option<Vec<usize>>),
    /// Its sequence number; after a change, the one that the response names.
    Sequence(Option<u64>),
    /// The tag of the blob, if it exists and has one.
    Tag(Option<Option<u32>>),
    /// Was it among the results of the search?
    Found(bool),
    /// What is kept of the blob, in the order of the listing.
    Kept(Vec<(u32, KeptState)>),
    /// The blob with its tier.
    Tier(Option<TieredBlob>),
    /// The blob with its protection.
    Guard(Option<GuardedBlob>),
}

/// A blob. A history is searched for each blob separately, so at most one of these is in use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct BlobModel {
    block: Blob,
    append: Option<AppendBlob>,
    page: Option<PageBlob>,
    tagged: Option<TaggedBlob>,
    /// In the order of [`Keeping::ALL`].
    kept: [KeptBlob; 2],
    tiered: Option<TieredBlob>,
    guarded: Option<GuardedBlob>,
}

impl BlobCall {
    /// Does it change nothing?
    pub fn is_read(&self) -> bool {
        match self {
            BlobCall::Block(call) => matches!(call, BlockCall::Get { .. }),
            BlobCall::Append(call) => matches!(call, AppendCall::Get),
            BlobCall::Page(call) => matches!(call, PageCall::Get | PageCall::Ranges | PageCall::Sequence),
            BlobCall::Tag(call) => {
                matches!(call, TagCall::Get { .. } | TagCall::GetTag | TagCall::Find { .. })
            }
            BlobCall::Kept(_, call) => {
                matches!(call, KeptCall::Get | KeptCall::GetPast { .. } | KeptCall::List)
            }
            BlobCall::Tier(call) => matches!(call, TierCall::Get | TierCall::GetTier),
            BlobCall::Guarded(call) => matches!(call, GuardedCall::Get { .. } | GuardedCall::GetGuard),
        }
    }
}

impl linear::HistoryOperation for BlobCall {
    type State = BlobModel;
    type Output = Output;

    fn object(&self) -> usize {
        match self {
            BlobCall::Block(call) => call.blob(),
            BlobCall::Append(_) => block::BLOBS,
            BlobCall::Page(_) => block::BLOBS + 1,
            BlobCall::Tag(_) => block::BLOBS + 2,
            BlobCall::Kept(keeping, _) => keeping.object(),
            BlobCall::Tier(_) => tiered::OBJECT,
            BlobCall::Guarded(_) => guarded::OBJECT,
        }
    }

    fn apply(&self, state: &Self::State) -> (Self::State, Output) {
        let mut next = state.clone();
        let output = match self {
            BlobCall::Block(call) => {
                let (blob, output) = call.apply(state.block);
                next.block = blob;
                output
            }
            BlobCall::Append(call) => call.apply(&mut next.append),
            BlobCall::Page(call) => call.apply(&mut next.page),
            BlobCall::Tag(call) => call.apply(&mut next.tagged),
            BlobCall::Kept(keeping, call) => call.apply(*keeping, &mut next.kept[*keeping as usize]),
            BlobCall::Tier(call) => call.apply(&mut next.tiered),
            BlobCall::Guarded(call) => call.apply(&mut next.guarded),
        };
        (next, output)
    }
}
