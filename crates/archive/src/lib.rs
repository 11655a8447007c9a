//! The backup format: all rows of any engine, of one moment, as checksummed files.
//!
//! A backup is a directory: parts of blocks of rows ([`block`]), and a manifest ([`manifest`]) that is written last and
//! says what belongs to it. It holds tables by id, keys, values and versions, and nothing of how an engine lays them out;
//! so it is also what carries data from one engine to another.

pub mod block;
mod error;
pub mod manifest;
mod reader;
mod writer;

pub use block::{Block, Packer, Totals, Unpacker};
pub use error::{Error, Result};
pub use manifest::Manifest;
pub use reader::Reader;
pub use writer::{Sealed, Writer};
