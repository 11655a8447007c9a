//! Syncs what an earlier process may have left unsynced, before anything is built on it.
//!
//! A process that was killed leaves names that it made, replaced or removed, and did not live to sync. They are there as long
//! as the machine runs; a loss of power takes them back, and with them whatever is written into those files from now on. Or it
//! takes back a list of files, when those that were only on the older list are already deleted.
//!
//! Contents are not the concern here: both the sorted store and this one sync a file before it is given the name by which it
//! is found. The exceptions are the log, which the sorted store syncs when it is opened, and the file named here.

use std::fs::File;
use std::path::Path;

use crate::directory::{Directory, sync_dir};
use crate::error::OpenError;
use crate::preflight::{self, KEYSPACES, VERSION};

/// Before the sorted store is opened: everything that is there.
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

/// After it was opened, and perhaps made: it syncs what it puts into its directories, but not that they are in theirs.
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
