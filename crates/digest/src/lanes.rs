//! Lets concurrent uploads that compute MD5 share one pass over their bytes.
//!
//! A thread that arrives while enough others are hashing waits. When one of them is done, a waiting thread
//! continues with its own bytes and those of other waiting threads. A single upload is hashed immediately, and
//! the more uploads there are, the less each of them costs.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::md5::{LANES, Md5, update_together};

/// Hashes streams, several at a time.
pub struct Lanes {
    waiting: Mutex<Waiting>,
    /// Threads that hash at the same time.
    threads_max: usize,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    /// Threads that hash.
    threads: usize,
}

/// The next bytes of a stream.
struct Job {
    hash: Md5,
    chunks: Vec<Bytes>,
    ticket: Arc<Ticket>,
}

/// Where a thread waits for its job.
#[derive(Default)]
struct Ticket {
    call: Mutex<Option<Call>>,
    called: Condvar,
}

/// The message to a waiting thread.
enum Call {
    /// Its job is done.
    Done(Md5),
    /// The thread must hash now, starting with its own job.
    Hash(Job),
}

impl Ticket {
    fn call(&self, call: Call) {
        *self.call.lock().unwrap_or_else(PoisonError::into_inner) = Some(call);
        self.called.notify_one();
    }

    fn wait(&self) -> Call {
        let mut call = self.call.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match call.take() {
                Some(call) => return call,
                None => call = self.called.wait(call).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

impl Lanes {
    /// For a machine with this many processor cores. Half of them, at least one, compute hashes; the others
    /// receive and write at the same time.
    pub fn of(cores: usize) -> Self {
        Self::new(cores / 2)
    }

    /// At most this many threads hash at a time, and at least one.
    fn new(threads_max: usize) -> Self {
        Self { waiting: Mutex::default(), threads_max: threads_max.max(1) }
    }

    /// Takes the next bytes of a stream. May wait for other threads that hash.
    pub(crate) fn update(&self, hash: Md5, chunks: &[Bytes]) -> Md5 {
        let mut own = Job { hash, chunks: chunks.to_vec(), ticket: Arc::default() };
        let mut waiting = self.lock();
        if waiting.threads < self.threads_max {
            waiting.threads += 1;
        } else {
            let ticket = Arc::clone(&own.ticket);
            waiting.jobs.push_back(own);
            drop(waiting);
            own = match ticket.wait() {
                Call::Done(hash) => return hash,
                Call::Hash(job) => job,
            };
            waiting = self.lock();
        }
        let others = waiting.jobs.len().min(LANES - 1);
        let others: Vec<Job> = waiting.jobs.drain(..others).collect();
        drop(waiting);
        let hash = hash_all(own, others);
        self.pass_on();
        hash
    }

    /// Lets another thread hash, if one is waiting.
    fn pass_on(&self) {
        let mut waiting = self.lock();
        match waiting.jobs.pop_front() {
            Some(job) => {
                drop(waiting);
                let ticket = Arc::clone(&job.ticket);
                ticket.call(Call::Hash(job));
            }
            None => waiting.threads -= 1,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hashes the job of this thread and those of others, and notifies the others.
fn hash_all(own: Job, others: Vec<Job>) -> Md5 {
    let mut tickets = Vec::with_capacity(others.len());
    let mut streams = Vec::with_capacity(1 + others.len());
    streams.push((own.hash, own.chunks));
    for Job { hash, chunks, ticket } in others {
        streams.push((hash, chunks));
        tickets.push(ticket);
    }
    update_together(&mut streams);
    let mut hashes = streams.into_iter().map(|(hash, _)| hash);
    let own = hashes.next().unwrap_or_default();
    tickets.into_iter().zip(hashes).for_each(|(ticket, hash)| ticket.call(Call::Done(hash)));
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Many threads, one that hashes: every stream gets its own hash, and no thread waits forever.
    #[test]
    fn threads_share_their_passes() {
        for threads_max in [1, 2] {
            let lanes = Lanes::new(threads_max);
            std::thread::scope(|scope| {
                for thread in 0..9_u8 {
                    let lanes = &lanes;
                    scope.spawn(move || {
                        let (mut hash, mut plain) = (Md5::default(), Md5::default());
                        for round in 0..40_usize {
                            let chunk = Bytes::from(vec![thread; 1 + round * 97 % 3000]);
                            plain.update(&chunk);
                            plain.update(&chunk);
                            hash = lanes.update(hash, &[chunk.clone(), chunk]);
                        }
                        assert_eq!(hash.finish(), plain.finish());
                    });
                }
            });
            let waiting = lanes.lock();
            assert_eq!((waiting.jobs.len(), waiting.threads), (0, 0));
        }
    }
}
