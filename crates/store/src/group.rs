//! A group of commits: written in one batch and made durable by one sync.
//!
//! Invariant: a group of several jobs stays within [`GROUP_BYTES_MAX`], so that one batch of the log is at most
//! one large commit.

use std::collections::HashMap;

use bytes::Bytes;
use lazuli_engine::{Adopted, Applied, Reason, Result, TableId};
use tokio::sync::oneshot;

use crate::committer::Late;
use crate::crash_point::{self, Point};
use crate::error::poisoned;
use crate::keyspace;
use crate::limits::{GROUP_BYTES_MAX, GROUP_COMMITS_MAX, WRITE_BYTES};
use crate::permit::Permit;

/// A group that is being assembled.
#[derive(Default)]
pub struct Group {
    /// The last state of each row it changes.
    pub batch: HashMap<Bytes, Option<Bytes>>,
    /// Upper bound of the bytes of `batch` in the log.
    pub bytes: usize,
    /// Does a caller wait for it to be durable, even if it changes no row?
    pub must_sync: bool,
    /// Are some of the rows erased?
    pub erases: bool,
    /// Commits in it.
    pub commits: u64,
    /// Commits that were rejected, because others have changed their rows.
    pub rejections: usize,
    replies: Vec<(PendingReply, Permit)>,
}

/// The result for a caller once the group is durable.
pub enum PendingReply {
    Commit(oneshot::Sender<Result<Applied>>, Result<Applied>),
    Adopted(oneshot::Sender<Result<Adopted>>, Result<Adopted>),
    Table(oneshot::Sender<Result<TableId>>, TableId),
    Erased(oneshot::Sender<Result<()>>),
}

impl Group {
    /// The number of its jobs.
    pub fn jobs(&self) -> usize {
        self.replies.len()
    }

    /// Can it take any job at all?
    pub fn has_room(&self) -> bool {
        self.jobs() < GROUP_COMMITS_MAX && self.bytes < GROUP_BYTES_MAX
    }

    /// Can it take a job that writes this many bytes? The first one is always taken.
    pub fn fits(&self, bytes: usize) -> bool {
        self.bytes == 0 || self.bytes + bytes <= GROUP_BYTES_MAX
    }

    /// Adds keys of rows to erase.
    pub fn erase(&mut self, keys: Vec<Bytes>) {
        self.bytes += erase_bytes(&keys);
        self.erases = true;
        self.batch.extend(keys.into_iter().map(|key| (key, None)));
    }

    /// Adds a result for a caller. Its permit is released with it.
    pub fn promise(&mut self, reply: PendingReply, permit: Permit) {
        self.rejections += usize::from(reply.has_lost());
        self.replies.push((reply, permit));
    }

    /// Does it change the system table?
    pub fn changes_catalog(&self) -> bool {
        let prefix = keyspace::table_prefix(TableId::SYSTEM);
        self.batch.keys().any(|key| key.starts_with(&prefix))
    }

    /// Sends all callers the result of the group, except for commits that lost against others: see [`Late`].
    pub fn reply(self, result: &Result<()>, late: &mut Late) {
        for (index, (reply, permit)) in self.replies.into_iter().enumerate() {
            if index == 1 {
                crash_point::pass(Point::AmidReplies);
            }
            drop(permit);
            match reply {
                PendingReply::Commit(reply, Ok(rejected)) if result.is_ok() && is_lost(&rejected) => {
                    late.add(reply, rejected);
                }
                reply => reply.send(result),
            }
        }
    }
}

/// Bytes that erasing these rows adds to a group.
pub fn erase_bytes(keys: &[Bytes]) -> usize {
    keys.iter().map(|key| WRITE_BYTES + key.len()).sum()
}

/// Was a commit rejected because a row has another version than expected?
fn is_lost(applied: &Applied) -> bool {
    matches!(applied, Applied::Rejected { reason: Reason::Mismatch, .. })
}

impl PendingReply {
    fn has_lost(&self) -> bool {
        matches!(self, PendingReply::Commit(_, Ok(applied)) if is_lost(applied))
    }

    fn send(self, result: &Result<()>) {
        // A caller that no longer waits needs no result.
        match self {
            PendingReply::Commit(reply, applied) => drop(reply.send(match (applied, result) {
                (applied, Ok(())) => applied,
                // Nothing of this commit was in the batch, regardless of its outcome.
                (Ok(Applied::Rejected { .. }), Err(error)) => Err(poisoned(&error.to_string())),
                (Ok(Applied::Done { .. }), Err(error)) => Err(error.clone()),
                (Err(error), Err(_)) => Err(error),
            })),
            PendingReply::Adopted(reply, adopted) => drop(reply.send(match (adopted, result) {
                (adopted, Ok(())) => adopted,
                (Ok(Adopted::Rejected { .. }), Err(error)) => Err(poisoned(&error.to_string())),
                (Ok(Adopted::Done), Err(error)) => Err(error.clone()),
                (Err(error), Err(_)) => Err(error),
            })),
            PendingReply::Table(reply, table) => drop(reply.send(result.clone().map(|()| table))),
            PendingReply::Erased(reply) => drop(reply.send(result.clone())),
        }
    }
}
