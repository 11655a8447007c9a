//! The state that all parts of a simulation share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::engine::Core;
use crate::front::Front;
use crate::ledger::Ledger;
use crate::rng::SharedRng;
use crate::time::Time;
use crate::trace::Trace;

/// The largest difference between the clocks of two servers, in milliseconds.
const SKEW_MAX: u64 = 3000;

/// The state that all parts of a simulation share.
pub struct World {
    /// Random choices.
    pub rng: SharedRng,
    /// Events.
    pub trace: Trace,
    /// Simulated time.
    pub time: Time,
    /// The state that survives crashes.
    pub core: Arc<Core>,
    ledger: Mutex<Ledger>,
    fronts: Mutex<Vec<Option<Arc<Front>>>>,
    is_calm: AtomicBool,
    /// Maximum difference between the clocks of two servers, in milliseconds.
    pub skew_max: u64,
}

impl World {
    /// A world without running servers. The clocks of servers that share an engine differ in half of all
    /// worlds.
    pub fn new(rng: SharedRng, trace: Trace, time: Time, core: Arc<Core>, fronts: usize) -> Self {
        let skew_max = if fronts > 1 && rng.chance(500) { rng.below(SKEW_MAX) } else { 0 };
        Self {
            rng,
            trace,
            time,
            core,
            ledger: Mutex::default(),
            fronts: Mutex::new(vec![None; fronts]),
            is_calm: AtomicBool::new(false),
            skew_max,
        }
    }

    /// Number of milliseconds by which the clock of a server that starts now is ahead.
    pub fn draw_skew(&self) -> u64 {
        if self.skew_max == 0 { 0 } else { self.rng.below(self.skew_max) }
    }

    /// Minimum duration of something that was granted for this many seconds, in milliseconds: the server that
    /// grants it and the one that ends it may have different clocks.
    pub fn certain_time(&self, seconds: u64) -> u64 {
        (seconds * 1000).saturating_sub(self.skew_max)
    }

    /// The promises to clients.
    pub fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports a failure, if there is one.
    pub fn expect(&self, checked: Result<(), String>) {
        if let Err(what) = checked {
            self.trace.fail(what);
        }
    }

    /// The servers; `None` for one that is down.
    pub fn fronts(&self) -> MutexGuard<'_, Vec<Option<Arc<Front>>>> {
        self.fronts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One of the servers, running or not.
    pub fn any_front(&self) -> usize {
        let count = self.fronts().len() as u64;
        self.rng.below(count) as usize
    }

    /// Ends the time of faults: servers stay up, and the network loses nothing.
    pub fn calm_down(&self) {
        self.is_calm.store(true, Ordering::SeqCst);
        self.core.heal();
    }

    /// Is the time of faults over?
    pub fn is_calm(&self) -> bool {
        self.is_calm.load(Ordering::SeqCst)
    }
}
