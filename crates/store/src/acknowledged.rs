//! The file that records the last acknowledged version, next to the directory that holds the data.
//!
//! Without it, a store without its data looks like a new one, and a truncated log looks like a log with fewer
//! entries.
//!
//! Invariants:
//! - The file never records more than is durable: it is written after the log was synced. It is not synced itself, so
//!   after a loss of power it may be behind; after a kill it is up to date.
//! - It is created after the data directory and its lists of files are durable. So if the file exists, those must exist
//!   too.
//! - It is replaced as a whole when the store is opened, and changed in place afterwards: one sector, which a disk writes as
//!   a whole.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use lazuli_engine::Version;
use xxhash_rust::xxh3::xxh3_64;

use crate::directory::{read_small, replace};
use crate::error::OpenError;

/// The name of the file in the store's directory.
pub const ACKNOWLEDGED: &str = "acknowledged";

/// The file, open for writing.
#[derive(Debug)]
pub struct Acknowledged {
    file: File,
    has_failed: bool,
}

impl Acknowledged {
    /// The version in the file of a store's directory; `None` if there is no file.
    pub fn read(dir: &Path) -> Result<Option<Version>, OpenError> {
        let path = dir.join(ACKNOWLEDGED);
        let Some(found) = read_small(&path)? else { return Ok(None) };
        let number = found.split(' ').nth(1).and_then(|number| number.parse().ok());
        match number.map(Version) {
            Some(version) if found == text(version) => Ok(Some(version)),
            _ => Err(OpenError::Corrupt(format!("{} is unreadable", path.display()))),
        }
    }

    /// Creates or replaces the file, durably.
    pub fn begin(dir: &Path, version: Version) -> Result<Self, OpenError> {
        replace(dir, ACKNOWLEDGED, &text(version))?;
        let path = dir.join(ACKNOWLEDGED);
        let file = OpenOptions::new().write(true).open(&path).map_err(OpenError::io("open", &path))?;
        Ok(Self { file, has_failed: false })
    }

    /// Records that everything up to `version` is durable. A failure is not fatal: the file is then merely
    /// behind.
    pub fn note(&mut self, version: Version) {
        if let Err(error) = self.file.write_all_at(text(version).as_bytes(), 0)
            && !std::mem::replace(&mut self.has_failed, true)
        {
            tracing::warn!(%error, "the file {ACKNOWLEDGED} cannot be written; lost data may go unnoticed");
        }
    }
}

/// The content, always of the same length.
fn text(version: Version) -> String {
    let number = format!("version {:020}", version.0);
    format!("{number} {:016x}\n", xxh3_64(number.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_back_and_damage_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Acknowledged::read(dir.path()).unwrap(), None);
        let mut file = Acknowledged::begin(dir.path(), Version(0)).unwrap();
        for version in [Version(1), Version(u64::MAX), Version(7)] {
            file.note(version);
            assert_eq!(Acknowledged::read(dir.path()).unwrap(), Some(version));
        }
        let path = dir.path().join(ACKNOWLEDGED);
        let bytes = std::fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            std::fs::write(&path, &damaged).unwrap();
            assert!(matches!(Acknowledged::read(dir.path()), Err(OpenError::Corrupt(_))), "byte {at}");
            std::fs::write(&path, &bytes[..at]).unwrap();
            assert!(matches!(Acknowledged::read(dir.path()), Err(OpenError::Corrupt(_))), "length {at}");
        }
    }
}
