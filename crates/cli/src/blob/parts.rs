//! The hidden directory at the destination in which downloads keep incomplete files; it is removed when it is
//! empty.
//!
//! Invariant: no complete file is ever in this directory, so an incomplete file never replaces
//! another blob's file or a file of the user. The name of an incomplete file depends only on its final path, so
//! that a later run finds it.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use lazuli_digest::digest;
use lazuli_model::blob::write::Digests;

/// Name of the directory for incomplete files.
pub const PARTS: &str = ".lazuli-parts";
/// Attempts to open a file while another process removes the empty directory.
const ATTEMPTS_MAX: usize = 10;

/// The directory for a destination.
pub struct Parts(PathBuf);

impl Parts {
    /// For files below `destination`.
    pub fn of(destination: &Path) -> Self {
        Self(destination.join(PARTS))
    }

    /// The path of the incomplete file for a name below the destination. Blob names can be longer than file
    /// names, so it is a hash.
    pub fn part(&self, name: &str) -> PathBuf {
        let md5 = digest(name.as_bytes(), Digests { md5: true, crc64: false }).md5.unwrap_or_default();
        let name = md5.iter().fold(String::new(), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        });
        self.0.join(name)
    }

    /// Opens an incomplete file.
    pub fn open(&self, part: &Path, options: &OpenOptions) -> io::Result<File> {
        let mut attempts = 1;
        loop {
            std::fs::create_dir_all(&self.0)?;
            match options.open(part) {
                Err(error) if error.kind() == ErrorKind::NotFound && attempts < ATTEMPTS_MAX => attempts += 1,
                opened => return opened,
            }
        }
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        // This fails if there are files that can still be resumed.
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// Is the name of a file or directory reserved? Some file systems ignore case.
pub fn is_reserved(name: &str) -> bool {
    name.eq_ignore_ascii_case(PARTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_there_while_something_is_in_it() {
        let destination = tempfile::tempdir().unwrap();
        let parts = Parts::of(destination.path());
        let part = parts.part(&"long/".repeat(200));
        assert!(part != parts.part("a") && parts.part("a") == Parts::of(destination.path()).part("a"));
        let options = File::options().create(true).truncate(true).write(true).clone();
        drop(parts.open(&part, &options).unwrap());
        drop(parts);
        assert!(part.exists());
        std::fs::remove_file(&part).unwrap();
        drop(Parts::of(destination.path()));
        assert_eq!(std::fs::read_dir(destination.path()).unwrap().count(), 0);
    }
}
