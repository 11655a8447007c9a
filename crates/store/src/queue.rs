//! The queue of jobs for the committer, and how it takes them in groups.
//!
//! The channel itself has no bound: every job except the last holds a [permit](crate::permit) from before it is
//! sent until its group is done.
//!
//! Callers that just got a result tend to send their next commit immediately, while the committer is already syncing
//! other commits. Callers would then split into two alternating groups, and every commit would wait for two syncs. So the
//! committer waits for the callers that it expects, if they are likely to return within a fraction of the time of a sync.
//! If they are not, because there are many or the processors are busy, two groups are better: one is prepared while the
//! other is synced. They should be of similar size, so the committer may wait for half of the callers.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
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
        watch: Stopwatch::start(),
        last_sent: AtomicU64::new(0),
    });
    let callers = Callers { sender, counts: Arc::clone(&counts) };
    let waiting = Waiting {
        receiver,
        counts,
        expected: 0,
        gather_time: Duration::ZERO,
        returns: Returns::default(),
        taken: 0,
    };
    (callers, waiting)
}

struct Counts {
    /// Jobs that wait or are about to be sent.
    waiting: AtomicUsize,
    /// The number of jobs that the committer is waiting for.
    awaited: AtomicUsize,
    committer: OnceLock<Thread>,
    watch: Stopwatch,
    /// The time at which the last job was sent, in nanoseconds of `watch`.
    last_sent: AtomicU64,
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
        let now = u64::try_from(self.counts.watch.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.counts.last_sent.store(now, Ordering::Relaxed);
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
    /// Maximum time to wait for them.
    gather_time: Duration,
    /// The rate at which callers return.
    returns: Returns,
    /// Number of jobs taken since the end of the last group.
    taken: usize,
}

/// The rate at which callers send their next jobs after a group.
#[derive(Debug, Default)]
struct Returns {
    /// The time at which the last group ended.
    since: Duration,
    /// Number of jobs that waited at that time.
    waiting: usize,
    /// Time from one job to the next, as a moving average.
    each: Option<Duration>,
}

impl Returns {
    /// A group has ended. Since the last one, `taken` jobs were taken, and `waiting` wait now; the last job came at `last`.
    fn note(&mut self, now: Duration, taken: usize, waiting: usize, last: Duration) {
        let count = u32::try_from((taken + waiting).saturating_sub(self.waiting)).unwrap_or(u32::MAX);
        if count > 0 {
            // At first, callers were perhaps idle.
            let each = (last.saturating_sub(self.since) / count).min(GATHER_MAX);
            self.each = Some(self.each.map_or(each, |before| (3 * before + each) / 4));
        }
        (self.since, self.waiting) = (now, waiting);
    }

    /// The number of jobs to wait for, and for how long: all that are expected or else half of them, if they will
    /// probably return within `max`. `None` if it is better not to wait.
    fn plan(&self, expected: usize, waiting: usize, max: Duration) -> Option<(usize, Duration)> {
        let each = self.each?;
        [expected, expected / 2].into_iter().filter(|&wanted| wanted > waiting).find_map(|wanted| {
            let missing = u32::try_from(wanted - waiting).unwrap_or(u32::MAX);
            let time = each.saturating_mul(missing);
            // Some return later than the average.
            (time <= max).then(|| (wanted, time.saturating_mul(2).clamp(GATHER_MIN, max)))
        })
    }
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
            self.taken += 1;
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
        let waiting = self.counts.waiting.load(Ordering::Acquire);
        let last = Duration::from_nanos(self.counts.last_sent.load(Ordering::Relaxed));
        self.returns.note(self.counts.watch.elapsed(), std::mem::take(&mut self.taken), waiting, last);
        self.expected = (jobs + waiting).min(GROUP_COMMITS_MAX);
        self.gather_time =
            if 2 * rejections >= jobs.max(1) { Duration::ZERO } else { (sync / 2).min(GATHER_MAX) };
    }

    /// Waits briefly for expected callers.
    fn gather(&self) {
        if self.gather_time < GATHER_MIN {
            return;
        }
        let waiting = self.counts.waiting.load(Ordering::Acquire);
        let Some((wanted, time)) = self.returns.plan(self.expected, waiting, self.gather_time) else {
            return;
        };
        self.counts.committer.get_or_init(std::thread::current);
        self.counts.awaited.store(wanted, Ordering::Release);
        if self.counts.waiting.load(Ordering::Acquire) < wanted {
            std::thread::park_timeout(time);
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

#[cfg(test)]
mod tests {
    use super::*;

    const MICRO: Duration = Duration::from_micros(1);
    const MAX: Duration = Duration::from_micros(200);

    /// Callers that come back one after the other.
    fn returning_each(each: Duration) -> Returns {
        Returns { each: Some(each), ..Returns::default() }
    }

    /// Of many callers, or slow ones, no more than half were back in time: the others waited for nothing.
    #[test]
    fn callers_that_cannot_be_back_in_time_are_not_waited_for() {
        assert_eq!(returning_each(25 * MICRO).plan(8, 4, MAX), Some((8, 200 * MICRO)));
        assert_eq!(returning_each(5 * MICRO).plan(8, 4, MAX), Some((8, 40 * MICRO)));
        // Half of them are here already.
        assert_eq!(returning_each(25 * MICRO).plan(64, 32, MAX), None);
        assert_eq!(returning_each(MAX).plan(8, 6, MAX), None);
        // Half of them will be.
        assert_eq!(returning_each(25 * MICRO).plan(64, 28, MAX), Some((32, 200 * MICRO)));
        assert_eq!(returning_each(25 * MICRO).plan(64, 4, MAX), None);
        // All are here.
        assert_eq!(returning_each(MICRO).plan(4, 4, MAX), None);
        assert_eq!(returning_each(MICRO).plan(0, 1, MAX), None);
        assert_eq!(Returns::default().plan(4, 1, MAX), None);
        assert_eq!(returning_each(Duration::ZERO).plan(4, 1, MAX), Some((4, GATHER_MIN)));
    }

    #[test]
    fn the_pace_of_callers_is_measured_from_the_end_of_a_group() {
        let mut returns = Returns::default();
        returns.note(1000 * MICRO, 0, 0, Duration::ZERO);
        assert_eq!(returns.each, None);
        // Four jobs within 100, then nothing until the group ends.
        returns.note(2000 * MICRO, 3, 1, 1100 * MICRO);
        assert_eq!(returns.each, Some(25 * MICRO));
        // One of the jobs that are taken waited before.
        returns.note(3000 * MICRO, 2, 0, 2065 * MICRO);
        assert_eq!(returns.each, Some(35 * MICRO));
        // A pause counts, but not for long.
        returns.note(1_000_000 * MICRO, 1, 0, 900_000 * MICRO);
        assert_eq!(returns.each, Some((105 * MICRO + GATHER_MAX) / 4));
    }
}
