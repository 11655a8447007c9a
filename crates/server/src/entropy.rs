//! The only source of random bytes in the server, and of the ids made from them.

use std::sync::atomic::{AtomicU64, Ordering};

use lazuli_model::Guid;

/// Random bytes from the system.
pub fn random<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
    Ok(bytes)
}

/// The system's random bytes, for signatures.
pub fn generator() -> ring::rand::SystemRandom {
    ring::rand::SystemRandom::new()
}

/// Makes ids that are cheap and unique to this process: a random start, then a counter.
pub struct Ids {
    prefix: [u8; 8],
    next: AtomicU64,
}

impl Ids {
    /// A new series.
    pub fn new() -> std::io::Result<Self> {
        random().map(Self::from_bytes)
    }

    /// A series of ids that starts at these bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        let (prefix, start) = bytes.split_at(8);
        Self {
            prefix: prefix.try_into().unwrap_or_default(),
            next: AtomicU64::new(u64::from_be_bytes(start.try_into().unwrap_or_default())),
        }
    }

    /// The next id.
    pub fn next(&self) -> Guid {
        let count = self.next.fetch_add(1, Ordering::Relaxed);
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.prefix);
        // The counter comes first, so that consecutive ids differ where people look.
        bytes.rotate_right(8);
        bytes[..8].copy_from_slice(&count.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
        Guid(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ() {
        let ids = Ids::new().unwrap();
        let many: std::collections::HashSet<_> = (0..10_000).map(|_| ids.next()).collect();
        assert_eq!(many.len(), 10_000);
    }
}
