//! Concurrent deletions of messages of one queue share a commit: see [`super::line`].
//!
//! Invariant: each deletion succeeds or fails by its own receipt. A commit of several fails as a
//! whole if one of the receipts is invalid; then each gets a separate commit, and these run concurrently. So a
//! client with wrong receipts does not make the others wait for a series of commits.

use std::sync::Arc;

use lazuli_engine::{Applied, Change, Condition, Engine, Error, Reason, TableId, Write};
use lazuli_model::ErrorCode;
use lazuli_model::queue::operation::MessageTarget;

use super::QueueState;
use super::line::{ChangeLine, JointCommit};
use super::record::{PARTITION, message_key};
use super::update::{Removal, count};
use super::window::Window;
use crate::Result;

/// A message to delete.
#[derive(Clone, Copy)]
pub struct MessageDeletion {
    next_visible: u64,
    sequence: u64,
    removal: Removal,
}

impl MessageDeletion {
    /// The message of a request, in the state that its receipt was issued for.
    pub fn of(target: &MessageTarget) -> Self {
        let receipt = &target.receipt;
        Self {
            next_visible: receipt.next_visible.ticks(),
            sequence: receipt.sequence,
            removal: Removal { id: target.id, nonce: receipt.nonce, now: 0 },
        }
    }
}

/// The outcome of a commit of one or more deletions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JointDeletion {
    /// The messages are gone.
    Done,
    /// Nothing was changed, because one of the receipts is invalid.
    Undecided,
}

/// Deletes messages of one queue.
#[derive(Clone)]
pub struct Deleter {
    pub engine: Arc<dyn Engine>,
    pub queues: Arc<QueueState>,
    pub queue: TableId,
    pub window: Arc<Window>,
}

impl JointCommit for Deleter {
    type Change = MessageDeletion;
    type Done = JointDeletion;

    fn line(&self) -> &ChangeLine<Self> {
        &self.window.deletes
    }

    fn bytes(_: &MessageDeletion) -> usize {
        0
    }

    async fn commit(&self, deletions: &mut [&mut MessageDeletion]) -> Result<Vec<JointDeletion>> {
        let deletions: Vec<MessageDeletion> = deletions.iter().map(|deletion| **deletion).collect();
        let outcome = match self.queues.remove(&*self.engine, self.queue, &deletions).await? {
            Applied::Done { .. } => JointDeletion::Done,
            rejected if deletions.len() == 1 => return Err(rejection(&rejected)),
            Applied::Rejected { .. } => JointDeletion::Undecided,
        };
        Ok(vec![outcome; deletions.len()])
    }
}

impl QueueState {
    /// Deletes one message in a separate commit.
    pub async fn delete(&self, engine: &dyn Engine, queue: TableId, deletion: MessageDeletion) -> Result<()> {
        match self.remove(engine, queue, &[deletion]).await? {
            Applied::Done { .. } => Ok(()),
            rejected => Err(rejection(&rejected)),
        }
    }

    /// One commit that removes all of these messages, or none if one of them is not in the state that its
    /// receipt was issued for.
    async fn remove(
        &self,
        engine: &dyn Engine,
        queue: TableId,
        deletions: &[MessageDeletion],
    ) -> Result<Applied> {
        let now = self.tickets.now();
        let mut writes = Vec::with_capacity(deletions.len() + 1);
        for MessageDeletion { next_visible, sequence, removal } in deletions {
            writes.push(Write {
                row: message_key(*next_visible, *sequence).into(),
                condition: Condition::Exists,
                change: Change::Update(Arc::new(Removal { now, ..*removal })),
            });
        }
        let removed = i64::try_from(deletions.len()).unwrap_or(i64::MAX);
        writes.push(count(deletions.first().map_or(0, |first| first.sequence), -removed));
        let applied = engine.apply(queue, PARTITION, writes).await?;
        if let Applied::Done { version, .. } = applied {
            self.tickets.observe(version);
        }
        Ok(applied)
    }
}

/// The error of a deletion that was alone in its commit.
fn rejection(applied: &Applied) -> crate::Error {
    match applied {
        Applied::Rejected { reason: Reason::Missing | Reason::Rejected(_), .. } => {
            ErrorCode::MessageNotFound.into()
        }
        _ => Error::Conflict.into(),
    }
}
