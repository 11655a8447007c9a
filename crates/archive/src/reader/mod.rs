//! Reads a backup and verifies it: every byte of every file is covered by a checksum.

use std::fs::{self, File};
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use crate::block::{self, Block, HEADER_BYTES, Unpacker};
use crate::error::{Error, Result};
use crate::manifest::{BYTES_MAX, BlockFile, FILE, Manifest};
use crate::writer::{PART_MAGIC, PARTIAL};

const BUFFER_BYTES: usize = 256 * 1024;

/// A backup that is being read.
pub struct ArchiveReader {
    dir: PathBuf,
    manifest: Manifest,
    unpacker: Unpacker,
    next_part: usize,
    open: Option<OpenPart>,
}

struct OpenPart {
    path: PathBuf,
    part: BlockFile,
    file: BufReader<File>,
    bytes: u64,
    sum: Xxh3,
}

impl ArchiveReader {
    /// Opens the backup in `dir`.
    pub fn open(dir: &Path) -> Result<Self> {
        let path = dir.join(FILE);
        let mut text = String::new();
        let read = File::open(&path).and_then(|file| file.take(BYTES_MAX).read_to_string(&mut text));
        match read {
            Ok(_) => {}
            Err(e) if e.kind() == ErrorKind::NotFound => return Err(without_manifest(dir)),
            Err(e) if e.kind() == ErrorKind::InvalidData => {
                return Err(Error::damaged(format!("{FILE} was changed")));
            }
            Err(e) => return Err(Error::io("read", &path)(e)),
        }
        let manifest = Manifest::from_text(&text)?;
        Ok(Self { dir: dir.into(), manifest, unpacker: Unpacker::new(), next_part: 0, open: None })
    }

    /// The manifest of the backup.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Rows, and bytes of rows and content, so far.
    pub fn so_far(&self) -> (u64, u64) {
        self.unpacker.so_far()
    }

    /// The next block; `None` after the end of a complete and unchanged backup.
    pub fn next_block(&mut self) -> Result<Option<Block>> {
        loop {
            let mut part = match self.open.take() {
                Some(part) => part,
                None => match self.open_next()? {
                    Some(part) => part,
                    None => return self.finish(),
                },
            };
            if part.bytes == part.part.bytes {
                part.finish()?;
                continue;
            }
            let bytes = part.block()?;
            let block = self.unpacker.read(&bytes).map_err(|e| in_part(e, &part.part.name))?;
            self.open = Some(part);
            if let Block::End(totals) = &block
                && *totals != self.manifest.totals
            {
                return Err(Error::damaged(format!("{FILE} does not match the parts")));
            }
            return Ok(Some(block));
        }
    }

    fn open_next(&mut self) -> Result<Option<OpenPart>> {
        let Some(part) = self.manifest.parts.get(self.next_part).cloned() else { return Ok(None) };
        self.next_part += 1;
        let path = self.dir.join(&part.name);
        let file = File::open(&path).map_err(|e| match e.kind() {
            ErrorKind::NotFound => Error::damaged(format!("{} is missing", part.name)),
            _ => Error::io("open", &path)(e),
        })?;
        let file = BufReader::with_capacity(BUFFER_BYTES, file);
        let mut part = OpenPart { path, part, file, bytes: 0, sum: Xxh3::new() };
        let mut magic = [0; PART_MAGIC.len()];
        part.fill(&mut magic)?;
        if magic == PART_MAGIC {
            return Ok(Some(part));
        }
        Err(Error::damaged(format!("{} is not a part of a backup", part.part.name)))
    }

    fn finish(&self) -> Result<Option<Block>> {
        if self.unpacker.is_over() {
            return Ok(None);
        }
        Err(Error::damaged("the end is missing"))
    }
}

impl OpenPart {
    fn block(&mut self) -> Result<Vec<u8>> {
        let mut header = [0; HEADER_BYTES];
        self.fill(&mut header)?;
        let length = block::content_bytes(&header).map_err(|e| in_part(e, &self.part.name))?;
        let mut bytes = header.to_vec();
        bytes.resize(HEADER_BYTES + length, 0);
        self.fill(&mut bytes[HEADER_BYTES..])?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.file.read_exact(bytes).map_err(|e| match e.kind() {
            ErrorKind::UnexpectedEof => Error::damaged(format!("{} is truncated", self.part.name)),
            _ => Error::io("read", &self.path)(e),
        })?;
        self.bytes += bytes.len() as u64;
        self.sum.update(bytes);
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        let rest = self.file.read(&mut [0; 1]).map_err(Error::io("read", &self.path))?;
        if rest > 0 || self.sum.digest128() != self.part.checksum {
            return Err(Error::damaged(format!("{} does not match its entry in {FILE}", self.part.name)));
        }
        Ok(())
    }
}

fn in_part(error: Error, name: &str) -> Error {
    match error {
        Error::Damaged(why) => Error::Damaged(format!("{name}, {why}")),
        other => other,
    }
}

/// Distinguishes an interrupted backup from a directory that was never a backup.
fn without_manifest(dir: &Path) -> Error {
    let is_ours = |name: &str| {
        let name = name.strip_suffix(PARTIAL).unwrap_or(name);
        name == FILE || name.starts_with("rows-") && name.ends_with(".lzb")
    };
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let begun = entries.map(|entry| entry.file_name()).any(|name| name.to_str().is_some_and(is_ours));
    if begun { Error::Unfinished(dir.into()) } else { Error::NotABackup(dir.into()) }
}

#[cfg(test)]
mod tests;
