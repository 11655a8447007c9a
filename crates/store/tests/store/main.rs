//! The store from outside: the suite that every engine runs, on a store that stays open, on one that is reopened
//! all the time, and with other caches; and tests for faults that only a store on disk can have.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod conformance;
mod content;
mod content_crash;
mod content_damage;
mod copies;
mod crash;
mod damage;
mod foreign;
mod missing;
mod readers;
mod reopen;
mod scans;
mod support;
mod tails;
