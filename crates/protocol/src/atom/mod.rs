//! Atom bodies: entities, tables and errors, in and out.

pub mod read;
pub mod write;
