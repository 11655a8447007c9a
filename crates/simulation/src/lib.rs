//! Deterministic simulation: servers, background work, admin calls, clients and a failing engine in one thread.
//!
//! Everything that could differ between two runs is derived from one seed: the duration of each call of the
//! engine and each message of the network, failures, the times of crashes, the next action of each client. Time
//! is simulated: it stands still until every task waits, then jumps to the next event. So a simulation of
//! minutes takes milliseconds, and the same seed produces the same run, event by event.
//!
//! | what | where |
//! |---|---|
//! | random choices, the list of events, the clock | [`rng`], [`trace`], [`time`] |
//! | an engine with delays, stalls, errors and crashes, for one server or for several | [`engine`], [`content`] |
//! | servers that start, crash and start again | [`front`] |
//! | requests over a network that delays, reorders and drops | [`network`] |
//! | the promises that are checked | [`ledger`] |
//! | clients and administrators | [`actors`] |
//! | a whole run | [`run`] |
//!
//! The servers are the real ones, from the parsing of targets and signatures down to the trait of the engine.
//! Not simulated: sockets, the files of the store, PostgreSQL, threads. docs/reliability.md lists the tests
//! that cover those.

pub mod actors;
pub mod content;
pub mod engine;
pub mod front;
pub mod ledger;
pub mod network;
pub mod rng;
pub mod run;
pub mod time;
pub mod trace;
pub mod world;

pub use run::{Settings, SimulationReport, run};
