//! The one thread that writes: takes all waiting commits, checks each against the store and against earlier commits of
//! the same group, writes one batch, syncs once, publishes, and only then sends all results.
//!
//! Invariants:
//! - No caller gets a result that depends on a group, not even a rejection, before the group is durable.
//! - After one failed batch nothing more is written, published or acknowledged. So a commit for which the disk may have
//!   no room is rejected before anything is written.

mod late;
mod room;

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use fjall::{PersistMode, Slice};
use lazuli_engine::metric::COUNTS;
use lazuli_engine::{Adopted, Applied, Clock, Error, Result, TableId, Version, rules};
use tokio::sync::oneshot;

use crate::acknowledged::Acknowledged;
use crate::adopt::Adoption;
use crate::ahead::Ahead;
use crate::commit::{Changed, Commit, Decided};
use crate::crash_point::{self, Point};
use crate::error::poisoned;
use crate::files::{Files, Log};
use crate::group::{Group, PendingReply, erase_bytes};
use crate::health::Health;
use crate::limits::{CLOSE_MEMTABLE_BYTES_MAX, IDLE_AFTER, LOG_BATCH_BYTES, STALL_POLL};
use crate::options::Durability;
use crate::permit::Permit;
use crate::queue::{Stopwatch, Taken, Waiting};
use crate::recent::{Known, Recent, Seen};
use crate::space::Space;
use crate::state::State;
use crate::view::{Published, View};
pub use late::Late;

/// Something for the committer to do.
pub enum Job {
    /// Decide and write a commit.
    Commit {
        /// The commit.
        commit: Commit,
        /// The caller that waits for the result.
        reply: oneshot::Sender<Result<Applied>>,
        /// Its permit for the queue.
        permit: Permit,
    },
    /// Decide and write rows with versions from elsewhere.
    Adopt {
        /// The rows.
        adoption: Adoption,
        /// The channel for the result.
        reply: oneshot::Sender<Result<Adopted>>,
        /// Its permit for the queue.
        permit: Permit,
    },
    /// Allocate a table id.
    FreshTable {
        /// The caller that waits for the result.
        reply: oneshot::Sender<Result<TableId>>,
        /// Its permit for the queue.
        permit: Permit,
    },
    /// Erase rows that are no longer readable.
    Erase {
        /// Their keys.
        keys: Vec<Bytes>,
        /// The caller that waits for the result.
        reply: oneshot::Sender<Result<()>>,
        /// Its permit for the queue.
        permit: Permit,
    },
    /// Finish the waiting jobs, then exit.
    Stop,
}

/// The thread that writes.
pub struct Committer {
    pub jobs: Waiting,
    pub files: Arc<Files>,
    pub log: Box<dyn Log>,
    pub published: Arc<Published>,
    pub health: Arc<Health>,
    pub clock: Clock,
    pub durability: Durability,
    pub memtable_bytes: u64,
    pub unwritten_bytes_max: u64,
    pub state: State,
    pub recent: Recent,
    pub number: u64,
    pub carried: Option<Carried>,
    pub late: Late,
    pub acknowledged: Acknowledged,
    /// Unless commits do not wait for the disk.
    pub ahead: Option<Ahead>,
    /// The space on the disk at the start of the last group.
    pub space: Space,
    /// There was too little space for any write.
    pub is_short: bool,
}

/// A commit that is decided and waits for the next group, because it was too large for the last one.
pub struct Carried {
    decided: Decided,
    version: Version,
    reply: oneshot::Sender<Result<Applied>>,
    permit: Permit,
}

impl Committer {
    /// Works until it is stopped.
    pub fn run(mut self) {
        let mut jobs = VecDeque::new();
        // Once there is nothing left to free, only wait for a job.
        let (mut is_at_rest, mut is_last) = (false, false);
        loop {
            // Jobs that did not fit into the last group come first.
            if jobs.is_empty() && self.carried.is_none() {
                if is_last {
                    self.late.send_all();
                    return self.close();
                }
                let time = self.late.pause().or_else(|| (!is_at_rest).then_some(IDLE_AFTER));
                let taken = self.jobs.take(&mut jobs, time);
                is_last = matches!(taken, Taken::Last);
                is_at_rest = matches!(taken, Taken::Idle) && self.is_done();
            }
            if !jobs.is_empty() || self.carried.is_some() {
                self.commit_group(&mut jobs);
            }
        }
    }

    /// Prepares for a fast next opening and marks the store as closed. Everything acknowledged is durable already; the
    /// sync covers only data that need not be durable.
    fn close(self) {
        if self.health.poison().is_some() {
            return;
        }
        if self.files.memtable_bytes() > CLOSE_MEMTABLE_BYTES_MAX {
            self.files.write_out();
            while self.files.is_writing_out() && !self.files.is_dead() {
                std::thread::park_timeout(STALL_POLL);
            }
        }
        if let Err(error) = self.files.db.persist(PersistMode::SyncAll) {
            tracing::error!(%error, "failed to sync the log when the store was closed");
            return;
        }
        crash_point::pass(Point::Closing);
        // Without the mark, the next opening only checks less.
        let _ = self.files.directory.mark_closed(self.state.last_version);
    }

    /// Does one step of background work while no job waits; `true` if there is none left.
    fn is_done(&mut self) -> bool {
        if self.late.is_empty() {
            return !self.rest();
        }
        self.late.send_some();
        false
    }

    /// Frees memory that only a busy store needs; `false` if there was nothing. An old view keeps memory and files
    /// alive that background work has replaced.
    fn rest(&mut self) -> bool {
        self.recent.clear(self.number);
        let is_outdated = self.published.view().is_ok_and(|view| view.is_outdated());
        if is_outdated {
            self.published.publish(View::take(&self.files, self.number));
        }
        is_outdated || self.files.is_busy()
    }

    fn commit_group(&mut self, jobs: &mut VecDeque<Job>) {
        let group = self.decide_group(jobs);
        let stopwatch = Stopwatch::start();
        let result = self.write(&group);
        let time = stopwatch.elapsed();
        self.jobs.note(group.jobs(), group.rejections, time);
        if group.must_sync {
            self.health.group_commits.record(&COUNTS, group.commits);
            self.health.sync_time.record_time(time);
            self.late.note(time);
        }
        match &result {
            Ok(()) => self.health.count_commits(group.commits),
            Err(Error::Unknown(why) | Error::Poisoned(why)) => self.health.set_poison(why.clone()),
            Err(other) => self.health.set_poison(other.to_string()),
        }
        crash_point::pass(Point::BeforeReply);
        let bytes = group.bytes + LOG_BATCH_BYTES;
        group.reply(&result, &mut self.late);
        self.late.send_some();
        // When the callers have their results: it delays only the next group.
        if let Some(ahead) = self.ahead.as_mut().filter(|_| result.is_ok()) {
            ahead.note(bytes as u64);
        }
        if self.files.memtable_bytes() > self.memtable_bytes {
            self.files.write_out();
        }
    }

    /// Decides jobs in order until the group is full. Jobs that do not fit stay in the queue or are carried over.
    fn decide_group(&mut self, jobs: &mut VecDeque<Job>) -> Group {
        let mut group = Group::default();
        self.look_at_space();
        if let Some(Carried { decided, version, reply, permit }) = self.carried.take() {
            let has_space = self.check_space_of(&decided, 0);
            let applied = has_space.map(|()| self.include(&mut group, decided, version));
            group.promise(PendingReply::Commit(reply, applied), permit);
        }
        let ticks = self.clock.ticks();
        while group.has_room() && jobs.front().is_some_and(|job| group.fits(job.bytes_min())) {
            let Some(job) = jobs.pop_front() else { break };
            match job {
                Job::Commit { commit, reply, permit } => {
                    self.decide_commit(&mut group, commit, reply, permit, ticks);
                    if self.carried.is_some() {
                        break;
                    }
                }
                Job::Adopt { adoption, reply, permit } => {
                    let adopted = self.adopt(&mut group, adoption, ticks);
                    group.promise(PendingReply::Adopted(reply, adopted), permit);
                }
                Job::FreshTable { reply, permit } => {
                    if let Err(error) = self.check_space(group.bytes + LOG_BATCH_BYTES, true) {
                        drop((reply.send(Err(error)), permit));
                        continue;
                    }
                    self.state.last_table.0 += 1;
                    group.must_sync = true;
                    group.promise(PendingReply::Table(reply, self.state.last_table), permit);
                }
                Job::Erase { keys, reply, permit } => {
                    if let Err(error) = self.check_space(group.bytes + erase_bytes(&keys), true) {
                        drop((reply.send(Err(error)), permit));
                        continue;
                    }
                    group.erase(keys);
                    group.promise(PendingReply::Erased(reply), permit);
                }
                Job::Stop => {}
            }
        }
        group
    }

    /// Decides a commit, and puts it into the group if it fits.
    fn decide_commit(
        &mut self,
        group: &mut Group,
        commit: Commit,
        reply: oneshot::Sender<Result<Applied>>,
        permit: Permit,
        ticks: u64,
    ) {
        // Check before any decision: freeing memory would write a sorted file.
        if let Err(error) = self.check_space(group.bytes, true) {
            return group.promise(PendingReply::Commit(reply, Err(error)), permit);
        }
        let version = rules::next_version(ticks, self.state.last_version);
        let current = |key: &[u8], seen: Option<&Seen>| self.current(key, seen);
        // A large result waits for room while it grows, so that it is never in memory together with a full set of
        // memtables.
        let make_room = |bytes: usize| self.wait_for_room((group.bytes + bytes) as u64);
        let applied = match commit.decide(version, current, make_room) {
            Ok(Ok(decided)) => match self.check_space_of(&decided, group.bytes) {
                Err(error) => Err(error),
                Ok(()) => {
                    self.state.last_version = version;
                    if !group.fits(decided.bytes) {
                        self.carried = Some(Carried { decided, version, reply, permit });
                        return;
                    }
                    Ok(self.include(group, decided, version))
                }
            },
            Ok(Err((index, reason))) => Ok(Applied::Rejected { index, reason }),
            Err(error) => Err(error),
        };
        group.promise(PendingReply::Commit(reply, applied), permit);
    }

    /// Puts a decided commit into a group.
    fn include(&mut self, group: &mut Group, decided: Decided, version: Version) -> Applied {
        group.bytes += decided.bytes;
        self.change(group, decided.changes);
        Applied::Done { version, updated: decided.updated }
    }

    /// Its versions are never assigned again: the last version becomes at least the greatest of them.
    fn adopt(&mut self, group: &mut Group, adoption: Adoption, ticks: u64) -> Result<Adopted> {
        let latest = Version(ticks.max(self.state.last_version.0));
        let bytes = adoption.bytes;
        let changes = match adoption.decide(latest, |key| self.current(key, None))? {
            Ok(changes) => changes,
            Err((index, reason)) => return Ok(Adopted::Rejected { index, reason }),
        };
        self.check_space(group.bytes + bytes, false)?;
        let versions = changes.iter().filter_map(|change| Some(change.state.as_ref()?.1.version));
        self.state.last_version = versions.fold(self.state.last_version, Version::max);
        if !changes.is_empty() {
            group.bytes += bytes;
            self.change(group, changes);
        }
        Ok(Adopted::Done)
    }

    fn change(&mut self, group: &mut Group, changes: Vec<Changed>) {
        for Changed { key, state } in changes {
            let (stored, cell) = state.unzip();
            group.batch.insert(key.clone(), stored);
            self.recent.put(key, cell);
        }
        group.must_sync = true;
        group.commits += 1;
    }

    /// The state of a row after all commits decided so far.
    fn current(&self, key: &[u8], seen: Option<&Seen>) -> Result<Option<crate::cell::Cell>> {
        match self.recent.look(key, seen) {
            Known::State(cell) => Ok(cell),
            Known::Nothing => self.published.view()?.cell(key),
        }
    }

    /// Makes a group durable and visible to readers.
    fn write(&mut self, group: &Group) -> Result<()> {
        // This comes first, even for rejections: they may be based on a batch that failed and never becomes
        // visible.
        if let Some(why) = self.health.poison() {
            return Err(poisoned(why));
        }
        if !group.must_sync && group.batch.is_empty() {
            // Only rejections, and the state that they are based on is published.
            return Ok(());
        }
        self.wait_for_room(group.bytes as u64)?;
        if group.erases {
            crash_point::pass(Point::BeforeErase);
        }
        crash_point::pass_while(Point::BeforeCatalog, || group.changes_catalog());
        self.append(group)?;
        // Only durable versions: commits that did not wait for the disk may be lost, and their loss is not damage.
        if self.durability == Durability::Full {
            self.acknowledged.note(self.state.last_version);
        }
        crash_point::pass(Point::AfterSync);
        crash_point::pass_while(Point::AfterCatalog, || group.changes_catalog());
        crash_point::pass_while(Point::WritingOut, || self.files.is_writing_out());
        crash_point::pass_while(Point::Merging, || self.files.db.active_compactions() > 0);
        self.number += 1;
        // This must precede the publication of the view, so that no reader of it uses outdated cached rows.
        self.files.scans.note_writes(self.number, group.batch.keys().map(|key| &**key));
        self.files.points.note_writes(self.number, group.batch.keys().map(|key| &**key));
        self.published.publish(View::take(&self.files, self.number));
        self.health.count_group(group.bytes);
        if group.erases {
            // Erased rows may be in the cache of recent states.
            self.recent.clear(self.number);
            crash_point::pass(Point::AfterErase);
        }
        self.recent.trim(self.number);
        Ok(())
    }

    fn append(&mut self, group: &Group) -> Result<()> {
        let mut batch = fjall::OwnedWriteBatch::with_capacity(self.files.db.clone(), group.batch.len() + 1);
        let rows = &self.files.rows;
        for (key, stored) in &group.batch {
            match stored {
                Some(stored) => batch.insert(rows, Slice::from(key.clone()), Slice::from(stored.clone())),
                None => batch.remove(rows, Slice::from(key.clone())),
            }
        }
        let (key, stored) = self.state.sealed();
        batch.insert(rows, Slice::from(key), Slice::from(stored));
        crash_point::pass(Point::BeforeAppend);
        if crash_point::is_due(Point::AfterAppend) {
            let _ = self.log.commit(batch, Durability::Relaxed);
            std::process::abort();
        }
        // Sync every batch, even one that only erases rows: otherwise a loss of power could leave a hole in it
        // before a later, synced batch, which would look like damage.
        self.log.commit(batch, self.durability).map_err(|error| match error {
            // The sorted store rejects the batch before writing anything, because background work has failed.
            fjall::Error::Poisoned => poisoned("writing sorted files has failed"),
            other => Error::Unknown(format!("writing the log failed: {other}")),
        })
    }
}

impl Job {
    /// Minimum bytes that it will write, known before it is decided.
    fn bytes_min(&self) -> usize {
        match self {
            Job::Commit { .. } | Job::FreshTable { .. } | Job::Stop => 0,
            Job::Adopt { adoption, .. } => adoption.bytes,
            Job::Erase { keys, .. } => erase_bytes(keys),
        }
    }
}

/// Poisons the store when the committer's thread panics.
pub struct PanicGuard(pub Arc<Health>);

impl Drop for PanicGuard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.set_poison("the committer panicked".into());
        }
    }
}

#[cfg(test)]
mod contention_tests;
#[cfg(test)]
mod large_tests;
#[cfg(test)]
mod space_tests;
#[cfg(test)]
mod tests;
