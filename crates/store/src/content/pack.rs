//! One pack file: which of its ranges are in use, and how the rest may be used.
//!
//! | kind | written to | swept | removed when nothing in it is live |
//! |---|---|---|---|
//! | open | by uploads of this process | no | no |
//! | closed | no | no: this process knows its ranges | yes |
//! | former | no | yes, once | after the sweep |
//! | adopted | by [`adopt`](super::adopt) | no, until the next start | no |
//!
//! Invariant: a dead range stays dead. It becomes dead before it is freed, and a reader checks for that after
//! it has pinned its piece.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use lazuli_engine::content::{ALIGN_BYTES, Piece, Units, units_of};
use lazuli_engine::{Error, Result};

use super::disk;
use super::due::Due;
use super::handles::Handles;
use super::limits::PACK_LENGTH_MAX;

/// The role of a pack in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackKind {
    /// It takes new pieces.
    Open,
    /// It contains pieces of this process, and takes no more.
    Closed,
    /// An earlier process wrote it.
    Former,
    /// This process has put pieces of another store into it.
    Adopted,
}

/// A pack file.
pub struct Pack {
    /// Its number, which is the stream of its pieces.
    pub number: u64,
    /// Where it is.
    pub path: PathBuf,
    /// The file, if this process created it; otherwise it is opened when it is needed.
    own: OnceLock<Arc<File>>,
    handles: Arc<Handles>,
    state: Mutex<PackState>,
    /// Held while ranges are freed, and by operations that must not run at the same time.
    pub freeing: Mutex<()>,
}

/// The state of a pack.
#[derive(Debug)]
pub struct PackState {
    /// Its role in this process.
    pub kind: PackKind,
    /// The offset of the next piece, or the end of the file.
    pub end: u64,
    /// Units that no row can refer to any more.
    pub dead: Units,
    /// Dead units that are not freed yet.
    pub to_free: Units,
    /// Dead bytes that are being freed, or that could not be freed separately.
    pub stuck: u64,
    /// Bytes reserved by uploads in progress.
    pub writing: u64,
    /// Has a sweep determined which units of a former pack are live?
    pub is_swept: bool,
    /// Is the file's name durable?
    pub is_entry_durable: bool,
    /// The reason why it takes no more pieces, after a failed sync.
    pub failed: Option<String>,
    /// The file was removed.
    pub is_removed: bool,
    /// Bytes of an unswept pack that take up space.
    pub data: Option<u64>,
}

impl Pack {
    /// A pack that was created by this process.
    pub fn made(number: u64, path: PathBuf, file: File, kind: PackKind, handles: &Arc<Handles>) -> Self {
        let own = OnceLock::from(Arc::new(file));
        Self::new(number, path, own, PackState::new(kind), handles)
    }

    /// A pack of an earlier process, with the length of its file.
    pub fn former(number: u64, path: PathBuf, length: u64, handles: &Arc<Handles>) -> Self {
        // Anything beyond cannot be a piece, and must not enlarge the maps.
        let end = length.min(PACK_LENGTH_MAX).next_multiple_of(ALIGN_BYTES);
        let state = PackState { is_entry_durable: true, end, ..PackState::new(PackKind::Former) };
        Self::new(number, path, OnceLock::new(), state, handles)
    }

    fn new(
        number: u64,
        path: PathBuf,
        own: OnceLock<Arc<File>>,
        state: PackState,
        handles: &Arc<Handles>,
    ) -> Self {
        let handles = Arc::clone(handles);
        Self { number, path, own, handles, state: Mutex::new(state), freeing: Mutex::new(()) }
    }

    /// Its state.
    pub fn state(&self) -> MutexGuard<'_, PackState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The open file.
    pub fn file(&self) -> io::Result<Arc<File>> {
        match self.own.get() {
            Some(file) => Ok(Arc::clone(file)),
            None => self.handles.open(self.number, &self.path),
        }
    }

    /// The file, if it is already open.
    pub fn open_file(&self) -> Option<Arc<File>> {
        self.own.get().cloned().or_else(|| self.handles.find(self.number))
    }

    /// Closes the file when its last user is done.
    pub fn let_go(&self) {
        self.handles.close(self.number);
    }

    /// The units that take up space on the disk; none if the file does not exist.
    pub fn data(&self) -> io::Result<Units> {
        let file = match self.file() {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Units::default()),
            Err(e) => return Err(e),
        };
        let end = self.state().end;
        let (mut units, mut from) = (Units::default(), 0);
        while let Some((start, stop)) = disk::next_data(&file, from, end)? {
            units.add(units_of(start, stop - start));
            from = stop;
        }
        Ok(units)
    }

    /// Is the piece, or a part of it, dead?
    pub fn is_dead(&self, piece: &Piece) -> bool {
        self.state().dead.has_any(units_of(piece.offset, piece.footprint()))
    }
}

impl PackState {
    fn new(kind: PackKind) -> Self {
        Self {
            kind,
            end: 0,
            dead: Units::default(),
            to_free: Units::default(),
            stuck: 0,
            writing: 0,
            is_swept: false,
            is_entry_durable: false,
            failed: None,
            is_removed: false,
            data: None,
        }
    }

    /// Marks a range as dead and to be freed. Parts that are already dead are not changed.
    pub fn kill(&mut self, offset: u64, bytes: u64) {
        // An invalid name must not enlarge the maps.
        let end = offset.saturating_add(bytes).min(self.end);
        let gaps: Vec<_> = self.dead.gaps(units_of(offset, end.saturating_sub(offset))).collect();
        for gap in gaps {
            self.dead.add(gap.clone());
            self.to_free.add(gap);
        }
    }

    /// Marks a range that was reserved and never written as dead.
    pub fn skip(&mut self, offset: u64, bytes: u64) {
        if offset + bytes == self.end {
            self.end = offset;
        } else {
            self.dead.add(units_of(offset, bytes));
        }
    }

    /// It is known to be completely dead, and nothing writes to it.
    pub fn is_removable(&self) -> bool {
        let is_known = match self.kind {
            PackKind::Closed => true,
            PackKind::Former => self.is_swept,
            PackKind::Open | PackKind::Adopted => false,
        };
        is_known && !self.is_removed && self.writing == 0 && self.dead.bytes() >= self.end
    }

    /// An earlier process wrote it, and no sweep has determined yet which parts are live.
    pub fn is_unswept(&self) -> bool {
        self.kind == PackKind::Former && !self.is_swept
    }

    /// Live bytes, as far as they are known.
    pub fn live(&self) -> u64 {
        match self.is_unswept() {
            true => 0,
            false => self.end.saturating_sub(self.dead.bytes()).saturating_sub(self.writing),
        }
    }
}

/// A range of an open pack that belongs to one upload. Dropping it abandons the range.
pub struct Claim {
    /// The pack.
    pub pack: Arc<Pack>,
    /// Where the range starts.
    pub offset: u64,
    /// Its length.
    pub bytes: u64,
    /// The end of the part that may have been written.
    pub used: u64,
    /// Is notified of abandoned ranges.
    pub due: Arc<Due>,
}

impl Claim {
    /// Keeps the used part of the range, which is sealed now.
    pub fn keep(mut self) {
        let mut state = self.pack.state();
        self.give_back(&mut state);
        drop(state);
        self.bytes = 0;
    }

    /// Ends the claim and releases the part that was never written; returns the length of the rest.
    fn give_back(&self, state: &mut PackState) -> u64 {
        let used = self.used.next_multiple_of(ALIGN_BYTES).min(self.bytes);
        state.writing -= self.bytes;
        if used < self.bytes {
            state.skip(self.offset + used, self.bytes - used);
        }
        used
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        let mut state = self.pack.state();
        let used = self.give_back(&mut state);
        state.kill(self.offset, used);
        drop(state);
        self.due.add(self.pack.number);
    }
}

/// A read or write of a pack that failed.
pub fn io_error(what: &str, path: &Path, error: &io::Error) -> Error {
    Error::Unavailable(format!("cannot {what} {}: {error}", path.display()))
}

/// The outcome of a system call.
pub fn checked<T>(what: &str, path: &Path, result: io::Result<T>) -> Result<T> {
    result.map_err(|e| io_error(what, path, &e))
}
