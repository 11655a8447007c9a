//! The work list of the sweep: kept in memory, with a bound. A scan after the start finds everything else.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lazuli_engine::content::Piece;

use super::core::At;

/// Maximum blobs remembered; beyond it a scan of all rows is needed.
const BLOBS_MAX: usize = 100_000;
/// Maximum pieces remembered that may or may not be named. Beyond it they stay until the next start.
const DOUBTS_MAX: usize = 10_000;
/// Maximum tags remembered that may be out of date.
const TAGS_MAX: usize = 100_000;

/// Pieces of an upload that did not succeed.
#[derive(Clone, Debug)]
pub struct Doubt {
    /// The blob that they were for.
    pub at: At,
    /// The pieces.
    pub pieces: Vec<Piece>,
    /// When they were found, in ticks; 0 if it is certain that no commit that names them is under way.
    pub since: u64,
}

/// A tag that a blob may no longer have, while the index still has it.
#[derive(Clone, Debug)]
pub struct StaleTag {
    /// The blob.
    pub at: At,
    /// The name of the tag.
    pub name: Box<str>,
    /// The value of the tag.
    pub value: Box<str>,
    /// When this was found, in ticks.
    pub since: u64,
}

/// The work list of the sweep.
#[derive(Debug, Default)]
pub struct Todo(Mutex<List>);

#[derive(Debug, Default)]
struct List {
    blobs: VecDeque<At>,
    known: HashSet<At>,
    doubts: Vec<Doubt>,
    copies: VecDeque<At>,
    /// Copies from other servers.
    remote_copies: VecDeque<At>,
    /// In the order of time.
    tags: VecDeque<StaleTag>,
    /// Blobs with something that expires, by time and a number.
    due: BTreeMap<(u64, u64), At>,
    /// The next time of each of them.
    due_of: HashMap<At, u64>,
    number: u64,
    /// Something was forgotten.
    overflowed: bool,
}

impl List {
    fn copies(&mut self, is_remote: bool) -> &mut VecDeque<At> {
        if is_remote { &mut self.remote_copies } else { &mut self.copies }
    }
}

impl Todo {
    /// A blob may have content, snapshots or blocks that are no longer in use.
    pub fn blob(&self, at: &At) {
        let mut list = self.lock();
        if list.known.contains(at) {
            return;
        }
        if list.blobs.len() >= BLOBS_MAX {
            list.overflowed = true;
            return;
        }
        list.known.insert(at.clone());
        list.blobs.push_back(at.clone());
    }

    /// Something of a blob expires at that time.
    pub fn due(&self, at: &At, ticks: u64) {
        let mut list = self.lock();
        if list.due_of.get(at).is_some_and(|known| *known <= ticks) {
            return;
        }
        if list.due.len() >= BLOBS_MAX {
            list.overflowed = true;
            return;
        }
        list.number += 1;
        let number = list.number;
        list.due.insert((ticks, number), at.clone());
        list.due_of.insert(at.clone(), ticks);
    }

    /// Queues the blobs with something that has expired by now.
    pub fn turn_to_due(&self, now: u64) {
        loop {
            let mut list = self.lock();
            let Some(entry) = list.due.first_entry().filter(|entry| entry.key().0 <= now) else { return };
            let at = entry.remove();
            list.due_of.remove(&at);
            drop(list);
            self.blob(&at);
        }
    }

    /// Takes the blob that has waited longest.
    pub fn next_blob(&self) -> Option<At> {
        let mut list = self.lock();
        let at = list.blobs.pop_front()?;
        list.known.remove(&at);
        Some(at)
    }

    /// Number of blobs that wait.
    pub fn len(&self) -> usize {
        self.lock().blobs.len()
    }

    /// Notes pieces that may be named by no row.
    pub fn doubt(&self, doubt: Doubt) {
        let mut list = self.lock();
        if list.doubts.len() < DOUBTS_MAX {
            list.doubts.push(doubt);
        }
    }

    /// Takes pieces that are certainly unnamed, or were noted before `before`.
    pub fn ripe_doubts(&self, before: u64) -> Vec<Doubt> {
        let mut list = self.lock();
        let doubts = std::mem::take(&mut list.doubts);
        let (ripe, green) = doubts.into_iter().partition(|doubt| doubt.since <= before);
        list.doubts = green;
        ripe
    }

    /// A blob may no longer have these tags. Beyond the bound they stay in the index until a search comes across them.
    pub fn tags(&self, at: &At, pairs: Vec<(Box<str>, Box<str>)>, since: u64) {
        let mut list = self.lock();
        for (name, value) in pairs {
            if list.tags.len() < TAGS_MAX {
                list.tags.push_back(StaleTag { at: at.clone(), name, value, since });
            }
        }
    }

    /// Takes the tags that were found up to `before`, at most `max`.
    pub fn ripe_tags(&self, before: u64, max: usize) -> Vec<StaleTag> {
        let mut list = self.lock();
        let ripe = list.tags.iter().take(max).take_while(|stale| stale.since <= before).count();
        list.tags.drain(..ripe).collect()
    }

    /// A copy to this blob is pending.
    pub fn copy(&self, at: At, is_remote: bool) {
        let mut list = self.lock();
        let copies = list.copies(is_remote);
        if copies.len() >= BLOBS_MAX {
            list.overflowed = true;
        } else {
            copies.push_back(at);
        }
    }

    /// Takes the copy that has waited longest.
    pub fn next_copy(&self, is_remote: bool) -> Option<At> {
        self.lock().copies(is_remote).pop_front()
    }

    /// Something was forgotten: a scan is needed.
    pub fn overflow(&self) {
        self.lock().overflowed = true;
    }

    /// Was something forgotten? Resets the flag.
    pub fn take_overflow(&self) -> bool {
        std::mem::take(&mut self.lock().overflowed)
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
