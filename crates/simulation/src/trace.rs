//! The list of events: a hash of all events, to compare two runs, and the last events as strings.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::time::Time;

/// Number of events that are kept as strings.
const LINES_MAX: usize = 400;

/// The events of a simulation.
#[derive(Clone)]
pub struct Trace(Arc<Mutex<Events>>, Time);

#[derive(Default)]
struct Events {
    hash: u64,
    count: u64,
    lines: VecDeque<String>,
    failure: Option<String>,
}

impl Trace {
    /// No events yet.
    pub fn new(time: Time) -> Self {
        Self(Arc::default(), time)
    }

    /// Adds an event.
    pub fn note(&self, event: std::fmt::Arguments<'_>) {
        let line = format!("{:>8} {event}", self.1.milliseconds());
        let mut events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for byte in line.bytes() {
            events.hash = (events.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
        events.count += 1;
        if events.lines.len() == LINES_MAX {
            events.lines.pop_front();
        }
        events.lines.push_back(line);
    }

    /// Records a violation. Only the first failure is reported.
    pub fn fail(&self, what: String) {
        self.note(format_args!("FAILURE: {what}"));
        let mut events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        events.failure.get_or_insert(what);
    }

    /// The first failure.
    pub fn failure(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).failure.clone()
    }

    /// The number of events, and their hash.
    pub fn summary(&self) -> (u64, u64) {
        let events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (events.count, events.hash)
    }

    /// The last events as strings.
    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).lines.iter().cloned().collect()
    }
}
