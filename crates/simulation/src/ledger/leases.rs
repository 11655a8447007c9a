//! The lease of a blob: it has one holder at a time, and only the holder changes the blob.

use super::{Checked, Hold};

/// All leases that were acquired, in the order of their responses.
#[derive(Default)]
pub struct LeaseLedger(Vec<Hold>);

impl LeaseLedger {
    /// Records that a client has acquired the lease; returns the number of the lease.
    pub fn acquired(&mut self, hold: Hold) -> (usize, Checked) {
        let other = self.0.iter().find(|other| hold.got < other.until() && other.got < hold.until());
        let checked = match other {
            Some(other) => Err(format!("the lease has two holders: {other:?} and {hold:?}")),
            None => Ok(()),
        };
        self.0.push(hold);
        (self.0.len() - 1, checked)
    }

    /// Records that the holder is about to give up its lease: from now on, others may acquire it.
    pub fn releasing(&mut self, number: usize, now: u64) {
        if let Some(hold) = self.0.get_mut(number) {
            hold.time = hold.time.min(now.saturating_sub(hold.from));
        }
    }

    /// Is the lease certainly held during this whole time?
    pub fn is_held(&self, from: u64, to: u64) -> bool {
        self.0.iter().any(|hold| hold.got <= from && to < hold.until())
    }

    /// Does this holder certainly have the lease until then?
    pub fn holds(&self, number: usize, until: u64) -> bool {
        self.0.get(number).is_some_and(|hold| until < hold.until())
    }
}
