//! Converts cells of one grid into cells of another, for copies between blobs with different grids.

use super::cell::Cell;
use crate::blob::record::Grid;

/// Cells of the new grid that are complete.
pub struct Regrouped {
    /// The completed cells that have pages, in order.
    pub cells: Vec<(u32, Cell)>,
    /// The range of completed cells, ends included; `None` if no cell is complete yet.
    pub range: Option<(u32, u32)>,
}

/// Converts cells that arrive in order into cells of another grid.
pub struct Regroup {
    from: Grid,
    to: Grid,
    /// The first incomplete cell, with its pages so far.
    open: u32,
    cells: Vec<(u32, Cell)>,
}

impl Regroup {
    /// Begins with the first cell.
    pub fn new(from: Grid, to: Grid) -> Self {
        Self { from, to, open: 0, cells: Vec::new() }
    }

    /// Takes all cells before the cell `next`; `None` at the end of the blob.
    pub fn take(&mut self, cells: Vec<(u32, Cell)>, next: Option<u32>) -> Regrouped {
        if self.from == self.to {
            self.cells = cells;
        } else {
            cells.iter().for_each(|(number, cell)| self.add(*number, cell));
        }
        // The first cell that may still receive pages.
        let open = next.map_or(u32::MAX, |next| self.to.cell_of(self.from.start_of(next)));
        let rest = self.cells.partition_point(|(number, _)| next.is_none() || *number < open);
        let rest = self.cells.split_off(rest);
        let cells = std::mem::replace(&mut self.cells, rest);
        let last = if next.is_none() { Some(u32::MAX) } else { open.checked_sub(1) };
        let range = last.filter(|last| *last >= self.open).map(|last| (self.open, last));
        self.open = open;
        Regrouped { cells, range }
    }

    fn add(&mut self, number: u32, cell: &Cell) {
        for n in 0..self.from.cell_pages() {
            let Some(page) = cell.page_at(n) else { continue };
            let offset = self.from.start_of(number) + self.from.page_start(n);
            let target = self.to.cell_of(offset);
            let mask = self.to.mask_of(target, offset, offset + page.len() as u64);
            match self.cells.last_mut() {
                Some((last, cell)) if *last == target => cell.write(mask, &page),
                _ => {
                    let mut cell = Cell::default();
                    cell.write(mask, &page);
                    self.cells.push((target, cell));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use bytes::Bytes;
    use lazuli_model::blob::limits::PAGE_BYTES;

    use super::*;

    /// Pages by their numbers.
    type Model = BTreeMap<u64, u8>;

    fn cells_of(grid: Grid, pages: &Model) -> Vec<(u32, Cell)> {
        let mut cells: BTreeMap<u32, Cell> = BTreeMap::new();
        for (page, byte) in pages {
            let start = page * PAGE_BYTES;
            let number = grid.cell_of(start);
            let bytes = Bytes::from(vec![*byte; PAGE_BYTES as usize]);
            cells.entry(number).or_default().write(grid.mask_of(number, start, start + PAGE_BYTES), &bytes);
        }
        cells.into_iter().collect()
    }

    #[test]
    fn cells_of_another_grid_hold_the_same_pages() {
        let pages: Model = [0, 1, 7, 8, 31, 32, 33, 40, 100, 101, 129, 255, 256]
            .into_iter()
            .map(|page| (page, u8::try_from(page % 250).unwrap() + 1))
            .collect();
        for (from, to) in [(Grid::FINE, Grid::COARSE), (Grid::COARSE, Grid::FINE), (Grid::FINE, Grid::FINE)] {
            for stride in 1..7 {
                let all = cells_of(from, &pages);
                let mut regroup = Regroup::new(from, to);
                let (mut found, mut covered) = (Vec::new(), 0);
                let mut first = 0;
                loop {
                    let next = Some(first + stride).filter(|next| *next < 40);
                    let some = all
                        .iter()
                        .filter(|(n, _)| *n >= first && next.is_none_or(|next| *n < next))
                        .cloned()
                        .collect();
                    let Regrouped { cells, range } = regroup.take(some, next);
                    if let Some((start, end)) = range {
                        assert_eq!(start, covered, "ranges follow each other");
                        assert!(cells.iter().all(|(n, _)| (start..=end).contains(n)));
                        covered = end.wrapping_add(1);
                    } else {
                        assert!(cells.is_empty());
                    }
                    found.extend(cells);
                    match next {
                        Some(next) => first = next,
                        None => break,
                    }
                }
                assert_eq!(covered, 0, "the last range reaches the end");
                assert_eq!(found, cells_of(to, &pages), "{from:?} {to:?} {stride}");
            }
        }
    }
}
