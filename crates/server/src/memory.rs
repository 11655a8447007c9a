//! The memory that clients can make the server hold: one formula, [`bytes_max`], and the costs that requests are charged with.
//!
//! | share | bound | charged by |
//! |---|---|---|
//! | the engine | [`Engine::memory_bytes_max`] | caches, commits, content in transit |
//! | the service | [`lazuli_service::MEMORY_BYTES_MAX`] | cached containers, the work list of the sweep, the first messages of queues |
//! | requests | [`Limits::bodies_bytes_max`] | large heads, bodies, windows of uploads, decoded batches |
//! | responses being built | the same, or [`ALONE_BYTES_MAX`] if that is more | pages, listings, messages, block lists |
//! | responses in transit | the same, or [`ALONE_BYTES_MAX`] if that is more | large bodies, windows of downloads |
//! | connections | [`CONNECTION_BYTES`] each | small heads, bodies and responses, small pieces of content |
//! | analytics | [`analytics::MEMORY_BYTES_MAX`] | waiting records and lines |
//! | the program | [`PROGRAM_BYTES`] | everything without a bound of its own |
//!
//! A request that needs more than a whole share is served when nothing else holds a part of that share. docs/operate.md states the
//! same formula for operators, `/metrics` reports its value, and `tests/hostile` holds the process below it: its
//! resident memory, or its allocated bytes in a build that counts them.

use lazuli_engine::Engine;

use crate::analytics;
use crate::config::Limits;

const MIB: usize = 1024 * 1024;

/// Code, threads, TLS, metrics, rate limits, certificates.
pub const PROGRAM_BYTES: usize = 64 * MIB;

/// A connection with a request: its buffers and its task, a head and a body of [`Limits::BODY_BYTES_FREE`], and a small piece of
/// content.
pub const CONNECTION_BYTES: usize = 48 * 1024;

/// Maximum memory of a page of entities or containers while it is built: its rows and the response.
pub const PAGE_BYTES: usize = 8 * MIB;

/// Encoding one large page may take the memory of this number of pages: control characters, and the addresses
/// of entities with long keys, are six to seven times longer in a response than in storage, and a growing
/// buffer is copied.
pub const PAGES_PER_ENCODING: usize = 8;

/// Maximum memory of a listing of blobs while it is built.
pub const LISTING_BYTES: usize = 16 * MIB;

/// Maximum size of an entry of a listing: a name, metadata, tags, and properties that were set in the head of a
/// request.
pub const LISTED_BYTES: usize = 96 * 1024;

/// Maximum memory of a message while it is returned: the stored and the changed record.
pub const MESSAGE_BYTES: usize = 128 * 1024;

/// Memory of a block in the response of Get Block List: its entry, and its element in a buffer that grows.
pub const LISTED_BLOCK_BYTES: usize = 400;

/// Memory of a block in the list of Put Block List: it is parsed, looked up, found and written.
pub const COMMITTED_BLOCK_BYTES: usize = 768;

/// Maximum that a request can need of a share; see [`bytes_max`]. The services assert that their limits fit.
pub const ALONE_BYTES_MAX: usize = PAGES_PER_ENCODING * PAGE_BYTES;

const _: () = assert!(LISTING_BYTES <= ALONE_BYTES_MAX);
const _: () = assert!(Limits::BODY_BYTES_FREE < CONNECTION_BYTES);

/// Memory allocated through the counting allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocatedBytes {
    /// Bytes that are in use.
    pub live: u64,
    /// Maximum that was in use at any time since the program started.
    pub peak: u64,
}

/// Upper bound of the memory that clients can make a server with these limits hold, not counting socket buffers
/// of the system.
pub fn bytes_max(limits: &Limits, engine: &dyn Engine) -> u64 {
    let share = limits.bodies_bytes_max;
    let shares = share.saturating_add(2_usize.saturating_mul(share.max(ALONE_BYTES_MAX)));
    let connections = limits.connections_max.saturating_mul(CONNECTION_BYTES);
    let fixed = lazuli_service::MEMORY_BYTES_MAX + analytics::MEMORY_BYTES_MAX + PROGRAM_BYTES;
    engine.memory_bytes_max() + shares.saturating_add(connections).saturating_add(fixed) as u64
}

#[cfg(test)]
mod tests {
    use lazuli_engine::Clock;
    use lazuli_engine::memory::Memory;

    use super::*;

    /// The numbers of docs/operate.md.
    #[test]
    fn the_formula_has_the_documented_parts() {
        let engine = Memory::new(Clock::system());
        let of = |share: usize, connections: usize| {
            let limits =
                Limits { bodies_bytes_max: share * MIB, connections_max: connections, ..Limits::default() };
            bytes_max(&limits, &engine) - engine.memory_bytes_max()
        };
        let mib = |count: u64| count * MIB as u64;
        assert_eq!(of(100, 0), mib(232) + 3 * mib(100));
        assert_eq!(of(200, 0) - of(100, 0), mib(300), "three shares");
        assert_eq!(of(8, 0), mib(232) + mib(8) + 2 * mib(64), "a large request that is served alone");
        assert_eq!(of(8, 1000) - of(8, 0), 1000 * 48 * 1024);
    }
}
