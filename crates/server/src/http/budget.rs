//! A bound on the memory that all connections together hold for large data.
//!
//! Small allocations are not counted, so that requests with large ones do not block the others. The limit on
//! connections bounds the small ones.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::Limits;

/// Memory is counted in units of this size.
const UNIT_BYTES: usize = 1024;

/// The memory left.
#[derive(Clone)]
pub struct Budget {
    left: Arc<Semaphore>,
    /// The whole budget, in units.
    whole: usize,
}

/// A part of the memory, released on drop.
pub struct Claim(#[allow(dead_code, reason = "held for its end")] Option<OwnedSemaphorePermit>);

impl Budget {
    /// A budget of this many bytes.
    pub fn new(bytes: usize) -> Self {
        let whole = (bytes / UNIT_BYTES).clamp(1, Semaphore::MAX_PERMITS);
        Self { left: Arc::new(Semaphore::new(whole)), whole }
    }

    /// Claims a part; `None` if less is left.
    pub fn claim(&self, bytes: usize) -> Option<Claim> {
        self.claim_units(bytes, units(bytes))
    }

    /// Claims a part. A response larger than the whole budget claims all of it: it is sent only when no other
    /// response holds memory.
    pub fn claim_at_most_all(&self, bytes: usize) -> Option<Claim> {
        self.claim_units(bytes, units(bytes).min(u32::try_from(self.whole).unwrap_or(u32::MAX)))
    }

    /// Claims a part, but never more than half of the budget: for estimates, which must not make the largest
    /// request fail forever.
    pub fn claim_at_most_half(&self, bytes: usize) -> Option<Claim> {
        let half = u32::try_from(self.whole / 2).unwrap_or(u32::MAX);
        self.claim_units(bytes, units(bytes).min(half))
    }

    /// Claims a part as [`Budget::claim_at_most_all`] does, and waits for it for at most `time`. Parts are
    /// handed out in the order of the requests, so that large claims cannot starve.
    pub async fn claim_within(&self, bytes: usize, time: Duration) -> Option<Claim> {
        if let Some(claim) = self.claim_at_most_all(bytes) {
            return Some(claim);
        }
        let units = units(bytes).min(u32::try_from(self.whole).unwrap_or(u32::MAX));
        let permit = timeout(time, self.left.clone().acquire_many_owned(units)).await.ok()?.ok()?;
        Some(Claim(Some(permit)))
    }

    /// The size of the whole budget: more can never be claimed.
    pub fn bytes(&self) -> usize {
        self.whole.saturating_mul(UNIT_BYTES)
    }

    fn claim_units(&self, bytes: usize, units: u32) -> Option<Claim> {
        if bytes <= Limits::BODY_BYTES_FREE {
            return Some(Claim(None));
        }
        let permit = self.left.clone().try_acquire_many_owned(units).ok()?;
        Some(Claim(Some(permit)))
    }

    /// Could this many bytes be claimed now?
    pub fn has_room(&self, bytes: usize) -> bool {
        bytes <= Limits::BODY_BYTES_FREE || self.left.available_permits() >= units(bytes) as usize
    }
}

fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_claims_share_and_small_ones_are_free() {
        let budget = Budget::new(100 * 1024);
        let first = budget.claim(60 * 1024).unwrap();
        assert!(budget.claim(60 * 1024).is_none() && !budget.has_room(60 * 1024));
        assert!(budget.claim(40 * 1024).is_some() && budget.has_room(40 * 1024));
        assert!(budget.claim(usize::MAX).is_none());
        assert!(budget.claim(Limits::BODY_BYTES_FREE).is_some());
        assert!(budget.claim_at_most_all(usize::MAX).is_none(), "others are in the way");
        drop(first);
        assert!(budget.claim(100 * 1024).is_some());
        assert!(budget.claim(101 * 1024).is_none());
        let all = budget.claim_at_most_all(usize::MAX).unwrap();
        assert!(budget.claim_at_most_all(20 * 1024).is_none());
        drop(all);
        assert!(budget.claim_at_most_all(20 * 1024).is_some());
    }
}
