//! The queue of jobs for the committer, and how it takes them in groups.
//!
//! The channel itself has no bound: every job except the last holds a [permit](crate::permit) from before it is
//! sent until its group is done.
//!
//! Callers that just got a result tend to send their next commit immediately, while the committer is already syncing
//! other commits. Callers would then split into two alternating groups, and every commit would wait for two syncs. So the
//! committer waits briefly for as many commits as the last group had, but only for a fraction of the time of a sync.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;
use std::time::{Duration, Instant};

use crate::committer::Job;
use crate::limits::{GATHER_MAX, GATHER_MIN, GROUP_BYTES_MAX, GROUP_COMMITS_MAX};

/// Creates a queue: the side for callers and the side for the committer.
pub fn queue() -> (Callers, Waiting) {
    let (sender, receiver) = mpsc::channel();
    let counts = Arc::new(Counts {
        waiting: AtomicUsize::new(0),
        awaited: AtomicUsize::new(usize::MAX),
        committer: OnceLock::new(),
    });
    let callers = Callers { sender, counts: Arc::clone(&counts) };
    (callers, Waiting { receiver, counts, expected: 0, gather_time: Duration::ZERO })
}

struct Counts {
    /// Jobs that wait or are about to be sent.
    waiting: AtomicUsize,
    /// The number of jobs that the committer is waiting for.
    awaited: AtomicUsize,
    committer: OnceLock<Thread>,
}

/// The callers' side.
#[derive(Clone)]
pub struct Callers {
    sender: Sender<Job>,
    counts: Arc<Counts>,
}

impl Callers {
    /// Jobs that wait.
    #[cfg(test)]
    pub fn waiting(&self) -> usize {
        self.counts.waiting.load(Ordering::Acquire)
    }

    /// Queues a job; `false` if the committer has ended.
    pub fn send(&self, job: Job) -> bool {
        let waiting = self.counts.waiting.fetch_add(1, Ordering::AcqRel) + 1;
        let is_sent = self.sender.send(job).is_ok();
        if waiting >= self.counts.awaited.load(Ordering::Acquire)
            && let Some(committer) = self.counts.committer.get()
        {
            committer.unpark();
        }
        is_sent
    }
}

/// The committer's side.
pub struct Waiting {
    receiver: Receiver<Job>,
    counts: Arc<Counts>,
    /// Number of callers at the end of the last group: those in it and those waiting.
    expected: usize,
    /// Time to wait for them.
    gather_time: Duration,
}

/// The result of waiting for a job.
pub enum Taken {
    /// The jobs of a group.
    Group,
    /// The last jobs, perhaps none.
    Last,
    /// None for a while.
    Idle,
}

impl Waiting {
    /// Waits for a job, for at most `time`, and takes all other waiting jobs, up to the limits of a group.
    /// `None` means no time limit.
    pub fn take(&mut self, jobs: &mut VecDeque<Job>, time: Option<Duration>) -> Taken {
        let first = match time {
            None => self.receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(time) => self.receiver.recv_timeout(time),
        };
        let mut next = match first {
            Ok(job) => job,
            Err(RecvTimeoutError::Timeout) => return Taken::Idle,
            Err(RecvTimeoutError::Disconnected) => return Taken::Last,
        };
        self.gather();
        let mut bytes = 0;
        loop {
            self.counts.waiting.fetch_sub(1, Ordering::AcqRel);
            match next {
                Job::Stop => return Taken::Last,
                Job::Commit { ref commit, .. } => bytes += commit.bytes,
                Job::Adopt { ref adoption, .. } => bytes += adoption.bytes,
                Job::FreshTable { .. } | Job::Erase { .. } => {}
            }
            jobs.push_back(next);
            if jobs.len() >= GROUP_COMMITS_MAX || bytes >= GROUP_BYTES_MAX {
                return Taken::Group;
            }
            next = match self.receiver.try_recv() {
                Ok(job) => job,
                Err(_) => return Taken::Group,
            };
        }
    }

    /// Notes the number of jobs of a group, and the time of its sync. After a group that is mostly rejected,
    /// the callers are not expected together: they compete, and the first one to return should not wait for the
    /// others.
    pub fn note(&mut self, jobs: usize, rejections: usize, sync: Duration) {
        self.expected = (jobs + self.counts.waiting.load(Ordering::Acquire)).min(GROUP_COMMITS_MAX);
        self.gather_time =
            if 2 * rejections >= jobs.max(1) { Duration::ZERO } else { (sync / 2).min(GATHER_MAX) };
    }

    /// Waits briefly for expected callers.
    fn gather(&self) {
        let is_complete = || self.counts.waiting.load(Ordering::Acquire) >= self.expected;
        if self.gather_time < GATHER_MIN || is_complete() {
            return;
        }
        self.counts.committer.get_or_init(std::thread::current);
        self.counts.awaited.store(self.expected, Ordering::Release);
        if !is_complete() {
            std::thread::park_timeout(self.gather_time);
        }
        self.counts.awaited.store(usize::MAX, Ordering::Release);
    }
}

/// Measures how long something takes.
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts.
    #[allow(clippy::disallowed_methods, reason = "it decides how long to wait, and nothing else")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// The time since the start.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
