//! Get Page Ranges: the pages that were written, or that have changed since a snapshot.
//!
//! Only the first bytes of each row are read, and nothing is copied. Adjacent pages are joined into one range.

use std::sync::{Arc, Mutex, PoisonError};

use lazuli_engine::{Bound, KeyRange, RowView, Scan, Verdict};
use lazuli_model::blob::limits::{PAGE_BYTES, PAGE_RANGES_MAX};
use lazuli_model::blob::operation::{BlobRequest, GetPageRanges, Revision as Which};
use lazuli_model::blob::outcome::PageRanges;
use lazuli_model::blob::{BlobKind, Outcome, ResponseExtent};
use lazuli_model::{DateTime, ErrorCode};

use super::cell::Cell;
use crate::blob::core::{At, Core};
use crate::blob::guard::{Guard, of_kind};
use crate::blob::keyspace::{self, RowKind};
use crate::blob::record::{Clear, Pages, Revision, Stored};
use crate::{Error, Grant, Result};

/// Maximum rows per scan.
const SCAN_ROWS_MAX: usize = 4_000;

impl Core {
    /// Get Page Ranges.
    pub async fn get_page_ranges(
        &self,
        grant: &Grant,
        request: BlobRequest,
        get: GetPageRanges,
    ) -> Result<Outcome> {
        let at = self.locate(&grant.home, &request.container, &request.blob).await?;
        let (revision, pin) = self.open(&at, request.revision).await?;
        Guard::of(&request, self.clock()).read_without_key(&revision)?;
        of_kind(&revision, BlobKind::Page)?;
        let extent = ResponseExtent::resolve(get.range, revision.size)
            .ok_or_else(|| ResponseExtent::unsatisfiable(revision.size))?;
        let (first, length) = extent.span(revision.size);
        // A part of a page counts as the whole page.
        let end = (first + length).next_multiple_of(PAGE_BYTES);
        let first = first - first % PAGE_BYTES;
        let is_paged = get.max_results.is_some() || get.from.is_some();
        let (stamp, size) = (revision.stamp(), revision.size);
        let mut found = PageRanges { stamp, size, ranges: vec![], next: None, is_paged };
        if let Stored::Pages(pages) = &revision.content {
            let since = match get.previous {
                Some(time) => Some(self.previous(&at, &request, pages, time).await?),
                None => None,
            };
            let from = get.from.unwrap_or(0).max(first);
            let max = get.max_results.map_or(PAGE_RANGES_MAX, |max| max.min(PAGE_RANGES_MAX));
            let collect = Collect::new(pages.clone(), since, from..end, max as usize);
            (found.ranges, found.next) = self.collect_ranges(&at, collect).await?;
        }
        drop(pin);
        Ok(Outcome::PageRanges(Box::new(found)))
    }

    /// The pages of the snapshot to compare with.
    async fn previous(&self, at: &At, request: &BlobRequest, pages: &Pages, time: DateTime) -> Result<Pages> {
        if matches!(request.revision, Which::Snapshot(own) if own < time) {
            return Err(ErrorCode::PreviousSnapshotCannotBeNewer.into());
        }
        let found: Result<Revision> = self.find(at, Which::Snapshot(time)).await;
        let previous = found.map_err(|error| match error {
            Error::Rejected(failure) if failure.code == ErrorCode::BlobNotFound => {
                ErrorCode::PreviousSnapshotNotFound.into()
            }
            error => error,
        })?;
        match previous.content {
            Stored::Pages(previous) if previous.generation == pages.generation => Ok(previous),
            _ => Err(ErrorCode::BlobOverwritten.into()),
        }
    }

    async fn collect_ranges(&self, at: &At, collect: Collect) -> Result<(Vec<Range>, Option<u64>)> {
        if collect.position >= collect.end {
            return Ok(Default::default());
        }
        let grid = collect.pages.grid;
        let (first, last) = (grid.cell_of(collect.position), grid.cell_of(collect.end - 1));
        let mut next = Some(keyspace::cells(&at.name, collect.pages.generation, first, last));
        let collect = Arc::new(Mutex::new(collect));
        while let Some(range) = next {
            let end = range.end.clone();
            let seen = collect.clone();
            let mut rows = 0;
            let scan = Scan {
                table: at.tables.blobs,
                ranges: vec![range],
                rows_max: usize::MAX,
                bytes_max: usize::MAX,
                judge: Box::new(move |row| {
                    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                    if rows >= SCAN_ROWS_MAX || seen.next.is_some() {
                        return Ok(Verdict::Stop);
                    }
                    rows += 1;
                    seen.see(&row)?;
                    Ok(Verdict::Skip)
                }),
            };
            let page = self.engine().scan(scan).await?;
            let is_full = collect.lock().unwrap_or_else(PoisonError::into_inner).next.is_some();
            next =
                page.next.filter(|_| !is_full).map(|place| KeyRange { start: Bound::Included(place), end });
        }
        let mut collect = collect.lock().unwrap_or_else(PoisonError::into_inner);
        collect.flush();
        let end = collect.end;
        collect.gap(end);
        Ok((std::mem::take(&mut collect.ranges), collect.next))
    }
}

/// First and last byte, and whether it was cleared.
type Range = (u64, u64, bool);

/// Builds ranges while rows are read in order.
struct Collect {
    pages: Pages,
    /// The state to compare with; `None` for all pages.
    since: Option<Pages>,
    /// Large clears since that state, in order and without overlap.
    clears: Vec<(u64, u64)>,
    /// Everything before this offset is done.
    position: u64,
    end: u64,
    max: usize,
    ranges: Vec<Range>,
    /// The start of the first range beyond the limit.
    next: Option<u64>,
    /// The cell whose rows are being read.
    cell: Option<(u32, Cell)>,
}

impl Collect {
    fn new(pages: Pages, since: Option<Pages>, range: std::ops::Range<u64>, max: usize) -> Self {
        let clears = since.as_ref().map(|since| union(&pages.clears, since.serial)).unwrap_or_default();
        let (position, end) = (range.start, range.end);
        Self { pages, since, clears, position, end, max, ranges: vec![], next: None, cell: None }
    }

    fn see(&mut self, row: &RowView<'_>) -> lazuli_engine::Result<()> {
        let Some(RowKind::Cell(_, key)) = RowKind::of(row.row) else { return Ok(()) };
        let is_known = self.since.as_ref().is_some_and(|since| key.epoch <= since.epoch);
        if key.epoch > self.pages.epoch || is_known {
            return Ok(());
        }
        let mut cell = Cell::decode_masks(row.value)?;
        cell.refresh_masks(self.pages.grid, key.cell, &self.pages.clears);
        match &mut self.cell {
            Some((own, earlier)) if *own == key.cell => earlier.overlay_masks(&cell),
            _ => {
                self.flush();
                self.cell = Some((key.cell, cell));
            }
        }
        Ok(())
    }

    /// Adds the cell whose rows have all been read.
    fn flush(&mut self) {
        let Some((number, cell)) = self.cell.take() else { return };
        let grid = self.pages.grid;
        let start = grid.start_of(number);
        self.gap(start);
        let cleared = self.clears.iter().fold(cell.cleared(), |mask, (start, end)| {
            mask | (grid.mask_of(number, *start, *end) & !cell.written())
        });
        for n in 0..grid.cell_pages() {
            let (page, bit) = (start + u64::from(n) * PAGE_BYTES, 1 << n);
            if cell.written() & bit != 0 {
                self.emit(page, page + PAGE_BYTES, false);
            } else if cleared & bit != 0 && self.since.is_some() {
                self.emit(page, page + PAGE_BYTES, true);
            }
        }
        self.position = self.position.max(start + grid.cell_bytes());
    }

    /// Handles a gap without rows up to an offset, where only large clears matter.
    fn gap(&mut self, until: u64) {
        let (from, until) = (self.position, until.min(self.end));
        for (start, end) in self.clears.clone() {
            if start.max(from) < end.min(until) {
                self.emit(start.max(from), end.min(until), true);
            }
        }
        self.position = from.max(until);
    }

    /// Adds a range, limited to the requested bytes.
    fn emit(&mut self, start: u64, end: u64, is_cleared: bool) {
        let (start, end) = (start.max(self.position), end.min(self.end));
        if start >= end || self.next.is_some() {
            return;
        }
        let count = self.ranges.len();
        match self.ranges.last_mut() {
            Some((_, last, kind)) if *kind == is_cleared && *last + 1 == start => *last = end - 1,
            _ if count >= self.max => self.next = Some(start),
            _ => self.ranges.push((start, end - 1, is_cleared)),
        }
    }
}

/// The ranges of all clears after a serial, in order and joined.
fn union(clears: &[Clear], serial: u32) -> Vec<(u64, u64)> {
    let later = clears.iter().filter(|clear| clear.serial > serial);
    let mut ranges: Vec<(u64, u64)> = later.map(|clear| (clear.start, clear.end)).collect();
    ranges.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::with_capacity(ranges.len());
    for (start, end) in ranges {
        match joined.last_mut() {
            Some((_, last)) if start <= *last => *last = (*last).max(end),
            _ => joined.push((start, end)),
        }
    }
    joined
}
