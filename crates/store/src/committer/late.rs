//! Rejections of commits that have lost against another one, sent a few at a time.
//!
//! If many clients change one row on condition of its version, one wins, and all others lose at the same
//! moment. If all of these got their results at once, their next requests would be queued before that of the
//! next winner. So a few get their results after each group, and the others wait. While the committer is idle,
//! a few more get theirs after every pause.
//!
//! Invariant: a rejection is here only after the group that it depends on is durable and published.
//! Its permit for the queue has been released, so it does not block other writers; the number of waiting
//! rejections has its own bound.

use std::collections::VecDeque;
use std::time::Duration;

use lazuli_engine::{Applied, Result};
use tokio::sync::oneshot;

use crate::limits::{LATE_AT_ONCE_MIN, LATE_MAX, LATE_PAUSE_MAX, LATE_PAUSE_MIN, LATE_SHARE};

/// Rejections that wait to be sent, in their order.
#[derive(Default)]
pub struct Late {
    waiting: VecDeque<(oneshot::Sender<Result<Applied>>, Applied)>,
    /// Duration of the last sync.
    sync: Duration,
}

impl Late {
    /// Records the duration of a sync.
    pub fn note(&mut self, sync: Duration) {
        self.sync = sync;
    }

    /// Time to wait for a job before some more are sent; `None` if none is waiting.
    pub fn pause(&self) -> Option<Duration> {
        (!self.waiting.is_empty()).then(|| self.sync.clamp(LATE_PAUSE_MIN, LATE_PAUSE_MAX))
    }

    /// Adds a rejection.
    pub fn add(&mut self, reply: oneshot::Sender<Result<Applied>>, rejected: Applied) {
        self.waiting.push_back((reply, rejected));
    }

    /// Is none waiting?
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Sends the first few of them.
    pub fn send_some(&mut self) {
        let share = LATE_AT_ONCE_MIN.max(self.waiting.len() / LATE_SHARE);
        self.send(share.max(self.waiting.len().saturating_sub(LATE_MAX)));
    }

    /// Sends all of them.
    pub fn send_all(&mut self) {
        self.send(self.waiting.len());
    }

    fn send(&mut self, count: usize) {
        for (reply, rejected) in self.waiting.drain(..count.min(self.waiting.len())) {
            // A caller that no longer waits needs no result.
            let _ = reply.send(Ok(rejected));
        }
    }
}

#[cfg(test)]
mod tests {
    use lazuli_engine::Reason;

    use super::*;

    #[tokio::test]
    async fn the_first_get_their_results_first_and_none_is_forgotten() {
        let rejected = Applied::Rejected { index: 0, reason: Reason::Mismatch };
        let mut late = Late::default();
        let mut waiting = Vec::new();
        for _ in 0..LATE_MAX + LATE_SHARE {
            let (reply, replied) = oneshot::channel();
            late.add(reply, rejected.clone());
            waiting.push(replied);
        }
        late.send_some();
        assert_eq!(late.waiting.len(), LATE_MAX - LATE_MAX / LATE_SHARE + LATE_SHARE - 1);
        let sent = waiting.iter_mut().map_while(|replied| replied.try_recv().ok()).count();
        assert_eq!(sent + late.waiting.len(), waiting.len());
        while !late.is_empty() {
            late.send_some();
        }
        let left = waiting.into_iter().skip(sent);
        assert!(left.into_iter().all(|mut replied| replied.try_recv() == Ok(Ok(rejected.clone()))));
    }
}
