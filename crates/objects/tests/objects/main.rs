//! Content in an object store in memory.
//!
//! | a test about | belongs in |
//! |---|---|
//! | what every content store does | `lazuli_engine::content::conformance`, run by `conformance.rs` |
//! | objects: their format, damage, several front ends | `objects.rs` |
//!
//! `tests/postgres/objects.py` runs servers on a real store, with faults.

mod conformance;
mod ledger;
mod memory;
mod objects;
