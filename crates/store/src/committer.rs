//! The one thread that writes: takes every commit that waits, decides each against the store and against what the same
//! group already wrote, writes one batch, syncs once, publishes, and only then answers all.
//!
//! What must stay true:
//! - Nobody learns anything that depends on a group, a refusal included, before the group is durable.
//! - After one failed batch nothing is written, published or acknowledged any more.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use fjall::{PersistMode, Slice};
use lazuli_engine::figure::{COUNTS, Histogram, MICROS};
use lazuli_engine::{Adopted, Applied, Clock, Error, Result, TableId, Version, rules};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::adopt::Adoption;
use crate::commit::{Changed, Commit};
use crate::crash_point::{self, Point};
use crate::error::poisoned;
use crate::files::{Files, Log};
use crate::keyspace;
use crate::limits::{CLOSE_MEMTABLE_BYTES_MAX, STALL_POLL};
use crate::options::Durability;
use crate::queue::{Stopwatch, Taken, Waiting};
use crate::recent::{Known, Recent, Seen};
use crate::state::State;
use crate::view::{Published, View};

/// Something for the committer to do.
pub enum Job {
    /// Decide and write a commit.
    Commit {
        /// The commit.
        commit: Commit,
        /// Who waits for it.
        answer: oneshot::Sender<Result<Applied>>,
        /// Its place in the queue.
        place: OwnedSemaphorePermit,
    },
    /// Decide and write rows with versions from elsewhere.
    Adopt {
        /// The rows.
        adoption: Adoption,
        /// Who waits for it.
        answer: oneshot::Sender<Result<Adopted>>,
        /// Its place in the queue.
        place: OwnedSemaphorePermit,
    },
    /// Give out a table id.
    FreshTable {
        /// Who waits for it.
        answer: oneshot::Sender<Result<TableId>>,
        /// Its place in the queue.
        place: OwnedSemaphorePermit,
    },
    /// Remove rows that nobody reads.
    Erase {
        /// Their keys.
        keys: Vec<Bytes>,
        /// Who waits for it.
        answer: oneshot::Sender<Result<()>>,
        /// Its place in the queue.
        place: OwnedSemaphorePermit,
    },
    /// Finish what waits, then end.
    Stop,
}

/// What the committer shares with the store's callers.
#[derive(Debug, Default)]
pub struct Health {
    poison: OnceLock<String>,
    commits: AtomicU64,
    groups: AtomicU64,
    /// How many commits shared a sync.
    pub group_commits: Histogram<{ COUNTS.len() }>,
    /// How long it took to make a group durable.
    pub sync_time: Histogram<{ MICROS.len() }>,
}

impl Health {
    /// Why no more writes are taken, if so.
    pub fn poison(&self) -> Option<&str> {
        self.poison.get().map(String::as_str)
    }

    /// From now on no more writes are taken.
    pub fn set_poison(&self, why: String) {
        // The first reason is the one to tell.
        let _ = self.poison.set(why);
    }

    /// Commits made, and batches in which they were made durable.
    pub fn commits_and_groups(&self) -> (u64, u64) {
        (self.commits.load(Ordering::Relaxed), self.groups.load(Ordering::Relaxed))
    }
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
    pub state: State,
    pub recent: Recent,
    pub number: u64,
}

/// A group that is being put together.
#[derive(Default)]
struct Group {
    /// The last state of each row it changes.
    batch: HashMap<Bytes, Option<Bytes>>,
    /// Someone waits for it to be durable, even if it changes no row.
    must_sync: bool,
    erases: bool,
    commits: u64,
    answers: Vec<Answer>,
    /// Places in the queue, given back when the group is done.
    places: Vec<OwnedSemaphorePermit>,
}

/// What someone will be told once the group is durable.
enum Answer {
    Commit(oneshot::Sender<Result<Applied>>, Result<Applied>),
    Adopted(oneshot::Sender<Result<Adopted>>, Result<Adopted>),
    Table(oneshot::Sender<Result<TableId>>, TableId),
    Erased(oneshot::Sender<Result<()>>),
}

impl Committer {
    /// Works until it is told to stop.
    pub fn run(mut self) {
        let mut jobs = vec![];
        // Once there is nothing left to let go of, the wait is for a job alone.
        let mut is_at_rest = false;
        loop {
            let taken = self.jobs.take(&mut jobs, is_at_rest);
            is_at_rest = matches!(taken, Taken::Idle) && !self.rest();
            if !jobs.is_empty() {
                self.commit_group(&mut jobs);
            }
            if matches!(taken, Taken::Last) {
                return self.close();
            }
        }
    }

    /// Makes the next opening fast and leaves a note for it. Everything acknowledged is durable already; the sync is for
    /// what need not be.
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
            tracing::error!(%error, "the log could not be synced when the store was closed");
            return;
        }
        crash_point::pass(Point::Closing);
        // Without the note the next opening only checks less.
        let _ = self.files.directory.mark_closed(self.state.last_version);
    }

    /// Lets go of what only a busy store needs; `false` if there was nothing. An old view keeps memory and files alive
    /// that background work has replaced.
    fn rest(&mut self) -> bool {
        self.recent.clear(self.number);
        let is_outdated = self.published.view().is_ok_and(|view| view.is_outdated());
        if is_outdated {
            self.published.publish(View::take(&self.files, self.number));
        }
        is_outdated || self.files.is_busy()
    }

    fn commit_group(&mut self, jobs: &mut Vec<Job>) {
        let count = jobs.len();
        let group = self.decide_group(jobs);
        let stopwatch = Stopwatch::start();
        let result = self.write(&group);
        let time = stopwatch.elapsed();
        self.jobs.note(count, time);
        if group.must_sync {
            self.health.group_commits.record(&COUNTS, group.commits);
            self.health.sync_time.record_time(time);
        }
        match &result {
            Ok(()) => drop(self.health.commits.fetch_add(group.commits, Ordering::Relaxed)),
            Err(Error::Unknown(why) | Error::Poisoned(why)) => self.health.set_poison(why.clone()),
            Err(other) => self.health.set_poison(other.to_string()),
        }
        crash_point::pass(Point::BeforeAnswer);
        group.answer(result);
        if self.files.memtable_bytes() > self.memtable_bytes {
            self.files.write_out();
        }
    }

    fn decide_group(&mut self, jobs: &mut Vec<Job>) -> Group {
        let mut group = Group::default();
        let ticks = self.clock.ticks();
        for job in jobs.drain(..) {
            match job {
                Job::Commit { commit, answer, place } => {
                    let applied = self.decide(&mut group, commit, ticks);
                    group.answers.push(Answer::Commit(answer, applied));
                    group.places.push(place);
                }
                Job::Adopt { adoption, answer, place } => {
                    let adopted = self.adopt(&mut group, adoption, ticks);
                    group.answers.push(Answer::Adopted(answer, adopted));
                    group.places.push(place);
                }
                Job::FreshTable { answer, place } => {
                    self.state.last_table.0 += 1;
                    group.must_sync = true;
                    group.answers.push(Answer::Table(answer, self.state.last_table));
                    group.places.push(place);
                }
                Job::Erase { keys, answer, place } => {
                    group.erases = true;
                    group.batch.extend(keys.into_iter().map(|key| (key, None)));
                    group.answers.push(Answer::Erased(answer));
                    group.places.push(place);
                }
                Job::Stop => {}
            }
        }
        group
    }

    fn decide(&mut self, group: &mut Group, commit: Commit, ticks: u64) -> Result<Applied> {
        let version = rules::next_version(ticks, self.state.last_version);
        let decided = match commit.decide(version, |key, seen| self.current(key, seen))? {
            Ok(decided) => decided,
            Err((index, reason)) => return Ok(Applied::Refused { index, reason }),
        };
        self.change(group, decided.changes);
        self.state.last_version = version;
        Ok(Applied::Done { version, updated: decided.updated })
    }

    /// The versions that it takes over are never given out: the last one is at least the greatest of them.
    fn adopt(&mut self, group: &mut Group, adoption: Adoption, ticks: u64) -> Result<Adopted> {
        let latest = Version(ticks.max(self.state.last_version.0));
        let changes = match adoption.decide(latest, |key| self.current(key, None))? {
            Ok(changes) => changes,
            Err((index, reason)) => return Ok(Adopted::Refused { index, reason }),
        };
        let versions = changes.iter().filter_map(|change| Some(change.state.as_ref()?.1.version));
        self.state.last_version = versions.fold(self.state.last_version, Version::max);
        if !changes.is_empty() {
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

    /// The state of a row after all that was decided so far.
    fn current(&self, key: &[u8], seen: Option<&Seen>) -> Result<Option<crate::cell::Cell>> {
        match self.recent.look(key, seen) {
            Known::State(cell) => Ok(cell),
            Known::Nothing => self.published.view()?.cell(key),
        }
    }

    /// Makes a group durable and shows it to readers.
    fn write(&mut self, group: &Group) -> Result<()> {
        if !group.must_sync && group.batch.is_empty() {
            // Only refusals, and what they rest on is published.
            return Ok(());
        }
        if let Some(why) = self.health.poison() {
            return Err(poisoned(why));
        }
        self.wait_for_room()?;
        if group.erases {
            crash_point::pass(Point::BeforeErase);
        }
        crash_point::pass_while(Point::BeforeCatalog, || group.changes_catalog());
        self.append(group)?;
        crash_point::pass(Point::AfterSync);
        crash_point::pass_while(Point::AfterCatalog, || group.changes_catalog());
        crash_point::pass_while(Point::WritingOut, || self.files.is_writing_out());
        crash_point::pass_while(Point::Merging, || self.files.db.active_compactions() > 0);
        self.number += 1;
        // Before anyone can have the view, so that no reader of it takes older rows for its own.
        self.files.scans.note_writes(self.number, group.batch.keys().map(|key| &**key));
        self.files.points.note_writes(self.number, group.batch.keys().map(|key| &**key));
        self.published.publish(View::take(&self.files, self.number));
        self.health.groups.fetch_add(1, Ordering::Relaxed);
        if group.erases {
            // Erased rows may be among those remembered.
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
        // Every batch, also one of rows that nobody misses: one that is not on the disk yet when a later one is synced could be
        // left with a hole by a loss of power, in front of a whole batch. That is how damage looks.
        self.log.commit(batch, self.durability).map_err(|error| match error {
            // It refuses before it writes anything, because background work has failed.
            fjall::Error::Poisoned => poisoned("writing sorted files has failed"),
            other => Error::Unknown(format!("writing the log failed: {other}")),
        })
    }

    /// Waits while background work is behind; an error if it has died.
    fn wait_for_room(&self) -> Result<()> {
        while self.files.is_behind() {
            if self.files.is_dead() {
                return Err(poisoned("writing sorted files has failed"));
            }
            std::thread::park_timeout(STALL_POLL);
        }
        Ok(())
    }
}

impl Group {
    fn changes_catalog(&self) -> bool {
        let prefix = keyspace::table_prefix(TableId::SYSTEM);
        self.batch.keys().any(|key| key.starts_with(&prefix))
    }

    /// Tells everyone what came of the group.
    fn answer(self, result: Result<()>) {
        for (index, answer) in self.answers.into_iter().enumerate() {
            if index == 1 {
                crash_point::pass(Point::AmidAnswers);
            }
            answer.send(&result);
        }
    }
}

impl Answer {
    fn send(self, result: &Result<()>) {
        // One who no longer waits does not want to know.
        match self {
            Answer::Commit(answer, applied) => drop(answer.send(match (applied, result) {
                (applied, Ok(())) => applied,
                // Nothing of this one was in the batch, whatever became of that.
                (Ok(Applied::Refused { .. }), Err(error)) => Err(poisoned(&error.to_string())),
                (Ok(Applied::Done { .. }), Err(error)) => Err(error.clone()),
                (Err(error), Err(_)) => Err(error),
            })),
            Answer::Adopted(answer, adopted) => drop(answer.send(match (adopted, result) {
                (adopted, Ok(())) => adopted,
                (Ok(Adopted::Refused { .. }), Err(error)) => Err(poisoned(&error.to_string())),
                (Ok(Adopted::Done), Err(error)) => Err(error.clone()),
                (Err(error), Err(_)) => Err(error),
            })),
            Answer::Table(answer, table) => drop(answer.send(result.clone().map(|()| table))),
            Answer::Erased(answer) => drop(answer.send(result.clone())),
        }
    }
}

/// Poisons the store when the committer's thread ends by a panic.
pub struct PanicGuard(pub Arc<Health>);

impl Drop for PanicGuard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.set_poison("the committer panicked".into());
        }
    }
}

#[cfg(test)]
mod tests;
