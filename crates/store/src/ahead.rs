//! Writes the blocks of the log ahead of their use.
//!
//! The sorted store creates each log with its full length, but without blocks. A sync after a write to a part without blocks
//! includes the journal of the file system, and takes about twice the time, and twice the CPU time, of one after a write to a
//! part with blocks. So zeros are written to the part of the log that the next batches will use.
//!
//! Invariants:
//! - Zeros are written only where the log reads as zeros, so it reads the same as before. Only the thread that writes the
//!   log does this, between two batches, so no data appears there in the meantime. The file system's list of parts without
//!   data is not trusted: some versions of ZFS have listed parts that had just been written.
//! - The length of a log never changes: batches are appended to the log of an earlier process.
//! - Nothing depends on it. After an error, the log is used as it is.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use crate::limits::AHEAD_BYTES;
use crate::preflight;

/// Bytes written at a time.
static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

/// The log that is being written, and how much of it has blocks.
pub struct Ahead {
    /// The directory of the logs.
    data: PathBuf,
    log: Option<(PathBuf, File)>,
    /// Bytes that batches can write before more blocks are needed.
    left: u64,
}

impl Ahead {
    /// The first batches write their blocks themselves: most stores are small.
    pub fn new(data: PathBuf) -> Self {
        Self { data, log: None, left: AHEAD_BYTES }
    }

    /// Notes that a batch of at most this many bytes was written. Must be called between two batches.
    pub fn note(&mut self, bytes: u64) {
        self.left = self.left.saturating_sub(bytes);
        if self.left == 0 {
            self.left = AHEAD_BYTES;
            if let Err(error) = self.extend() {
                tracing::debug!(%error, "failed to write blocks of the log ahead of their use");
            }
        }
    }

    fn extend(&mut self) -> io::Result<()> {
        let logs = preflight::logs(&self.data).map_err(|error| io::Error::other(error.to_string()))?;
        let Some(path) = logs.last() else { return Ok(()) };
        let file = match self.log.take() {
            Some((known, file)) if known == *path => file,
            _ => OpenOptions::new().read(true).write(true).open(path)?,
        };
        let (_, file) = self.log.insert((path.clone(), file));
        extend(file)
    }
}

/// Writes zeros to the first part of a file that has no data, up to the end of the file.
fn extend(file: &File) -> io::Result<()> {
    match first_hole(file)? {
        Some(start) => extend_from(file, start),
        None => Ok(()),
    }
}

/// Writes zeros from this position on, as far as the file reads as zeros.
fn extend_from(file: &File, start: u64) -> io::Result<()> {
    let end = file.metadata()?.len().min(start + AHEAD_BYTES);
    let mut present = vec![0; ZEROS.len()];
    let mut at = start;
    while at < end {
        let count = ZEROS.len().min(usize::try_from(end - at).unwrap_or(usize::MAX));
        file.read_exact_at(&mut present[..count], at)?;
        if present[..count] != ZEROS[..count] {
            return Err(io::Error::other("the file has data where the system lists none"));
        }
        file.write_all_at(&ZEROS[..count], at)?;
        at += count as u64;
    }
    Ok(())
}

/// Where the first part of a file without data starts. A file without such a part has one at its end. `None` if the system
/// cannot tell.
#[cfg(target_os = "linux")]
fn first_hole(file: &File) -> io::Result<Option<u64>> {
    use rustix::io::Errno;
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Hole(0)) {
        Ok(start) => Ok(Some(start)),
        Err(Errno::NXIO | Errno::INVAL | Errno::OPNOTSUPP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn first_hole(_: &File) -> io::Result<Option<u64>> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    use super::*;

    const LENGTH: u64 = 8 * AHEAD_BYTES;

    /// A log of the full length that starts with some data.
    fn log(dir: &Path, number: u64, data: &[u8]) -> PathBuf {
        let path = dir.join(format!("{number}.jnl"));
        fs::write(&path, data).unwrap();
        OpenOptions::new().write(true).open(&path).unwrap().set_len(LENGTH).unwrap();
        path
    }

    fn blocks_bytes(path: &Path) -> u64 {
        File::open(path).unwrap().sync_all().unwrap();
        fs::metadata(path).unwrap().blocks() * 512
    }

    #[test]
    fn blocks_are_written_ahead_and_nothing_is_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let data = vec![7; 5000];
        let first = log(dir.path(), 9, &data);
        let mut ahead = Ahead::new(dir.path().to_owned());
        ahead.note(AHEAD_BYTES - 1);
        assert!(blocks_bytes(&first) < AHEAD_BYTES, "not yet");
        ahead.note(1);
        let bytes = blocks_bytes(&first);
        // A file system that cannot tell where a file has no data is left alone.
        if bytes >= AHEAD_BYTES {
            assert!(bytes < 2 * AHEAD_BYTES, "{bytes}");
            // Numbers are compared, not names.
            let second = log(dir.path(), 10, &data);
            ahead.note(AHEAD_BYTES);
            ahead.note(u64::MAX);
            assert_eq!(blocks_bytes(&first), bytes, "it is complete");
            assert!(blocks_bytes(&second) >= 2 * AHEAD_BYTES);
        }
        let read = fs::read(&first).unwrap();
        assert_eq!((read.len() as u64, &read[..data.len()]), (LENGTH, &data[..]));
        assert!(read[data.len()..].iter().all(|&byte| byte == 0));
    }

    /// A file system that lists a part without data, although it was just written, must not cost a batch.
    #[test]
    fn data_in_a_part_that_is_listed_without_data_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let data = vec![7; 100_000];
        let path = log(dir.path(), 1, &data);
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        assert!(extend_from(&file, 0).is_err());
        assert!(extend_from(&file, 70_000).is_err());
        assert!(extend_from(&file, 100_000).is_ok());
        let read = fs::read(&path).unwrap();
        assert_eq!((read.len() as u64, &read[..data.len()]), (LENGTH, &data[..]));
    }

    /// Batches are appended to the log of an earlier process: zeros at its end would separate them from the others.
    #[test]
    fn a_log_without_room_keeps_its_length() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("1.jnl");
        fs::write(&path, [7; 5000]).unwrap();
        let mut ahead = Ahead::new(dir.path().to_owned());
        ahead.note(AHEAD_BYTES);
        assert_eq!(fs::read(&path).unwrap(), [7; 5000]);
        // A directory without a log is no error either.
        fs::remove_file(&path).unwrap();
        ahead.note(AHEAD_BYTES);
    }
}
