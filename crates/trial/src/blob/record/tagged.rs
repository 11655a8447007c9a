//! The blob with a tag: conditions depend on the tag, and searches find the blob by it.

use super::{BlobCondition, Output, holds};

/// A client's operation on the blob with a tag. Tags have few values, so that conditions on them are often met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TagCall {
    /// Reads the blob.
    Get {
        /// The tag that it must have.
        tag: Option<u32>,
    },
    /// Reads its tag.
    GetTag,
    /// Searches for blobs with this tag.
    Find {
        /// The tag.
        tag: u32,
    },
    /// Writes the blob.
    Put {
        /// The change, and the new content.
        number: u32,
        /// The new tag.
        new: Option<u32>,
        /// The condition on the blob.
        condition: BlobCondition,
        /// The tag that it must have.
        tag: Option<u32>,
    },
    /// Sets the tag. The ETag does not change.
    SetTag {
        /// The new tag.
        new: u32,
        /// The tag that it must have.
        tag: Option<u32>,
    },
    /// Deletes the blob.
    Delete {
        /// The tag that it must have.
        tag: Option<u32>,
    },
}

/// The blob with a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TaggedBlob {
    /// The change that wrote it.
    changed: u32,
    tag: Option<u32>,
}

impl TagCall {
    /// Does it have a condition on the tag?
    pub fn demands_tag(&self) -> bool {
        match self {
            TagCall::Get { tag }
            | TagCall::Put { tag, .. }
            | TagCall::SetTag { tag, .. }
            | TagCall::Delete { tag } => tag.is_some(),
            TagCall::GetTag | TagCall::Find { .. } => false,
        }
    }

    /// Changes the blob. Returns the expected response.
    pub fn apply(&self, blob: &mut Option<TaggedBlob>) -> Output {
        // A blob that does not exist has no tag.
        let own = blob.and_then(|blob| blob.tag);
        let fits = |tag: &Option<u32>| tag.is_none() || *tag == own;
        match (self, blob) {
            (TagCall::Get { tag }, Some(blob)) if fits(tag) => Output::Value(Some(blob.changed)),
            (TagCall::Get { .. }, None) => Output::Value(None),
            (TagCall::GetTag, blob) => Output::Tag(blob.map(|blob| blob.tag)),
            (TagCall::Find { tag }, _) => Output::Found(own == Some(*tag)),
            (TagCall::Put { number, new, condition, tag }, blob)
                if fits(tag) && holds(*condition, blob.map(|blob| blob.changed)) =>
            {
                *blob = Some(TaggedBlob { changed: *number, tag: *new });
                Output::Applied
            }
            (TagCall::SetTag { new, tag }, Some(blob)) if fits(tag) => {
                blob.tag = Some(*new);
                Output::Applied
            }
            (TagCall::Delete { tag }, blob @ Some(_)) if fits(tag) => {
                *blob = None;
                Output::Applied
            }
            _ => Output::Rejected,
        }
    }
}
