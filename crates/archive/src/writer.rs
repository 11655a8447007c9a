//! Writes a backup into its own directory.
//!
//! Invariants: a part gets its final name only when all of it is on disk, and the manifest only exists when all parts
//! do. So an interrupted backup has no manifest, and a backup with a manifest is complete.

use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use crate::block::Totals;
use crate::error::{Error, Result};
use crate::manifest::{BlockFile, FILE, Manifest, part_name};

/// The first bytes of every part.
pub const PART_MAGIC: [u8; 16] = *b"lazuli backup 1\n";
/// Suffix of an incomplete file.
pub const PARTIAL: &str = ".partial";
/// A part of at least this size is finished.
const PART_BYTES_MAX: u64 = 1024 * 1024 * 1024;
const BUFFER_BYTES: usize = 256 * 1024;
/// Mode bit of a shared directory in which users may only remove their own files.
const STICKY: u32 = 0o1000;

/// A backup that is being written.
pub struct ArchiveWriter {
    dir: PathBuf,
    mode_before: Option<u32>,
    part_bytes_max: u64,
    open: Option<OpenPart>,
    parts: Vec<BlockFile>,
}

struct OpenPart {
    name: String,
    file: BufWriter<File>,
    bytes: u64,
    sum: Xxh3,
}

/// A backup that is complete except for its manifest.
#[must_use = "a backup without its manifest is incomplete"]
pub struct Sealed {
    dir: PathBuf,
    parts: Vec<BlockFile>,
}

impl ArchiveWriter {
    /// Starts a backup in `dir`, which must be empty or not exist. It will contain account keys, so access is restricted
    /// to its owner. A directory of another user, or a shared one with a sticky bit, is rejected.
    pub fn create(dir: &Path) -> Result<Self> {
        Self::with_parts_of(dir, PART_BYTES_MAX)
    }

    pub(crate) fn with_parts_of(dir: &Path, part_bytes_max: u64) -> Result<Self> {
        let mode_before = match fs::DirBuilder::new().mode(0o700).create(dir) {
            Ok(()) => {
                sync_dir(parent_of(dir))?;
                None
            }
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                reject_full(dir)?;
                close_to_others(dir)?
            }
            Err(e) => return Err(Error::io("create", dir)(e)),
        };
        let mut writer = Self { dir: dir.into(), mode_before, part_bytes_max, open: None, parts: Vec::new() };
        // The first part is created now, so that an interrupted backup is not mistaken for an empty directory.
        writer.open = Some(writer.new_part()?);
        Ok(writer)
    }

    /// The previous mode of the directory, if others had access to it.
    pub fn mode_before(&self) -> Option<u32> {
        self.mode_before
    }

    /// Appends a block.
    pub fn push(&mut self, block: &[u8]) -> Result<()> {
        let mut part = match self.open.take() {
            Some(part) if part.bytes < self.part_bytes_max => part,
            Some(full) => {
                self.close(full)?;
                self.new_part()?
            }
            None => self.new_part()?,
        };
        part.write(block).map_err(Error::io("write", &self.dir.join(&part.name)))?;
        self.open = Some(part);
        Ok(())
    }

    /// Number of bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).sum::<u64>()
            + self.open.as_ref().map_or(0, |part| part.bytes)
    }

    /// Finishes the last part.
    pub fn seal(mut self) -> Result<Sealed> {
        if let Some(part) = self.open.take() {
            self.close(part)?;
        }
        Ok(Sealed { dir: self.dir, parts: self.parts })
    }

    fn new_part(&self) -> Result<OpenPart> {
        let name = part_name(self.parts.len() + 1);
        let path = self.dir.join(format!("{name}{PARTIAL}"));
        let mut part = OpenPart {
            name,
            file: BufWriter::with_capacity(BUFFER_BYTES, create_new(&path)?),
            bytes: 0,
            sum: Xxh3::new(),
        };
        part.write(&PART_MAGIC).map_err(Error::io("write", &path))?;
        Ok(part)
    }

    fn close(&mut self, part: OpenPart) -> Result<()> {
        let OpenPart { name, file, bytes, sum } = part;
        let (path, partial) = (self.dir.join(&name), self.dir.join(format!("{name}{PARTIAL}")));
        let file = file.into_inner().map_err(|e| Error::io("write", &partial)(e.into_error()))?;
        file.sync_all().map_err(Error::io("sync", &partial))?;
        fs::rename(&partial, &path).map_err(Error::io("rename", &partial))?;
        sync_dir(&self.dir)?;
        self.parts.push(BlockFile { name, bytes, checksum: sum.digest128() });
        Ok(())
    }
}

impl OpenPart {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.file.write_all(bytes)?;
        self.bytes += bytes.len() as u64;
        self.sum.update(bytes);
        Ok(())
    }
}

impl Sealed {
    /// Writes the manifest, which makes the backup valid.
    pub fn publish(self, created: String, totals: Totals) -> Result<Manifest> {
        let manifest = Manifest { created, totals, parts: self.parts };
        let (path, partial) = (self.dir.join(FILE), self.dir.join(format!("{FILE}{PARTIAL}")));
        let mut file = create_new(&partial)?;
        let written = file.write_all(manifest.to_text().as_bytes()).and_then(|()| file.sync_all());
        written.map_err(Error::io("write", &partial))?;
        fs::rename(&partial, &path).map_err(Error::io("rename", &partial))?;
        sync_dir(&self.dir)?;
        Ok(manifest)
    }
}

fn create_new(path: &Path) -> Result<File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(path).map_err(Error::io("create", path))
}

fn reject_full(dir: &Path) -> Result<()> {
    let mut entries = fs::read_dir(dir).map_err(Error::io("read", dir))?;
    if entries.next().is_some() { Err(Error::Exists(dir.into())) } else { Ok(()) }
}

/// Restricts access to an existing directory to its owner. Returns the previous mode if others had access. A
/// directory that belongs to another user, or is writable for many users, is not changed.
fn close_to_others(dir: &Path) -> Result<Option<u32>> {
    let found = fs::metadata(dir).map_err(Error::io("read", dir))?;
    let mode = found.permissions().mode() & 0o7777;
    if found.uid() != rustix::process::geteuid().as_raw() || mode & STICKY != 0 {
        return Err(Error::Shared(dir.into()));
    }
    if mode & 0o077 == 0 {
        return Ok(None);
    }
    fs::set_permissions(dir, fs::Permissions::from_mode(mode & 0o700)).map_err(Error::io("close", dir))?;
    Ok(Some(mode))
}

fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes the entries of a directory durable.
fn sync_dir(dir: &Path) -> Result<()> {
    File::open(dir).and_then(|file| file.sync_all()).map_err(Error::io("sync", dir))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only the owner has access, whether the directory existed or not, and regardless of its previous mode.
    #[test]
    fn only_the_owner_can_access_a_backup() {
        let parent = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        for before in [None, Some(0o755), Some(0o777), Some(0o700)] {
            let dir = parent.path().join(format!("{before:?}"));
            if let Some(before) = before {
                fs::create_dir(&dir).unwrap();
                fs::set_permissions(&dir, fs::Permissions::from_mode(before)).unwrap();
            }
            let writer = ArchiveWriter::create(&dir).unwrap();
            assert_eq!(writer.mode_before(), before.filter(|mode| *mode != 0o700));
            let sealed = writer.seal().unwrap();
            let part = dir.join(&sealed.parts[0].name);
            assert_eq!((mode(&dir), mode(&part)), (0o700, 0o600), "{before:?}");
        }
    }

    /// A backup into a shared directory such as /tmp made it inaccessible to all other users.
    #[test]
    fn a_shared_directory_is_left_alone() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("shared");
        fs::create_dir(&dir).unwrap();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o1777)).unwrap();
        let link = parent.path().join("link");
        std::os::unix::fs::symlink(&dir, &link).unwrap();
        for path in [&dir, &link] {
            assert!(matches!(ArchiveWriter::create(path), Err(Error::Shared(_))), "{path:?}");
        }
        assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o7777, 0o1777);
        assert!(fs::read_dir(&dir).unwrap().next().is_none());
    }
}
