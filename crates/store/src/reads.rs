//! Reads of rows by their keys: from memory on the caller's thread, from files on a bounded number of other threads.
//!
//! Invariant: a thread that serves connections never waits for the disk. So a slow disk slows down
//! only the reads that need it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use lazuli_engine::{Error, Result};

use crate::cell::Cell;
use crate::files::panic_text;
use crate::view::View;

/// The places where a read may look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadSource {
    /// In memory only.
    Memory,
    /// In files too.
    Files,
}

/// The result of a read from memory.
pub enum Look<T> {
    /// The value.
    Found(T),
    /// It is not in memory.
    Cold,
}

/// Why an in-memory read ended without a result.
enum Miss {
    Cold,
    Failed(Error),
}

impl<T> Look<T> {
    /// The result of a read that may use files, which is always conclusive.
    pub fn certain(self) -> Result<T> {
        match self {
            Look::Found(found) => Ok(found),
            Look::Cold => Err(Error::Unavailable("an in-memory read was inconclusive".into())),
        }
    }
}

impl View {
    /// Looks for one cell by its key.
    pub fn look(&self, key: &[u8], source: ReadSource) -> Result<Look<Option<Cell>>> {
        let read = || match (self.in_memory(key).map_err(Miss::Failed)?, source) {
            (Look::Found(cell), _) => Ok(cell),
            (Look::Cold, ReadSource::Memory) => Err(Miss::Cold),
            (Look::Cold, ReadSource::Files) => self.cell(key).map_err(Miss::Failed),
        };
        match self.files().points.get(key, self.number, read) {
            Ok(cell) => Ok(Look::Found(cell)),
            Err(Miss::Cold) => Ok(Look::Cold),
            Err(Miss::Failed(error)) => Err(error),
        }
    }

    /// Like [`Self::look`], for a row that is about to be changed, which is not worth caching.
    pub fn look_aside(&self, key: &[u8], source: ReadSource) -> Result<Look<Option<Cell>>> {
        if let Some(cell) = self.files().points.known(key, self.number) {
            return Ok(Look::Found(Some(cell)));
        }
        match (self.in_memory(key)?, source) {
            (Look::Cold, ReadSource::Files) => self.cell(key).map(Look::Found),
            (look, _) => Ok(look),
        }
    }
}

/// Runs a read. A panic of the sorted store, which asserts some properties of its files, fails only this read.
pub fn caught<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|panic| Err(Error::Corrupt(format!("a read panicked: {}", panic_text(&*panic)))))
}
