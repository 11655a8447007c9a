//! Copies of page blobs: only pages that were written are copied.

use bytes::{Bytes, BytesMut};
use lazuli_engine::{Applied, Change, Condition, Write};
use lazuli_model::blob::limits::{PAGE_BLOB_BYTES_MAX, PAGE_BYTES};
use lazuli_model::{ErrorCode, Failure};

use super::cell::{Cell, Mask};
use super::create::{root, root_row};
use super::scan::read_cells;
use crate::Result;
use crate::blob::commit::demand;
use crate::blob::core::{At, Core};
use crate::blob::keyspace::{self, CellKey, Generation};
use crate::blob::record::{Grid, Pages, Stored};
use crate::blob::upload::Installed;
use crate::stream::Source;

/// Bytes of pages that one commit of a streamed copy writes.
pub(super) const COMMIT_BYTES: usize = 256 * 1024;

impl Core {
    /// Copies the pages of a state, which must be pinned, to rows that nothing refers to yet.
    pub async fn install_pages(&self, at: &At, from: &At, source: &Stored) -> Result<Installed> {
        let generation = self.fresh_generation();
        let pin = self.pins.generation(at.tables.blobs, &at.name, generation);
        // From now on there are rows that may remain unreferenced.
        self.todo.blob(at);
        self.put_rows(at, vec![root(generation)]).await?;
        let mut grid = Grid::FINE;
        if let Stored::Pages(pages) = source {
            grid = pages.grid;
            let mut next = Some(0);
            while let Some(first) = next {
                let found = read_cells(self.engine(), from, pages, first, u32::MAX).await?;
                let cells = found.cells.into_iter().filter(|(_, cell)| cell.written() != 0);
                let writes: Vec<Write> = cells
                    .map(|(cell, mut pages)| {
                        pages.forget_cleared();
                        pages.serial = 0;
                        put_cell(generation, CellKey { cell, epoch: 0 }, &pages)
                    })
                    .collect();
                self.put_cells(at, generation, writes).await?;
                next = found.next;
            }
        }
        let stored = Stored::Pages(Pages::on(grid, generation));
        Ok(Installed { stored, writes: vec![demand(root_row(generation))], pin: Some(pin) })
    }

    /// Receives the pages of a blob of this size as rows that nothing refers to yet. Pages of zeros are
    /// omitted.
    pub async fn install_page_stream(
        &self,
        at: &At,
        source: &mut dyn Source,
        length: u64,
    ) -> Result<Installed> {
        if !length.is_multiple_of(PAGE_BYTES) || length > PAGE_BLOB_BYTES_MAX {
            return Err(ErrorCode::InvalidSourceBlobType.into());
        }
        let generation = self.fresh_generation();
        let pin = self.pins.generation(at.tables.blobs, &at.name, generation);
        // From now on there are rows that may remain unreferenced.
        self.todo.blob(at);
        self.put_rows(at, vec![root(generation)]).await?;
        let (mut left, mut next, mut gathered) = (length, 0_u32, BytesMut::new());
        while left > 0 {
            let bytes = source.next().await?.ok_or_else(Failure::unreadable_body)?;
            left = left.checked_sub(bytes.len() as u64).ok_or_else(Failure::unreadable_body)?;
            gathered.extend_from_slice(&bytes);
            if gathered.len() >= COMMIT_BYTES || left == 0 {
                let writes =
                    take_cells(Grid::FINE, &mut gathered, left == 0).into_iter().filter_map(|bytes| {
                        let key = CellKey { cell: next, epoch: 0 };
                        next += 1;
                        let cell = written(&bytes)?;
                        Some(put_cell(generation, key, &cell))
                    });
                let writes = writes.collect();
                self.put_cells(at, generation, writes).await?;
            }
        }
        let stored = Stored::Pages(Pages::on(Grid::FINE, generation));
        Ok(Installed { stored, writes: vec![demand(root_row(generation))], pin: Some(pin) })
    }

    /// Writes cells of a generation, which must still exist.
    pub(super) async fn put_cells(
        &self,
        at: &At,
        generation: Generation,
        mut writes: Vec<Write>,
    ) -> Result<()> {
        if writes.is_empty() {
            return Ok(());
        }
        writes.insert(0, demand(root_row(generation)));
        self.put_rows(at, writes).await
    }

    async fn put_rows(&self, at: &At, writes: Vec<Write>) -> Result<()> {
        match self.engine().apply(at.tables.blobs, &at.name, writes).await? {
            Applied::Done { .. } => Ok(()),
            Applied::Rejected { .. } => Err(lazuli_engine::Error::Conflict.into()),
        }
    }
}

/// Takes the bytes of whole cells; at the end of the blob also those of the last one.
pub(super) fn take_cells(grid: Grid, gathered: &mut BytesMut, is_end: bool) -> Vec<Bytes> {
    let cell = grid.cell_bytes() as usize;
    let whole = if is_end { gathered.len() } else { gathered.len() / cell * cell };
    let taken = gathered.split_to(whole).freeze();
    (0..whole).step_by(cell).map(|start| taken.slice(start..(start + cell).min(whole))).collect()
}

/// A cell with its non-zero pages; `None` if there are none.
pub(super) fn written(bytes: &Bytes) -> Option<Cell> {
    let (mut mask, mut pages): (Mask, _) = (0, BytesMut::new());
    for (number, page) in bytes.chunks(PAGE_BYTES as usize).enumerate() {
        if page.iter().any(|byte| *byte != 0) {
            mask |= 1 << number;
            pages.extend_from_slice(page);
        }
    }
    let mut cell = Cell::default();
    cell.write(mask, &pages.freeze());
    (mask != 0).then_some(cell)
}

/// Writes the row of a cell, regardless of its previous value.
fn put_cell(generation: Generation, key: CellKey, cell: &Cell) -> Write {
    Write {
        row: keyspace::cell(generation, key).into(),
        condition: Condition::Any,
        change: Change::Put(cell.encode()),
    }
}
