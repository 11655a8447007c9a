//! Looks up the blocks of a list: among uncommitted blocks and among those of the current blob.
//!
//! Invariant: memory use depends on the number of blocks, not on their size. The bytes of small
//! blocks are in their rows: a bounded part of them is kept in memory, and the rest is read again when it is
//! written.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use lazuli_model::ErrorCode;
use lazuli_model::blob::block::{BlockRef, BlockSource};
use lazuli_model::blob::{BlobKind, BlockId};

use super::StagedRow;
use crate::Result;
use crate::blob::core::{At, Core};
use crate::blob::guard::{Guard, of_kind};
use crate::blob::keyspace::Generation;
use crate::blob::pins::Pin;
use crate::blob::reader::read_segment;
use crate::blob::record::{Revision, Staged, Stored};
use crate::blob::segment::{Segment, SegmentPart};

/// Maximum bytes of small blocks that are kept in memory.
const KEPT_BYTES_MAX: usize = 1024 * 1024;

/// The content of a block that is to be committed.
pub enum BlockContent {
    /// It is in the content store.
    Parts(Vec<SegmentPart>),
    /// It is small, and in memory.
    Bytes(Bytes),
    /// It is small, and stored in the row of the uncommitted block.
    Row {
        /// The row.
        key: String,
        /// Number of bytes.
        length: u64,
    },
}

impl BlockContent {
    /// Number of bytes.
    pub fn length(&self) -> u64 {
        match self {
            BlockContent::Parts(parts) => parts.iter().map(SegmentPart::length).fold(0, u64::saturating_add),
            BlockContent::Bytes(bytes) => bytes.len() as u64,
            BlockContent::Row { length, .. } => *length,
        }
    }
}

/// The blocks of a list in order.
pub struct Gathered {
    /// The blocks, each with the index of its content.
    pub blocks: Vec<(BlockId, usize)>,
    /// The contents. Those that the list does not use are empty.
    pub contents: Vec<BlockContent>,
    /// Number of bytes of all blocks.
    pub size: u64,
    /// The mark that must be unchanged at the commit, if there were uncommitted blocks.
    pub fence: u64,
    /// Uncommitted blocks up to this version are committed or dropped.
    pub horizon: u64,
    /// The mark that must be unchanged at the commit, if blocks of the current blob are used.
    pub shape: Option<u64>,
    /// Keeps the content that was read.
    _pin: Pin,
}

/// The position of a found block: an index into the list of contents.
#[derive(Clone, Copy, Default)]
struct Found {
    /// The version of the upload, and the index.
    staged: Option<(u64, usize)>,
    committed: Option<usize>,
}

impl Found {
    fn pick(self, source: BlockSource) -> Option<usize> {
        let staged = self.staged.map(|(_, place)| place);
        match source {
            BlockSource::Uncommitted => staged,
            BlockSource::Committed => self.committed,
            BlockSource::Latest => staged.or(self.committed),
        }
    }
}

/// Collects the blocks that a list names.
#[derive(Default)]
struct Search {
    wanted: HashMap<BlockId, Found>,
    contents: Vec<BlockContent>,
    kept: usize,
}

impl Search {
    fn staged(&mut self, row: StagedRow) {
        let StagedRow { version, .. } = row;
        let Some(found) = self.wanted.get_mut(&row.id) else { return };
        if found.staged.is_some_and(|(latest, _)| latest > version) {
            return;
        }
        // A later upload replaces an earlier one in place, so repeated uploads take no more memory.
        let place = found.staged.map_or(self.contents.len(), |(_, place)| place);
        found.staged = Some((version, place));
        let key = row.key();
        let content = match row.block {
            Staged::Pieces(pieces) => {
                BlockContent::Parts(pieces.into_iter().map(SegmentPart::Whole).collect())
            }
            Staged::Inline(bytes) if self.kept + bytes.len() <= KEPT_BYTES_MAX => {
                self.kept += bytes.len();
                BlockContent::Bytes(bytes)
            }
            Staged::Inline(bytes) => BlockContent::Row { key, length: bytes.len() as u64 },
        };
        match self.contents.get_mut(place) {
            Some(earlier) => *earlier = content,
            None => self.contents.push(content),
        }
    }

    fn committed(&mut self, id: Option<BlockId>, content: impl FnOnce() -> BlockContent) {
        if let Some(found) = id.and_then(|id| self.wanted.get_mut(&id))
            && found.committed.is_none()
        {
            found.committed = Some(self.contents.len());
            self.contents.push(content());
        }
    }
}

impl Core {
    /// Looks up the blocks of a list, after checking that the commit can succeed.
    pub async fn gather(&self, at: &At, guard: &Guard, list: &[BlockRef]) -> Result<Gathered> {
        let pin = self.pins.blob(at.tables.blobs, &at.name);
        let head = self.head(at).await?.unwrap_or_default();
        guard.create(&head)?;
        if let Some(blob) = &head.blob {
            of_kind(blob, BlobKind::Block)?;
        }
        let wants = |source| list.iter().any(|block| [source, BlockSource::Latest].contains(&block.source));
        let wanted = list.iter().map(|block| (block.id.clone(), Found::default())).collect();
        let mut search = Search { wanted, contents: Vec::new(), kept: 0 };
        let marks = head.marks.staged.unwrap_or_default();
        let mut horizon = marks.horizon;
        if head.marks.staged.is_some() {
            horizon = self.search_staged(at, marks.horizon, &mut search).await?;
        }
        let shape = head.marks.shape;
        if let Some(blob) = head.blob.filter(|_| wants(BlockSource::Committed)) {
            self.search_committed(at, blob, &mut search).await?;
        }
        let mut gathered = Gathered {
            blocks: Vec::new(),
            contents: Vec::new(),
            size: 0,
            fence: marks.fence,
            horizon,
            shape: None,
            _pin: pin,
        };
        gathered.arrange(list, search, shape)?;
        Ok(gathered)
    }

    /// Searches the uncommitted blocks. Returns the greatest version seen. Reads one snapshot: if it missed an
    /// upload with a smaller version, the commit would drop that upload.
    async fn search_staged(&self, at: &At, horizon: u64, search: &mut Search) -> Result<u64> {
        let shared = Arc::new(Mutex::new(std::mem::take(search)));
        let seen = shared.clone();
        let see = move |row| seen.lock().unwrap_or_else(PoisonError::into_inner).staged(row);
        let greatest = self.every_staged_row(at, horizon, see).await?;
        *search = std::mem::take(&mut *shared.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(greatest)
    }

    /// Searches the blocks of the current blob.
    async fn search_committed(&self, at: &At, blob: Revision, search: &mut Search) -> Result<()> {
        match blob.content {
            Stored::Inline { bytes, blocks } => {
                let mut rest = bytes;
                for (id, length) in blocks {
                    let length = usize::try_from(length).unwrap_or(usize::MAX).min(rest.len());
                    let bytes = rest.split_to(length);
                    search.committed(Some(id), || BlockContent::Bytes(bytes));
                }
            }
            Stored::Generation(named) => {
                for n in 0..named.segments {
                    let segment = self.segment(at, named.generation, n).await?;
                    for entry in segment.entries {
                        search.committed(entry.id, || BlockContent::Parts(entry.parts));
                    }
                }
            }
            // Other kinds of blobs have no blocks.
            Stored::Runs(_) | Stored::Pages(_) => {}
        }
        Ok(())
    }

    /// A segment of a pinned generation.
    pub async fn segment(&self, at: &At, generation: Generation, n: u32) -> Result<Segment> {
        read_segment(self.engine(), at, generation, n).await
    }
}

impl Gathered {
    /// Puts the blocks in the order of the list, and drops those that it does not use.
    fn arrange(&mut self, list: &[BlockRef], search: Search, shape: u64) -> Result<()> {
        let Search { wanted, mut contents, .. } = search;
        let mut is_used = vec![false; contents.len()];
        for BlockRef { source, id } in list {
            let found = wanted.get(id).copied().unwrap_or_default();
            let place = found.pick(*source).ok_or(ErrorCode::InvalidBlockList)?;
            is_used[place] = true;
            self.size = self.size.saturating_add(contents[place].length());
            if found.committed == Some(place) {
                self.shape = Some(shape);
            }
            self.blocks.push((id.clone(), place));
        }
        for (content, is_used) in contents.iter_mut().zip(is_used) {
            if !is_used {
                *content = BlockContent::Parts(Vec::new());
            }
        }
        self.contents = contents;
        Ok(())
    }
}
