//! Block ids, the list in a commit, and the block lists of a blob.

use std::fmt;

use crate::blob::limits::BLOCK_ID_BYTES_MAX;

/// The id of a block: 1 to 64 bytes, which clients encode in Base64. All ids of a blob have the same length.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(Box<[u8]>);

impl BlockId {
    /// The id with these bytes, if it is neither empty nor too long.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        (1..=BLOCK_ID_BYTES_MAX).contains(&bytes.len()).then(|| Self(bytes.into()))
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlockId({})", self.0.escape_ascii())
    }
}

/// The list in which a commit looks for a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockSource {
    /// The blocks of the current blob.
    Committed,
    /// The blocks that were uploaded since then.
    Uncommitted,
    /// The uncommitted blocks, then the committed ones.
    Latest,
}

/// An entry of the list in a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockRef {
    /// Where to look for it.
    pub source: BlockSource,
    /// The block.
    pub id: BlockId,
}

/// The lists that were requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockListFilter {
    /// The blocks of the current blob.
    #[default]
    Committed,
    /// The blocks that were uploaded since then.
    Uncommitted,
    /// Both.
    All,
}

impl BlockListFilter {
    /// Does the response contain the committed blocks?
    pub fn has_committed(self) -> bool {
        self != BlockListFilter::Uncommitted
    }

    /// Does the response contain the uncommitted blocks?
    pub fn has_uncommitted(self) -> bool {
        self != BlockListFilter::Committed
    }
}

/// A block of a blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockEntry {
    /// Its id.
    pub id: BlockId,
    /// Its length in bytes.
    pub size: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_1_to_64_bytes() {
        assert_eq!(BlockId::new(b""), None);
        assert_eq!(BlockId::new(&[0; 65]), None);
        assert_eq!(BlockId::new(&[7; 64]).unwrap().as_bytes(), [7; 64]);
    }
}
