//! Puts a server on trial: does it keep its promises under random operations, concurrency and crashes?
//!
//! - `table`: random operations on the server and on a model of it, histories of concurrent clients, and invariants
//!   (workloads whose data has a property that must always hold).
//! - `queue`: concurrent clients of a queue, checked for messages with two holders and messages that are lost.
//! - `blob`: histories of concurrent clients with conditions and leases.
//! - `mixed`: histories of accounts, keys, policies, tables and scans.
//! - [`soak`]: hours of mixed work with restarts; resource use must not grow.
//! - [`linear`]: records histories of concurrent clients and looks for an order that explains them.
//!
//! All of them send HTTP requests to a [`subject::Subject`], which can be stopped, killed and started again. A
//! failure prints the seed that reproduces it.

#![allow(clippy::disallowed_methods, reason = "a trial measures time, and lets some pass before a kill")]

pub mod blob;
pub mod caller;
pub mod linear;
pub mod mixed;
pub mod queue;
pub mod random;
pub mod soak;
pub mod subject;
pub mod table;
