//! Puts a table server on trial: does it keep its promises under random work, concurrency and violence?
//!
//! - [`sequence`]: random operations on the server and on a [`model`] of it; every answer must agree.
//! - [`history`]: concurrent clients; what they saw must have an order in which it makes sense.
//! - [`invariant`]: workloads whose data has a property that no moment may break (a constant sum, one ring).
//! - [`soak`]: hours of mixed work with restarts; nothing may grow that should not.
//!
//! All of them talk HTTP to a [`subject::Subject`], which can be stopped, killed and started again. A failure prints the seed
//! that repeats it.

#![allow(clippy::disallowed_methods, reason = "a trial measures time, and lets it pass before it strikes")]

pub mod history;
pub mod invariant;
pub mod model;
pub mod random;
pub mod sequence;
pub mod soak;

pub mod subject;
pub mod wire;
