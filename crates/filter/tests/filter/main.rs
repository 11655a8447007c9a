//! What the filter language promises. One file per promise:
//!
//! | file | a test belongs there if it is about |
//! |---|---|
//! | `grammar` | which texts are read, and to what |
//! | `refusals` | which texts are refused, and in which words |
//! | `semantics` | which entities a filter wants |
//! | `plans` | what a filter reads |
//! | `properties` | what holds for every filter and every entity |
//!
//! `entity`, `generate` and `naive` are what they share.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod entity;
mod generate;
mod grammar;
mod naive;
mod plans;
mod properties;
mod refusals;
mod semantics;
