//! Put Page and Clear Page.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use lazuli_digest::ChecksumFold;
use lazuli_engine::{Change, Condition, Next, Rejected, Update, Version, Write};
use lazuli_model::blob::condition::SequenceConditions;
use lazuli_model::blob::limits::PUT_PAGE_BYTES_MAX;
use lazuli_model::blob::operation::{BlobRequest, PageSpan};
use lazuli_model::blob::outcome::Written;
use lazuli_model::blob::write::StreamedBody;
use lazuli_model::blob::{BlobKind, Outcome};
use lazuli_model::{ErrorCode, OperationKind};

use super::cell::{Cell, Mask};
use super::create::Target;
use crate::blob::commit::{Decided, Step};
use crate::blob::core::{At, Core};
use crate::blob::guard::{Guard, not_archived, not_immutable, not_incremental, not_pending, of_kind};
use crate::blob::keyspace::{self, CellKey};
use crate::blob::record::{Head, Pages, Revision, stamp};
use crate::blob::upload::collect;
use crate::stream::Source;
use crate::{Error, Grant, Result};

/// Maximum attempts if a snapshot is made or the blob is replaced between reading and committing. Other writes are no
/// reason to try again.
const ATTEMPTS_MAX: usize = 16;

/// Everything about a write of pages except its bytes.
#[derive(Clone)]
pub struct PageWrite {
    /// The operation.
    pub kind: OperationKind,
    /// The checks that all changes share.
    pub guard: Guard,
    /// The pages.
    pub span: PageSpan,
    /// Conditions on the sequence number.
    pub sequence: SequenceConditions,
}

/// The pages of the blob according to the head in the commit. The updates of cells need them.
pub type SharedPages = Arc<Mutex<Option<Pages>>>;

impl Core {
    /// Put Page with a body.
    pub async fn put_page(
        &self,
        grant: &Grant,
        request: BlobRequest,
        span: PageSpan,
        body: StreamedBody,
        sequence: SequenceConditions,
        source: &mut dyn Source,
    ) -> Result<Outcome> {
        let at = self.locate(&grant.home, &request.container, &request.blob).await?;
        let guard = Guard::of(&request, self.clock());
        let write = PageWrite { kind: OperationKind::PutPage, guard, span, sequence };
        let target = self.may_write(&at, &write).await?;
        let bytes = collect(source, body.length).await?;
        self.still_there(&grant.home, &request.container, &at).await?;
        self.put_pages(&at, write, target, &body, bytes).await
    }

    /// Checks the bytes of pages against their checksums and writes them.
    pub async fn put_pages(
        &self,
        at: &At,
        write: PageWrite,
        target: Target,
        body: &StreamedBody,
        bytes: Bytes,
    ) -> Result<Outcome> {
        let mut fold = ChecksumFold::new(body.computed());
        fold.update(&bytes);
        let digested = fold.finish();
        lazuli_digest::verify(&body.expected, &digested)?;
        let (written, sequence_number) = self.write_pages(at, &write, Some(target), Some(bytes)).await?;
        let written = Box::new(Written { digested, ..written });
        Ok(Outcome::PagesWritten { written, sequence_number })
    }

    /// Clear Page.
    pub async fn clear_page(
        &self,
        at: &At,
        guard: Guard,
        span: PageSpan,
        sequence: SequenceConditions,
    ) -> Result<Outcome> {
        let write = PageWrite { kind: OperationKind::ClearPage, guard, span, sequence };
        let (written, sequence_number) = self.write_pages(at, &write, None, None).await?;
        Ok(Outcome::PagesCleared { stamp: written.stamp, sequence_number })
    }

    /// Rejects a write that cannot succeed before its body is read. Returns the pages to write.
    pub async fn may_write(&self, at: &At, write: &PageWrite) -> Result<Target> {
        let head = self.head(at).await?.unwrap_or_default();
        let blob = write.guard.change(head.blob)?;
        write.check(&blob)?;
        Ok(self.target_in(blob.content))
    }

    /// Writes or clears pages in one commit. A target that was read earlier is tried first.
    async fn write_pages(
        &self,
        at: &At,
        write: &PageWrite,
        mut known: Option<Target>,
        bytes: Option<Bytes>,
    ) -> Result<(Written, u64)> {
        for _ in 0..ATTEMPTS_MAX {
            let target = match known.take() {
                Some(target) => target,
                None => self.page_target(at).await?,
            };
            let is_large = bytes.is_none() && write.span.length > PUT_PAGE_BYTES_MAX;
            if is_large && target.pages.is_full() {
                self.settle_clears(at).await?;
                continue;
            }
            let shared = SharedPages::default();
            let mut writes = target.writes();
            if !is_large {
                writes.extend(cell_writes(&target, write.span, bytes.as_ref(), &shared));
            }
            let rule = page_rule(write.clone(), target, shared, is_large);
            match self.decide(at, rule, writes).await {
                Ok(Decided::Done(done)) => {
                    if is_large {
                        self.todo.blob(at);
                    }
                    return Ok(done);
                }
                Ok(Decided::Rejected) | Err(Error::Engine(lazuli_engine::Error::Conflict)) => {}
                Err(error) => return Err(error),
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }
}

impl PageWrite {
    /// Checks everything except lease and conditional headers, which are checked first.
    fn check(&self, blob: &Revision) -> Result<()> {
        of_kind(blob, BlobKind::Page)?;
        not_incremental(blob)?;
        not_pending(blob)?;
        self.guard.may_write(blob)?;
        not_archived(blob)?;
        not_immutable(blob, self.guard.now())?;
        if !self.sequence.met_by(blob.sequence_number) {
            return Err(ErrorCode::SequenceNumberConditionNotMet.into());
        }
        if self.span.offset.saturating_add(self.span.length) > blob.size {
            return Err(ErrorCode::InvalidPageRange.into());
        }
        Ok(())
    }
}

/// Decides on the head. A large clear is only recorded there; the rows are updated later.
fn page_rule(
    write: PageWrite,
    target: Target,
    shared: SharedPages,
    is_large: bool,
) -> impl Fn(Option<Head>, u64) -> Result<(Step, (Written, u64))> + Send + Sync + 'static {
    move |head, version| {
        let mut head = head.unwrap_or_default();
        let mut blob = write.guard.change(head.blob.take())?;
        write.check(&blob)?;
        let pages = target.pages_of(&mut blob, &mut head.marks, version)?;
        if pages.serial != target.pages.serial {
            // Whole cells are encoded for the serial number that was read.
            return Err(lazuli_engine::Error::Conflict.into());
        }
        if is_large {
            pages.clear(write.span.offset, write.span.offset + write.span.length)?;
        }
        *shared.lock().unwrap_or_else(PoisonError::into_inner) = Some(pages.clone());
        blob.touch(write.kind, version);
        let written = Written { encryption: blob.encryption.clone(), ..Written::new(stamp(version)) };
        let done = (written, blob.sequence_number);
        head.blob = Some(blob);
        Ok((Step::Put(Box::new(head)), done))
    }
}

/// One write for each cell that a span touches.
fn cell_writes(target: &Target, span: PageSpan, bytes: Option<&Bytes>, shared: &SharedPages) -> Vec<Write> {
    if span.length == 0 {
        return Vec::new();
    }
    let pages = &target.pages;
    let (grid, end) = (pages.grid, span.offset + span.length);
    let cells = grid.cell_of(span.offset)..=grid.cell_of(end - 1);
    let writes = cells.map(|cell| {
        let start = grid.start_of(cell);
        let (first, last) = (start.max(span.offset), (start + grid.cell_bytes()).min(end));
        let mask = grid.mask_of(cell, first, last);
        // Both are within the span, which is in memory.
        let part = |bytes: &Bytes| bytes.slice((first - span.offset) as usize..(last - span.offset) as usize);
        let change = match bytes.map(part) {
            // The old content of the cell does not matter, so it is not read.
            Some(part) if mask == grid.whole() => return put_whole(pages, cell, mask, &part),
            Some(part) => PageChange::Write(part),
            None => PageChange::Clear,
        };
        CellUpdate { cell, mask, change, shared: shared.clone() }.write(pages)
    });
    writes.collect()
}

/// Writes a cell of which every page is written.
fn put_whole(pages: &Pages, cell: u32, mask: Mask, bytes: &Bytes) -> Write {
    let mut whole = Cell::at(pages.serial);
    whole.write(mask, bytes);
    let row = keyspace::cell(pages.generation, CellKey { cell, epoch: pages.epoch });
    Write { row: row.into(), condition: Condition::Any, change: Change::Put(whole.encode()) }
}

/// A change of pages.
#[derive(Clone, Debug)]
pub enum PageChange {
    /// They get these bytes.
    Write(Bytes),
    /// They are cleared.
    Clear,
    /// Clears the pages that the current epoch has not touched.
    Hide,
}

/// Writes or clears some pages of a cell, inside a commit whose rule has provided the pages of the blob.
pub struct CellUpdate {
    /// The cell.
    pub cell: u32,
    /// The pages.
    pub mask: Mask,
    /// Their change.
    pub change: PageChange,
    /// The pages of the blob.
    pub shared: SharedPages,
}

impl CellUpdate {
    /// The write of its row.
    pub fn write(self, pages: &Pages) -> Write {
        let row = keyspace::cell(pages.generation, CellKey { cell: self.cell, epoch: pages.epoch });
        Write { row: row.into(), condition: Condition::Any, change: Change::Update(Arc::new(self)) }
    }
}

impl Update for CellUpdate {
    fn next(&self, current: Option<&Bytes>, _: Version) -> std::result::Result<Next, Rejected> {
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let pages = shared.ok_or(Rejected(0))?;
        let mut cell = match current {
            Some(row) => Cell::decode(row.clone()).map_err(|_| Rejected(0))?,
            None => Cell::at(pages.epoch_serial),
        };
        cell.refresh(pages.grid, self.cell, &pages.clears);
        match &self.change {
            PageChange::Write(bytes) => cell.write(self.mask, bytes),
            PageChange::Clear => cell.clear(self.mask),
            PageChange::Hide => cell.hide(self.mask),
        }
        cell.serial = pages.serial;
        if pages.epoch == 0 {
            cell.forget_cleared();
        }
        Ok(match current {
            None if cell.is_empty() => Next::Keep,
            Some(_) if cell.is_empty() => Next::Delete,
            _ => Next::Put(cell.encode()),
        })
    }
}
