//! Takes a body into storage: small ones into memory for a row, large ones into the content store.
//!
//! Invariant: memory is bounded regardless of the length of the body, content is durable before a row
//! refers to it, and content that no row refers to in the end is passed to the sweep.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use lazuli_digest::ChecksumFold;
use lazuli_engine::Write;
use lazuli_engine::content::Piece;
use lazuli_model::Failure;
use lazuli_model::blob::write::{Digested, Digests, StreamedBody};

use super::commit::insert;
use super::core::{At, Core};
use super::keyspace::{self, Generation, KeySlot};
use super::pins::Pin;
use super::record::{Named, Staged, Stored};
use super::segment::{Entry, Segment, SegmentPart};
use super::todo::{Doubt, Todo};
use crate::stream::Source;
use crate::{Error, Result};

/// The head contains a copy of the only segment if it has at most this many pieces.
const DIRECT_PIECES_MAX: usize = 4;

/// A received body.
pub struct Received {
    /// Where it is.
    pub body: UploadedContent,
    /// Its length.
    pub length: u64,
    /// Its checksums.
    pub digested: Digested,
}

/// Content that is durable, or small, and that no row refers to yet.
pub enum UploadedContent {
    /// Small: the bytes.
    Inline(Bytes),
    /// Large: pieces of the content store.
    Pieces(Loose),
}

/// Pieces that no row refers to yet. Dropping them passes them to the sweep.
pub struct Loose {
    at: At,
    pieces: Vec<Piece>,
    todo: Arc<Todo>,
    /// The time since which a commit that refers to them may be in progress, in ticks; 0 before there is one.
    since: u64,
}

impl Loose {
    /// The pieces in order.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Reports that a commit that refers to them is about to be sent.
    pub fn committing(&mut self, now: u64) {
        self.since = now.max(1);
    }

    /// Reports that the commit was rejected: nothing refers to them.
    pub fn rejected(&mut self) {
        self.since = 0;
    }

    /// A row names them.
    pub fn named(mut self) {
        self.pieces.clear();
    }
}

impl Drop for Loose {
    fn drop(&mut self) {
        if !self.pieces.is_empty() {
            let pieces = std::mem::take(&mut self.pieces);
            self.todo.doubt(Doubt { at: self.at.clone(), pieces, since: self.since });
        }
    }
}

impl UploadedContent {
    /// The record of an uncommitted block.
    pub fn staged(&self) -> Staged {
        match self {
            UploadedContent::Inline(bytes) => Staged::Inline(bytes.clone()),
            UploadedContent::Pieces(loose) => Staged::Pieces(loose.pieces.clone()),
        }
    }

    /// See [`Loose::committing`].
    pub fn committing(&mut self, now: u64) {
        if let UploadedContent::Pieces(loose) = self {
            loose.committing(now);
        }
    }

    /// Handles the outcome of the commit that refers to it.
    pub fn settle<T>(self, outcome: &Result<T>) {
        if let UploadedContent::Pieces(mut loose) = self {
            match outcome {
                Ok(_) => loose.named(),
                // Nothing was applied, and nothing will be.
                Err(Error::Rejected(_)) => loose.rejected(),
                Err(Error::Engine(_)) => {}
            }
        }
    }
}

/// The content of a new blob: for its head, and the rows to write with it.
pub struct Installed {
    /// For the head.
    pub stored: Stored,
    /// The rows that hold it.
    pub writes: Vec<Write>,
    /// Prevents the sweep from releasing the content until the head refers to it.
    pub pin: Option<Pin>,
}

impl Core {
    /// Receives a body of the declared length.
    pub async fn receive(&self, at: &At, source: &mut dyn Source, body: &StreamedBody) -> Result<Received> {
        let Digests { md5, crc64 } = body.needed;
        let fold = ChecksumFold::new(Digests {
            md5: md5 || body.expected.md5.is_some(),
            crc64: crc64 || body.expected.crc64.is_some(),
        });
        let inline_max = self.content.inline_max() as u64;
        let (draft, digested) = if body.length <= inline_max {
            let bytes = collect(source, body.length).await?;
            let shared = if fold.has_md5() { self.hashes.md5(&bytes).await } else { None };
            let digested = fold.finish_with(&bytes, shared);
            (UploadedContent::Inline(bytes), digested)
        } else {
            self.store(at, source, body.length, fold).await?
        };
        lazuli_digest::verify(&body.expected, &digested)?;
        Ok(Received { body: draft, length: body.length, digested })
    }

    async fn store(
        &self,
        at: &At,
        source: &mut dyn Source,
        length: u64,
        fold: ChecksumFold,
    ) -> Result<(UploadedContent, Digested)> {
        let shared = Arc::new(Mutex::new(fold));
        let (folding, lanes) = (shared.clone(), self.lanes.clone());
        let fold: lazuli_engine::content::Fold = Box::new(move |chunks| {
            folding.lock().unwrap_or_else(PoisonError::into_inner).update_shared(chunks, &lanes);
        });
        let mut writer = self.content.begin(Some(length), Some(fold));
        let mut left = length;
        while let Some(bytes) = source.next().await? {
            left = left.checked_sub(bytes.len() as u64).ok_or_else(Failure::unreadable_body)?;
            writer.write(bytes).await?;
        }
        if left > 0 {
            return Err(Failure::unreadable_body().into());
        }
        let loose = self.loose(at, writer.seal().await?);
        let fold = std::mem::take(&mut *shared.lock().unwrap_or_else(PoisonError::into_inner));
        Ok((UploadedContent::Pieces(loose), fold.finish()))
    }

    /// Pieces that were written for a blob.
    pub fn loose(&self, at: &At, pieces: Vec<Piece>) -> Loose {
        Loose { at: at.clone(), pieces, todo: self.todo.clone(), since: 0 }
    }

    /// The rows of content that was not committed from blocks.
    pub fn install(&self, at: &At, draft: &UploadedContent) -> Installed {
        match draft {
            UploadedContent::Inline(bytes) => Installed {
                stored: Stored::Inline { bytes: bytes.clone(), blocks: Vec::new() },
                writes: Vec::new(),
                pin: None,
            },
            UploadedContent::Pieces(loose) => {
                let parts = loose.pieces.iter().copied().map(SegmentPart::Whole).collect();
                let segment = Segment { starts: Vec::new(), entries: vec![Entry { id: None, parts }] };
                self.install_segment(at, segment, 0)
            }
        }
    }

    /// The rows of content that fits one segment.
    pub fn install_segment(&self, at: &At, segment: Segment, blocks: u32) -> Installed {
        let generation = self.fresh_generation();
        let pin = self.pins.generation(at.tables.blobs, &at.name, generation);
        let writes = vec![insert(keyspace::named(generation, KeySlot::Segment(0)), segment.encode())];
        let stored = Stored::Generation(named(generation, 1, blocks, segment));
        Installed { stored, writes, pin: Some(pin) }
    }
}

/// The reference from a head to a generation.
pub fn named(generation: Generation, segments: u32, blocks: u32, first: Segment) -> Named {
    let is_small = segments == 1 && first.entries.len() <= 1 && first.pieces().count() <= DIRECT_PIECES_MAX;
    Named { generation, segments, blocks, direct: is_small.then_some(first) }
}

/// Reads a small body completely. A body that arrives in one piece is not copied.
pub async fn collect(source: &mut dyn Source, length: u64) -> Result<Bytes> {
    let mut first = Bytes::new();
    let mut joined = BytesMut::new();
    while let Some(bytes) = source.next().await? {
        if (first.len() + joined.len() + bytes.len()) as u64 > length {
            return Err(Failure::unreadable_body().into());
        }
        if first.is_empty() && joined.is_empty() {
            first = bytes;
        } else {
            joined.extend_from_slice(&std::mem::take(&mut first));
            joined.extend_from_slice(&bytes);
        }
    }
    let whole = if joined.is_empty() { first } else { joined.freeze() };
    if (whole.len() as u64) < length {
        return Err(Failure::unreadable_body().into());
    }
    Ok(whole)
}
