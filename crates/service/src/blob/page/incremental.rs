//! Incremental Copy Blob: changes a page blob to the state of a snapshot of another blob, then takes a snapshot
//! of the result.
//!
//! The destination is compared with the source cell by cell, and only pages that differ are written. Clients
//! can read only the snapshots of the destination, not the destination itself, so it may be in an intermediate
//! state. The last commit takes the snapshot and records the success; until then the copy is pending, and
//! starts over after a restart.

use std::collections::BTreeMap;
use std::sync::Mutex;

use lazuli_engine::{Condition, Write};
use lazuli_model::blob::copy::{CopyInfo, CopySource, CopyStatus, SourceBlob, without_signature};
use lazuli_model::blob::operation::{BlobRequest, Revision as Which};
use lazuli_model::blob::outcome::Written;
use lazuli_model::blob::{BlobKind, Outcome};
use lazuli_model::{DateTime, ErrorCode, Guid, OperationKind};

use super::cell::Cell;
use super::create::Target;
use super::regroup::{Regroup, Regrouped};
use super::scan::read_cells;
use super::write::{CellUpdate, PageChange, SharedPages};
use crate::blob::commit::{Decided, Followed, Step};
use crate::blob::copy::{Opened, Style, Supply, unsupplied};
use crate::blob::core::{At, Core};
use crate::blob::guard::{Guard, not_pending, of_kind};
use crate::blob::keyspace;
use crate::blob::record::{CopyTask, Head, Pages, Revision, Stored, stamp, time};
use crate::{Error, Grant, Result};

/// Maximum attempts to find a time that no snapshot has.
const ATTEMPTS_MAX: usize = 64;

impl Core {
    /// Incremental Copy Blob. A large copy continues in the background.
    pub async fn incremental_copy(
        &self,
        grant: &Grant,
        request: BlobRequest,
        source: CopySource,
        supply: Supply<'_>,
    ) -> Result<Outcome> {
        let at = self.locate(&grant.home, &request.container, &request.blob).await?;
        let kind = OperationKind::IncrementalCopyBlob;
        let guard = Guard::creating(grant, &request, kind, self.clock());
        let blob = source.blob.as_ref().ok_or(ErrorCode::InvalidSourceBlobUrl)?;
        let Which::Snapshot(snapshot) = blob.revision else {
            return Err(ErrorCode::IncrementalCopySourceMustBeSnapshot.into());
        };
        let from = match supply {
            Supply::Local(from) => from,
            Supply::Remote(opener) => {
                let written = self.incremental_remote(at, guard, &source, snapshot, opener).await?;
                return Ok(written);
            }
            Supply::Nothing | Supply::Body(_) => return Err(unsupplied()),
        };
        let opened = self.open_source(&from, &source, Style::Copy).await?;
        if opened.revision.kind != BlobKind::Page {
            return Err(ErrorCode::InvalidSourceBlobType.into());
        }
        let mut target = self.page_target(&at).await?;
        if let (true, Stored::Pages(pages)) = (target.is_new, &opened.revision.content) {
            target.pages.grid = pages.grid;
        }
        let writes = target.writes();
        let id = self.fresh_id();
        let (size, source_state) = (opened.revision.size, opened.revision.clone());
        let begun = Begin {
            guard,
            target,
            task: task(&from.grant().home, from.blob(), snapshot, &opened),
            info: info(id, &without_signature(&source.url), size),
            source: source_state.clone(),
        };
        let decided = self.decide(&at, move |head, version| begun.rule(head, version), writes).await;
        self.queue_if_in_doubt(&at, false, &decided);
        match decided? {
            Decided::Done(written) => {
                if size > self.options.copy_at_once_max
                    || self.copy_increment(&at, id, &opened.at, &source_state).await.is_err()
                {
                    // The background work completes the copy, or records why it fails.
                    self.todo.copy(at, false);
                }
                drop(opened.pin);
                let written = Box::new(written);
                Ok(Outcome::Copied { written, id, status: CopyStatus::Pending, is_sync: false })
            }
            Decided::Rejected => Err(lazuli_engine::Error::Conflict.into()),
        }
    }

    /// Completes a copy that was started.
    pub async fn copy_increment(&self, at: &At, id: Guid, from: &At, source: &Revision) -> Result<()> {
        let head = self.head(at).await?.and_then(|head| head.blob);
        let Some(Stored::Pages(target)) = head.map(|blob| blob.content) else {
            return Err(ErrorCode::NoPendingCopyOperation.into());
        };
        let pin = self.pins.generation(at.tables.blobs, &at.name, target.generation);
        if let Stored::Pages(pages) = &source.content {
            self.synchronize(at, &target, from, pages).await?;
        }
        let sealed = self.seal_increment(at, id, source, &target).await;
        drop(pin);
        sealed
    }

    /// Writes the pages in which the destination differs.
    async fn synchronize(&self, at: &At, target: &Pages, from: &At, source: &Pages) -> Result<()> {
        let mut regroup = Regroup::new(source.grid, target.grid);
        let mut next = Some(0);
        while let Some(first) = next {
            let new = read_cells(self.engine(), from, source, first, u32::MAX).await?;
            let Regrouped { cells, range } = regroup.take(new.cells, new.next);
            if let Some((first, last)) = range {
                let old = self.old_cells(at, target, first, last).await?;
                let writes = differences(target, cells, old);
                self.put_cells(at, target.generation, writes).await?;
            }
            next = new.next;
        }
        Ok(())
    }

    /// The cells of the destination in a range.
    pub(super) async fn old_cells(
        &self,
        at: &At,
        target: &Pages,
        first: u32,
        last: u32,
    ) -> Result<Vec<(u32, Cell)>> {
        let mut cells = Vec::new();
        let mut next = Some(first);
        while let Some(first) = next {
            let found = read_cells(self.engine(), at, target, first, last).await?;
            cells.extend(found.cells);
            next = found.next;
        }
        Ok(cells)
    }

    /// Takes a snapshot of a destination whose pages equal those of the source.
    pub(super) async fn seal_increment(
        &self,
        at: &At,
        id: Guid,
        source: &Revision,
        target: &Pages,
    ) -> Result<()> {
        let mut ticks = self.clock().ticks();
        for _ in 0..ATTEMPTS_MAX {
            if self.finish_increment(at, id, source, target, ticks).await? {
                return Ok(());
            }
            let last = self.head(at).await?.map_or(0, |head| head.marks.snapshots.last);
            ticks = self.clock().ticks().max(last.saturating_add(1));
        }
        Err(lazuli_engine::Error::Conflict.into())
    }

    /// The last commit; `false` if the time of the snapshot is not after that of the latest one.
    async fn finish_increment(
        &self,
        at: &At,
        id: Guid,
        source: &Revision,
        target: &Pages,
        ticks: u64,
    ) -> Result<bool> {
        let row = Followed::default();
        let followed = row.clone();
        let (size, sequence) = (source.size, source.sequence_number);
        let expected = target.clone();
        let rule = move |head: Option<Head>, version: u64| {
            let mut head = head.unwrap_or_default();
            let blob = crate::blob::copy::pending(&mut head, id)?;
            let is_same = matches!(&blob.content, Stored::Pages(pages)
                if (pages.generation, pages.epoch) == (expected.generation, expected.epoch));
            if !is_same || ticks <= head.marks.snapshots.last {
                return Err(lazuli_engine::Error::Conflict.into());
            }
            let blob = crate::blob::copy::pending(&mut head, id)?;
            (blob.size, blob.sequence_number) = (size, sequence);
            blob.incremental = blob.copying.take();
            // The URL of a source on another server contains a signature, which is no longer needed.
            blob.incremental.iter_mut().for_each(|task| task.remote = None);
            blob.touch(OperationKind::IncrementalCopyBlob, version);
            if let Some(copy) = &mut blob.copy {
                copy.status = CopyStatus::Success;
                copy.completed = Some(time(version));
                copy.copied = copy.total;
                copy.destination_snapshot = Some(time(ticks));
            }
            let mut snapshot = blob.clone();
            snapshot.content = blob.content.preserve();
            snapshot.lease = None;
            followed.set(Head::of(snapshot).encode());
            head.marks.snapshots.count += 1;
            head.marks.snapshots.last = ticks;
            head.marks.shape = version;
            Ok((Step::Put(Box::new(head)), ()))
        };
        let writes = vec![row.write(keyspace::snapshot(ticks), Condition::Absent)];
        match self.decide(at, rule, writes).await {
            Ok(Decided::Done(())) => Ok(true),
            Ok(Decided::Rejected) | Err(Error::Engine(lazuli_engine::Error::Conflict)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// The first commit of a copy.
pub(super) struct Begin {
    pub guard: Guard,
    pub target: Target,
    pub task: CopyTask,
    pub info: CopyInfo,
    pub source: Revision,
}

impl Begin {
    pub fn rule(&self, head: Option<Head>, version: u64) -> Result<(Step, Written)> {
        let mut head = head.unwrap_or_default();
        let lease = self.guard.create(&head)?;
        let mut blob = match head.blob.take() {
            Some(blob) => {
                self.fits(&blob)?;
                Revision { lease, ..blob }
            }
            None => Revision {
                headers: self.source.headers.clone(),
                metadata: self.source.metadata.clone(),
                ..Revision::new(BlobKind::Page, version)
            },
        };
        self.target.pages_of(&mut blob, &mut head.marks, version)?;
        let last = blob.copy.take().and_then(|copy| copy.destination_snapshot);
        blob.copy = Some(Box::new(CopyInfo { destination_snapshot: last, ..self.info.clone() }));
        blob.copying = Some(Box::new(self.task.clone()));
        blob.size = self.source.size;
        blob.touch(OperationKind::IncrementalCopyBlob, version);
        head.marks.shape = version;
        head.blob = Some(blob);
        Ok((Step::Put(Box::new(head)), Written::new(stamp(version))))
    }

    /// Was the destination made by copies of earlier snapshots of the same blob?
    fn fits(&self, blob: &Revision) -> Result<()> {
        of_kind(blob, BlobKind::Page)?;
        not_pending(blob)?;
        if !blob.copy.as_ref().is_some_and(|copy| copy.is_incremental) {
            return Err(ErrorCode::IncrementalCopyBlobMismatch.into());
        }
        let Some(last) = &blob.incremental else { return Ok(()) };
        let CopyTask { account, container, blob, snapshot, .. } = &self.task;
        if (&last.account, &last.container, &last.blob) != (account, container, blob) {
            return Err(ErrorCode::IncrementalCopyBlobMismatch.into());
        }
        if *snapshot <= last.snapshot {
            return Err(ErrorCode::IncrementalCopyOfEarlierSnapshotNotAllowed.into());
        }
        Ok(())
    }
}

fn task(home: &str, blob: &SourceBlob, snapshot: DateTime, opened: &Opened) -> CopyTask {
    CopyTask {
        account: home.to_owned(),
        container: blob.container.as_str().to_owned(),
        blob: blob.blob.as_str().to_owned(),
        snapshot: snapshot.ticks(),
        version: 0,
        etag: opened.revision.changed,
        remote: None,
    }
}

pub(super) fn info(id: Guid, source: &str, total: u64) -> CopyInfo {
    CopyInfo {
        id,
        source: source.to_owned(),
        status: CopyStatus::Pending,
        copied: 0,
        total,
        completed: None,
        description: None,
        is_incremental: true,
        destination_snapshot: None,
    }
}

/// The writes that turn old cells into new ones. Both are in order.
pub(super) fn differences(target: &Pages, new: Vec<(u32, Cell)>, old: Vec<(u32, Cell)>) -> Vec<Write> {
    let mut cells: BTreeMap<u32, (Cell, Cell)> = BTreeMap::new();
    for (number, cell) in new {
        cells.entry(number).or_default().0 = cell;
    }
    for (number, cell) in old {
        cells.entry(number).or_default().1 = cell;
    }
    // Pages written by a failed attempt are kept: they are part of the old state.
    let shared = SharedPages::new(Mutex::new(Some(target.clone())));
    let mut writes = Vec::new();
    for (cell, (new, old)) in cells {
        let change = new.difference(&old);
        let update = |mask, change| CellUpdate { cell, mask, change, shared: shared.clone() }.write(target);
        if change.written() != 0 {
            writes.push(update(change.written(), PageChange::Write(change.bytes())));
        }
        if change.cleared() != 0 {
            writes.push(update(change.cleared(), PageChange::Clear));
        }
    }
    writes
}
