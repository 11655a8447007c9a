//! Page blobs: a fixed size, and pages of 512 bytes that can be written in any order.
//!
//! | what | where |
//! |---|---|
//! | rows: a cell of neighbouring pages per epoch | `cell`, `scan` |
//! | create, write, clear, resize | `create`, `write`, `properties` |
//! | large clears | `clears` |
//! | written ranges, differences between snapshots | `ranges` |
//! | copies | `copy`, `incremental`, `incremental_remote`, `regroup` |
//!
//! Pages that were never written have no row and read as zeros. A snapshot raises the epoch, so it copies
//! nothing, and later writes go to separate rows.
//!
//! Invariants:
//! - A write is one commit of the head and the cells that it touches. Cells that it replaces completely are
//!   written without reading them; all others are updated. So concurrent writes never conflict.
//! - Cells of an epoch before that of the blob never change, except that the sweep merges those that no
//!   snapshot separates.

pub mod cell;
mod clears;
mod copy;
mod create;
mod incremental;
mod incremental_remote;
mod properties;
mod ranges;
mod regroup;
pub mod scan;
mod write;

pub use write::PageWrite;
