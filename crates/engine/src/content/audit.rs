//! A check of content: every piece that rows refer to exists and is intact; other stored bytes are counted.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{ALIGN_BYTES, Content, Extent, Piece, Spot, Units, units_of};
use crate::{Error, Result};

/// The findings of a check of content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Pieces that were read.
    pub pieces: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes that rows refer to, including checksums and padding.
    pub live: u64,
    /// Stored bytes that no row refers to: garbage, not damage.
    pub dead: u64,
    /// Number of pieces that are missing or damaged.
    pub findings: u64,
    /// Number of unreadable pieces that may have been released already; not damage.
    pub gone: u64,
}

/// A check in progress. It uses 32 KiB of memory per gigabyte of content.
pub struct Auditor<'a> {
    content: &'a dyn Content,
    named: BTreeMap<u64, Units>,
    found: Audit,
}

impl<'a> Auditor<'a> {
    /// Begins a check.
    pub fn new(content: &'a dyn Content) -> Self {
        Self { content, named: BTreeMap::new(), found: Audit::default() }
    }

    /// The findings so far.
    pub fn so_far(&self) -> &Audit {
        &self.found
    }

    /// Reads a piece that a row refers to, unless it was read before. Damage is the inner error; the outer one
    /// says that the piece could not be read at all. `is_certain` as in [`See`](super::See).
    pub async fn check(&mut self, piece: &Piece, is_certain: bool) -> Result<Result<()>> {
        let units = units_of(piece.offset, piece.footprint());
        if !piece.is_valid() {
            self.found.findings += 1;
            return Ok(Err(Error::Corrupt(format!("{piece} is not a valid piece"))));
        }
        let named = self.named.entry(piece.stream).or_default();
        if named.has_any(units.clone()) {
            return Ok(Ok(()));
        }
        named.add(units);
        self.found.live += piece.footprint();
        match verify(self.content, piece).await {
            Ok(()) => {
                self.found.pieces += 1;
                self.found.bytes += u64::from(piece.length);
                Ok(Ok(()))
            }
            Err(Error::Corrupt(_)) if !is_certain => {
                self.found.gone += 1;
                self.found.live -= piece.footprint();
                Ok(Ok(()))
            }
            Err(error @ Error::Corrupt(_)) => {
                self.found.findings += 1;
                Ok(Err(error))
            }
            Err(other) => Err(other),
        }
    }

    /// Parts of an extent that no row has referred to so far, in units of [`ALIGN_BYTES`].
    pub fn gaps(&self, extent: &Extent) -> Vec<Range<usize>> {
        let units = units_of(extent.start.offset, extent.bytes);
        match self.named.get(&extent.start.stream) {
            Some(named) => named.gaps(units).collect(),
            None => vec![units],
        }
    }

    /// Counts other stored content.
    pub async fn finish(mut self) -> Result<Audit> {
        let mut from = Some(Spot::START);
        while let Some(spot) = from {
            let listing = self.content.list(spot).await?;
            for extent in listing.extents {
                let dead: usize = self.gaps(&extent).iter().map(ExactSizeIterator::len).sum();
                self.found.dead += dead as u64 * ALIGN_BYTES;
            }
            from = listing.next;
        }
        Ok(self.found)
    }
}

/// Reads a whole piece and verifies it.
pub async fn verify(content: &dyn Content, piece: &Piece) -> Result<()> {
    let mut reader = content.read(piece, 0..u64::MAX);
    let mut length = 0;
    while let Some(bytes) = reader.next().await? {
        length += bytes.len() as u64;
    }
    match length == u64::from(piece.length) {
        true => Ok(()),
        false => Err(Error::Corrupt(format!("{piece}: {length} bytes are stored"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::MemoryContent;
    use crate::content::conformance::{bytes_of, write_all};

    #[tokio::test]
    async fn a_check_finds_missing_pieces_and_counts_garbage() {
        let content = MemoryContent::default();
        let mut pieces = Vec::new();
        for size in [10, 70_000, 1_000_000, 5_000] {
            pieces.extend(write_all(&content, &bytes_of(1, size)).await);
        }
        content.release(vec![pieces[1]]).await.unwrap();
        let mut auditor = Auditor::new(&content);
        for piece in &pieces[..3] {
            assert_eq!(auditor.check(piece, true).await.unwrap().is_err(), *piece == pieces[1], "{piece}");
            assert!(auditor.check(piece, true).await.unwrap().is_ok(), "once is enough");
        }
        let wrong = Piece { offset: 7, ..pieces[0] };
        assert!(auditor.check(&wrong, true).await.unwrap().is_err());
        let gone = write_all(&content, &bytes_of(1, 100)).await[0];
        content.release(vec![gone]).await.unwrap();
        assert!(auditor.check(&gone, false).await.unwrap().is_ok());
        let found = auditor.finish().await.unwrap();
        let live = pieces[..3].iter().map(Piece::footprint).sum();
        let dead = pieces[3].footprint();
        assert_eq!(found, Audit { pieces: 2, bytes: 1_000_010, live, dead, findings: 2, gone: 1 });
    }
}
