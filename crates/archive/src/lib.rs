//! The backup format: all rows of any engine at one moment, with the content that they refer to, as checksummed files.
//!
//! A backup is a directory: parts with blocks of rows and of content ([`block`]), and a manifest ([`manifest`])
//! that lists them and is written last. It contains table ids, keys, values and versions, independent of their
//! representation in an engine, so it can also move data from one engine to another.

pub mod block;
mod error;
pub mod manifest;
mod reader;
mod source;
mod writer;

pub use block::{Block, ContentBlock, ContentTotals, Packer, Totals, Unpacker};
pub use error::{Error, Result};
pub use manifest::Manifest;
pub use reader::ArchiveReader;
pub use source::BackupSource;
pub use writer::{ArchiveWriter, Sealed};
