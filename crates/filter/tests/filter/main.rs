//! Tests of the filter language. One file per aspect:
//!
//! | file | tests |
//! |---|---|
//! | `grammar` | accepted texts and their parsed filters |
//! | `rejections` | rejected texts and their messages |
//! | `semantics` | which entities a filter matches |
//! | `plans` | the key ranges that a filter reads |
//! | `properties` | properties of all filters and entities |
//!
//! `entity`, `generate` and `naive` are shared helpers.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod entity;
mod generate;
mod grammar;
mod naive;
mod plans;
mod properties;
mod rejections;
mod semantics;
