//! A store opened read-only: its rows can be read, and its files do not change.
//!
//! The sorted store writes when it opens: it cuts logs, removes files, merges others. So it opens a separate
//! temporary directory, in which the sorted files are links and everything that it could change is a copy. It
//! has no worker there.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lazuli_engine::{Content, Error, Marks, Result, RowView, TableId};

use crate::check::CheckReport;
use crate::content::PackContent;
use crate::directory::{self, Directory};
use crate::error::OpenError;
use crate::files::{Files, panic_text};
use crate::journal::{self, Tail};
use crate::options::Options;
use crate::preflight::{self, LOG_EXTENSION, TABLES};
use crate::state::State;
use crate::view::View;

/// Number of names that are tried for the directory.
const NAMES_MAX: u32 = 1000;

/// The rows of a store that no other process has open, without an unfinished batch at the end of the log.
pub struct ClosedStore {
    view: View,
    content: PackContent,
    /// Declared after `view` and `content`, so that it is dropped after them.
    _scratch: Scratch,
    _lock: Directory,
}

impl ClosedStore {
    /// Opens the store in `dir`. It needs space for a copy of the log among the system's temporary files.
    pub fn open(dir: &Path) -> std::result::Result<Self, OpenError> {
        if !directory::is_store(dir)? {
            return Err(OpenError::NoStore(dir.into()));
        }
        let lock = Directory::open(dir)?;
        let scratch = Scratch::make()?;
        let inner = Directory::open(&scratch.0)?;
        if lock.data().exists() {
            let data = lock.data();
            let data = data.canonicalize().map_err(OpenError::io("look at", &data))?;
            replicate(&data, &inner.data())?;
        }
        let files = Arc::new(Files::open_idle(inner, &Options::default())?);
        let content = PackContent::open_idle(dir)?;
        Ok(Self { view: View::take(&files, 0), content, _scratch: scratch, _lock: lock })
    }

    /// The content of the store. Writes to it fail.
    pub fn content(&self) -> Arc<dyn Content> {
        Arc::new(self.content.clone())
    }

    /// The last version and table id, if they are readable.
    pub fn marks(&self) -> Option<Marks> {
        let State { last_version, last_table } = self.read(State::load).ok()?;
        Some(Marks { last_version, last_table })
    }

    /// Reads everything, verifies checksums and the order of keys, and passes each undamaged row on.
    pub fn check_each(&self, see: &mut dyn FnMut(TableId, RowView<'_>)) -> Result<CheckReport> {
        self.read(|view| Ok(CheckReport::of(view, see)))
    }

    fn read<T>(&self, read: impl FnOnce(&View) -> Result<T>) -> Result<T> {
        catch_unwind(AssertUnwindSafe(|| read(&self.view)))
            .unwrap_or_else(|panic| Err(Error::Corrupt(format!("a read panicked: {}", panic_text(&*panic)))))
    }
}

/// A private temporary directory, removed with its content on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn make() -> std::result::Result<Self, OpenError> {
        let (root, id) = (std::env::temp_dir(), std::process::id());
        for number in 0..NAMES_MAX {
            let path = root.join(format!("lazuli-check-{id}-{number}"));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(OpenError::io("create", &path)(e)),
            }
        }
        Err(OpenError::io("create a directory in", &root)(ErrorKind::AlreadyExists.into()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // If this fails, the system's cleanup of temporary files removes the rest.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Makes `to` equivalent to `from` for the sorted store.
fn replicate(from: &Path, to: &Path) -> std::result::Result<(), OpenError> {
    fs::DirBuilder::new().mode(0o700).create(to).map_err(OpenError::io("create", to))?;
    for path in preflight::list(from)? {
        let Some(name) = path.file_name() else { continue };
        let copy = to.join(name);
        if path.is_dir() {
            replicate(&path, &copy)?;
        } else if from.ends_with(TABLES) {
            symlink(&path, &copy).map_err(OpenError::io("link", &copy))?;
        } else if path.extension().is_some_and(|extension| extension == LOG_EXTENSION) {
            copy_file(&path, &copy, whole_batches(&path)?)?;
        } else {
            copy_file(&path, &copy, u64::MAX)?;
        }
    }
    Ok(())
}

/// The end of the complete batches of a log, if at most an unfinished one follows.
fn whole_batches(path: &Path) -> std::result::Result<u64, OpenError> {
    let summary = journal::read(path)?;
    match summary.tail {
        Tail::Clean | Tail::Torn => Ok(summary.end),
        Tail::Holed | Tail::Altered | Tail::Damaged => Err(OpenError::Corrupt(format!(
            "{}: the data at byte {} is unreadable",
            path.display(),
            summary.end
        ))),
    }
}

fn copy_file(from: &Path, to: &Path, bytes: u64) -> std::result::Result<(), OpenError> {
    let source = File::open(from).map_err(OpenError::io("open", from))?;
    let copy = || {
        let mut target = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
        std::io::copy(&mut source.take(bytes), &mut target)
    };
    copy().map(drop).map_err(OpenError::io("write", to))
}
