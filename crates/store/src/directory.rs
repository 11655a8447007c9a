//! The store's directory: its files, and who may use it.
//!
//! | name | what |
//! |---|---|
//! | `lock` | locked while the store is open; contains the id of the process that holds it |
//! | `format` | says that this is a store, and of which format |
//! | `acknowledged` | the last version that was acknowledged; made after `data/` |
//! | `closed` | exists after a clean close: the last version that must be present |
//! | `relaxed` | exists once the store was opened with commits that do not wait for the disk: the end of the log may be in any state |
//! | `restoring` | exists while the store is being restored from a backup: its data is incomplete |
//! | `cut-N` | the unfinished end of a log that was dropped when the store was opened; the greatest N is the latest |
//! | `data/` | the sorted store with its log |
//! | `content/` | packs of large content; exists once there was any |
//!
//! Invariant: `format` is written before `data/` exists, and nothing is touched before the lock is held.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use lazuli_engine::Version;

use crate::crash_point::{self, Point};
use crate::error::OpenError;

const LOCK: &str = "lock";
/// The file that marks a store; it is written once.
pub const FORMAT: &str = "format";
const CLOSED: &str = "closed";
const RELAXED: &str = "relaxed";
const RESTORING: &str = "restoring";
const DATA: &str = "data";

/// The whole content of the `format` file. The number grows with every change that an older version cannot read.
const FORMAT_TEXT: &str = "lazuli store\nformat 1\n";
const FORMAT_BYTES_MAX: u64 = 4096;

/// Has a store ever been created here?
pub fn is_store(path: &Path) -> Result<bool, OpenError> {
    let path = path.join(FORMAT);
    path.try_exists().map_err(OpenError::io("look at", &path))
}

/// A store's directory, locked until this is dropped.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    lock: File,
}

impl Directory {
    /// Creates the directory if necessary, locks it and checks the format.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        create_all(path)?;
        let lock = lock(path)?;
        crash_point::pass(Point::Created);
        let directory = Self { path: path.into(), lock };
        if directory.path.join(RESTORING).exists() {
            return Err(OpenError::Unfinished(path.into()));
        }
        directory.check_format()?;
        directory.keep_to_owner()?;
        Ok(directory)
    }

    /// The directory itself may be open to others; files that contain account keys are for their owner only.
    pub fn keep_to_owner(&self) -> Result<(), OpenError> {
        let data = self.data();
        if !data.exists() {
            return Ok(());
        }
        fs::set_permissions(&data, Permissions::from_mode(0o700)).map_err(OpenError::io("protect", &data))
    }

    /// Creates the directory if necessary, locks it, and marks it as not usable yet.
    pub fn begin_load(path: &Path) -> Result<Self, OpenError> {
        create_all(path)?;
        // Check before there is a lock file: existing files belong to someone.
        let entries = fs::read_dir(path).map_err(OpenError::io("read", path))?;
        if entries.into_iter().next().is_some() {
            return Err(OpenError::NotEmpty(path.into()));
        }
        let directory = Self { path: path.into(), lock: lock(path)? };
        replace(path, RESTORING, "a store is being made here from a backup\n")?;
        replace(path, FORMAT, FORMAT_TEXT)?;
        Ok(directory)
    }

    /// Marks the directory as a valid store.
    pub fn end_load(&self) -> Result<(), OpenError> {
        let path = self.path.join(RESTORING);
        fs::remove_file(&path).map_err(OpenError::io("remove", &path))?;
        sync_dir(&self.path)
    }

    /// Where the store is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the sorted store is.
    pub fn data(&self) -> PathBuf {
        self.path.join(DATA)
    }

    /// The version recorded by the last clean close, if nothing was written since.
    pub fn closed_at(&self) -> Result<Option<Version>, OpenError> {
        let path = self.path.join(CLOSED);
        let Some(text) = read_small(&path)? else { return Ok(None) };
        match text.trim_end().strip_prefix("version ").and_then(|number| number.parse().ok()) {
            Some(number) => Ok(Some(Version(number))),
            None => Err(OpenError::Corrupt(format!("{} is unreadable", path.display()))),
        }
    }

    /// Records that the store was closed after `version`.
    pub fn mark_closed(&self, version: Version) -> Result<(), OpenError> {
        replace(&self.path, CLOSED, &format!("version {}\n", version.0))
    }

    /// Records that the store is being written to.
    pub fn mark_open(&self) -> Result<(), OpenError> {
        let path = self.path.join(CLOSED);
        match fs::remove_file(&path) {
            Ok(()) => sync_dir(&self.path),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
            Err(e) => Err(OpenError::io("remove", &path)(e)),
        }
    }

    /// Did commits not wait for the disk when the store was last open?
    pub fn was_relaxed(&self) -> Result<bool, OpenError> {
        let path = self.path.join(RELAXED);
        path.try_exists().map_err(OpenError::io("look at", &path))
    }

    /// Records whether commits wait for the disk from now on.
    pub fn mark_relaxed(&self, is_relaxed: bool) -> Result<(), OpenError> {
        let path = self.path.join(RELAXED);
        match (is_relaxed, self.was_relaxed()?) {
            (true, false) => replace(&self.path, RELAXED, "commits did not wait for the disk\n"),
            (false, true) => fs::remove_file(&path).map_err(OpenError::io("remove", &path)),
            _ => Ok(()),
        }
    }

    fn check_format(&self) -> Result<(), OpenError> {
        let path = self.path.join(FORMAT);
        match read_small(&path)? {
            Some(text) if text == FORMAT_TEXT => Ok(()),
            Some(text) => {
                let found = text.lines().take(2).collect::<Vec<_>>().join(", ");
                Err(OpenError::Format { dir: self.path.clone(), found: format!("{found:?}") })
            }
            None => self.begin(),
        }
    }

    /// Creates a store in an empty directory.
    fn begin(&self) -> Result<(), OpenError> {
        let entries = fs::read_dir(&self.path).map_err(OpenError::io("read", &self.path))?;
        for entry in entries {
            let name = entry.map_err(OpenError::io("read", &self.path))?.file_name();
            let is_ours = name == LOCK || name.to_string_lossy().starts_with(&temporary(FORMAT));
            if !is_ours {
                let found = format!("it contains {name:?}, but no format file");
                return Err(OpenError::Format { dir: self.path.clone(), found });
            }
        }
        replace(&self.path, FORMAT, FORMAT_TEXT)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // Closing the file would be enough, unless a child process that is just being started has a copy of its handle.
        let _ = self.lock.unlock();
    }
}

/// Creates a directory and its parents, so that no crash can lose it once something in it is synced. It will
/// contain account keys, so only its owner may access it.
fn create_all(path: &Path) -> Result<(), OpenError> {
    let missing: Vec<&Path> =
        path.ancestors().take_while(|p| !p.as_os_str().is_empty() && !p.exists()).collect();
    for dir in missing.iter().rev() {
        match fs::DirBuilder::new().mode(0o700).create(dir) {
            Ok(()) => {}
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(OpenError::io("create", dir)(e)),
        }
        sync_dir(parent_of(dir))?;
    }
    if !is_store(path)? {
        // Sync existing parent directories too: an earlier start may have created them and been killed before the sync.
        // Ignore errors, because some may belong to other users and be unreadable.
        let others = path.ancestors().skip(missing.len()).filter(|dir| dir.parent().is_some());
        others.for_each(|dir| drop(sync_dir(parent_of(dir))));
    }
    Ok(())
}

fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn lock(dir: &Path) -> Result<File, OpenError> {
    let path = dir.join(LOCK);
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(OpenError::io("open", &path))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut by = String::new();
            // The id is only for the message, so any content will do.
            let _ = file.read_to_string(&mut by);
            return Err(OpenError::InUse { dir: dir.into(), by: by.trim().into() });
        }
        Err(TryLockError::Error(e)) => return Err(OpenError::io("lock", &path)(e)),
    }
    let write = |file: &mut File| {
        file.set_len(0)?;
        file.write_all(std::process::id().to_string().as_bytes())
    };
    write(&mut file).map_err(OpenError::io("write", &path))?;
    Ok(file)
}

/// A small file as a string; `None` if it does not exist.
pub fn read_small(path: &Path) -> Result<Option<String>, OpenError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(OpenError::io("open", path)(e)),
    };
    let mut bytes = vec![];
    file.take(FORMAT_BYTES_MAX).read_to_end(&mut bytes).map_err(OpenError::io("read", path))?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

fn temporary(name: &str) -> String {
    format!("{name}.new")
}

/// Replaces a small file so that after a crash it has either the old or the new content.
pub fn replace(dir: &Path, name: &str, text: &str) -> Result<(), OpenError> {
    let (path, new) = (dir.join(name), dir.join(temporary(name)));
    let write = || {
        let mut file = File::create(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, &path)
    };
    write().map_err(OpenError::io("write", &path))?;
    sync_dir(dir)
}

/// Makes the entries of a directory durable.
#[cfg(unix)]
pub fn sync_dir(dir: &Path) -> Result<(), OpenError> {
    File::open(dir).and_then(|file| file.sync_all()).map_err(OpenError::io("sync", dir))
}

// Elsewhere directories cannot be opened as files; the system makes their entries durable without a sync.
#[cfg(not(unix))]
pub fn sync_dir(_: &Path) -> Result<(), OpenError> {
    Ok(())
}

/// Bytes that the files below a directory take up on the disk.
pub fn disk_bytes(dir: &Path) -> std::io::Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let metadata = match entry.metadata() {
            Ok(metadata) => metadata,
            // Files are created and deleted while the store is in use.
            Err(e) if e.kind() == ErrorKind::NotFound => continue,
            Err(e) => return Err(e),
        };
        sum += if metadata.is_dir() { disk_bytes(&entry.path())? } else { allocated(&metadata) };
    }
    Ok(sum)
}

#[cfg(unix)]
fn allocated(metadata: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    metadata.blocks() * 512
}

#[cfg(not(unix))]
fn allocated(metadata: &fs::Metadata) -> u64 {
    metadata.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_made_locked_and_found_again() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/b/c");
        let first = Directory::open(&path).unwrap();
        let Err(OpenError::InUse { by, .. }) = Directory::open(&path) else { panic!("opened twice") };
        assert_eq!(by, std::process::id().to_string());
        drop(first);
        Directory::open(&path).unwrap();
    }

    #[test]
    fn the_mark_of_a_clean_close_comes_and_goes() {
        let root = tempfile::tempdir().unwrap();
        let directory = Directory::open(root.path()).unwrap();
        assert_eq!(directory.closed_at().unwrap(), None);
        directory.mark_closed(Version(42)).unwrap();
        assert_eq!(directory.closed_at().unwrap(), Some(Version(42)));
        directory.mark_open().unwrap();
        assert_eq!(directory.closed_at().unwrap(), None);
        directory.mark_open().unwrap();
        fs::write(root.path().join(CLOSED), "version x").unwrap();
        assert!(matches!(directory.closed_at(), Err(OpenError::Corrupt(_))));
    }

    #[test]
    fn other_directories_and_formats_are_rejected() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("diary.txt"), "dear diary").unwrap();
        assert!(matches!(Directory::open(root.path()), Err(OpenError::Format { .. })));

        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join(FORMAT), "lazuli store\nformat 2\n").unwrap();
        let Err(e) = Directory::open(root.path()) else { panic!("opened a store of a later format") };
        assert!(e.to_string().contains("format 2"), "{e}");
    }
}
