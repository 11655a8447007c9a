//! The page blob: pages are written and cleared, sometimes with a condition on the sequence number.

use super::{BlobCondition, Output, holds};

/// Bytes of a page.
pub const PAGE_BYTES: usize = 512;
/// Pages of the blob: more than the server keeps in one row.
pub const PAGES: usize = 40;

/// An operation of a client on the page blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageCall {
    /// Reads all of it.
    Get,
    /// Requests the written ranges.
    Ranges,
    /// Requests the sequence number.
    Sequence,
    /// Creates it, or replaces it with an empty blob.
    Create {
        /// The change.
        number: u32,
        /// The condition on the blob.
        condition: BlobCondition,
        /// Its first sequence number.
        sequence: u64,
    },
    /// Writes or clears pages.
    Write {
        /// The change.
        number: u32,
        /// The first page.
        first: usize,
        /// The page after the last one.
        end: usize,
        /// Does it clear them?
        clears: bool,
        /// The condition on the blob.
        condition: BlobCondition,
        /// The condition on its sequence number.
        sequence: SequenceCondition,
    },
    /// Sets the sequence number.
    SetSequence {
        /// The change.
        number: u32,
        /// How.
        change: SequenceChange,
        /// The condition on the blob.
        condition: BlobCondition,
    },
    /// Deletes it.
    Delete {
        /// The condition on the blob.
        condition: BlobCondition,
    },
}

/// A condition on the sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceCondition {
    /// Anything.
    None,
    /// At most this.
    AtMost(u64),
    /// Less than this.
    Below(u64),
    /// This.
    Is(u64),
}

/// The change of the sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceChange {
    /// It is one more.
    Increment,
    /// It is this.
    Update(u64),
    /// Set it to this number, unless it is greater.
    Max(u64),
}

/// The content as seen by a reader.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PagesView {
    /// The change that created it.
    pub created: u32,
    /// The change that wrote each page; `None` for zeros.
    pub pages: Vec<Option<u32>>,
}

/// The page blob.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PageBlob {
    view: PagesView,
    sequence: u64,
    /// The change that produced its ETag.
    changed: u32,
}

impl SequenceCondition {
    fn holds(self, sequence: u64) -> bool {
        match self {
            SequenceCondition::None => true,
            SequenceCondition::AtMost(bound) => sequence <= bound,
            SequenceCondition::Below(bound) => sequence < bound,
            SequenceCondition::Is(expected) => sequence == expected,
        }
    }
}

impl SequenceChange {
    fn apply(self, sequence: u64) -> u64 {
        match self {
            SequenceChange::Increment => sequence + 1,
            SequenceChange::Update(next) => next,
            SequenceChange::Max(other) => sequence.max(other),
        }
    }
}

impl PageBlob {
    fn written(&self) -> Vec<usize> {
        (0..PAGES).filter(|page| self.view.pages[*page].is_some()).collect()
    }
}

impl PageCall {
    /// Changes the blob. Returns the expected response.
    pub fn apply(&self, blob: &mut Option<PageBlob>) -> Output {
        let changed = blob.as_ref().map(|blob| blob.changed);
        match (self, blob) {
            (PageCall::Get, blob) => Output::Pages(blob.as_ref().map(|blob| blob.view.clone())),
            (PageCall::Ranges, blob) => Output::Ranges(blob.as_ref().map(PageBlob::written)),
            (PageCall::Sequence, blob) => Output::Sequence(blob.as_ref().map(|blob| blob.sequence)),
            (PageCall::Create { number, condition, sequence }, blob) if holds(*condition, changed) => {
                let view = PagesView { created: *number, pages: vec![None; PAGES] };
                *blob = Some(PageBlob { view, sequence: *sequence, changed: *number });
                Output::Applied
            }
            (PageCall::Write { number, first, end, clears, condition, sequence }, Some(blob))
                if holds(*condition, changed) && sequence.holds(blob.sequence) =>
            {
                let value = Some(*number).filter(|_| !clears);
                blob.view.pages[*first..*end].fill(value);
                blob.changed = *number;
                Output::Sequence(Some(blob.sequence))
            }
            (PageCall::SetSequence { number, change, condition }, Some(blob))
                if holds(*condition, changed) =>
            {
                blob.sequence = change.apply(blob.sequence);
                blob.changed = *number;
                Output::Sequence(Some(blob.sequence))
            }
            (PageCall::Delete { condition }, blob) if changed.is_some() && holds(*condition, changed) => {
                *blob = None;
                Output::Applied
            }
            _ => Output::Rejected,
        }
    }
}

/// The bytes of a page as a change writes it.
pub fn page(number: u32, page: usize) -> Vec<u8> {
    let mut bytes = format!("{number} {page} ").into_bytes();
    let first = number as usize + page;
    bytes.extend((bytes.len()..PAGE_BYTES).map(|at| b'a' + ((first + at) % 26) as u8));
    bytes
}

/// The changes that wrote the pages of a content; an error if it contains a byte that was not written there.
pub fn pages(content: &[u8]) -> Result<Vec<Option<u32>>, String> {
    if content.len() != PAGES * PAGE_BYTES {
        return Err(format!("content of {} bytes", content.len()));
    }
    let numbered = content.chunks(PAGE_BYTES).enumerate().map(|(at, bytes)| {
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let text = bytes.split(|byte| *byte == b' ').next().unwrap_or_default();
        let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        match number {
            Some(number) if page(number, at) == bytes => Ok(Some(number)),
            _ => Err(format!("page {at} has bytes that nobody wrote")),
        }
    });
    numbered.collect()
}
