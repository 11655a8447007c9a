//! The content of directories, and when it was synced.
//!
//! Names are logged as whole listings, not as calls: a library of the program may make system calls without the C
//! library, as the engine does for renames, and their effect is in the next listing. Directories are read after every call that
//! changes names, and before every sync.
//!
//! A listing is `kind inode name\0` for every entry, sorted; the kind is `d` for a directory, else `f`. Files that were ever
//! in one stay in the folder of the log under their number, so that they can be brought back, and no number is given out
//! twice; for the same reason every directory is held open.

use std::collections::{HashMap, HashSet};
use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirEntryExt as _, MetadataExt as _};
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::{plan, real, undo};

#[derive(Default)]
struct Tree {
    has_begun: bool,
    /// The last listing that was logged of each directory.
    listings: HashMap<u64, Vec<u8>>,
    /// Files that are in the folder of the log.
    kept: HashSet<u64>,
}

static TREE: LazyLock<Mutex<Tree>> = LazyLock::new(Mutex::default);

fn with_tree<T>(work: impl FnOnce(&mut Tree) -> T) -> T {
    let mut tree = TREE.lock().unwrap_or_else(PoisonError::into_inner);
    if !tree.has_begun {
        tree.has_begun = true;
        // Changes of an earlier process are durable only if the power was lost since; then there is a new log.
        let is_durable = undo::is_new();
        tree.walk(plan::root(), is_durable);
    }
    work(&mut tree)
}

/// Logs the existing names before the first call.
pub fn begin() {
    with_tree(|_| ());
}

/// A name in this directory was, or may have been, made, replaced or removed.
pub fn changed(path: &Path) {
    with_tree(|tree| {
        if let Some((inode, listing)) = tree.list(path) {
            tree.log(inode, listing, false);
        }
    });
}

/// A new directory: after a loss of power it is empty or does not exist.
pub fn made(path: &Path) {
    if !undo::is_wanted() {
        return;
    }
    with_tree(|tree| {
        if let Some((inode, listing)) = tree.list(path) {
            hold(path);
            tree.log(inode, listing, true);
        }
    });
}

/// Runs the sync of a directory, which makes its content before the call durable.
pub fn synced(path: &Path, sync: impl FnOnce() -> bool) {
    with_tree(|tree| {
        let before = tree.list(path);
        if let Some((inode, listing)) = &before {
            tree.log(*inode, listing.clone(), false);
        }
        if let (true, Some((inode, listing))) = (sync(), before) {
            tree.log(inode, listing, true);
        }
    });
}

impl Tree {
    fn walk(&mut self, path: &Path, is_durable: bool) {
        let Some((inode, listing)) = self.list(path) else { return };
        hold(path);
        self.log(inode, listing, is_durable);
        let Ok(entries) = fs::read_dir(path) else { return };
        for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            self.walk(&entry.path(), is_durable);
        }
    }

    /// The current content of a directory; empty if the directory does not exist.
    fn list(&mut self, path: &Path) -> Option<(u64, Vec<u8>)> {
        let inode = fs::metadata(path).ok()?.ino();
        let mut entries = vec![];
        for entry in fs::read_dir(path).ok()?.flatten() {
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            // A file that was removed before it could be kept was never in a listing.
            if is_directory || self.keep(entry.ino(), &entry.path()) {
                let kind = if is_directory { 'd' } else { 'f' };
                let mut line = format!("{kind} {} ", entry.ino()).into_bytes();
                line.extend_from_slice(entry.file_name().as_bytes());
                line.push(0);
                entries.push(line);
            }
        }
        entries.sort_unstable();
        Some((inode, entries.concat()))
    }

    fn keep(&mut self, inode: u64, path: &Path) -> bool {
        let Some(folder) = undo::folder() else { return false };
        let aside = folder.join(inode.to_string());
        if !self.kept.contains(&inode) && (link(path, &aside) || aside.exists()) {
            self.kept.insert(inode);
        }
        self.kept.contains(&inode)
    }

    fn log(&mut self, inode: u64, listing: Vec<u8>, is_synced: bool) {
        if is_synced || self.listings.get(&inode) != Some(&listing) {
            undo::lists(inode, is_synced, &listing);
            self.listings.insert(inode, listing);
        }
    }
}

fn link(from: &Path, to: &Path) -> bool {
    let [from, to] = [from, to].map(|path| CString::new(path.as_os_str().as_bytes()));
    let (Ok(from), Ok(to)) = (from, to) else { return false };
    // SAFETY: both paths are C strings.
    unsafe { real::linkat(libc::AT_FDCWD, from.as_ptr(), libc::AT_FDCWD, to.as_ptr(), 0) == 0 }
}

/// Keeps the number of a directory from being given to another one, for as long as the process lives.
fn hold(path: &Path) {
    if let Ok(path) = CString::new(path.as_os_str().as_bytes()) {
        // SAFETY: the path is a C string.
        unsafe { real::open64(path.as_ptr(), libc::O_PATH | libc::O_CLOEXEC, 0) };
    }
}
