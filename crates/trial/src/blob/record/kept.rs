//! A blob in an account with versioning, or with soft delete of blobs and snapshots.

use super::block::BLOBS;
use super::{BlobCondition, Output, holds};

/// What an account keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeping {
    /// Every state of a blob is kept as a version. A deleted version can be restored.
    Versions,
    /// Deleted blobs and, as deleted snapshots, replaced states.
    Deleted,
}

impl Keeping {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Keeping::Versions, Keeping::Deleted];

    /// The object of the blob in an account with this kind of retention.
    pub fn object(self) -> usize {
        BLOBS + 3 + self as usize
    }
}

/// An operation of a client on the blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptCall {
    /// Reads the blob.
    Get,
    /// Reads the version or snapshot that this change left behind.
    GetPast {
        /// The change.
        number: u32,
    },
    /// Lists everything that is kept.
    List,
    /// Writes the blob.
    Put {
        /// The change, and the new content.
        number: u32,
        /// What it must be.
        condition: BlobCondition,
    },
    /// Deletes the blob.
    Delete {
        /// What it must be.
        condition: BlobCondition,
        /// Deletes its snapshots, too. Otherwise, the blob must not have any.
        takes_snapshots: bool,
    },
    /// Deletes a version or snapshot.
    DeletePast {
        /// The change that left it behind.
        number: u32,
    },
    /// Deletes a deleted version or snapshot permanently.
    Purge {
        /// The change that left it behind.
        number: u32,
    },
    /// Restores everything that is deleted.
    Undelete,
}

/// How a listing shows a state of the blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeptState {
    /// As the blob.
    Current,
    /// As the deleted blob.
    DeletedBlob,
    /// As a version or snapshot.
    Past,
    /// As a deleted version or snapshot.
    DeletedPast,
}

/// The blob with all its retained states. Each state is identified by the change that wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct KeptBlob {
    current: Option<u32>,
    /// The deleted blob, unless there are versions.
    deleted: Option<u32>,
    /// Versions or snapshots, the oldest first, and whether each is deleted.
    past: Vec<(u32, bool)>,
}

impl KeptCall {
    /// Changes the blob. Returns the expected response.
    pub fn apply(&self, keeping: Keeping, blob: &mut KeptBlob) -> Output {
        match *self {
            KeptCall::Get => Output::Value(blob.current),
            KeptCall::GetPast { number } => Output::Value(blob.has(keeping, number).then_some(number)),
            KeptCall::List => Output::Kept(blob.listed()),
            KeptCall::Put { number, condition } if holds(condition, blob.current) => {
                blob.keep(keeping);
                blob.current = Some(number);
                Output::Applied
            }
            KeptCall::Delete { condition, takes_snapshots }
                if blob.current.is_some()
                    && holds(condition, blob.current)
                    && (takes_snapshots || !blob.has_snapshots(keeping)) =>
            {
                match keeping {
                    Keeping::Versions => blob.keep(keeping),
                    Keeping::Deleted => {
                        blob.deleted = blob.current.take();
                        blob.past.iter_mut().for_each(|(_, is_deleted)| *is_deleted = true);
                    }
                }
                Output::Applied
            }
            KeptCall::DeletePast { number } => match blob.find(number, false) {
                Some(at) => {
                    blob.past[at].1 = true;
                    Output::Applied
                }
                None => Output::Rejected,
            },
            KeptCall::Purge { number } => match blob.find(number, true) {
                Some(at) => {
                    blob.past.remove(at);
                    Output::Applied
                }
                None => Output::Rejected,
            },
            // Whether a blob without any remaining state can be restored depends on the sweep.
            KeptCall::Undelete if keeping == Keeping::Versions || blob.exists() => {
                blob.current = blob.current.or(blob.deleted.take());
                blob.past.iter_mut().for_each(|(_, is_deleted)| *is_deleted = false);
                Output::Applied
            }
            _ => Output::Rejected,
        }
    }
}

impl KeptBlob {
    /// Retains the state that is replaced or deleted.
    fn keep(&mut self, keeping: Keeping) {
        let replaced = self.current.take().or(self.deleted.take());
        self.past.extend(replaced.map(|number| (number, keeping == Keeping::Deleted)));
    }

    /// Can this state be read as a version or snapshot? The current version is the blob itself.
    fn has(&self, keeping: Keeping, number: u32) -> bool {
        let is_current = keeping == Keeping::Versions && self.current == Some(number);
        is_current || self.find(number, false).is_some()
    }

    fn has_snapshots(&self, keeping: Keeping) -> bool {
        keeping == Keeping::Deleted && self.past.iter().any(|(_, is_deleted)| !is_deleted)
    }

    fn exists(&self) -> bool {
        self.current.is_some() || self.deleted.is_some()
    }

    fn find(&self, number: u32, is_deleted: bool) -> Option<usize> {
        self.past.iter().position(|past| *past == (number, is_deleted))
    }

    fn listed(&self) -> Vec<(u32, KeptState)> {
        let state = |is_deleted| if is_deleted { KeptState::DeletedPast } else { KeptState::Past };
        let past = self.past.iter().map(|(number, is_deleted)| (*number, state(*is_deleted)));
        let current = self.current.map(|number| (number, KeptState::Current));
        past.chain(current).chain(self.deleted.map(|number| (number, KeptState::DeletedBlob))).collect()
    }
}
