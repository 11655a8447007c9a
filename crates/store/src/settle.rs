//! Syncs files and directories that an earlier process may have left unsynced, before anything depends on them.
//!
//! A killed process may have created, replaced or removed names without syncing them. The changes are visible as long
//! as the machine runs; a loss of power reverts them, and loses everything written into those files since. Or it
//! restores an older list of files, when files that are only on that list are already deleted.
//!
//! File contents need no sync here: both the sorted store and this one sync a file before it gets its final name. The
//! exceptions are the log, which the sorted store syncs when it is opened, and the file named here.

use std::fs::File;
use std::path::Path;

use crate::directory::{Directory, sync_dir};
use crate::error::OpenError;
use crate::preflight::{self, KEYSPACES, VERSION};

/// Called before the sorted store is opened: syncs everything that exists.
pub fn all(directory: &Directory) -> Result<(), OpenError> {
    let data = directory.data();
    if preflight::exists(&data)? {
        let version = data.join(VERSION);
        if preflight::exists(&version)? {
            File::open(&version).and_then(|file| file.sync_all()).map_err(OpenError::io("sync", &version))?;
        }
        sync_below(&data)?;
    }
    sync_dir(directory.path())
}

/// Called after it was opened, and perhaps created: it syncs the entries of its directories, but not the entries of the
/// directories themselves in their parents.
pub fn made(directory: &Directory) -> Result<(), OpenError> {
    let data = directory.data();
    sync_dir(&data.join(KEYSPACES))?;
    sync_dir(&data)?;
    sync_dir(directory.path())
}

/// A directory and all below it.
fn sync_below(dir: &Path) -> Result<(), OpenError> {
    for path in preflight::list(dir)? {
        if path.is_dir() {
            sync_below(&path)?;
        }
    }
    sync_dir(dir)
}
