//! Sweeps the rows of page blobs: of generations that nothing names, of large clears, of snapshots that were deleted.
//!
//! Between the epochs of two neighbouring states no state distinguishes the rows of a cell, so they are merged into
//! one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use lazuli_engine::{Change, Condition, Next, Rejected, Row, RowView, Update, Version, Write};

use super::partition::{Partition, See, some_rows};
use super::{Progress, Reclaim, SHARED_READ_GRACE};
use crate::blob::commit::{Decided, Step};
use crate::blob::core::At;
use crate::blob::keyspace::{self, CellKey, Generation, RowKind};
use crate::blob::page::cell::Cell;
use crate::blob::record::{Head, Pages, Stored};
use crate::{Error, Result};

/// Maximum cells merged in one commit.
const COMMIT_CELLS_MAX: usize = 16;

/// Does a page blob have rows that must be merged or updated?
pub fn needs_tidying(content: &Stored) -> bool {
    matches!(content, Stored::Pages(pages) if pages.has_spare_rows || !pages.clears.is_empty())
}

/// The rows of a cell that are merged into one.
struct Group {
    generation: Generation,
    cell: u32,
    /// The rows in order; the last one absorbs the others.
    epochs: Vec<u32>,
    /// The state that uses them.
    state: Pages,
    /// No state uses only an older part of the cell, so cleared pages need not be recorded.
    is_lowest: bool,
}

impl Reclaim {
    /// Deletes all pages of a generation that nothing can refer to any more.
    pub(super) async fn delete_cells(&self, at: &At, generation: Generation) -> Result<()> {
        let mut next = Some(keyspace::cells(&at.name, generation, 0, u32::MAX));
        while let Some(range) = next {
            let keys: Arc<Mutex<Vec<String>>> = Arc::default();
            let seen = keys.clone();
            let see: See = Arc::new(move |row: &RowView<'_>| {
                seen.lock().unwrap_or_else(PoisonError::into_inner).push(row.row.to_owned());
                Ok(())
            });
            next = some_rows(&self.core, at.tables.blobs, range, see).await?;
            let keys = std::mem::take(&mut *keys.lock().unwrap_or_else(PoisonError::into_inner));
            self.delete_rows(at, at.tables.blobs, keys).await?;
        }
        Ok(())
    }

    /// Applies large clears to rows, and merges rows that only deleted snapshots distinguished.
    pub(super) async fn tidy_pages(&self, at: &At, partition: &mut Partition) -> Result<Progress> {
        let Some((_, Head { marks, blob: Some(blob), .. })) = &partition.head else {
            return Ok(Progress::Done);
        };
        let Stored::Pages(pages) = &blob.content else { return Ok(Progress::Done) };
        let mut progress = Progress::Done;
        if !pages.clears.is_empty() && !self.core.settle_clears(at).await? {
            progress = Progress::Again;
        }
        if !pages.has_spare_rows {
            return Ok(progress);
        }
        // Wait for reads of a deleted snapshot. For other processes, only the age shows that they have ended.
        let is_in_use = self.core.pins.has(at.tables.blobs, &at.name, pages.generation);
        if is_in_use || !pages.clears.is_empty() {
            return Ok(Progress::Again);
        }
        if let Some(until) = self.recent(marks.shape, SHARED_READ_GRACE) {
            partition.is_used_until(until);
            return Ok(progress);
        }
        Ok(progress.and(self.merge_spare_rows(at, partition, pages, marks.shape).await?))
    }

    async fn merge_spare_rows(
        &self,
        at: &At,
        partition: &Partition,
        pages: &Pages,
        shape: u64,
    ) -> Result<Progress> {
        let states = partition.named.pages(pages.generation);
        let mut next = Some(keyspace::cells(&at.name, pages.generation, 0, u32::MAX));
        let mut open: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        while let Some(range) = next {
            let seen_cells: Arc<Mutex<BTreeMap<u32, Vec<u32>>>> =
                Arc::new(Mutex::new(std::mem::take(&mut open)));
            let seen = seen_cells.clone();
            let see: See = Arc::new(move |row: &RowView<'_>| {
                if let Some(RowKind::Cell(_, CellKey { cell, epoch })) = RowKind::of(row.row) {
                    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                    seen.entry(cell).or_default().push(epoch);
                }
                Ok(())
            });
            next = some_rows(&self.core, at.tables.blobs, range, see).await?;
            let mut cells = std::mem::take(&mut *seen_cells.lock().unwrap_or_else(PoisonError::into_inner));
            if next.is_some() {
                // More rows of the last cell may follow.
                open.extend(cells.pop_last());
            }
            let groups: Vec<Group> = cells
                .into_iter()
                .flat_map(|(cell, epochs)| groups_of(pages.generation, cell, &epochs, &states))
                .collect();
            for groups in groups.chunks(COMMIT_CELLS_MAX) {
                if self.merge_groups(at, groups, shape).await? == Progress::Again {
                    return Ok(Progress::Again);
                }
            }
        }
        self.forget_spare_rows(at, shape).await
    }

    /// Makes one commit, on condition that no state was added or removed since the rows were read.
    async fn merge_groups(&self, at: &At, groups: &[Group], shape: u64) -> Result<Progress> {
        let mut writes = Vec::new();
        for group in groups {
            let keys: Vec<String> = group.epochs.iter().map(|epoch| group.row(*epoch)).collect();
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            let found = self.core.engine().get(at.tables.blobs, &at.name, &keys).await?;
            let found: Vec<Row> = found.into_iter().flatten().collect();
            if found.len() < keys.len() {
                return Ok(Progress::Again);
            }
            writes.extend(group.writes(found)?);
        }
        self.at_shape(at, shape, writes).await
    }

    async fn forget_spare_rows(&self, at: &At, shape: u64) -> Result<Progress> {
        let rule = move |head: Option<Head>, _| match head {
            Some(mut head) if head.marks.shape == shape => {
                if let Some(Stored::Pages(pages)) = head.blob.as_mut().map(|blob| &mut blob.content) {
                    pages.has_spare_rows = false;
                }
                Ok((Step::Put(Box::new(head)), Progress::Done))
            }
            _ => Ok((Step::Keep, Progress::Again)),
        };
        self.core.change(at, rule).await
    }

    async fn at_shape(&self, at: &At, shape: u64, writes: Vec<Write>) -> Result<Progress> {
        let rule = move |head: Option<Head>, _| {
            if head.is_none_or(|head| head.marks.shape != shape) {
                return Err(lazuli_engine::Error::Conflict.into());
            }
            Ok((Step::Keep, ()))
        };
        match self.core.decide(at, rule, writes).await {
            Ok(Decided::Done(())) => Ok(Progress::Done),
            Ok(Decided::Rejected) | Err(Error::Engine(lazuli_engine::Error::Conflict)) => Ok(Progress::Again),
            Err(error) => Err(error),
        }
    }
}

impl Group {
    fn row(&self, epoch: u32) -> String {
        keyspace::cell(self.generation, CellKey { cell: self.cell, epoch })
    }

    /// Merges the other rows into the last one and deletes them.
    fn writes(&self, mut rows: Vec<Row>) -> Result<Vec<Write>> {
        let Some(last) = rows.pop() else { return Ok(Vec::new()) };
        let mut below = Cell::default();
        let mut writes = Vec::new();
        for row in rows {
            let mut cell = Cell::decode(row.value)?;
            cell.refresh(self.state.grid, self.cell, &self.state.clears);
            below.overlay(&cell);
            let condition = Condition::Version(row.version);
            writes.push(Write { row: row.row, condition, change: Change::Delete });
        }
        let take = Take { cell: self.cell, below, state: self.state.clone(), is_lowest: self.is_lowest };
        let change = Change::Update(Arc::new(take));
        writes.push(Write { row: last.row, condition: Condition::Exists, change });
        Ok(writes)
    }
}

/// Adds older pages to a cell, where it has none, inside a commit. The cell may belong to the current epoch and
/// change in the meantime.
struct Take {
    cell: u32,
    below: Cell,
    state: Pages,
    is_lowest: bool,
}

impl Update for Take {
    fn next(&self, current: Option<&Bytes>, _: Version) -> std::result::Result<Next, Rejected> {
        let current = current.cloned().ok_or(Rejected(0))?;
        let mut cell = Cell::decode(current).map_err(|_| Rejected(0))?;
        cell.refresh(self.state.grid, self.cell, &self.state.clears);
        let serial = cell.serial.max(self.state.serial);
        let mut merged = self.below.clone();
        merged.overlay(&cell);
        merged.serial = serial;
        if self.is_lowest {
            merged.forget_cleared();
        }
        Ok(if merged.is_empty() { Next::Delete } else { Next::Put(merged.encode()) })
    }
}

/// Rows of a cell that no state distinguishes. Both epochs and states are in order.
fn groups_of(generation: Generation, cell: u32, epochs: &[u32], states: &BTreeMap<u32, Pages>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for epoch in epochs {
        // A row that no state uses belongs to a state that is about to be created.
        let Some((_, state)) = states.range(epoch..).next() else { continue };
        match groups.last_mut() {
            Some(group) if group.state.epoch == state.epoch => group.epochs.push(*epoch),
            _ => {
                let is_lowest = states.range(..state.epoch).next().is_none();
                let (epochs, state) = (vec![*epoch], state.clone());
                groups.push(Group { generation, cell, epochs, state, is_lowest });
            }
        }
    }
    groups.retain(|group| group.epochs.len() > 1);
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_between_two_states_are_merged() {
        let generation = Generation(1);
        let state = |epoch| (epoch, Pages { epoch, ..Pages::new(generation) });
        let states = BTreeMap::from([state(2), state(5), state(9)]);
        let found: Vec<_> = groups_of(generation, 7, &[0, 1, 2, 3, 6, 8, 9], &states)
            .into_iter()
            .map(|group| (group.epochs, group.state.epoch, group.is_lowest))
            .collect();
        assert_eq!(found, [(vec![0, 1, 2], 2, true), (vec![6, 8, 9], 9, false)]);
        assert!(groups_of(generation, 7, &[2, 5, 9], &states).is_empty());
    }
}
