//! The Queue service: time, concurrency, expiry, moves, and random operations against a model.
//!
//! | what | where |
//! |---|---|
//! | rights | `access.rs` |
//! | clocks that jump, restarts | `time.rs` |
//! | several front ends on one engine | `shared.rs` |
//! | puts and deletes that share a commit | `together.rs` |
//! | expired messages | `expiry.rs` |
//! | the cost of the number of messages | `counting.rs` |
//! | moving messages, with crashes | `moving.rs` |
//! | random operations against a model | `random.rs` |

#![allow(clippy::unwrap_used, reason = "a failed step fails its test")]

mod access;
mod counting;
mod expiry;
mod moving;
mod random;
mod shared;
mod time;
mod together;
mod world;
