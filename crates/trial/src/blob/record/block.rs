//! Block blobs that are written, read and deleted completely, with conditions and leases.

use super::{BlobCondition, Output, holds};

/// Blobs that histories work on.
pub const BLOBS: usize = 3;

/// An operation of a client on a block blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockCall {
    /// Reads a blob.
    Get {
        /// Which one.
        blob: usize,
    },
    /// Writes a blob.
    Put {
        /// Which one.
        blob: usize,
        /// Its new value.
        value: u32,
        /// The condition on the blob.
        condition: BlobCondition,
        /// The lease id in the request.
        lease: Option<u32>,
    },
    /// Deletes a blob.
    Delete {
        /// Which one.
        blob: usize,
        /// The condition on the blob.
        condition: BlobCondition,
        /// The lease id in the request.
        lease: Option<u32>,
    },
    /// Acquires an infinite lease.
    Acquire {
        /// Which blob.
        blob: usize,
        /// The proposed id.
        id: u32,
    },
    /// Releases a lease.
    Release {
        /// Which blob.
        blob: usize,
        /// The id.
        id: u32,
    },
    /// Breaks a lease immediately.
    Break {
        /// Which blob.
        blob: usize,
    },
}

/// The lease of a blob.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ModelLease {
    /// There is none.
    #[default]
    Free,
    /// One is held.
    Held(u32),
    /// One was broken.
    Broken(u32),
}

impl ModelLease {
    /// The lease after a write: a broken lease is removed.
    fn written(self) -> Self {
        match self {
            ModelLease::Broken(_) | ModelLease::Free => ModelLease::Free,
            held => held,
        }
    }
}

/// A blob: its value, if it exists, and its lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Blob {
    value: Option<u32>,
    lease: ModelLease,
}

impl BlockCall {
    /// Does it have a condition?
    pub fn is_conditional(&self) -> bool {
        match self {
            BlockCall::Put { condition, .. } | BlockCall::Delete { condition, .. } => {
                *condition != BlobCondition::None
            }
            _ => false,
        }
    }

    /// The blob that it concerns.
    pub fn blob(&self) -> usize {
        match *self {
            BlockCall::Get { blob }
            | BlockCall::Put { blob, .. }
            | BlockCall::Delete { blob, .. }
            | BlockCall::Acquire { blob, .. }
            | BlockCall::Release { blob, .. }
            | BlockCall::Break { blob } => blob,
        }
    }

    /// The blob afterwards, and the expected response.
    pub fn apply(&self, blob: Blob) -> (Blob, Output) {
        if let BlockCall::Get { .. } = self {
            return (blob, Output::Value(blob.value));
        }
        self.change(blob).map_or((blob, Output::Rejected), |changed| (changed, Output::Applied))
    }

    /// The blob after a change; `None` if the change is rejected.
    fn change(&self, blob: Blob) -> Option<Blob> {
        match *self {
            BlockCall::Get { .. } => Some(blob),
            BlockCall::Put { value, condition, lease, .. } => {
                // The lease is checked first, and its holder may overwrite an existing blob, as in Azure.
                let is_holder = matches!(blob.lease, ModelLease::Held(id) if lease == Some(id));
                let may_create = condition == BlobCondition::Absent && is_holder;
                ((may_create || holds(condition, blob.value)) && permits(&blob, lease))
                    .then_some(Blob { value: Some(value), lease: blob.lease.written() })
            }
            BlockCall::Delete { condition, lease, .. } => {
                (blob.value.is_some() && holds(condition, blob.value) && permits(&blob, lease))
                    .then(Blob::default)
            }
            BlockCall::Acquire { id, .. } => {
                let is_free = matches!(blob.lease, ModelLease::Free | ModelLease::Broken(_))
                    || blob.lease == ModelLease::Held(id);
                (blob.value.is_some() && is_free).then_some(Blob { lease: ModelLease::Held(id), ..blob })
            }
            BlockCall::Release { id, .. } => {
                let is_own =
                    matches!(blob.lease, ModelLease::Held(held) | ModelLease::Broken(held) if held == id);
                (blob.value.is_some() && is_own).then_some(Blob { lease: ModelLease::Free, ..blob })
            }
            BlockCall::Break { .. } => match (blob.value, blob.lease) {
                (Some(_), ModelLease::Held(id) | ModelLease::Broken(id)) => {
                    Some(Blob { lease: ModelLease::Broken(id), ..blob })
                }
                _ => None,
            },
        }
    }
}

/// A leased blob can be written only with its lease, any other blob only without one.
fn permits(blob: &Blob, lease: Option<u32>) -> bool {
    match blob.lease {
        ModelLease::Held(id) => lease == Some(id),
        ModelLease::Free | ModelLease::Broken(_) => lease.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blob::record::BlobCall;
    use crate::linear::{HistoryEvent, SearchVerdict, check};

    fn put(value: u32, condition: BlobCondition, lease: Option<u32>) -> BlockCall {
        BlockCall::Put { blob: 0, value, condition, lease }
    }

    fn in_order(steps: &[(BlockCall, Output)]) -> SearchVerdict {
        let events: Vec<HistoryEvent<BlobCall>> = steps
            .iter()
            .enumerate()
            .map(|(at, (operation, output))| HistoryEvent {
                client: 0,
                start: 2 * at as u64,
                end: 2 * at as u64 + 1,
                operation: BlobCall::Block(operation.clone()),
                output: Some(output.clone()),
            })
            .collect();
        check(&events)
    }

    /// BL-02: of two writers with the same ETag, one is rejected.
    #[test]
    fn lost_updates_are_found() {
        let first = (put(1, BlobCondition::Absent, None), Output::Applied);
        let second = (put(2, BlobCondition::Is(1), None), Output::Applied);
        let late = |output| (put(3, BlobCondition::Is(1), None), output);
        assert_eq!(
            in_order(&[first.clone(), second.clone(), late(Output::Rejected)]),
            SearchVerdict::Ordered
        );
        assert_eq!(in_order(&[first, second, late(Output::Applied)]), SearchVerdict::Impossible);
    }

    /// The search gave up on histories with many unknown writes to several blobs, since it tried all
    /// combinations.
    #[test]
    fn blobs_are_searched_one_by_one() {
        let event = |start, end, operation, output| HistoryEvent { client: 0, start, end, operation, output };
        let mut events = Vec::new();
        for blob in 0..BLOBS {
            for value in 0..8 {
                let operation = BlockCall::Put { blob, value, condition: BlobCondition::None, lease: None };
                events.push(event(0, 10, BlobCall::Block(operation), None));
            }
        }
        assert_eq!(check(&events), SearchVerdict::Ordered);
        let never_written = Some(Output::Value(Some(9)));
        let read = BlobCall::Block(BlockCall::Get { blob: BLOBS - 1 });
        events.push(event(11, 12, read, never_written));
        assert_eq!(check(&events), SearchVerdict::Impossible);
    }

    #[test]
    fn a_second_holder_of_a_lease_is_found() {
        let first = (put(1, BlobCondition::None, None), Output::Applied);
        let acquire = |id, output| (BlockCall::Acquire { blob: 0, id }, output);
        let one = acquire(1, Output::Applied);
        assert_eq!(
            in_order(&[first.clone(), one.clone(), acquire(2, Output::Rejected)]),
            SearchVerdict::Ordered
        );
        assert_eq!(
            in_order(&[first.clone(), one.clone(), acquire(2, Output::Applied)]),
            SearchVerdict::Impossible
        );
        let broken = (BlockCall::Break { blob: 0 }, Output::Applied);
        let release = (BlockCall::Release { blob: 0, id: 1 }, Output::Applied);
        let steps = [first.clone(), one, broken, release.clone(), acquire(2, Output::Applied)];
        assert_eq!(in_order(&steps), SearchVerdict::Ordered);
        assert_eq!(in_order(&[first, release]), SearchVerdict::Impossible);
    }

    #[test]
    fn writes_to_a_leased_blob_without_its_lease_are_found() {
        let start = [
            (put(1, BlobCondition::None, None), Output::Applied),
            (BlockCall::Acquire { blob: 0, id: 1 }, Output::Applied),
        ];
        let then = |lease, output| [&start[..], &[(put(2, BlobCondition::None, lease), output)]].concat();
        assert_eq!(in_order(&then(None, Output::Rejected)), SearchVerdict::Ordered);
        assert_eq!(in_order(&then(Some(2), Output::Rejected)), SearchVerdict::Ordered);
        assert_eq!(in_order(&then(Some(1), Output::Applied)), SearchVerdict::Ordered);
        assert_eq!(in_order(&then(None, Output::Applied)), SearchVerdict::Impossible);
    }
}
