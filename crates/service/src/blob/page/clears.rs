//! Large clears.
//!
//! Clearing terabytes must take a single small commit. So the head records the range, readers and writers take
//! it into account, and the rows are updated later. Then the range is removed from the head.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use lazuli_engine::{Bound, KeyRange, Scan, Verdict};

use super::cell::{Cell, Mask};
use super::write::{CellUpdate, PageChange, SharedPages};
use crate::blob::commit::{Decided, Step};
use crate::blob::core::{At, Core};
use crate::blob::keyspace::{self, RowKind};
use crate::blob::record::{Clear, Head, Pages, Stored};
use crate::{Error, Result};

/// Maximum number of clears that a head records.
const CLEARS_MAX: usize = 16;
/// Rows read together.
const SCAN_ROWS_MAX: usize = 512;
/// Maximum attempts if other changes interfere between reading and committing.
const ATTEMPTS_MAX: usize = 64;

impl Pages {
    /// Has the head reached the maximum number of large clears?
    pub fn is_full(&self) -> bool {
        self.clears.len() >= CLEARS_MAX
    }

    /// Notes that a range was cleared. Fails with `Conflict` if there are too many: the earlier ones must be settled
    /// first.
    pub fn clear(&mut self, start: u64, end: u64) -> Result<()> {
        if start >= end {
            return Ok(());
        }
        self.clears.retain(|clear| clear.start < start || clear.end > end);
        let serial = self.serial.checked_add(1).filter(|_| !self.is_full());
        self.serial = serial.ok_or(lazuli_engine::Error::Conflict)?;
        self.clears.push(Clear { start, end, serial: self.serial });
        Ok(())
    }
}

impl Core {
    /// Applies all large clears to the rows of a page blob; `false` if other changes kept interfering.
    pub async fn settle_clears(&self, at: &At) -> Result<bool> {
        for _ in 0..ATTEMPTS_MAX {
            let Some(pages) = self.current_pages(at).await? else { return Ok(true) };
            let Some(clear) = pages.clears.first().copied() else { return Ok(true) };
            let pin = self.pins.generation(at.tables.blobs, &at.name, pages.generation);
            let settled = self.settle_clear(at, &pages, clear).await;
            drop(pin);
            match settled {
                Ok(()) | Err(Error::Engine(lazuli_engine::Error::Conflict)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    async fn current_pages(&self, at: &At) -> Result<Option<Pages>> {
        let blob = self.head(at).await?.and_then(|head| head.blob);
        Ok(match blob.map(|blob| blob.content) {
            Some(Stored::Pages(pages)) => Some(pages),
            _ => None,
        })
    }

    async fn settle_clear(&self, at: &At, pages: &Pages, clear: Clear) -> Result<()> {
        let (first, last) = (pages.grid.cell_of(clear.start), pages.grid.cell_of(clear.end - 1));
        let mut next = Some(keyspace::cells(&at.name, pages.generation, first, last));
        while let Some(range) = next {
            let stale;
            (stale, next) = self.stale_cells(at, range, pages, clear).await?;
            if !stale.is_empty() {
                self.refresh_cells(at, pages, stale).await?;
            }
        }
        let generation = pages.generation;
        self.change(at, move |head, _| {
            let Some(mut head) = head else { return Ok((Step::Keep, ())) };
            match head.blob.as_mut().map(|blob| &mut blob.content) {
                Some(Stored::Pages(pages)) if pages.generation == generation => {
                    pages.clears.retain(|other| *other != clear);
                    Ok((Step::Put(Box::new(head)), ()))
                }
                _ => Ok((Step::Keep, ())),
            }
        })
        .await
    }

    /// Pages that still have content from before the clear, and the rest of the range.
    async fn stale_cells(
        &self,
        at: &At,
        range: KeyRange,
        pages: &Pages,
        clear: Clear,
    ) -> Result<(BTreeMap<u32, Mask>, Option<KeyRange>)> {
        let end = range.end.clone();
        let found: Arc<Mutex<BTreeMap<u32, Mask>>> = Arc::default();
        let seen = found.clone();
        let (epoch, grid) = (pages.epoch, pages.grid);
        let mut rows = 0;
        let scan = Scan {
            table: at.tables.blobs,
            ranges: vec![range],
            rows_max: usize::MAX,
            bytes_max: usize::MAX,
            judge: Box::new(move |row| {
                let Some(RowKind::Cell(_, key)) = RowKind::of(row.row) else { return Ok(Verdict::Skip) };
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                // All rows of a cell are processed together, in the order of their epochs.
                if rows >= SCAN_ROWS_MAX && !seen.contains_key(&key.cell) {
                    return Ok(Verdict::Stop);
                }
                rows += 1;
                let stale = seen.entry(key.cell).or_default();
                if key.epoch <= epoch {
                    *stale = Cell::decode_masks(row.value)?.still_stale(*stale, &clear, grid, key.cell);
                }
                Ok(Verdict::Skip)
            }),
        };
        let page = self.engine().scan(scan).await?;
        let next = page.next.map(|place| KeyRange { start: Bound::Included(place), end });
        let mut found = std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
        found.retain(|_, stale| *stale != 0);
        Ok((found, next))
    }

    /// Updates cells in the current epoch.
    async fn refresh_cells(&self, at: &At, pages: &Pages, cells: BTreeMap<u32, Mask>) -> Result<()> {
        let shared = SharedPages::default();
        let writes = cells
            .into_iter()
            .map(|(cell, mask)| {
                let change = PageChange::Hide;
                CellUpdate { cell, mask, change, shared: shared.clone() }.write(pages)
            })
            .collect();
        let expected = (pages.generation, pages.epoch);
        let rule = move |head: Option<Head>, _| {
            let content = head.and_then(|head| head.blob).map(|blob| blob.content);
            match content {
                Some(Stored::Pages(pages)) if (pages.generation, pages.epoch) == expected => {
                    *shared.lock().unwrap_or_else(PoisonError::into_inner) = Some(pages);
                    Ok((Step::Keep, ()))
                }
                _ => Err(lazuli_engine::Error::Conflict.into()),
            }
        };
        match self.decide(at, rule, writes).await? {
            Decided::Done(()) => Ok(()),
            Decided::Rejected => Err(lazuli_engine::Error::Conflict.into()),
        }
    }
}
