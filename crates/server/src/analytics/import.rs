//! Moves the log files of earlier versions, `DIRECTORY/ACCOUNT/$logs/SERVICE/YYYY/MM/DD/hh00/NNNNNN.log`, into the
//! container `$logs` of their accounts.
//!
//! A file is deleted once all of its lines are in a blob. A crash before that repeats the lines of one file; readers of logs
//! recognise a line by its request id. Files of an account that does not exist stay where they are.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_model::{DateTime, Service};
use serde_json::Value;

use super::facts::Facts;
use super::logs::{Hour, LogWriter, Unwritten};

/// The directory of an account's logs, inside the account's directory.
const LOGS: &str = "$logs";
/// Bytes of a file that are moved at a time, and the end of a line.
const STEP_BYTES: usize = 1024 * 1024;

/// A log file.
#[derive(Debug, PartialEq, Eq)]
struct LogFile {
    path: PathBuf,
    hour: Hour,
}

/// The result of an import.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Files that are blobs now.
    pub files: usize,
    /// Files that stay, because they could not be moved.
    pub left: usize,
}

/// Moves all files below a directory. The first failure of the engine, or a full quota, stops it; the rest is
/// moved at the next start.
pub async fn import(writer: &mut LogWriter, directory: &Path) -> Result<Imported, String> {
    let root = directory.to_owned();
    let found = blocking(move || find(&root)).await.map_err(|error| error.to_string())?;
    let mut done = Imported::default();
    for file in found {
        match import_file(writer, &file).await {
            Ok(()) => done.files += 1,
            Err(Failed::Log(Unwritten::Nowhere)) => done.left += 1,
            Err(Failed::Log(why)) => return Err(why.to_string()),
            Err(Failed::File(error)) => return Err(format!("{}: {error}", file.path.display())),
        }
    }
    if done.left == 0 {
        let root = directory.to_owned();
        let removed = blocking(move || remove_empty(&root)).await;
        removed.map_err(|error| format!("{}: {error}", directory.display()))?;
    }
    Ok(done)
}

enum Failed {
    Log(Unwritten),
    File(io::Error),
}

async fn import_file(writer: &mut LogWriter, file: &LogFile) -> Result<(), Failed> {
    let path = file.path.clone();
    let facts = blocking(move || Ok(facts_of(&path))).await.map_err(Failed::File)?;
    let mut offset = 0;
    loop {
        let path = file.path.clone();
        let lines = blocking(move || read_lines(&path, offset)).await.map_err(Failed::File)?;
        if lines.is_empty() {
            break;
        }
        offset += lines.len() as u64;
        writer.add(&file.hour, Bytes::from(lines), facts.clone()).await.map_err(Failed::Log)?;
    }
    let path = file.path.clone();
    let remove = move || {
        fs::remove_file(&path)?;
        match fs::remove_file(metadata_of(&path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    };
    blocking(remove).await.map_err(Failed::File)
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

/// Whole lines from an offset on, about [`STEP_BYTES`] of them. A last line without a line end was truncated by
/// a crash.
fn read_lines(path: &Path, offset: u64) -> io::Result<Vec<u8>> {
    use std::io::{Seek as _, SeekFrom};
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut file = BufReader::new(file);
    let mut lines = Vec::new();
    while lines.len() < STEP_BYTES {
        let length = lines.len();
        if file.read_until(b'\n', &mut lines)? == 0 {
            break;
        }
        if lines.last() != Some(&b'\n') {
            lines.truncate(length);
            break;
        }
    }
    Ok(lines)
}

fn metadata_of(log: &Path) -> PathBuf {
    log.with_extension("metadata.json")
}

/// The facts about a log, from the file next to it.
fn facts_of(log: &Path) -> Facts {
    let text = fs::read(metadata_of(log)).unwrap_or_default();
    let value: Value = serde_json::from_slice(&text).unwrap_or_default();
    Facts::of(|name| value.get(name).and_then(Value::as_str))
}

/// All log files, by path.
fn find(directory: &Path) -> io::Result<Vec<LogFile>> {
    let mut found = Vec::new();
    for account in entries(directory)? {
        let Some(name) = account.file_name().and_then(|name| name.to_str()) else { continue };
        for service in Service::ALL {
            let logs = account.join(LOGS).join(service.label());
            for path in files_below(&logs, 4)? {
                let hour = path.parent().and_then(|hour| hour_of(hour.strip_prefix(&logs).ok()?));
                let Some(start) = hour.filter(|_| path.extension().is_some_and(|ext| ext == "log")) else {
                    continue;
                };
                found.push(LogFile { hour: Hour { service, account: name.to_owned(), start }, path });
            }
        }
    }
    Ok(found)
}

/// The entries of a directory, by name; none if it does not exist.
fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        entries => entries?,
    };
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn files_below(directory: &Path, levels: usize) -> io::Result<Vec<PathBuf>> {
    let mut found = vec![directory.to_owned()];
    for _ in 0..=levels {
        let below: io::Result<Vec<Vec<PathBuf>>> = found.iter().map(|path| entries(path)).collect();
        found = below?.concat();
    }
    Ok(found)
}

/// The hour of a path `YYYY/MM/DD/hh00`.
fn hour_of(path: &Path) -> Option<DateTime> {
    let parts: Vec<&str> = path.iter().map(|part| part.to_str()).collect::<Option<_>>()?;
    let [year, month, day, hour] = parts[..] else { return None };
    let hour = hour.strip_suffix("00")?;
    let start = DateTime::parse(&format!("{year}-{month}-{day}T{hour}:00:00Z"))?;
    (start.ticks() % (3600 * TICKS_PER_SECOND) == 0).then_some(start)
}

/// Removes directories that contain nothing but directories.
fn remove_empty(directory: &Path) -> io::Result<()> {
    for path in entries(directory)? {
        if path.is_dir() {
            remove_empty(&path)?;
        }
    }
    match fs::remove_dir(directory) {
        Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty) => {
            Err(error)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_account_service_and_hour() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(find(&root.path().join("none")).unwrap(), []);
        for name in [
            "acct/$logs/table/2014/07/31/1800/000000.log",
            "acct/$logs/table/2014/07/31/1800/000000.metadata.json",
            "acct/$logs/blob/2014/07/31/1900/000003.log",
            "acct/$logs/table/2014/07/31/noon/000000.log",
            "acct/other/000000.log",
            "stray.log",
        ] {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "one\ntwo\ncut").unwrap();
        }
        let found = find(root.path()).unwrap();
        let shown: Vec<String> = found
            .iter()
            .map(|file| format!("{} {}", file.hour.service.label(), file.hour.start.iso_seconds().as_str()))
            .collect();
        assert_eq!(shown, ["blob 2014-07-31T19:00:00Z", "table 2014-07-31T18:00:00Z"]);
        assert_eq!(read_lines(&found[0].path, 0).unwrap(), b"one\ntwo\n");
        assert_eq!(read_lines(&found[0].path, 8).unwrap(), b"", "a line that was cut off is no line");
    }

    #[test]
    fn only_empty_directories_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let logs = root.path().join("analytics");
        fs::create_dir_all(logs.join("acct/$logs/table/2014")).unwrap();
        fs::write(logs.join("note.txt"), "mine").unwrap();
        remove_empty(&logs).unwrap();
        assert!(logs.join("note.txt").exists() && !logs.join("acct").exists());
    }
}
