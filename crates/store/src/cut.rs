//! Removes an unfinished batch from the end of a log, and keeps a copy.
//!
//! Invariant: the copy is on the disk before the log is shortened; no copy replaces another; and only the
//! owner may read it, because it may contain account keys.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::directory::sync_dir;
use crate::error::OpenError;
use crate::journal::{self, Tail};
use crate::preflight;

/// The prefix of the names of the copies; a number follows.
const PREFIX: &str = "cut-";

/// Shortens the log at `path`, in the data of the store in `dir`, to `end`. The removed bytes are kept in the store's
/// directory: an unfinished batch and one that was damaged later cannot always be distinguished.
pub fn cut(dir: &Path, path: &Path, end: u64, tail: Tail) -> Result<(), OpenError> {
    cut_with(dir, path, end, tail, write_copy)
}

fn cut_with(
    dir: &Path,
    path: &Path,
    end: u64,
    tail: Tail,
    write: impl FnOnce(&Path, &[u8]) -> std::io::Result<()>,
) -> Result<(), OpenError> {
    let rest = journal::rest(path, end)?;
    if !rest.is_empty() {
        keep(dir, path, &rest, tail, write)?;
    }
    let file = OpenOptions::new().write(true).open(path).map_err(OpenError::io("open", path))?;
    file.set_len(end).and_then(|()| file.sync_all()).map_err(OpenError::io("cut", path))
}

fn keep(
    dir: &Path,
    path: &Path,
    rest: &[u8],
    tail: Tail,
    write: impl FnOnce(&Path, &[u8]) -> std::io::Result<()>,
) -> Result<(), OpenError> {
    let aside = free_name(dir)?;
    match write(&aside, rest) {
        Ok(()) => tracing::warn!(
            bytes = rest.len(),
            log = %path.display(),
            kept = %aside.display(),
            "the last batch of the log is incomplete and was dropped: the process was killed while writing it, or the file was damaged"
        ),
        // The batch was never acknowledged, so a full disk, which may be the reason why it is incomplete, must
        // not prevent the start.
        Err(error) if tail == Tail::Torn && is_out_of_room(&error) => {
            let _ = fs::remove_file(&aside);
            tracing::warn!(
                bytes = rest.len(),
                log = %path.display(),
                "the last batch of the log was never finished and was dropped; no space to keep a copy of it: {error}"
            );
        }
        Err(error) => {
            let _ = fs::remove_file(&aside);
            return Err(OpenError::io("write", &aside)(error));
        }
    }
    sync_dir(dir)
}

/// A name after those of all existing copies.
fn free_name(dir: &Path) -> Result<PathBuf, OpenError> {
    let paths = preflight::list(dir)?;
    let numbers = paths.iter().filter_map(|path| {
        let number = path.file_name()?.to_str()?.strip_prefix(PREFIX)?;
        number.parse::<u32>().ok()
    });
    let next = numbers.max().map_or(0, |last| u64::from(last) + 1);
    Ok(dir.join(format!("{PREFIX}{next}")))
}

fn write_copy(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file: File = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn is_out_of_room(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A full disk prevented a start, although the batch that could not be copied was never acknowledged. A batch that
    /// may have been acknowledged is not dropped.
    #[test]
    fn a_full_disk_does_not_prevent_cutting_a_torn_batch() {
        for (tail, kind, is_cut) in [
            (Tail::Torn, ErrorKind::StorageFull, true),
            (Tail::Torn, ErrorKind::QuotaExceeded, true),
            (Tail::Torn, ErrorKind::PermissionDenied, false),
            (Tail::Holed, ErrorKind::StorageFull, false),
            (Tail::Damaged, ErrorKind::StorageFull, false),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let log = dir.path().join("0.jnl");
            fs::write(&log, b"wholetorn\0\0").unwrap();
            let fail = |path: &Path, bytes: &[u8]| {
                write_copy(path, &bytes[..2])?;
                Err(kind.into())
            };
            let result = cut_with(dir.path(), &log, 5, tail, fail);
            assert_eq!(result.is_ok(), is_cut, "{tail:?} {kind:?}");
            let left: &[u8] = if is_cut { b"whole" } else { b"wholetorn\0\0" };
            assert_eq!(fs::read(&log).unwrap(), left, "{tail:?} {kind:?}");
            assert!(!dir.path().join("cut-0").exists(), "a part of a copy is left");
        }
    }
}
