//! The allocator of the program: mimalloc, which returns memory to the system soon after a load, and is faster
//! when one thread frees memory that another one allocated.
//!
//! With the feature `counting-allocator`, allocations are counted, and the metrics show the allocated bytes: `tests/hostile` compares it
//! with the bound of docs/operate.md.

use lazuli_server::memory::AllocatedBytes;

#[cfg(not(feature = "counting-allocator"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[cfg(feature = "counting-allocator")]
#[global_allocator]
static ALLOCATOR: cap::Cap<mimalloc::MiMalloc> = cap::Cap::new(mimalloc::MiMalloc, usize::MAX);

/// The number of allocated bytes, in a build that counts them.
#[cfg(not(feature = "counting-allocator"))]
pub const COUNT: Option<fn() -> AllocatedBytes> = None;

/// The number of allocated bytes, in a build that counts them.
#[cfg(feature = "counting-allocator")]
pub const COUNT: Option<fn() -> AllocatedBytes> =
    Some(|| AllocatedBytes { live: ALLOCATOR.allocated() as u64, peak: ALLOCATOR.max_allocated() as u64 });
