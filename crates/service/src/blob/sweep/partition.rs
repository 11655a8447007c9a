//! Collects the information in the rows of a blob about its content.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use lazuli_engine::content::Piece;
use lazuli_engine::{Bound, KeyRange, RowView, Scan, TableId, Verdict, Version};
use lazuli_model::blob::operation::Revision as Which;

use super::Reclaim;
use crate::Result;
use crate::blob::core::{At, Core};
use crate::blob::keep::{Life, life_of};
use crate::blob::keyspace::{self, Generation, KeySlot, RowKind};
use crate::blob::record::{Head, Pages, Stored, time};
use crate::blob::segment::Segment;

/// Maximum rows per scan.
const SCAN_ROWS_MAX: usize = 2_000;
/// Maximum bytes per scan.
const SCAN_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A row that holds content.
#[derive(Clone, Copy, Debug)]
pub struct ContentRow {
    /// Its position within the generation.
    pub slot: KeySlot,
    /// The version of the row.
    pub version: u64,
    /// Number of bytes of its value.
    pub bytes: usize,
}

/// The content that the states of a blob refer to: the current blob, its snapshots and all others that are not
/// deleted.
#[derive(Debug, Default)]
pub struct Names {
    generations: HashSet<Generation>,
    pages: BTreeMap<Generation, BTreeMap<u32, Pages>>,
}

impl Names {
    /// Records that a state refers to this content.
    pub fn add(&mut self, content: &Stored) {
        self.generations.extend(content.generation());
        if let Stored::Pages(pages) = content {
            self.pages.entry(pages.generation).or_default().insert(pages.epoch, pages.clone());
        }
    }

    /// Does any state refer to the generation?
    pub fn has(&self, generation: Generation) -> bool {
        self.generations.contains(&generation)
    }

    /// The states of a page blob that use a generation, by their epochs.
    pub fn pages(&self, generation: Generation) -> BTreeMap<u32, Pages> {
        self.pages.get(&generation).cloned().unwrap_or_default()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.generations.clear();
        self.pages.clear();
    }
}

/// The rows of a blob, without their content.
#[derive(Debug, Default)]
pub struct Partition {
    /// The head and its version.
    pub head: Option<(Version, Head)>,
    /// The time of the scan, in ticks.
    now: u64,
    /// The content that the head, a snapshot or a version refers to.
    pub named: Names,
    /// Rows of expired snapshots and versions.
    pub dead: Vec<String>,
    /// Number of rows of snapshots and versions that exist or can be restored.
    pub kept: usize,
    /// The time at which the next of them expires, in ticks.
    pub due: Option<u64>,
    /// The next time, in ticks, at which other processes will have stopped using something else of the blob.
    pub later: Option<u64>,
    /// Segments that can be referenced.
    pub segments: BTreeMap<Generation, Vec<ContentRow>>,
    /// Segments that nothing can refer to any more.
    pub unnamed: BTreeMap<Generation, Vec<ContentRow>>,
    /// The generations that have become unreferenceable since the scan, at least in part.
    pub fresh: HashSet<Generation>,
    /// The number of the latest pin before the scan.
    pub last_pin: u64,
}

impl Partition {
    fn see(&mut self, row: &RowView<'_>) -> lazuli_engine::Result<()> {
        let content = |slot| ContentRow { slot, version: row.version.0, bytes: row.value.len() };
        match RowKind::of(row.row) {
            Some(RowKind::Head) => {
                let head = Head::decode(&Bytes::copy_from_slice(row.value))?;
                head.blob.iter().for_each(|blob| self.named.add(&blob.content));
                head.deleted.iter().for_each(|blob| self.named.add(&blob.content));
                let deleted = head.deleted.as_ref().and_then(|blob| blob.deleted);
                self.expires(deleted.map(|deleted| deleted.until));
                self.head = Some((row.version, head));
            }
            Some(RowKind::Snapshot(ticks)) => self.see_revision(Which::Snapshot(time(ticks)), row)?,
            Some(RowKind::Version(ticks)) => self.see_revision(Which::Version(time(ticks)), row)?,
            Some(RowKind::Named(generation, slot)) => {
                self.segments.entry(generation).or_default().push(content(slot));
            }
            Some(RowKind::Unnamed(generation, slot)) => {
                self.unnamed.entry(generation).or_default().push(content(slot));
            }
            Some(RowKind::Event(_) | RowKind::Cell(..)) | None => {}
        }
        Ok(())
    }

    /// The head comes first and says which snapshots and versions are deleted.
    fn see_revision(&mut self, which: Which, row: &RowView<'_>) -> lazuli_engine::Result<()> {
        let revision = Head::decode(&Bytes::copy_from_slice(row.value))?.blob;
        let none = Head::default();
        let head = self.head.as_ref().map_or(&none, |(_, head)| head);
        let life = revision.as_ref().map_or(Life::Gone, |row| life_of(which, head, row, self.now));
        match life {
            Life::Gone => self.dead.push(row.row.to_owned()),
            Life::Live | Life::Deleted(_) => {
                self.kept += 1;
                revision.iter().for_each(|blob| self.named.add(&blob.content));
                if let Life::Deleted(deleted) = life {
                    self.expires(Some(deleted.until));
                }
            }
        }
        Ok(())
    }

    /// Does the blob have a head, and states that can no longer be restored?
    pub fn has_expired(&self) -> bool {
        self.head.as_ref().is_some_and(|(_, head)| {
            !self.dead.is_empty() || (head.deleted.is_some() && head.restorable(self.now).is_none())
        })
    }

    /// Records that other processes may use something of the blob until that time.
    pub fn is_used_until(&mut self, until: u64) {
        self.later = self.later.into_iter().chain([until]).min();
    }

    fn expires(&mut self, until: Option<u64>) {
        self.due = self.due.into_iter().chain(until).min();
    }

    /// Can there be uncommitted blocks? They are in another table.
    pub fn may_have_staged(&self) -> bool {
        self.head.as_ref().is_none_or(|(_, head)| head.marks.staged.is_some())
    }

    /// Records that segments were made unreferenceable.
    pub fn unname(&mut self, generation: Generation, slots: &HashSet<KeySlot>, now: u64) {
        let Some(segments) = self.segments.get_mut(&generation) else { return };
        let gone = segments.extract_if(.., |row| slots.contains(&row.slot));
        let gone = gone.map(|row| ContentRow { version: now, ..row });
        self.unnamed.entry(generation).or_default().extend(gone);
        self.fresh.insert(generation);
    }

    /// Generations that have segments but are not referenced.
    pub fn garbage(&self) -> Vec<Generation> {
        self.segments.keys().filter(|generation| !self.named.has(**generation)).copied().collect()
    }
}

impl Reclaim {
    /// Reads all rows of a blob except its pages.
    pub(super) async fn look_at(&self, at: &At) -> Result<Partition> {
        self.collect(at, keyspace::without_cells(&at.name)).await
    }

    /// Reads only the states of a blob: the current blob, snapshots and versions.
    pub(super) async fn look_at_states(&self, at: &At) -> Result<Partition> {
        self.collect(at, keyspace::states(&at.name)).await
    }

    async fn collect(&self, at: &At, range: KeyRange) -> Result<Partition> {
        let now = self.core.clock().ticks();
        let last_pin = self.core.pins.last();
        let partition = Arc::new(Mutex::new(Partition { now, last_pin, ..Partition::default() }));
        let seen = partition.clone();
        let see = move |row: &RowView<'_>| seen.lock().unwrap_or_else(PoisonError::into_inner).see(row);
        each_row(&self.core, at.tables.blobs, range, see).await?;
        let mut partition = partition.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(std::mem::take(&mut *partition))
    }

    /// Removes from `pieces` all that other segments of the blob contain, referenced or not, except those of
    /// the generations `besides`.
    pub(super) async fn keep_named(
        &self,
        at: &At,
        besides: HashSet<Generation>,
        pieces: &mut HashSet<Piece>,
    ) -> Result<()> {
        if pieces.is_empty() {
            return Ok(());
        }
        let shared = Arc::new(Mutex::new(std::mem::take(pieces)));
        let seen = shared.clone();
        let see = move |row: &RowView<'_>| {
            let generation = match RowKind::of(row.row) {
                Some(RowKind::Named(generation, _) | RowKind::Unnamed(generation, _)) => generation,
                _ => return Ok(()),
            };
            if !besides.contains(&generation) {
                let segment = Segment::decode(Bytes::copy_from_slice(row.value))?;
                let mut pieces = seen.lock().unwrap_or_else(PoisonError::into_inner);
                segment.pieces().for_each(|piece| {
                    pieces.remove(piece);
                });
            }
            Ok(())
        };
        each_row(&self.core, at.tables.blobs, keyspace::content(&at.name), see).await?;
        *pieces = std::mem::take(&mut *shared.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(())
    }
}

/// Passes every row of a range to `see`, in scans of bounded length.
pub async fn each_row(
    core: &Core,
    table: TableId,
    range: KeyRange,
    see: impl Fn(&RowView<'_>) -> lazuli_engine::Result<()> + Send + Sync + 'static,
) -> Result<()> {
    let see: See = Arc::new(see);
    let mut next = Some(range);
    while let Some(range) = next {
        next = some_rows(core, table, range, see.clone()).await?;
    }
    Ok(())
}

/// Passes every row of a range to `see`, all from one snapshot, so that a row that moves within the range is
/// not missed. Only for ranges that are short compared with the content of blobs.
pub async fn every_row(
    core: &Core,
    table: TableId,
    range: KeyRange,
    see: impl Fn(&RowView<'_>) -> lazuli_engine::Result<()> + Send + Sync + 'static,
) -> Result<()> {
    let scan = Scan {
        table,
        ranges: vec![range],
        rows_max: usize::MAX,
        bytes_max: usize::MAX,
        judge: Box::new(move |row| {
            see(&row)?;
            Ok(Verdict::Skip)
        }),
    };
    core.engine().scan(scan).await?;
    Ok(())
}

/// Looks at a row.
pub type See = Arc<dyn Fn(&RowView<'_>) -> lazuli_engine::Result<()> + Send + Sync>;

/// Passes some rows of a range to `see`. Returns the rest of the range.
///
/// The rest never begins with the tail of an append blob: its pieces move to a row right before it at any time, and that row
/// would be missed.
pub async fn some_rows(core: &Core, table: TableId, range: KeyRange, see: See) -> Result<Option<KeyRange>> {
    let end = range.end.clone();
    let (mut rows, mut bytes) = (0, 0);
    let scan = Scan {
        table,
        ranges: vec![range],
        rows_max: usize::MAX,
        bytes_max: usize::MAX,
        judge: Box::new(move |row| {
            if (rows >= SCAN_ROWS_MAX || bytes >= SCAN_BYTES_MAX) && !is_tail(row.row) {
                return Ok(Verdict::Stop);
            }
            rows += 1;
            bytes += row.value.len();
            see(&row)?;
            Ok(Verdict::Skip)
        }),
    };
    let page = core.engine().scan(scan).await?;
    Ok(page.next.map(|place| KeyRange { start: Bound::Included(place), end }))
}

fn is_tail(row: &str) -> bool {
    matches!(RowKind::of(row), Some(RowKind::Named(_, KeySlot::TAIL) | RowKind::Unnamed(_, KeySlot::TAIL)))
}
