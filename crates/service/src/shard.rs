//! A value per processor, so that counting never makes two threads wait for each other.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum parts, regardless of the number of processors: each costs memory, and summing costs time.
const SHARDS_MAX: usize = 16;

/// Keeps parts on separate pairs of cache lines, because processors fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Padded<T>(T);

/// One `T` for each processor. A thread always gets the same one; threads beyond the number of parts share.
#[derive(Debug)]
pub struct Sharded<T>(Box<[Padded<T>]>);

impl<T: Default> Default for Sharded<T> {
    fn default() -> Self {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        let count = count.min(SHARDS_MAX).next_power_of_two();
        Self((0..count).map(|_| Padded::default()).collect())
    }
}

impl<T> Sharded<T> {
    /// The part of this thread.
    pub fn own(&self) -> &T {
        // The count is a power of two.
        &self.0[thread_number() & (self.0.len() - 1)].0
    }

    /// All parts.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|part| &part.0)
    }
}

/// Threads get their number at their first access.
fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    OWN.with(|own| {
        if own.get() == usize::MAX {
            own.set(NEXT.fetch_add(1, Ordering::Relaxed) & (usize::MAX >> 1));
        }
        own.get()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    use super::*;

    #[test]
    fn nothing_is_lost_between_threads() {
        let counters: Arc<Sharded<AtomicU64>> = Arc::default();
        let threads: Vec<_> = (0..20)
            .map(|_| {
                let counters = counters.clone();
                std::thread::spawn(move || {
                    for _ in 0..1000 {
                        counters.own().fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(counters.iter().map(|part| part.load(Ordering::Relaxed)).sum::<u64>(), 20_000);
    }

    #[test]
    fn a_thread_keeps_its_part() {
        let counters: Sharded<AtomicU64> = Sharded::default();
        assert!(std::ptr::eq(counters.own(), counters.own()));
    }
}
