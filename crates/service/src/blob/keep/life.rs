//! The life of a snapshot or version: it exists, is deleted but can be restored, or no longer exists.

use lazuli_model::DateTime;
use lazuli_model::blob::protection::DeletedInfo;

use super::DAY_TICKS;
use crate::blob::record::{Deleted, Head, Marks, Revision, time};

/// The state of a row of a snapshot or version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// It exists.
    Live,
    /// It is deleted and can be restored.
    Deleted(Deleted),
    /// It is permanently deleted; its row remains to be cleaned up.
    Gone,
}

impl Life {
    /// The life of a snapshot.
    pub fn of_snapshot(marks: &Marks, has_blob: bool, ticks: u64, row: &Revision, now: u64) -> Self {
        let batch = marks.kept.batch.filter(|_| ticks <= marks.kept.floor);
        match (Self::own(marks, row.deleted, now), Self::own(marks, batch, now)) {
            // Its own deletion determines how long it is kept, independently of the others.
            (Some(own), _) => own,
            (None, _) if ticks <= marks.snapshots.floor => Life::Gone,
            (None, Some(batch)) => batch,
            (None, None) if has_blob => Life::Live,
            (None, None) => Life::Gone,
        }
    }

    /// The life of a version.
    pub fn of_version(marks: &Marks, row: &Revision, now: u64) -> Self {
        Self::own(marks, row.deleted, now).unwrap_or(Life::Live)
    }

    /// The life after one deletion; `None` if there was no deletion, or if it was undone.
    fn own(marks: &Marks, deleted: Option<Deleted>, now: u64) -> Option<Self> {
        let deleted = deleted.filter(|deleted| deleted.at > marks.kept.restored)?;
        Some(if deleted.until > now { Life::Deleted(deleted) } else { Life::Gone })
    }

    /// Does it exist?
    pub fn is_live(self) -> bool {
        self == Life::Live
    }
}

impl Head {
    /// The deleted blob, if it can still be restored.
    pub fn restorable(&self, now: u64) -> Option<&Revision> {
        self.deleted.as_deref().filter(|blob| blob.deleted.is_some_and(|deleted| deleted.until > now))
    }
}

impl Deleted {
    /// The deletion, as shown in listings.
    pub fn info(self, now: u64) -> DeletedInfo {
        let days = self.until.saturating_sub(now) / DAY_TICKS;
        let time: DateTime = time(self.at);
        DeletedInfo { time, remaining_days: u32::try_from(days).unwrap_or(u32::MAX) }
    }
}

#[cfg(test)]
mod tests {
    use lazuli_model::blob::BlobKind;

    use super::*;
    use crate::blob::record::{KeptMarks, SnapshotMarks};

    fn row(deleted: Option<(u64, u64)>) -> Revision {
        let deleted = deleted.map(|(at, until)| Deleted { at, until });
        Revision { deleted, ..Revision::new(BlobKind::Block, 1) }
    }

    #[test]
    fn the_life_of_a_snapshot() {
        let none = Marks::default();
        let marks = |floor, kept: KeptMarks| Marks {
            snapshots: SnapshotMarks { floor, ..SnapshotMarks::default() },
            kept,
            ..Marks::default()
        };
        let batch =
            KeptMarks { floor: 5, batch: Some(Deleted { at: 10, until: 100 }), ..KeptMarks::default() };
        let restored = KeptMarks { restored: 11, ..batch };
        let kept = |at, until| Life::Deleted(Deleted { at, until });
        for (marks, has_blob, ticks, deleted, now, expected) in [
            (none, true, 5, None, 50, Life::Live),
            (none, false, 5, None, 50, Life::Gone),
            (none, true, 5, Some((7, 60)), 50, kept(7, 60)),
            (none, true, 5, Some((7, 60)), 60, Life::Gone),
            (marks(5, KeptMarks::default()), true, 5, None, 50, Life::Gone),
            (marks(5, KeptMarks::default()), true, 5, Some((7, 60)), 50, kept(7, 60)),
            (marks(0, batch), false, 5, None, 50, kept(10, 100)),
            (marks(0, batch), false, 5, None, 100, Life::Gone),
            (marks(0, batch), true, 6, None, 50, Life::Live),
            (marks(0, restored), true, 5, None, 50, Life::Live),
            (marks(0, restored), true, 5, Some((7, 60)), 70, Life::Live),
            (marks(0, restored), true, 5, Some((12, 60)), 50, kept(12, 60)),
        ] {
            assert_eq!(Life::of_snapshot(&marks, has_blob, ticks, &row(deleted), now), expected);
        }
    }

    #[test]
    fn remaining_days_are_whole_days() {
        let deleted = Deleted { at: 0, until: 2 * DAY_TICKS };
        for (now, days) in [(0, 2), (1, 1), (DAY_TICKS, 1), (DAY_TICKS + 1, 0), (9 * DAY_TICKS, 0)] {
            assert_eq!(deleted.info(now).remaining_days, days);
        }
    }
}
