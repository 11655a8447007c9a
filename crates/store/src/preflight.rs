//! Checks before the sorted store opens its files, because it would not notice the damage or would make it worse.
//!
//! - A log that is damaged in the middle would be truncated there: see [`crate::journal`].
//! - A log whose last batch was left unfinished in its middle would be rejected.
//! - A list of files that is damaged would be trusted, and files that are not on it deleted.
//! - A missing list of files would be mistaken for a keyspace that was never created, and all of it deleted.
//! - A missing log would be mistaken for an empty one.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_128;

use crate::cut::cut;
use crate::error::OpenError;
use crate::journal::{self, Summary, Tail};

/// The file that the sorted store writes last when it is created.
pub const VERSION: &str = "version";
/// The directory of its keyspaces.
pub const KEYSPACES: &str = "keyspaces";
const CURRENT: &str = "current";
/// The directory of a keyspace's sorted files.
pub const TABLES: &str = "tables";
/// The suffix of log names.
pub const LOG_EXTENSION: &str = "jnl";
/// The file that names the list of files: its number (8 bytes), its XXH3 (16), and this byte for the kind of
/// checksum.
const CURRENT_KIND: u8 = 0;

/// Verifies the files in `data`. `was_closed` says that the store was closed cleanly, `was_created` that the
/// creation of the store was completed.
///
/// `was_relaxed` says that commits did not wait for the disk when it was last open.
pub fn verify(data: &Path, was_relaxed: bool, was_closed: bool, was_created: bool) -> Result<(), OpenError> {
    if !is_begun(data)? {
        return if was_created {
            Err(OpenError::Lost(format!("{} or files in it are missing", data.display())))
        } else {
            discard_unfinished(data)
        };
    }
    let is_used = verify_logs(data, was_relaxed, was_closed)?;
    verify_keyspaces(&data.join(KEYSPACES), is_used || was_created)
}

/// Does the file that is written last when a store is created exist with its content?
fn is_begun(data: &Path) -> Result<bool, OpenError> {
    let path = data.join(VERSION);
    match fs::read(&path) {
        Ok(bytes) => Ok(bytes.iter().any(|&b| b != 0)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
        Err(e) => Err(OpenError::io("read", &path)(e)),
    }
}

/// Removes the remains of a store whose creation was interrupted by a crash.
fn discard_unfinished(data: &Path) -> Result<(), OpenError> {
    if !exists(data)? {
        return Ok(());
    }
    for log in logs(data)? {
        if journal::read(&log)? != (Summary { end: 0, sequence: None, tail: Tail::Clean }) {
            return Err(damaged(data, "the log has entries, but the version file is missing"));
        }
    }
    let keyspaces = data.join(KEYSPACES);
    if exists(&keyspaces)? && !list(&keyspaces)?.is_empty() {
        return Err(damaged(data, "there are sorted files, but the version file is missing"));
    }
    fs::remove_dir_all(data).map_err(OpenError::io("remove", data))
}

/// Verifies all logs; `true` if there is a batch in any.
fn verify_logs(data: &Path, was_relaxed: bool, was_closed: bool) -> Result<bool, OpenError> {
    let logs = logs(data)?;
    if logs.is_empty() {
        // There is one from the beginning, and it is removed only after the next one was created.
        return Err(damaged(data, "the log is missing"));
    }
    let dir = data.parent().unwrap_or(Path::new("."));
    let mut last: Option<u64> = None;
    for (index, path) in logs.iter().enumerate() {
        let summary = journal::read(path)?;
        if let Some((first, end)) = summary.sequence {
            if last.is_some_and(|last| first <= last) {
                return Err(damaged(path, "its batches are older than those of the file before it"));
            }
            last = Some(end);
        }
        let is_last = index + 1 == logs.len();
        match summary.tail {
            Tail::Clean => {}
            Tail::Torn | Tail::Holed if is_last && !was_closed => cut(dir, path, summary.end, summary.tail)?,
            // If commits do not wait for the disk, a loss of power can leave any of the last ones unfinished.
            Tail::Altered | Tail::Damaged if is_last && !was_closed && was_relaxed => {
                cut(dir, path, summary.end, summary.tail)?;
            }
            Tail::Altered if is_last => {
                return Err(OpenError::Corrupt(altered(path, summary.end)));
            }
            Tail::Torn | Tail::Holed | Tail::Altered | Tail::Damaged => {
                return Err(damaged(path, &format!("the data at byte {} is unreadable", summary.end)));
            }
        }
    }
    Ok(last.is_some())
}

/// The error for a damaged last batch. It may have been acknowledged, so the operator must decide whether to drop it.
pub fn altered(path: &Path, end: u64) -> String {
    let path = path.display();
    format!(
        "{path}: the last batch, at byte {end}, was written completely but is unreadable: it was damaged later. To continue \
         without the changes in it, keep a copy of the file and truncate it: truncate --size={end} {path}. Then start once with \
         --accept-data-loss"
    )
}

/// Verifies the list of files of every keyspace. A used store has at least two keyspaces: the rows, and
/// metadata about them.
pub fn verify_keyspaces(keyspaces: &Path, is_used: bool) -> Result<(), OpenError> {
    let mut listed = 0;
    for keyspace in list(keyspaces)? {
        if verify_list(&keyspace)? {
            listed += 1;
        } else if is_used && has_tables(&keyspace)? {
            return Err(damaged(&keyspace, "there are sorted files, but the list of them is missing"));
        }
    }
    if is_used && listed < 2 {
        return Err(damaged(keyspaces, "a list of sorted files is missing"));
    }
    Ok(())
}

/// Verifies that a keyspace's list of files is undamaged; `false` if there is none.
fn verify_list(keyspace: &Path) -> Result<bool, OpenError> {
    Ok(current_list(keyspace)?.is_some())
}

/// A keyspace's list of files, if there is one and it is undamaged.
pub fn current_list(keyspace: &Path) -> Result<Option<Vec<u8>>, OpenError> {
    let path = keyspace.join(CURRENT);
    let current = match fs::read(&path) {
        Ok(current) => current,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(OpenError::io("read", &path)(e)),
    };
    let (number, checksum) = read_current(&current).map_err(|why| damaged(&path, why))?;
    let listed = keyspace.join(format!("v{number}"));
    let list = fs::read(&listed).map_err(|e| match e.kind() {
        ErrorKind::NotFound => damaged(&listed, "it is missing"),
        _ => OpenError::io("read", &listed)(e),
    })?;
    if xxh3_128(&list) != checksum {
        return Err(damaged(&listed, "the checksum does not match"));
    }
    Ok(Some(list))
}

/// The number of the list of files, and its checksum; or a description of the damage.
pub fn read_current(bytes: &[u8]) -> Result<(u64, u128), &'static str> {
    let (number, rest) = bytes.split_first_chunk().ok_or("it is too short")?;
    let (checksum, kind) = rest.split_first_chunk().ok_or("it is unreadable")?;
    if kind != [CURRENT_KIND] {
        return Err("it is unreadable");
    }
    Ok((u64::from_le_bytes(*number), u128::from_le_bytes(*checksum)))
}

fn has_tables(keyspace: &Path) -> Result<bool, OpenError> {
    let tables = keyspace.join(TABLES);
    Ok(exists(&tables)? && !list(&tables)?.is_empty())
}

/// The log files, oldest first.
pub fn logs(data: &Path) -> Result<Vec<PathBuf>, OpenError> {
    let mut logs: Vec<(u64, PathBuf)> = vec![];
    for path in list(data)? {
        if path.extension().is_some_and(|extension| extension == LOG_EXTENSION) {
            let number = path.file_stem().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
            logs.push((number.ok_or_else(|| damaged(&path, "its name is not a number"))?, path));
        }
    }
    logs.sort();
    Ok(logs.into_iter().map(|(_, path)| path).collect())
}

pub fn list(dir: &Path) -> Result<Vec<PathBuf>, OpenError> {
    let entries = fs::read_dir(dir).map_err(OpenError::io("read", dir))?;
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(OpenError::io("read", dir))).collect()
}

pub fn exists(path: &Path) -> Result<bool, OpenError> {
    path.try_exists().map_err(OpenError::io("look at", path))
}

fn damaged(path: &Path, why: &str) -> OpenError {
    OpenError::Corrupt(format!("{}: {why}", path.display()))
}
