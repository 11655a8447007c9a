//! JSON bodies: entities and tables, in and out.

pub mod read;
pub mod send;
pub mod text;
pub mod write;
