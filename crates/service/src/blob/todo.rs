//! The work list of the sweep: kept in memory, with a bound. A scan after the start finds everything else.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lazuli_engine::content::Piece;

use super::core::At;

const MIB: usize = 1024 * 1024;
/// Memory for waiting blobs, enough for some 60,000 with short names; beyond it a full scan is due.
const BLOBS_BYTES_MAX: usize = 24 * MIB;
/// Memory for blobs with something that expires; beyond it a scan is due.
const DUE_BYTES_MAX: usize = 16 * MIB;
/// Memory for pending copies of each of the two kinds; beyond it a scan is due.
const COPIES_BYTES_MAX: usize = 4 * MIB;
/// Memory for pieces that may not be referenced. Beyond it they stay until the next start.
const DOUBTS_BYTES_MAX: usize = 8 * MIB;
/// Memory for tags that may be out of date.
const TAGS_BYTES_MAX: usize = 8 * MIB;
/// Memory of an entry besides its strings: in a queue, and in the map of queued entries.
const ENTRY_BYTES: usize = 320;

/// Upper bound of the memory of the list.
pub const TODO_BYTES_MAX: usize =
    BLOBS_BYTES_MAX + DUE_BYTES_MAX + 2 * COPIES_BYTES_MAX + DOUBTS_BYTES_MAX + TAGS_BYTES_MAX;

/// Pieces of a failed upload.
#[derive(Clone, Debug)]
pub struct Doubt {
    /// The blob that they were for.
    pub at: At,
    /// The pieces.
    pub pieces: Vec<Piece>,
    /// The time at which they were found, in ticks; 0 if it is certain that no commit that refers to them is in
    /// progress.
    pub since: u64,
}

/// A tag that is in the index although the blob may no longer have it.
#[derive(Clone, Debug)]
pub struct StaleTag {
    /// The blob.
    pub at: At,
    /// The name of the tag.
    pub name: Box<str>,
    /// The value of the tag.
    pub value: Box<str>,
    /// The time at which this was found, in ticks.
    pub since: u64,
}

/// The work list of the sweep.
#[derive(Debug, Default)]
pub struct Todo(Mutex<List>);

/// The memory of one of the lists.
#[derive(Debug, Default)]
struct Room(usize);

impl Room {
    /// Claims a part, if the list stays within its bound.
    fn take(&mut self, bytes: usize, max: usize) -> bool {
        let is_free = self.0 + bytes <= max;
        if is_free {
            self.0 += bytes;
        }
        is_free
    }

    fn give_back(&mut self, bytes: usize) {
        self.0 = self.0.saturating_sub(bytes);
    }
}

/// The memory that a blob takes in a list.
fn cost(at: &At) -> usize {
    let origin = at.origin.as_ref().map_or(0, |origin| origin.home.len() + origin.container.len());
    ENTRY_BYTES + at.name.len() + origin
}

fn cost_of_doubt(doubt: &Doubt) -> usize {
    cost(&doubt.at) + doubt.pieces.capacity() * size_of::<Piece>()
}

fn cost_of_tag(tag: &StaleTag) -> usize {
    cost(&tag.at) + tag.name.len() + tag.value.len()
}

#[derive(Debug, Default)]
struct List {
    blobs: VecDeque<At>,
    blobs_room: Room,
    known: HashSet<At>,
    doubts: Vec<Doubt>,
    doubts_room: Room,
    copies: Copies,
    /// Copies from other servers.
    remote_copies: Copies,
    /// Ordered by time.
    tags: VecDeque<StaleTag>,
    tags_room: Room,
    /// Blobs with something that expires, by time and a number.
    due: BTreeMap<(u64, u64), At>,
    due_room: Room,
    /// The next time of each of them.
    due_of: HashMap<At, u64>,
    number: u64,
    /// Something was forgotten.
    overflowed: bool,
}

/// Pending copies.
#[derive(Debug, Default)]
struct Copies {
    blobs: VecDeque<At>,
    room: Room,
}

impl List {
    fn copies(&mut self, is_remote: bool) -> &mut Copies {
        if is_remote { &mut self.remote_copies } else { &mut self.copies }
    }
}

impl Todo {
    /// Records that a blob may have content, snapshots or blocks that are no longer in use.
    pub fn blob(&self, at: &At) {
        let mut list = self.lock();
        if list.known.contains(at) {
            return;
        }
        if !list.blobs_room.take(cost(at), BLOBS_BYTES_MAX) {
            list.overflowed = true;
            return;
        }
        list.known.insert(at.clone());
        list.blobs.push_back(at.clone());
    }

    /// Records that something of a blob expires at that time.
    pub fn due(&self, at: &At, ticks: u64) {
        if !self.remind(at, ticks) {
            self.overflow();
        }
    }

    /// Records that other processes will have stopped using something of a blob at that time. If there is no room for the
    /// record, the daily scan finds the blob.
    pub fn later(&self, at: &At, ticks: u64) {
        self.remind(at, ticks);
    }

    /// Records the time at which to sweep a blob again; `false` if there is no room.
    fn remind(&self, at: &At, ticks: u64) -> bool {
        let mut list = self.lock();
        if list.due_of.get(at).is_some_and(|known| *known <= ticks) {
            return true;
        }
        if !list.due_room.take(cost(at), DUE_BYTES_MAX) {
            return false;
        }
        list.number += 1;
        let number = list.number;
        list.due.insert((ticks, number), at.clone());
        list.due_of.insert(at.clone(), ticks);
        true
    }

    /// Queues the blobs with something that has expired by now.
    pub fn turn_to_due(&self, now: u64) {
        loop {
            let mut list = self.lock();
            let Some(entry) = list.due.first_entry().filter(|entry| entry.key().0 <= now) else { return };
            let at = entry.remove();
            list.due_of.remove(&at);
            list.due_room.give_back(cost(&at));
            drop(list);
            self.blob(&at);
        }
    }

    /// Takes the blob that has waited longest.
    pub fn next_blob(&self) -> Option<At> {
        let mut list = self.lock();
        let at = list.blobs.pop_front()?;
        list.known.remove(&at);
        list.blobs_room.give_back(cost(&at));
        Some(at)
    }

    /// Is there anything whose content may be freed, now or later?
    pub fn has_any(&self) -> bool {
        let list = self.lock();
        !list.blobs.is_empty() || !list.doubts.is_empty() || !list.due.is_empty()
    }

    /// Number of waiting blobs.
    pub fn len(&self) -> usize {
        self.lock().blobs.len()
    }

    /// Records pieces that may not be referenced by any row.
    pub fn doubt(&self, doubt: Doubt) {
        let mut list = self.lock();
        if list.doubts_room.take(cost_of_doubt(&doubt), DOUBTS_BYTES_MAX) {
            list.doubts.push(doubt);
        }
    }

    /// Takes pieces that are certainly unreferenced, or were recorded before `before`.
    pub fn ripe_doubts(&self, before: u64) -> Vec<Doubt> {
        let mut list = self.lock();
        let doubts = std::mem::take(&mut list.doubts);
        let (ripe, green): (Vec<_>, Vec<_>) = doubts.into_iter().partition(|doubt| doubt.since <= before);
        list.doubts = green;
        list.doubts_room.give_back(ripe.iter().map(cost_of_doubt).sum());
        ripe
    }

    /// Records that a blob may no longer have these tags. Beyond the bound they stay in the index until a
    /// search finds them.
    pub fn tags(&self, at: &At, pairs: Vec<(Box<str>, Box<str>)>, since: u64) {
        let mut list = self.lock();
        for (name, value) in pairs {
            let tag = StaleTag { at: at.clone(), name, value, since };
            if list.tags_room.take(cost_of_tag(&tag), TAGS_BYTES_MAX) {
                list.tags.push_back(tag);
            }
        }
    }

    /// Takes the tags that were found up to `before`, at most `max`.
    pub fn ripe_tags(&self, before: u64, max: usize) -> Vec<StaleTag> {
        let mut list = self.lock();
        let ripe = list.tags.iter().take(max).take_while(|stale| stale.since <= before).count();
        let ripe: Vec<_> = list.tags.drain(..ripe).collect();
        list.tags_room.give_back(ripe.iter().map(cost_of_tag).sum());
        ripe
    }

    /// Records that a copy to this blob is pending.
    pub fn copy(&self, at: At, is_remote: bool) {
        let mut list = self.lock();
        let copies = list.copies(is_remote);
        if copies.room.take(cost(&at), COPIES_BYTES_MAX) {
            copies.blobs.push_back(at);
        } else {
            list.overflowed = true;
        }
    }

    /// Takes the copy that has waited longest.
    pub fn next_copy(&self, is_remote: bool) -> Option<At> {
        let mut list = self.lock();
        let copies = list.copies(is_remote);
        let at = copies.blobs.pop_front()?;
        copies.room.give_back(cost(&at));
        Some(at)
    }

    /// Records that entries were dropped, so that a full scan is needed.
    pub fn overflow(&self) {
        self.lock().overflowed = true;
    }

    /// Were entries dropped? Resets the flag.
    pub fn take_overflow(&self) -> bool {
        std::mem::take(&mut self.lock().overflowed)
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use lazuli_engine::TableId;

    use super::*;
    use crate::blob::keyspace::Tables;

    fn at(number: usize, name_bytes: usize) -> At {
        let tables = Tables { blobs: TableId(1), staged: TableId(2), tags: TableId(3) };
        At::new(tables, &format!("{number:0name_bytes$}"))
    }

    fn bytes(todo: &Todo) -> [usize; 6] {
        let list = todo.lock();
        let rooms = [&list.blobs_room, &list.due_room, &list.copies.room, &list.remote_copies.room];
        let [blobs, due, copies, remote] = rooms.map(|room| room.0);
        [blobs, due, copies, remote, list.doubts_room.0, list.tags_room.0]
    }

    /// The list counted blobs, so that with long names it could take half a gigabyte.
    #[test]
    fn the_list_is_bounded_by_bytes_and_releases_them() {
        let todo = Todo::default();
        let piece = Piece { stream: 1, offset: 0, length: 1, crc: 0 };
        for number in 0..40_000 {
            let at = at(number, 3000);
            todo.blob(&at);
            todo.due(&at, 1);
            todo.copy(at.clone(), number % 2 == 0);
            todo.doubt(Doubt { at: at.clone(), pieces: vec![piece; 80], since: 0 });
            todo.tags(&at, vec![("name".into(), "value".into())], 1);
        }
        let used = bytes(&todo);
        assert!(used.iter().sum::<usize>() <= TODO_BYTES_MAX, "{used:?}");
        assert!(used.iter().all(|used| *used > 3 * MIB), "every list is full: {used:?}");
        assert!(todo.take_overflow(), "a scan finds what is missing");
        while todo.next_blob().is_some() {}
        while todo.next_copy(false).is_some() || todo.next_copy(true).is_some() {}
        todo.ripe_doubts(1);
        todo.ripe_tags(1, usize::MAX);
        todo.turn_to_due(1);
        while todo.next_blob().is_some() {}
        assert_eq!(bytes(&todo), [0; 6]);
    }
}
