//! Snapshots and copies: each shows one write that was visible in its blob at that time, and always the same
//! one.

use std::collections::BTreeMap;

use super::Checked;
use crate::network::Fate;

/// A snapshot or a copy.
#[derive(Clone, Copy, Debug)]
struct Made {
    /// The last acknowledged write of the blob before its creation.
    floor: u64,
    /// The last write of the blob that had started when it was created.
    last: u64,
    fate: Option<Fate>,
}

/// Snapshots by name, and the copies under each name, in order.
#[derive(Default)]
pub struct DerivedLedger {
    snapshots: BTreeMap<(String, String), (Made, Option<u64>)>,
    copies: BTreeMap<String, Vec<Made>>,
}

impl DerivedLedger {
    /// Records a snapshot of a blob: its request started at write `floor` and ended at write `last`.
    pub fn snapshot(&mut self, blob: &str, snapshot: &str, floor: u64, last: u64) {
        let made = Made { floor, last, fate: Some(Fate::Applied) };
        self.snapshots.insert((blob.into(), snapshot.into()), (made, None));
    }

    /// The snapshots of a blob, each with the last write that was acknowledged before the snapshot.
    pub fn snapshots(&self, blob: &str) -> Vec<(String, u64)> {
        let of_blob = self.snapshots.iter().filter(|((of, _), _)| of == blob);
        of_blob.map(|((_, snapshot), (made, _))| (snapshot.clone(), made.floor)).collect()
    }

    /// Checks the write that a snapshot shows: one that was visible at the time, and the same one every time.
    pub fn check_snapshot(&mut self, blob: &str, snapshot: &str, seen: u64) -> Checked {
        let Some((made, shown)) = self.snapshots.get_mut(&(blob.into(), snapshot.into())) else {
            return Ok(());
        };
        if shown.is_some_and(|shown| shown != seen) {
            return Err(format!(
                "snapshot {snapshot} of {blob} shows write {seen}, and has shown {shown:?} before"
            ));
        }
        *shown = Some(seen);
        if seen < made.floor || seen > made.last {
            return Err(format!("snapshot {snapshot} of {blob} shows write {seen}: {made:?}"));
        }
        Ok(())
    }

    /// Records the start of a copy to this name. Returns the number of the copy.
    pub fn copying(&mut self, copy: &str, floor: u64) -> usize {
        let copies = self.copies.entry(copy.into()).or_default();
        copies.push(Made { floor, last: u64::MAX, fate: None });
        copies.len() - 1
    }

    /// Records the end of a copy. `last` is the last write to its source that had started.
    pub fn copied(&mut self, copy: &str, number: usize, last: u64, fate: Fate) {
        if let Some(made) = self.copies.get_mut(copy).and_then(|copies| copies.get_mut(number)) {
            made.fate = Some(fate);
            // A copy of unknown outcome may read its source later.
            made.last = if fate == Fate::Applied { last } else { u64::MAX };
        }
    }

    /// The number of the last acknowledged copy to this name.
    pub fn copy_floor(&self, copy: &str) -> usize {
        let copies = self.copies.get(copy).map(Vec::as_slice).unwrap_or_default();
        copies.iter().rposition(|made| made.fate == Some(Fate::Applied)).unwrap_or(0)
    }

    /// Checks a read that started at copy `floor`: it shows a write of the source, or nothing.
    pub fn check_copy(&self, copy: &str, floor: usize, seen: Option<u64>) -> Checked {
        let copies = self.copies.get(copy).map(Vec::as_slice).unwrap_or_default();
        let is_possible = match seen {
            None => !copies.iter().any(|made| made.fate == Some(Fate::Applied)),
            Some(seen) => copies
                .iter()
                .skip(floor)
                .any(|made| made.fate != Some(Fate::Rejected) && made.floor <= seen && seen <= made.last),
        };
        if is_possible {
            Ok(())
        } else {
            Err(format!("{copy} shows {seen:?} after copy {floor} of {copies:?}"))
        }
    }
}
