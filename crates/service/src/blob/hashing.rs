//! MD5 of small bodies: those of several requests are hashed side by side, which takes little longer than one.
//!
//! A body waits until a few have arrived, or until all requests that can run have run: never for the network, the disk or a
//! clock.
//!
//! Invariant: a body that waits is hashed, whatever becomes of the other requests.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use lazuli_digest::{MD5_BODIES, md5_of_each};
use lazuli_model::blob::properties::Md5;
use tokio::sync::oneshot;
use tokio::task::yield_now;

/// A shorter body is hashed faster than it is passed on.
const SHARED_BYTES_MIN: usize = 1024;

/// Hashes small bodies, several at a time.
#[derive(Default)]
pub struct SmallHashes {
    waiting: Mutex<Vec<Job>>,
    /// Uploads in progress.
    uploads: AtomicUsize,
}

struct Job {
    body: Bytes,
    reply: oneshot::Sender<Md5>,
}

/// An upload in progress: while it is the only one, nothing waits for others.
pub struct Upload<'a>(&'a SmallHashes);

impl Drop for Upload<'_> {
    fn drop(&mut self) {
        self.0.uploads.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The request whose body was the first to wait. It hashes all that wait, also if it is cancelled.
struct First<'a>(&'a SmallHashes);

impl Drop for First<'_> {
    fn drop(&mut self) {
        let jobs = std::mem::take(&mut *self.0.lock());
        hash(jobs);
    }
}

impl SmallHashes {
    /// An upload begins.
    pub fn begin(&self) -> Upload<'_> {
        self.uploads.fetch_add(1, Ordering::Relaxed);
        Upload(self)
    }

    /// The MD5 of a body; `None` if it is not worth sharing the work.
    pub async fn md5(&self, body: &Bytes) -> Option<Md5> {
        if body.len() < SHARED_BYTES_MIN || self.uploads.load(Ordering::Relaxed) < 2 {
            return None;
        }
        let (reply, replied) = oneshot::channel();
        let (is_first, ready) = {
            let mut waiting = self.lock();
            waiting.push(Job { body: body.clone(), reply });
            let is_full = waiting.len() >= MD5_BODIES;
            (waiting.len() == 1, if is_full { std::mem::take(&mut *waiting) } else { Vec::new() })
        };
        hash(ready);
        if is_first {
            let first = First(self);
            yield_now().await;
            drop(first);
        }
        replied.await.ok()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Job>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn hash(jobs: Vec<Job>) {
    let (bodies, replies): (Vec<_>, Vec<_>) = jobs.into_iter().map(|job| (job.body, job.reply)).unzip();
    for (reply, md5) in replies.into_iter().zip(md5_of_each(&bodies)) {
        // A request that was cancelled needs no result.
        let _ = reply.send(md5);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use lazuli_digest::digest;
    use lazuli_model::blob::write::Digests;

    use super::*;

    fn body(number: usize) -> Bytes {
        vec![number as u8; SHARED_BYTES_MIN + number * 7].into()
    }

    fn expected(body: &Bytes) -> Option<Md5> {
        digest(body, Digests { md5: true, crc64: false }).md5
    }

    fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Option<F::Output> {
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    /// Any number of bodies at a time: each gets its own hash.
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn every_body_gets_its_own_hash() {
        let hashes = std::sync::Arc::new(SmallHashes::default());
        for count in [1, 2, 3, 4, 5, 9, 50] {
            let tasks: Vec<_> = (0..count)
                .map(|number| {
                    let hashes = hashes.clone();
                    tokio::spawn(async move {
                        let _upload = hashes.begin();
                        (hashes.md5(&body(number)).await, number)
                    })
                })
                .collect();
            for task in tasks {
                let (md5, number) = task.await.unwrap();
                assert!(md5.is_none() || md5 == expected(&body(number)), "{number} of {count}");
            }
        }
        assert_eq!(hashes.uploads.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn one_upload_waits_for_nothing_and_the_last_of_a_group_hashes_all() {
        let hashes = SmallHashes::default();
        let _one = hashes.begin();
        assert_eq!(poll(pin!(hashes.md5(&body(1)))), Some(None));
        let _other = hashes.begin();
        assert_eq!(poll(pin!(hashes.md5(&Bytes::from_static(b"short")))), Some(None));
        let bodies: Vec<Bytes> = (0..MD5_BODIES).map(body).collect();
        let mut futures: Vec<_> = bodies.iter().map(|body| Box::pin(hashes.md5(body))).collect();
        let (last, others) = futures.split_last_mut().unwrap();
        assert!(others.iter_mut().all(|future| poll(future.as_mut()).is_none()));
        assert_eq!(poll(last.as_mut()), Some(expected(&bodies[MD5_BODIES - 1])));
        for (future, body) in others.iter_mut().zip(&bodies).skip(1) {
            assert_eq!(poll(future.as_mut()), Some(expected(body)));
        }
    }

    #[tokio::test]
    async fn a_body_is_hashed_although_the_first_request_was_cancelled() {
        let hashes = SmallHashes::default();
        let _uploads = (hashes.begin(), hashes.begin());
        let (one, other) = (body(1), body(2));
        let mut first = Box::pin(hashes.md5(&one));
        assert_eq!(poll(first.as_mut()), None);
        let mut second = Box::pin(hashes.md5(&other));
        assert_eq!(poll(second.as_mut()), None);
        drop(first);
        assert_eq!(poll(second.as_mut()), Some(expected(&other)));
    }
}
