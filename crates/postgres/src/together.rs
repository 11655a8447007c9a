//! Concurrent reads of single rows share statements.
//!
//! While few statements are in flight, a read is sent immediately and alone, so without concurrent reads no
//! read waits. Otherwise it waits for one of them to end, and all reads that are waiting at that time are sent
//! as one statement. Invariants:
//! - a read gets the result of a fetch that began after the call;
//! - no more fetches are in flight than there are lanes, and while reads wait, none of the lanes is free;
//! - a caller that gives up does not cancel the reads of others: fetches for several callers run in separate
//!   tasks, and the lane of a caller that fetches for itself passes to those that wait.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use lazuli_engine::{Error, Result};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Maximum reads that share a fetch.
pub const BATCH_MAX: usize = 64;
/// Maximum wait for a lane, longer than a fetch searches for a server. So if that search fails, reads that wait
/// for the fetch fail for the same reason, and not because of the load.
const LANE_TIME_MAX: Duration = Duration::from_secs(15);

/// Fetches rows.
pub trait Fetch: Send + Sync + 'static {
    /// Names a row.
    type Key: Send + 'static;
    /// The result for one caller.
    type Found: Send + 'static;

    /// The results for some keys, in their order. Keys can occur more than once.
    fn fetch(&self, keys: Vec<Self::Key>) -> impl Future<Output = Vec<Self::Found>> + Send;
}

/// Reads that share fetches.
pub struct Together<F: Fetch>(Arc<Shared<F>>);

struct Shared<F: Fetch> {
    fetcher: F,
    runtime: Handle,
    lanes_max: usize,
    lane_time_max: Duration,
    state: Mutex<State<F>>,
}

struct State<F: Fetch> {
    lanes: usize,
    calls: u64,
    waiting: VecDeque<Waiter<F>>,
}

struct Waiter<F: Fetch> {
    call: u64,
    key: F::Key,
    reply: oneshot::Sender<F::Found>,
}

/// The right to have a fetch in flight. Passes to the reads that wait when it is dropped.
struct Lane<F: Fetch>(Arc<Shared<F>>);

/// The way in which a read gets its result.
enum Admission<F: Fetch> {
    Alone(F::Key, Lane<F>),
    Waits(u64, oneshot::Receiver<F::Found>),
}

impl<F: Fetch> Together<F> {
    /// Has nothing to read at first. At most `lanes_max` fetches run at the same time, as tasks of the caller's runtime.
    pub fn new(fetcher: F, lanes_max: usize) -> Self {
        Self::within(fetcher, lanes_max, LANE_TIME_MAX)
    }

    fn within(fetcher: F, lanes_max: usize, lane_time_max: Duration) -> Self {
        let state = Mutex::new(State { lanes: 0, calls: 0, waiting: VecDeque::new() });
        Self(Arc::new(Shared { fetcher, runtime: Handle::current(), lanes_max, lane_time_max, state }))
    }

    /// The result of a fetch that began after this call.
    pub async fn read(&self, key: F::Key) -> Result<F::Found> {
        let (call, mut reply) = match self.0.admit(key) {
            Admission::Alone(key, lane) => {
                let found = self.0.fetcher.fetch(vec![key]).await.pop();
                drop(lane);
                return found.ok_or_else(ended);
            }
            Admission::Waits(call, reply) => (call, reply),
        };
        match timeout(self.0.lane_time_max, &mut reply).await {
            Ok(found) => found.map_err(|_| ended()),
            Err(_) if self.0.withdraw(call) => {
                Err(Error::Busy("all connections to the database are in use".into()))
            }
            // It is being fetched, which has its own timeout.
            Err(_) => reply.await.map_err(|_| ended()),
        }
    }
}

/// The error for a fetch that ended without a result.
fn ended() -> Error {
    Error::Unavailable("the engine is closed".into())
}

impl<F: Fetch> Shared<F> {
    fn locked(&self) -> MutexGuard<'_, State<F>> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn admit(self: &Arc<Self>, key: F::Key) -> Admission<F> {
        let mut state = self.locked();
        if state.lanes < self.lanes_max {
            state.lanes += 1;
            return Admission::Alone(key, Lane(self.clone()));
        }
        state.calls += 1;
        let (call, (reply, receiver)) = (state.calls, oneshot::channel());
        state.waiting.push_back(Waiter { call, key, reply });
        Admission::Waits(call, receiver)
    }

    /// Removes a read that still waits; returns whether it did.
    fn withdraw(&self, call: u64) -> bool {
        let mut state = self.locked();
        let at = state.waiting.iter().position(|waiter| waiter.call == call);
        at.and_then(|at| state.waiting.remove(at)).is_some()
    }

    /// The next reads, except those whose callers have given up.
    fn next(&self) -> Vec<Waiter<F>> {
        let mut state = self.locked();
        let mut batch = Vec::new();
        while batch.len() < BATCH_MAX
            && let Some(waiter) = state.waiting.pop_front()
        {
            if !waiter.reply.is_closed() {
                batch.push(waiter);
            }
        }
        if batch.is_empty() {
            state.lanes -= 1;
        }
        batch
    }
}

impl<F: Fetch> Drop for Lane<F> {
    fn drop(&mut self) {
        let batch = self.0.next();
        if !batch.is_empty() {
            let lane = Self(self.0.clone());
            self.0.runtime.spawn(serve(lane, batch));
        }
    }
}

/// Fetches for callers that waited.
async fn serve<F: Fetch>(lane: Lane<F>, batch: Vec<Waiter<F>>) {
    let (keys, replies): (Vec<_>, Vec<_>) =
        batch.into_iter().map(|waiter| (waiter.key, waiter.reply)).unzip();
    let found = lane.0.fetcher.fetch(keys).await;
    for (reply, found) in replies.into_iter().zip(found) {
        // The caller may have given up.
        let _ = reply.send(found);
    }
}

#[cfg(test)]
#[path = "together_tests.rs"]
mod tests;
