//! Knowledge about rows without reading files: rows in memtables, and rows that do not exist.
//!
//! Invariants:
//! - Nothing here reads a file. Filters of sorted files are used only where they are in memory already.
//! - A row is said to be absent only if no memtable of the view has it, and no sorted file of the view can have it.
//!   Files newer than the view must not be used: merging drops rows that are removed in the latest state, even if an
//!   older view still has them. The memtables are listed before the files, so that a memtable that is written to a file
//!   in between is not missed.
//! - It uses parts of the sorted store that are public but not guaranteed to be stable. If they change, the code does
//!   not compile; if their meaning changes, the suite that every engine runs fails, because every insert depends on it.

use std::sync::{Arc, Mutex, PoisonError};

use fjall::{AbstractTree as _, Keyspace, Slice};
use lsm_tree::table::filter::{block::FilterBlock, standard_bloom::Builder};
use lsm_tree::{GlobalTableId, Memtable, Table};

use crate::reads::Look;

/// Tells that no sorted file has a key, as far as that is known without reading any.
type Excludes = Arc<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// The rows in memory at one moment.
pub struct Resident {
    /// The youngest first.
    memtables: Vec<Arc<Memtable>>,
    /// None is missing.
    is_complete: bool,
    /// The number of the list of sorted files.
    list: u64,
    excludes: Excludes,
}

/// The rows in memory as of the last update.
#[derive(Default)]
pub struct Memtables(Mutex<Option<Arc<Resident>>>);

impl Memtables {
    /// The rows in memory now. Only for the thread that writes, between two batches.
    pub fn now(&self, rows: &Keyspace) -> Arc<Resident> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let youngest = rows.tree.active_memtable();
        // Count them after looking up the youngest: a memtable that is sealed in between is then counted, and treated
        // as missing.
        let sealed = rows.tree.sealed_memtable_count();
        let version = rows.tree.current_version();
        if let Some(known) = &*last
            && known.is_of(&youngest, sealed, version.id())
        {
            return Arc::clone(known);
        }
        let (list, tree) = (version.id(), rows.tree.id());
        let excludes: Excludes = Arc::new(move |key| {
            let hash = Builder::get_hash(key);
            let mut runs = version.iter_levels().flat_map(|level| level.iter());
            runs.all(|run| {
                let table = run.get_for_key(key);
                table.is_none_or(|table| is_excluded(table, (tree, table.id()).into(), hash))
            })
        });
        let before = last.as_ref().map_or(&[][..], |known| &known.memtables);
        let (memtables, is_complete) = followed_by(before, youngest, sealed);
        let resident = Arc::new(Resident { memtables, is_complete, list, excludes });
        *last = Some(Arc::clone(&resident));
        resident
    }
}

/// Updates the list of memtables, given the `youngest` and the number of older ones that are not in a sorted file yet;
/// `false` if some are missing. Memtables have consecutive numbers, which shows whether those seen before are still the
/// right ones.
fn followed_by(
    before: &[Arc<Memtable>],
    youngest: Arc<Memtable>,
    sealed: usize,
) -> (Vec<Arc<Memtable>>, bool) {
    let before = before.iter().filter(|known| known.id() < youngest.id());
    let memtables: Vec<Arc<Memtable>> =
        std::iter::once(&youngest).chain(before).take(sealed + 1).map(Arc::clone).collect();
    let is_gapless = memtables.windows(2).all(|pair| pair[0].id() == pair[1].id() + 1);
    let is_complete = memtables.len() == sealed + 1 && is_gapless;
    (memtables, is_complete)
}

impl Resident {
    /// Nothing has changed.
    fn is_of(&self, youngest: &Memtable, sealed: usize, list: u64) -> bool {
        let is_same = self.memtables.first().is_some_and(|known| known.id() == youngest.id());
        is_same && self.is_complete && self.memtables.len() == sealed + 1 && self.list == list
    }

    /// Looks up the value of a key for a snapshot.
    pub fn look(&self, key: &[u8], sequence: u64) -> Look<Option<Slice>> {
        for memtable in &self.memtables {
            match memtable.get(key, sequence) {
                Some(item) if item.is_tombstone() => return Look::Found(None),
                Some(item) => return Look::Found(Some(item.value)),
                // An older memtable may have it, but cannot be used if one in between was not seen.
                None if !self.is_complete => return Look::Cold,
                None => {}
            }
        }
        if self.is_complete && (self.excludes)(key) { Look::Found(None) } else { Look::Cold }
    }
}

/// Is the filter of a sorted file in memory, and does it exclude the key?
fn is_excluded(table: &Table, id: GlobalTableId, hash: u64) -> bool {
    // An unreadable filter is reported by the read of the file.
    let excludes = |filter: &FilterBlock| matches!(filter.maybe_contains_hash(hash), Ok(false));
    if let Some(filter) = &table.pinned_filter_block {
        return excludes(filter);
    }
    // A partitioned filter has a separate index, which only the sorted store can use.
    let handle = table.regions.filter.filter(|_| table.regions.filter_tli.is_none());
    let cached = handle.and_then(|handle| table.cache.get_block(id, handle.offset()));
    cached.is_some_and(|block| excludes(&FilterBlock::new(block)))
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use lazuli_engine::conformance::{Rng, delete, upsert};
    use lazuli_engine::{Condition, Engine, TableId};

    use crate::reads::Look;
    use crate::view::View;
    use crate::{Options, Store, keyspace};

    /// Rows known without files are equal to the rows in the files, in new views and in old ones, while memtables are
    /// written out and files are merged.
    #[tokio::test]
    async fn known_rows_equal_the_rows_in_files() {
        const ROWS: usize = 400;
        let table = TableId(3);
        let dir = tempfile::tempdir().unwrap();
        let options = Options { memtable_bytes: 32 * 1024, ..Options::default() };
        let store = Store::open(dir.path(), options).unwrap();
        let mut rng = Rng::new(5);
        let mut views: VecDeque<std::sync::Arc<View>> = VecDeque::new();
        let (mut found, mut absent, mut cold) = (0, 0, 0);
        for round in 0..600 {
            let value = format!("{round:0500}");
            let write = |row: usize, deletes: bool| {
                let row = row.to_string();
                if deletes { delete(&row, Condition::Any) } else { upsert(&row, &value) }
            };
            let writes = (0..8).map(|_| write(rng.below(ROWS), rng.one_in(3))).collect();
            store.apply(table, "p", writes).await.unwrap();
            views.push_back(store.published().view().unwrap());
            views.truncate(views.len().min(6));
            if rng.one_in(3) {
                views.pop_front();
            }
            for view in &views {
                // Twice as many keys as ever existed.
                let key = keyspace::row_key(table, "p", &rng.below(2 * ROWS).to_string());
                match (view.in_memory(&key).unwrap(), view.cell(&key).unwrap()) {
                    (Look::Found(known), stored) => {
                        assert_eq!(known, stored, "round {round}");
                        if known.is_some() { found += 1 } else { absent += 1 }
                    }
                    (Look::Cold, _) => cold += 1,
                }
            }
        }
        assert!(found > 50 && absent > 50 && cold > 50, "{found} {absent} {cold}");
        assert!(store.status().await.unwrap().metrics.iter().any(|metric| metric.name == "sorted_files"));
    }
}
