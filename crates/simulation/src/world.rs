//! The state that all parts of a simulation share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::engine::Core;
use crate::front::Front;
use crate::ledger::Ledger;
use crate::rng::SharedRng;
use crate::time::Time;
use crate::trace::Trace;

/// The state that all parts of a simulation share.
pub struct World {
    /// Random choices.
    pub rng: SharedRng,
    /// Events.
    pub trace: Trace,
    /// Simulated time.
    pub time: Time,
    /// What survives crashes.
    pub core: Arc<Core>,
    ledger: Mutex<Ledger>,
    fronts: Mutex<Vec<Option<Arc<Front>>>>,
    is_calm: AtomicBool,
}

impl World {
    /// A world in which no server runs yet.
    pub fn new(rng: SharedRng, trace: Trace, time: Time, core: Arc<Core>, fronts: usize) -> Self {
        Self {
            rng,
            trace,
            time,
            core,
            ledger: Mutex::default(),
            fronts: Mutex::new(vec![None; fronts]),
            is_calm: AtomicBool::new(false),
        }
    }

    /// What must be true.
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

    /// One of the servers, whether it is up or not.
    pub fn any_front(&self) -> usize {
        let count = self.fronts().len() as u64;
        self.rng.below(count) as usize
    }

    /// From now on servers stay up, and the network loses nothing.
    pub fn calm_down(&self) {
        self.is_calm.store(true, Ordering::SeqCst);
        self.core.heal();
    }

    /// Is the time of faults over?
    pub fn is_calm(&self) -> bool {
        self.is_calm.load(Ordering::SeqCst)
    }
}
