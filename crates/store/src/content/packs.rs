//! All packs of a store: which of them exist, which two are open, and which range the next piece gets.
//!
//! Invariants:
//! - Numbers only grow. The pack with the greatest number that no crash can lose is never removed, so that the next
//!   process finds it and continues above it.
//! - A pack of an earlier process is never written to by uploads.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind, IoSlice};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use lazuli_engine::content::{Piece, Pins, STREAM_MAX, Units, footprint};
use lazuli_engine::{Error, Result};

use super::disk::{Disk, RealDisk};
use super::due::Due;
use super::handles::Handles;
use super::limits::{LARGE_BYTES_MIN, WHOLE_PACK_BYTES_MAX};
use super::pack::{Claim, Pack, PackKind, checked};
use crate::crash_point::{self, Point};
use crate::error::{OpenError, closed};

/// The suffix of pack names; the number precedes it.
const EXTENSION: &str = "pack";
/// A file for testing the capabilities of the file system.
const PROBE: &str = "probe";

/// The two kinds of packs that are open at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// For pieces that share syncs.
    Small,
    /// For pieces large enough for a separate sync.
    Large,
}

impl Lane {
    /// The kind of pack for a piece of this many bytes.
    pub fn of(bytes: u64) -> Self {
        if bytes < LARGE_BYTES_MIN { Lane::Small } else { Lane::Large }
    }
}

/// All packs of a store.
pub struct Packs {
    /// Their directory. It is created with the first pack.
    pub dir: PathBuf,
    /// The disk.
    pub disk: Arc<dyn Disk>,
    /// Pins of the content that is being read or copied.
    pub pins: Pins,
    /// Packs that have something to free.
    pub due: Arc<Due>,
    /// Dead bytes of packs that are being removed, or that could not be removed.
    pub removing: AtomicU64,
    /// Bytes that were freed.
    pub freed: AtomicU64,
    handles: Arc<Handles>,
    table: Mutex<Table>,
    /// The file system can free parts of a file; unknown until there is a directory.
    can_punch: OnceLock<bool>,
    /// A pack that has reached this size takes no more pieces.
    pack_bytes_max: u64,
    is_closed: AtomicBool,
}

/// The existing packs.
#[derive(Default)]
struct Table {
    packs: BTreeMap<u64, Arc<Pack>>,
    small: Option<Arc<Pack>>,
    large: Option<Arc<Pack>>,
    /// The greatest number that was ever in use here.
    last: u64,
    /// The greatest number whose file name is durable. Packs below it may be removed.
    last_durable: u64,
    /// Is the directory durable?
    is_dir_durable: bool,
}

impl Packs {
    /// Are packs only read? Then nothing in their directory is changed.
    pub fn open_idle(dir: PathBuf) -> std::result::Result<Self, OpenError> {
        let packs = Self::find_all(dir, Arc::new(RealDisk), 0)?;
        packs.close();
        Ok(packs)
    }

    /// Lists the packs in `dir` without reading them.
    pub fn open(
        dir: PathBuf,
        disk: Arc<dyn Disk>,
        pack_bytes_max: u64,
    ) -> std::result::Result<Self, OpenError> {
        let packs = Self::find_all(dir, disk, pack_bytes_max)?;
        if packs.dir.try_exists().map_err(OpenError::io("look at", &packs.dir))? {
            fs::set_permissions(&packs.dir, Permissions::from_mode(0o700))
                .map_err(OpenError::io("protect", &packs.dir))?;
            // A killed process may have left it.
            let _ = packs.disk.remove(&packs.dir.join(PROBE));
            packs.can_punch();
        }
        Ok(packs)
    }

    fn find_all(
        dir: PathBuf,
        disk: Arc<dyn Disk>,
        pack_bytes_max: u64,
    ) -> std::result::Result<Self, OpenError> {
        let handles = Arc::new(Handles::default());
        let mut table = Table::default();
        for (number, length) in list(&dir).map_err(OpenError::io("read", &dir))? {
            let pack = Pack::former(number, path_of(&dir, number), length, &handles);
            table.packs.insert(number, Arc::new(pack));
        }
        table.last = table.packs.keys().next_back().copied().unwrap_or(0);
        Ok(Self {
            dir,
            disk,
            pins: Pins::default(),
            due: Arc::default(),
            removing: AtomicU64::new(0),
            freed: AtomicU64::new(0),
            handles,
            table: Mutex::new(table),
            can_punch: OnceLock::new(),
            pack_bytes_max,
            is_closed: AtomicBool::new(false),
        })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file system can free parts of a file.
    pub fn can_punch(&self) -> bool {
        *self.can_punch.get_or_init(|| {
            let can = probe(&*self.disk, &self.dir.join(PROBE));
            if !can {
                tracing::warn!(
                    directory = %self.dir.display(),
                    "the file system cannot free parts of a file: the space of deleted content is freed only when all content of its \
                     pack file is deleted"
                );
            }
            can
        })
    }

    /// Rejects writes from now on.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
    }

    /// Fails after [`Packs::close`].
    pub fn check_open(&self) -> Result<()> {
        if self.is_closed.load(Ordering::Acquire) { Err(closed()) } else { Ok(()) }
    }

    /// The pack with this number, if it exists.
    pub fn find(&self, number: u64) -> Option<Arc<Pack>> {
        self.table().packs.get(&number).cloned()
    }

    /// All packs from a number on, in order.
    pub fn from(&self, number: u64) -> Vec<Arc<Pack>> {
        self.table().packs.range(number..).map(|(_, pack)| Arc::clone(pack)).collect()
    }

    /// Fails if the disk has no room for `bytes` more. Content leaves twice the reserve of rows free, so that uploads end
    /// before commits do.
    fn check_space(&self, bytes: u64) -> Result<()> {
        let space = self.disk.space(self.dir.parent().unwrap_or(&self.dir));
        space.check(bytes, 2 * space.reserve())
    }

    /// Reserves a range for a piece of at most `length` bytes.
    pub fn claim(&self, lane: Lane, length: u32) -> Result<Claim> {
        self.check_open()?;
        let bytes = footprint(length);
        self.check_space(bytes)?;
        let mut table = self.table();
        let open = table.lane(lane).clone();
        if let Some(pack) = open {
            if let Some(claim) = self.claim_in(&pack, bytes) {
                return Ok(claim);
            }
            table.lane(lane).take();
            pack.state().kind = PackKind::Closed;
            self.due.add(pack.number);
        }
        let pack = self.make(&mut table, None, PackKind::Open)?;
        *table.lane(lane) = Some(Arc::clone(&pack));
        drop(table);
        self.claim_in(&pack, bytes)
            .ok_or_else(|| Error::Unavailable("a new pack was lost immediately".into()))
    }

    fn claim_in(&self, pack: &Arc<Pack>, bytes: u64) -> Option<Claim> {
        let full = if self.can_punch() {
            self.pack_bytes_max
        } else {
            WHOLE_PACK_BYTES_MAX.min(self.pack_bytes_max)
        };
        let mut state = pack.state();
        if state.failed.is_some() || state.end >= full {
            return None;
        }
        let offset = state.end;
        state.end += bytes;
        state.writing += bytes;
        drop(state);
        crash_point::pass(Point::ContentReserved);
        Some(Claim { pack: Arc::clone(pack), offset, bytes, used: 0, due: Arc::clone(&self.due) })
    }

    /// Creates a pack, with a number that was never used or, for adopted pieces, with their number.
    fn make(&self, table: &mut Table, number: Option<u64>, kind: PackKind) -> Result<Arc<Pack>> {
        let number = number.unwrap_or(table.last + 1);
        if number > STREAM_MAX {
            return Err(Error::Unavailable("all pack numbers are used up".into()));
        }
        checked("make", &self.dir, make_dir(&self.dir))?;
        if !table.is_dir_durable {
            let parent = self.dir.parent().unwrap_or(Path::new("."));
            checked("sync", parent, self.disk.sync_dir(parent))?;
            table.is_dir_durable = true;
        }
        self.can_punch();
        let path = path_of(&self.dir, number);
        let file = checked("make", &path, self.disk.create(&path))?;
        let pack = Arc::new(Pack::made(number, path, file, kind, &self.handles));
        table.last = table.last.max(number);
        table.packs.insert(number, Arc::clone(&pack));
        Ok(pack)
    }

    /// The pack for a piece from another store; `None` if the pack belongs to uploads of this process.
    pub fn adopting(&self, piece: &Piece) -> Result<Option<Arc<Pack>>> {
        self.check_open()?;
        let mut table = self.table();
        let pack = match table.packs.get(&piece.stream) {
            Some(pack) => Arc::clone(pack),
            None => self.make(&mut table, Some(piece.stream), PackKind::Adopted)?,
        };
        let mut state = pack.state();
        match state.kind {
            PackKind::Open | PackKind::Closed => return Ok(None),
            PackKind::Former | PackKind::Adopted => state.kind = PackKind::Adopted,
        }
        drop(state);
        Ok(Some(pack))
    }

    /// Makes the name of a new pack durable.
    pub fn make_entry_durable(&self, pack: &Pack) -> Result<()> {
        if pack.state().is_entry_durable {
            return Ok(());
        }
        crash_point::pass(Point::BeforeContentEntry);
        checked("sync", &self.dir, self.disk.sync_dir(&self.dir))?;
        crash_point::pass(Point::AfterContentEntry);
        pack.state().is_entry_durable = true;
        let mut table = self.table();
        table.last_durable = table.last_durable.max(pack.number);
        // An earlier pack can be removed only once a later one is durable, so check the earlier packs again.
        table.packs.range(..pack.number).for_each(|(number, _)| self.due.add(*number));
        Ok(())
    }

    /// Removes a pack that has no live bytes.
    pub fn remove(&self, pack: &Pack) -> io::Result<()> {
        if !self.is_outnumbered(pack)? {
            return Ok(());
        }
        let mut table = self.table();
        let mut state = pack.state();
        if !state.is_removable() {
            return Ok(());
        }
        // At any time, one of the counters includes these bytes: see `listing::status`.
        let bytes = state.to_free.bytes() + state.stuck;
        self.removing.fetch_add(bytes, Ordering::SeqCst);
        (state.to_free, state.stuck, state.is_removed) = (Units::default(), 0, true);
        table.packs.remove(&pack.number);
        drop((state, table));
        pack.let_go();
        crash_point::pass(Point::BeforeContentUnlink);
        self.disk.remove(&pack.path)?;
        crash_point::pass(Point::AfterContentUnlink);
        self.freed.fetch_add(bytes, Ordering::SeqCst);
        self.removing.fetch_sub(bytes, Ordering::SeqCst);
        Ok(())
    }

    /// Can this pack be removed, and does a pack with a greater number stay? Makes the name of that one durable first.
    fn is_outnumbered(&self, pack: &Pack) -> io::Result<bool> {
        let table = self.table();
        let last = table.last;
        if !pack.state().is_removable() || pack.number >= last {
            return Ok(false);
        }
        if pack.number >= table.last_durable {
            drop(table);
            self.disk.sync_dir(&self.dir)?;
            let mut table = self.table();
            table.last_durable = table.last_durable.max(last);
        }
        Ok(true)
    }
}

impl Table {
    fn lane(&mut self, lane: Lane) -> &mut Option<Arc<Pack>> {
        match lane {
            Lane::Small => &mut self.small,
            Lane::Large => &mut self.large,
        }
    }
}

/// The path of the pack with a number.
fn path_of(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:016}.{EXTENSION}"))
}

/// The number of the pack with this name.
fn number_of(path: &Path) -> Option<u64> {
    let number: u64 = path.file_stem()?.to_str()?.parse().ok()?;
    (path.extension()? == EXTENSION && (1..=STREAM_MAX).contains(&number)).then_some(number)
}

/// Numbers and lengths of the packs in a directory; none if it does not exist.
fn list(dir: &Path) -> io::Result<Vec<(u64, u64)>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(e),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        match number_of(&path) {
            Some(number) => found.push((number, entry.metadata()?.len())),
            None if path.ends_with(PROBE) => {}
            None => {
                tracing::warn!(file = %path.display(), "ignoring a file in the content directory that is not a pack")
            }
        }
    }
    Ok(found)
}

/// Creates the directory of the packs, accessible only to its owner.
fn make_dir(dir: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => Err(e),
        _ => Ok(()),
    }
}

/// Tests whether a part of a file can be freed. If the test is impossible, assumes that it can.
fn probe(disk: &dyn Disk, path: &Path) -> bool {
    let tried = disk.create(path).and_then(|file| {
        disk.write(&file, &mut [IoSlice::new(&[1; 8192])], 0)?;
        disk.punch(&file, 0, 4096)
    });
    let _ = disk.remove(path);
    !tried.is_err_and(|e| e.kind() == ErrorKind::Unsupported)
}
