//! Reads the cells of a state in order, in groups.

use lazuli_engine::{Bound, Engine, KeyPosition, KeyRange, Scan, Verdict};

use super::cell::Cell;
use crate::Result;
use crate::blob::core::At;
use crate::blob::keyspace::{self, CellKey, RowKind};
use crate::blob::record::Pages;

/// Maximum bytes of rows per scan.
const SCAN_BYTES_MAX: usize = 256 * 1024;

/// Some cells of a state.
pub struct Cells {
    /// The cells that have rows, in order.
    pub cells: Vec<(u32, Cell)>,
    /// The cell at which to continue; `None` at the end of the range. Missing cells before it were never
    /// written.
    pub next: Option<u32>,
}

/// Reads the cells from `first` to `last`, or the first group of them.
pub async fn read_cells(engine: &dyn Engine, at: &At, pages: &Pages, first: u32, last: u32) -> Result<Cells> {
    let mut merged: Vec<(u32, Cell)> = Vec::new();
    let mut range = keyspace::cells(&at.name, pages.generation, first, last);
    loop {
        let end = range.end.clone();
        let epoch = pages.epoch;
        let scan = Scan {
            table: at.tables.blobs,
            ranges: vec![range],
            rows_max: usize::MAX,
            bytes_max: SCAN_BYTES_MAX,
            judge: Box::new(move |row| {
                // Rows of later epochs were written after the state.
                let is_later =
                    matches!(RowKind::of(row.row), Some(RowKind::Cell(_, key)) if key.epoch > epoch);
                Ok(if is_later { Verdict::Skip } else { Verdict::Keep })
            }),
        };
        let page = engine.scan(scan).await?;
        for row in page.rows {
            if let Some(RowKind::Cell(_, key)) = RowKind::of(&row.row) {
                let mut cell = Cell::decode(row.value)?;
                cell.refresh(pages.grid, key.cell, &pages.clears);
                add(&mut merged, key, cell);
            }
        }
        let Some(place) = page.next else { return Ok(Cells { cells: merged, next: None }) };
        let next = next_cell(&place).unwrap_or(u32::MAX);
        // The last cell may have more rows. If it is the only one, continue reading.
        if merged.last().is_some_and(|(last, _)| *last == next) && merged.len() > 1 {
            merged.pop();
            return Ok(Cells { cells: merged, next: Some(next) });
        }
        if merged.last().is_some_and(|(last, _)| *last < next) {
            return Ok(Cells { cells: merged, next: Some(next) });
        }
        range = KeyRange { start: Bound::Included(place), end };
    }
}

/// Adds the next row: rows come by cell, then by epoch.
fn add(merged: &mut Vec<(u32, Cell)>, key: CellKey, cell: Cell) {
    match merged.last_mut() {
        Some((last, earlier)) if *last == key.cell => earlier.overlay(&cell),
        _ => merged.push((key.cell, cell)),
    }
}

fn next_cell(place: &KeyPosition) -> Option<u32> {
    match RowKind::of(&place.row) {
        Some(RowKind::Cell(_, key)) => Some(key.cell),
        _ => None,
    }
}
