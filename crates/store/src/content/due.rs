//! The packs that have something to free: a set of numbers, bounded by the number of packs.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Packs that have something to free.
#[derive(Debug, Default)]
pub struct Due {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    numbers: BTreeSet<u64>,
    is_closed: bool,
}

impl Due {
    /// Records that a pack has something to free.
    pub fn add(&self, number: u64) {
        if self.lock().numbers.insert(number) {
            self.changed.notify_one();
        }
    }

    /// Waits for a pack that has something to free; `None` after [`Due::close`].
    pub fn take(&self) -> Option<u64> {
        let mut state = self.lock();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(number) = state.numbers.pop_first() {
                return Some(number);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends all waiting.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// Has [`Due::close`] been called?
    pub fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_are_taken_once() {
        let due = Due::default();
        [3, 1, 3].into_iter().for_each(|number| due.add(number));
        assert_eq!((due.take(), due.take()), (Some(1), Some(3)));
        due.add(5);
        due.close();
        assert_eq!(due.take(), None);
    }
}
