//! Trials of the Table service.

pub mod history;
pub mod invariant;
pub mod model;
pub mod sequence;
pub mod soak;
pub mod wire;
