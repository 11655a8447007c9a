//! The allocator of the program: mimalloc, which gives memory back to the system soon after a load, and is faster where threads
//! hand memory to each other.
//!
//! With the feature `counting-allocator`, every allocation is counted, and the metrics show the sum: `tests/hostile` compares it
//! with the bound of docs/operate.md.

use lazuli_server::memory::AllocatedBytes;

#[cfg(not(feature = "counting-allocator"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[cfg(feature = "counting-allocator")]
#[global_allocator]
static ALLOCATOR: cap::Cap<mimalloc::MiMalloc> = cap::Cap::new(mimalloc::MiMalloc, usize::MAX);

/// The count of allocated bytes, in a build that has one.
#[cfg(not(feature = "counting-allocator"))]
pub const COUNT: Option<fn() -> AllocatedBytes> = None;

/// The count of allocated bytes, in a build that has one.
#[cfg(feature = "counting-allocator")]
pub const COUNT: Option<fn() -> AllocatedBytes> =
    Some(|| AllocatedBytes { live: ALLOCATOR.allocated() as u64, peak: ALLOCATOR.max_allocated() as u64 });
