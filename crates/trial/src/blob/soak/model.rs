//! The state of a blob, as known to its worker: its value, and whether it has uncommitted blocks.
//!
//! Invariant: a change whose response was lost was applied before its process ended, or never will
//! be. So the first read after the next start shows its outcome.

/// The value of a blob: the number that its content was derived from, or nothing.
pub(super) type Known = Option<u64>;

/// A change of a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Put Blob.
    Put(u64),
    /// Put Block.
    Stage,
    /// Put Block List.
    Commit(u64),
    /// Delete Blob.
    Delete,
}

impl Change {
    /// The value of a blob that has this value now.
    pub(super) fn applied_to(self, value: Known) -> Known {
        match self {
            Change::Put(next) | Change::Commit(next) => Some(next),
            Change::Stage => value,
            Change::Delete => None,
        }
    }
}

/// Does a blob have uncommitted blocks?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Blocks {
    #[default]
    None,
    /// The response to a change of these blocks was lost, and no later read proves whether the change was made: a block that
    /// was stored, but not announced before the server process ended, is announced by a sweep some minutes later.
    Perhaps,
    Some,
}

/// A blob.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SoakBlob {
    pub(super) value: Known,
    blocks: Blocks,
}

impl SoakBlob {
    /// The statuses with which a change can succeed. A blob that has only uncommitted blocks can be deleted, although reads
    /// do not find it.
    pub(super) fn expects(&self, change: Change) -> &'static [u16] {
        match (change, self.value, self.blocks) {
            (Change::Put(_) | Change::Stage | Change::Commit(_), ..) => &[201],
            (Change::Delete, Some(_), _) | (Change::Delete, None, Blocks::Some) => &[202],
            (Change::Delete, None, Blocks::Perhaps) => &[202, 404],
            (Change::Delete, None, Blocks::None) => &[404],
        }
    }

    /// A change got one of these statuses.
    pub(super) fn change(&mut self, change: Change, status: u16) {
        let deletes_blocks = change == Change::Delete && self.value.is_none() && status == 202;
        self.value = change.applied_to(self.value);
        self.blocks = match (change, self.blocks) {
            (Change::Stage, _) => Blocks::Some,
            (_, Blocks::Perhaps) if !deletes_blocks => Blocks::Perhaps,
            _ => Blocks::None,
        };
    }

    /// Records that the response to a change was lost and a read from the next process returned this value.
    /// `false` if the blob cannot have it.
    pub(super) fn settle(&mut self, change: Change, found: Known) -> bool {
        let next = change.applied_to(self.value);
        if found == next && next != self.value {
            self.change(change, 0);
            return true;
        }
        // Nothing visible has changed.
        self.blocks = match (change, self.blocks) {
            (Change::Stage, Blocks::None) | (Change::Delete, Blocks::Some) if next == self.value => {
                Blocks::Perhaps
            }
            (_, blocks) => blocks,
        };
        found == self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blob(changes: &[Change]) -> SoakBlob {
        let mut blob = SoakBlob::default();
        changes.iter().for_each(|change| blob.change(*change, blob.expects(*change)[0]));
        blob
    }

    /// The soak treated a blob with uncommitted blocks as missing, so its deletion was reported as that of a
    /// blob that had appeared late.
    #[test]
    fn a_blob_of_uncommitted_blocks_can_be_deleted() {
        let mut blob = blob(&[Change::Stage]);
        assert!(blob.settle(Change::Commit(7), None), "the list was not committed");
        assert_eq!((blob.value, blob.expects(Change::Delete)), (None, &[202][..]));
        blob.change(Change::Delete, 202);
        assert_eq!(blob.expects(Change::Delete), [404]);
    }

    #[test]
    fn a_lost_block_is_perhaps_there() {
        let mut blob = SoakBlob::default();
        assert!(blob.settle(Change::Stage, None));
        assert_eq!(blob.expects(Change::Delete), [202, 404]);
        blob.change(Change::Delete, 404);
        assert_eq!(blob.expects(Change::Delete), [202, 404], "it may not be announced yet");
        blob.change(Change::Delete, 202);
        assert_eq!(blob.expects(Change::Delete), [404]);
    }

    #[test]
    fn a_change_that_drops_uncommitted_blocks_drops_announced_ones_for_certain() {
        for change in [Change::Put(8), Change::Commit(8)] {
            let mut blob = blob(&[Change::Stage, change, Change::Delete]);
            assert_eq!(blob, SoakBlob::default());
            assert!(blob.settle(Change::Stage, None));
            blob.change(Change::Stage, 201);
            assert!(blob.settle(change, Some(8)));
            blob.change(Change::Delete, 202);
            assert_eq!(blob.expects(Change::Delete), [404]);
        }
    }

    /// An unknown change could take effect at any time, even if the first read after a restart had not shown it.
    #[test]
    fn a_lost_change_does_not_appear_after_a_read_without_it() {
        for change in [Change::Put(8), Change::Commit(8)] {
            for before in [SoakBlob::default(), blob(&[Change::Put(7)])] {
                let mut blob = before;
                assert!(blob.settle(change, before.value));
                assert_eq!(blob, before, "it was not applied");
                assert!(blob.settle(change, Some(8)));
                assert_eq!(blob.value, Some(8));
                assert!(!blob.settle(Change::Put(9), before.value), "an acknowledged value is lost");
            }
        }
        let mut blob = blob(&[Change::Put(7)]);
        assert!(blob.settle(Change::Delete, None));
        assert_eq!(blob, SoakBlob::default());
    }
}
