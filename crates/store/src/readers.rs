//! Threads for reads that need files.
//!
//! Most such reads do not wait for the disk, because the block is in the page cache. A single thread does these
//! one after the other, which costs less than waking a thread for each. A read that waits too long behind
//! others gets its own thread, so a slow disk delays the reads that need it, and others only briefly.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lazuli_engine::{Error, Result};
use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::error::closed;
use crate::limits::{READ_WAIT_MAX, READS_MAX, READS_WAITING_MAX};

type Work = Box<dyn FnOnce() + Send>;

/// The threads, and the reads waiting for them.
#[derive(Clone)]
pub struct Readers(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    threads_max: usize,
    /// A thread has ended.
    ended: Notify,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Work>,
    threads: usize,
    is_closed: bool,
}

/// A thread that is running or being started. It counts as ended when this value is dropped, even if it never
/// ran.
struct Thread {
    shared: Arc<Shared>,
    has_ended: bool,
}

impl Readers {
    /// Maximum number of threads.
    pub fn new(threads_max: usize) -> Self {
        let threads_max = threads_max.clamp(1, READS_MAX);
        Self(Arc::new(Shared { state: Mutex::default(), threads_max, ended: Notify::new() }))
    }

    /// Runs a read on one of the threads. It must not panic.
    pub fn begin(&self, work: impl FnOnce() + Send + 'static) -> Result<()> {
        let mut state = self.0.state();
        if state.is_closed {
            return Err(closed());
        }
        if state.waiting.len() >= READS_WAITING_MAX {
            return Err(Error::Busy("too many reads are waiting for the disk".into()));
        }
        state.waiting.push_back(Box::new(work));
        if state.threads == 0 {
            self.add_thread(state);
        }
        Ok(())
    }

    /// Waits for the result of a read that was started, and ensures that the read is executed.
    pub async fn watch<F: Future>(&self, waiting: F) -> F::Output {
        let mut waiting = pin!(waiting);
        if let Ok(done) = timeout(READ_WAIT_MAX, waiting.as_mut()).await {
            return done;
        }
        self.help();
        waiting.await
    }

    /// Adds a thread, if reads are waiting.
    fn help(&self) {
        let state = self.0.state();
        if !state.waiting.is_empty() && state.threads < self.0.threads_max {
            self.add_thread(state);
        }
    }

    /// Accepts no more reads, and waits until all are done.
    pub async fn close(&self) {
        self.0.state().is_closed = true;
        loop {
            let ended = self.0.ended.notified();
            if self.0.state().threads == 0 {
                return;
            }
            ended.await;
        }
    }

    fn add_thread(&self, mut state: MutexGuard<'_, State>) {
        state.threads += 1;
        drop(state);
        let mut thread = Thread { shared: Arc::clone(&self.0), has_ended: false };
        spawn_blocking(move || {
            while let Some(work) = thread.next() {
                work();
            }
        });
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Thread {
    /// The next read; if there is none, marks the thread as ended. Both happen under one lock, so that no read
    /// is left behind.
    fn next(&mut self) -> Option<Work> {
        let mut state = self.shared.state();
        let work = state.waiting.pop_front();
        if work.is_none() {
            state.threads -= 1;
            self.has_ended = true;
        }
        work
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        if !self.has_ended {
            self.shared.state().threads -= 1;
        }
        self.shared.ended.notify_waiters();
    }
}
