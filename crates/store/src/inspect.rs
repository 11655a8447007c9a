//! Verifies every byte of every file of a store, without opening the store and without changing anything.
//!
//! The list of files has a checksum of each sorted file, and `current` has the checksum of the list. Logs: each
//! batch has one. Files without a checksum are compared with their expected content. Files that are never read
//! (lock files, older lists, files that are on no list) are not verified, but reported as a note.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use lazuli_engine::Version;
use xxhash_rust::xxh3::Xxh3;

use crate::acknowledged::Acknowledged;
use crate::directory::{self, Directory};
use crate::error::OpenError;
use crate::journal::{self, Tail};
use crate::limits::CHECK_FINDINGS_MAX;
use crate::missing;
use crate::preflight;

const BUFFER_BYTES: usize = 256 * 1024;
/// The content of the sorted store's version file.
const VERSION_TEXT: &[u8] = b"FJL\x03";

/// The result of inspecting the files of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    /// Files that were read.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Number of problems.
    pub findings: u64,
    /// Problems, up to a limit.
    pub examples: Vec<String>,
    /// Notes that are not damage, up to a limit.
    pub notes: Vec<String>,
    /// The version recorded by the last clean close, which must be present.
    pub closed_at: Option<Version>,
    /// The last version that was acknowledged, if known; the store must not be older.
    pub acknowledged: Option<Version>,
}

/// Verifies the files of the store in `dir`; `see` gets the number of bytes read so far.
pub fn inspect(dir: &Path, mut see: impl FnMut(u64)) -> Result<Inspection, OpenError> {
    if !directory::is_store(dir)? {
        return Err(OpenError::NoStore(dir.into()));
    }
    let directory = Directory::open(dir)?;
    let mut inspection = Inspection::default();
    match directory.closed_at() {
        Ok(closed) => inspection.closed_at = closed,
        Err(error) => inspection.find(error.to_string()),
    }
    match Acknowledged::read(dir) {
        Ok(acknowledged) => inspection.acknowledged = acknowledged,
        Err(error) => inspection.find(error.to_string()),
    }
    let data = directory.data();
    if !data.exists() {
        if inspection.is_new() {
            inspection.note("it has no data yet".into());
        } else {
            inspection.find(format!("{} is missing", data.display()));
        }
        return Ok(inspection);
    }
    let result = inspection
        .version(&data)
        .and_then(|()| inspection.logs(&data, &mut see))
        .and_then(|()| inspection.keyspaces(&data.join("keyspaces"), &mut see));
    match result {
        Ok(()) => {}
        Err(OpenError::Corrupt(why)) => inspection.find(why),
        Err(other) => return Err(other),
    }
    Ok(inspection)
}

impl Inspection {
    /// Describes the data that a store with this last version lacks, according to its records; `None` if it lacks none.
    pub fn missing(&self, last: Version) -> Option<String> {
        missing::since(self.closed_at, self.acknowledged, last)
    }

    /// Is there no sign that there ever was any data?
    fn is_new(&self) -> bool {
        self.closed_at.is_none() && self.acknowledged.is_none() && self.findings == 0
    }

    fn find(&mut self, what: String) {
        self.findings += 1;
        if self.examples.len() < CHECK_FINDINGS_MAX {
            self.examples.push(what);
        }
    }

    fn note(&mut self, what: String) {
        if self.notes.len() < CHECK_FINDINGS_MAX {
            self.notes.push(what);
        }
    }

    fn read(&mut self, bytes: u64, see: &mut impl FnMut(u64)) {
        self.files += 1;
        self.bytes += bytes;
        see(self.bytes);
    }

    fn version(&mut self, data: &Path) -> Result<(), OpenError> {
        let path = data.join("version");
        match fs::read(&path) {
            Ok(text) if text == VERSION_TEXT => {}
            Ok(_) => self.find(format!("{} is damaged", path.display())),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                self.find(format!("{} is missing", path.display()));
            }
            Err(e) => return Err(OpenError::io("read", &path)(e)),
        }
        self.files += 1;
        Ok(())
    }

    fn logs(&mut self, data: &Path, see: &mut impl FnMut(u64)) -> Result<(), OpenError> {
        let logs = preflight::logs(data)?;
        if logs.is_empty() {
            self.find(format!("{}: the log is missing", data.display()));
        }
        let mut last: Option<u64> = None;
        for (index, path) in logs.iter().enumerate() {
            let summary = journal::read(path)?;
            if let Some((first, end)) = summary.sequence {
                if last.is_some_and(|last| first <= last) {
                    self.find(format!(
                        "{}: its batches are older than those of the file before it",
                        path.display()
                    ));
                }
                last = Some(end);
            }
            let is_last = index + 1 == logs.len();
            match summary.tail {
                Tail::Clean => {}
                Tail::Torn if is_last && self.closed_at.is_none() => {
                    self.note(format!(
                        "{}: the last batch was never finished and will be dropped",
                        path.display()
                    ));
                }
                Tail::Holed if is_last && self.closed_at.is_none() => self.find(format!(
                    "{}: the last batch, at byte {}, has holes: either the power failed before its changes were \
                     acknowledged, or it was damaged; the next start drops the batch and keeps a copy in a file cut-N",
                    path.display(),
                    summary.end
                )),
                Tail::Altered if is_last => self.find(preflight::altered(path, summary.end)),
                Tail::Torn | Tail::Holed | Tail::Altered | Tail::Damaged => self.find(format!(
                    "{}: the batch at byte {} does not match its checksum",
                    path.display(),
                    summary.end
                )),
            }
            self.read(summary.end, see);
        }
        Ok(())
    }

    fn keyspaces(&mut self, keyspaces: &Path, see: &mut impl FnMut(u64)) -> Result<(), OpenError> {
        let is_used = !self.is_new();
        preflight::verify_keyspaces(keyspaces, is_used)?;
        for keyspace in preflight::list(keyspaces)? {
            let Some(list) = preflight::current_list(&keyspace)? else { continue };
            let Some(listed) = listed_tables(&list) else {
                self.find(format!("{}: the list of sorted files is unreadable", keyspace.display()));
                continue;
            };
            self.tables(&keyspace.join("tables"), listed, see)?;
        }
        Ok(())
    }

    fn tables(
        &mut self,
        dir: &Path,
        listed: BTreeMap<u64, u128>,
        see: &mut impl FnMut(u64),
    ) -> Result<(), OpenError> {
        let found: BTreeSet<PathBuf> =
            if dir.exists() { preflight::list(dir)?.into_iter().collect() } else { BTreeSet::new() };
        let wanted: BTreeMap<PathBuf, u128> =
            listed.into_iter().map(|(id, sum)| (dir.join(id.to_string()), sum)).collect();
        for path in found.iter().filter(|path| !wanted.contains_key(*path)) {
            self.note(format!("{} is not in any list of files; the next start removes it", path.display()));
        }
        for (path, wanted) in wanted {
            if !found.contains(&path) {
                self.find(format!("{} is missing", path.display()));
                continue;
            }
            let (sum, bytes) = checksum(&path)?;
            if sum != wanted {
                self.find(format!("{}: the checksum does not match", path.display()));
            }
            self.read(bytes, see);
        }
        Ok(())
    }
}

fn checksum(path: &Path) -> Result<(u128, u64), OpenError> {
    let mut file = File::open(path).map_err(OpenError::io("open", path))?;
    let (mut sum, mut bytes) = (Xxh3::new(), 0);
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let count = file.read(&mut buffer).map_err(OpenError::io("read", path))?;
        if count == 0 {
            return Ok((sum.digest128(), bytes));
        }
        sum.update(&buffer[..count]);
        bytes += count as u64;
    }
}

/// The sorted files in a list, each with its checksum. The list is an archive of named sections, all numbers
/// little-endian: at its end `SFA!`, 1, 0, a checksum (16), where the contents begin (8) and their length (8). The
/// contents: `TOC!`, a count (4), and for each section its start (8), length (8), name length (2) and name.
///
/// The section `tables`: levels (1), for each its runs (1), for each its files (4), for each its id (8), 0, its XXH3
/// (16) and a number (8).
pub fn listed_tables(list: &[u8]) -> Option<BTreeMap<u64, u128>> {
    let trailer = list.get(list.len().checked_sub(38)?..)?;
    if !trailer.starts_with(b"SFA!\x01\x00") {
        return None;
    }
    let start = usize::try_from(number(trailer, 22, 8)?).ok()?;
    let mut contents = Bytes(list.get(start..)?);
    if contents.take(4)? != b"TOC!" {
        return None;
    }
    for _ in 0..contents.number(4)? {
        let (start, length) = (contents.number(8)?, contents.number(8)?);
        let name_bytes = usize::try_from(contents.number(2)?).ok()?;
        if contents.take(name_bytes)? == b"tables" {
            let start = usize::try_from(start).ok()?;
            let end = start.checked_add(usize::try_from(length).ok()?)?;
            return read_tables(Bytes(list.get(start..end)?));
        }
    }
    None
}

fn read_tables(mut section: Bytes<'_>) -> Option<BTreeMap<u64, u128>> {
    let mut tables = BTreeMap::new();
    for _ in 0..section.number(1)? {
        for _ in 0..section.number(1)? {
            for _ in 0..section.number(4)? {
                let id = section.number(8)?;
                if section.take(1)? != [0] {
                    return None;
                }
                tables.insert(id, u128::from_le_bytes(section.take(16)?.try_into().ok()?));
                section.take(8)?;
            }
        }
    }
    section.0.is_empty().then_some(tables)
}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self, count: usize) -> Option<u64> {
        number(self.take(count)?, 0, count)
    }
}

fn number(bytes: &[u8], at: usize, count: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + count)?;
    Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}
