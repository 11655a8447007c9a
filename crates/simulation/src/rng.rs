//! Random choices, all from one seed.

use std::sync::{Arc, Mutex, PoisonError};

/// A source of random choices that all parts of a simulation share.
#[derive(Clone, Debug)]
pub struct SharedRng(Arc<Mutex<u64>>);

impl SharedRng {
    /// A source of choices with this seed.
    pub fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(seed)))
    }

    /// The next number (SplitMix64).
    pub fn next(&self) -> u64 {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which must not be 0.
    pub fn below(&self, end: u64) -> u64 {
        self.next() % end
    }

    /// True in `per_mille` of 1000 cases.
    pub fn chance(&self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }

    /// One of several items, if there are any.
    pub fn pick<'a, T>(&self, from: &'a [T]) -> Option<&'a T> {
        if from.is_empty() { None } else { from.get(self.below(from.len() as u64) as usize) }
    }

    /// Random bytes.
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        std::array::from_fn(|_| self.next() as u8)
    }
}
