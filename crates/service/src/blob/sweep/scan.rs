//! Reads every row of every container: after the start, and then once a day.
//!
//! It reports to the content store which pieces of earlier processes are referenced, so that the store frees
//! all others. It also queues blobs that have something to sweep, and copies that are pending.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use lazuli_engine::content::ContentSweep;
use lazuli_engine::{KeyRange, RowView, TableId};
use lazuli_model::Service;
use lazuli_model::blob::operation::Revision as Which;

use super::pages::needs_tidying;
use super::partition::{Names, each_row, every_row};
use super::{Reclaim, at};
use crate::blob::core::{At, Core};
use crate::blob::event::{Origin, Outbox};
use crate::blob::keep::{Life, life_of};
use crate::blob::keyspace::{RowKind, Tables};
use crate::blob::record::{Head, Staged, time};
use crate::blob::segment::Segment;
use crate::record::{ContainerRecord, DroppedRecord, KeptRecord};
use crate::{Result, keyspace};

/// The tables of a container.
#[derive(Clone)]
struct Found {
    tables: Tables,
    is_live: bool,
    /// Its name, if it is not deleted and events need it.
    origin: Option<Arc<Origin>>,
    /// Like `origin`, but also for deleted containers, and without names: it only says which account the events belong
    /// to.
    owner: Option<Arc<Origin>>,
}

impl Reclaim {
    /// Reads every row; `false` if some content of earlier processes was in use, and stays until the next scan.
    pub(super) async fn scan(&self) -> Result<bool> {
        // Start the sweep before reading rows: content that is referenced from now on was stored by a live
        // process.
        let sweep = self.core.content.sweep().await?;
        self.core.outbox.iter().for_each(Outbox::scanning);
        let scanner = Scanner::new(self.core.clone(), sweep);
        for found in containers(&self.core).await? {
            // Pieces move from uncommitted blocks to segments, so the blocks come first.
            for table in [found.tables.staged, found.tables.blobs] {
                let (rows, found) = (scanner.clone(), found.clone());
                let see = move |row: &RowView<'_>| rows.lock().see(&found, table, row);
                each_row(&self.core, table, KeyRange::ALL, see).await?;
                scanner.lock().end_blob();
            }
            if found.is_live {
                self.scan_tags(found.tables).await?;
            }
        }
        let sweep = scanner.lock().sweep.take();
        let is_complete = match sweep {
            Some(sweep) => sweep.finish().await?.is_complete,
            None => true,
        };
        self.core.outbox.iter().for_each(Outbox::scanned);
        self.core.counters.scans.fetch_add(1, Ordering::Relaxed);
        Ok(is_complete)
    }
}

/// The tables of all containers, deleted ones included.
async fn containers(core: &Core) -> Result<Vec<Found>> {
    let found: Arc<Mutex<Vec<Found>>> = Arc::default();
    let (seen, has_events) = (found.clone(), core.outbox.is_some());
    let see = move |row: &RowView<'_>| {
        let mut origin = None;
        let (ids, is_live): (Vec<TableId>, bool) = if let Some(name) = keyspace::name_of(row.row) {
            origin = has_events.then(|| Origin {
                home: keyspace::home_of(row.partition).to_owned(),
                container: name.to_owned(),
            });
            (ContainerRecord::decode(row.value)?.ids().collect(), true)
        } else if keyspace::is_kept(row.row) {
            (KeptRecord::decode(row.value)?.record.ids().collect(), true)
        } else if keyspace::is_dropped(row.row) {
            (DroppedRecord::decode(row.value)?.ids().collect(), false)
        } else {
            return Ok(());
        };
        if let Some(tables) = Tables::of(&ids) {
            let origin = origin.map(Arc::new);
            let home = || keyspace::home_of(row.partition).to_owned();
            let deleted = || Arc::new(Origin { home: home(), container: String::new() });
            let owner = has_events.then(|| origin.clone().unwrap_or_else(deleted));
            let found = Found { tables, is_live, origin, owner };
            seen.lock().unwrap_or_else(PoisonError::into_inner).push(found);
        }
        Ok(())
    };
    // A container that is deleted or restored moves from one row to another: in a snapshot it has exactly one.
    every_row(core, TableId::SYSTEM, keyspace::all_containers(Service::Blob), see).await?;
    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(std::mem::take(&mut *found))
}

/// The state of a scan, shared with the callbacks for its rows.
#[derive(Clone)]
struct Scanner(Arc<Mutex<State>>);

struct State {
    core: Arc<Core>,
    sweep: Option<Box<dyn ContentSweep>>,
    /// The blob whose rows are being read.
    current: Option<At>,
    named: Names,
    /// Its head.
    head: Head,
    is_dirty: bool,
}

impl Scanner {
    fn new(core: Arc<Core>, sweep: Box<dyn ContentSweep>) -> Self {
        let (named, head, is_dirty) = Default::default();
        let state = State { core, sweep: Some(sweep), current: None, named, head, is_dirty };
        Self(Arc::new(Mutex::new(state)))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn see(&mut self, found: &Found, table: TableId, row: &RowView<'_>) -> lazuli_engine::Result<()> {
        if self.current.as_ref().is_none_or(|current| *current.name != *row.partition) {
            self.end_blob();
            self.current = Some(At { origin: found.origin.clone(), ..at(found.tables, row.partition) });
            self.head = Head::default();
        }
        let value = || Bytes::copy_from_slice(row.value);
        if table == found.tables.staged {
            Staged::decode(value())?.pieces().iter().for_each(|piece| self.keep(piece));
            self.is_dirty = found.is_live;
            return Ok(());
        }
        match RowKind::of(row.row) {
            Some(RowKind::Head) => self.see_head(found, Head::decode(&value())?),
            Some(RowKind::Snapshot(ticks)) => {
                self.see_revision(found, Which::Snapshot(time(ticks)), &value())?
            }
            Some(RowKind::Version(ticks)) => {
                self.see_revision(found, Which::Version(time(ticks)), &value())?
            }
            Some(RowKind::Named(generation, _)) => {
                Segment::decode(value())?.pieces().for_each(|piece| self.keep(piece));
                self.is_dirty |= found.is_live && !self.named.has(generation);
            }
            Some(RowKind::Unnamed(..)) => {
                Segment::decode(value())?.pieces().for_each(|piece| self.keep(piece));
                self.is_dirty |= found.is_live;
            }
            Some(RowKind::Event(_)) => self.see_event(found),
            // Pages refer to no content, and are deleted with their generation.
            Some(RowKind::Cell(..)) | None => {}
        }
        Ok(())
    }

    fn see_head(&mut self, found: &Found, head: Head) {
        for blob in head.blob.iter().chain(head.deleted.as_deref()) {
            self.named.add(&blob.content);
            self.is_dirty |= found.is_live && needs_tidying(&blob.content);
        }
        let pending = head.blob.as_ref().and_then(|blob| blob.copying.as_ref()).filter(|_| found.is_live);
        if let (Some(at), Some(task)) = (&self.current, pending) {
            self.core.todo.copy(at.clone(), task.remote.is_some());
        }
        // The sweep examines all retained states, and records when they expire.
        self.is_dirty |= found.is_live && (head.blob.is_none() || head.deleted.is_some());
        self.head = head;
    }

    /// Events of a deleted container are delivered, too.
    fn see_event(&mut self, found: &Found) {
        if let (Some(outbox), Some(at)) = (&self.core.outbox, &self.current)
            && !outbox.add(&At { origin: found.owner.clone(), ..at.clone() })
        {
            self.core.todo.overflow();
        }
    }

    fn see_revision(&mut self, found: &Found, which: Which, value: &Bytes) -> lazuli_engine::Result<()> {
        let Some(revision) = Head::decode(value)?.blob else { return Ok(()) };
        let life = life_of(which, &self.head, &revision, self.core.clock().ticks());
        self.is_dirty |= found.is_live && life != Life::Live;
        if life != Life::Gone {
            self.named.add(&revision.content);
        }
        Ok(())
    }

    /// All rows of the blob have been read.
    fn end_blob(&mut self) {
        if let Some(at) = self.current.take()
            && self.is_dirty
        {
            self.core.todo.blob(&at);
        }
        self.named.clear();
        self.is_dirty = false;
    }

    fn keep(&mut self, piece: &lazuli_engine::content::Piece) {
        if let Some(sweep) = &mut self.sweep {
            sweep.keep(piece);
        }
    }
}
