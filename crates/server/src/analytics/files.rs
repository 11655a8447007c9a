//! The request logs as files, named as the original names its blobs:
//! `<directory>/<account>/$logs/table/YYYY/MM/DD/hh00/NNNNNN.log`, the hour being that in which a request was done.
//!
//! Beside each log stands what the original keeps as metadata of the blob. Lines are collected and written together; a
//! crash loses those that were not written yet.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use lazuli_model::DateTime;
use lazuli_model::kind::Access;
use serde_json::json;

use super::record::period_start;

/// The directory of an account's logs, in the account's own.
pub const LOGS: &str = "$logs";
/// The service whose logs these are.
pub const SERVICE: &str = "table";
/// A log of this size is followed by another.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Lines are written when so many bytes of them wait, and once in a while.
pub const WAITING_BYTES_MAX: usize = 256 * 1024;

/// Could logs be written to this directory? One that is not there yet would be made. Changes nothing.
pub fn check(directory: &Path) -> io::Result<()> {
    use rustix::fs::{Access, access};
    let named = |why: &dyn std::fmt::Display| {
        io::Error::other(format!("{}: logs cannot be written there: {why}", directory.display()))
    };
    let here = || Path::new(".");
    let mut there = directory;
    loop {
        match fs::metadata(there) {
            Ok(found) if found.is_dir() => break,
            Ok(_) => return Err(named(&format!("{} is no directory", there.display()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                there = there.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(here);
            }
            Err(error) => return Err(named(&error)),
        }
    }
    access(there, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| named(&io::Error::from(error)))
}

/// The logs that are being written.
pub struct LogFiles {
    directory: PathBuf,
    open: HashMap<String, Log>,
    waiting_bytes: usize,
}

/// The log of one account.
#[derive(Default)]
struct Log {
    /// The hour, and the file, once there is one.
    file: Option<(DateTime, PathBuf, File)>,
    bytes: u64,
    waiting: Vec<u8>,
    waiting_hour: Option<DateTime>,
    kinds: BTreeSet<&'static str>,
    first: Option<DateTime>,
    last: Option<DateTime>,
}

impl LogFiles {
    /// Logs in a directory.
    pub fn new(directory: PathBuf) -> Self {
        Self { directory, open: HashMap::new(), waiting_bytes: 0 }
    }

    /// Adds a line about a request that started and ended at these times. Writes what waits if it belongs to another hour.
    pub fn push(
        &mut self,
        account: &str,
        (start, end): (DateTime, DateTime),
        access: Access,
        line: &str,
    ) -> io::Result<()> {
        let hour = period_start(end, 3600);
        if !self.open.contains_key(account) {
            self.open.insert(account.to_owned(), Log::default());
        }
        let Some(log) = self.open.get_mut(account) else { return Ok(()) };
        let mut written = Ok(());
        if log.waiting_hour.is_some_and(|waiting| waiting != hour) {
            self.waiting_bytes -= log.waiting.len();
            written = log.write(&self.directory.join(account));
        }
        log.waiting_hour = Some(hour);
        log.waiting.extend_from_slice(line.as_bytes());
        log.waiting.push(b'\n');
        self.waiting_bytes += line.len() + 1;
        log.kinds.insert(match access {
            Access::Read => "read",
            Access::Write => "write",
            Access::Delete => "delete",
        });
        log.first = Some(log.first.map_or(start, |first| first.min(start)));
        log.last = Some(log.last.map_or(start, |last| last.max(start)));
        written
    }

    /// Do so many lines wait that they should be written?
    pub fn is_full(&self) -> bool {
        self.waiting_bytes >= WAITING_BYTES_MAX
    }

    /// Writes what waits. What cannot be written is gone: the log must not fill the memory.
    pub fn flush(&mut self) -> io::Result<()> {
        self.waiting_bytes = 0;
        let mut result = Ok(());
        for (account, log) in &mut self.open {
            result = result.and(log.write(&self.directory.join(account)));
        }
        result
    }

    /// Deletes the logs of an account from before a moment, whole hours of them.
    pub fn trim(&mut self, account: &str, before: DateTime) -> io::Result<()> {
        let logs = self.directory.join(account).join(LOGS).join(SERVICE);
        // Paths sort as the hours do.
        let limit = logs.join(hour_path(before));
        for hour in hours(&logs)? {
            if hour < limit {
                fs::remove_dir_all(&hour)?;
                // Days, months and years that are empty now.
                for parent in hour.ancestors().skip(1).take(3) {
                    if fs::remove_dir(parent).is_err() {
                        break;
                    }
                }
            }
        }
        Ok(())
    }
}

impl Log {
    fn write(&mut self, account: &Path) -> io::Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        let Some(hour) = self.waiting_hour.take().filter(|_| !waiting.is_empty()) else { return Ok(()) };
        let is_open =
            self.file.as_ref().is_some_and(|(open, ..)| *open == hour) && self.bytes < FILE_BYTES_MAX;
        if !is_open {
            self.file = None;
            self.bytes = 0;
            let (path, file) = create(&account.join(LOGS).join(SERVICE).join(hour_path(hour)))?;
            self.file = Some((hour, path, file));
        }
        let Some((_, path, file)) = &mut self.file else { return Ok(()) };
        file.write_all(&waiting)?;
        self.bytes += waiting.len() as u64;
        let moment = |at: Option<DateTime>| at.map(|at| at.iso_seconds().as_str().to_owned());
        let kinds: Vec<&str> =
            ["read", "write", "delete"].into_iter().filter(|kind| self.kinds.contains(kind)).collect();
        let metadata = json!({
            "LogType": kinds.join(","), "StartTime": moment(self.first), "EndTime": moment(self.last), "LogVersion": "1.0",
        });
        let mut beside = options().create(true).truncate(true).open(path.with_extension("metadata.json"))?;
        writeln!(beside, "{metadata}")?;
        Ok(())
    }
}

/// A new file with the next free number.
fn create(directory: &Path) -> io::Result<(PathBuf, File)> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let numbers = fs::read_dir(directory)?.filter_map(|entry| number(&entry.ok()?.path()));
    let mut next = numbers.max().map_or(0, |last| last + 1);
    loop {
        let path = directory.join(format!("{next:06}.log"));
        match options().create_new(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => next += 1,
            opened => return opened.map(|file| (path, file)),
        }
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

fn number(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    name.strip_suffix(".log")?.parse().ok()
}

/// `YYYY/MM/DD/hh00`
fn hour_path(moment: DateTime) -> PathBuf {
    let text = moment.iso_seconds();
    let text = text.as_str();
    [&text[0..4], &text[5..7], &text[8..10], &format!("{}00", &text[11..13])].iter().collect()
}

/// The directories of all hours, in order; none if there are no logs.
pub fn hours(logs: &Path) -> io::Result<Vec<PathBuf>> {
    let mut level = vec![logs.to_owned()];
    for _ in 0..4 {
        let mut below = Vec::new();
        for directory in level {
            match fs::read_dir(&directory) {
                Ok(entries) => {
                    for entry in entries {
                        below.push(entry?.path());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        below.retain(|path| path.is_dir());
        level = below;
    }
    level.sort();
    Ok(level)
}

/// The logs of an hour, in order.
pub fn logs_of(hour: &Path) -> io::Result<Vec<PathBuf>> {
    let mut logs = Vec::new();
    for entry in fs::read_dir(hour)? {
        let path = entry?.path();
        if number(&path).is_some() {
            logs.push(path);
        }
    }
    logs.sort();
    Ok(logs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime {
        DateTime::parse(text).unwrap()
    }

    fn names(root: &Path) -> Vec<String> {
        let logs = root.join("acct").join(LOGS).join(SERVICE);
        let hours = hours(&logs).unwrap();
        let all = hours.iter().flat_map(|hour| logs_of(hour).unwrap());
        all.map(|path| path.strip_prefix(root).unwrap().display().to_string()).collect()
    }

    /// LG-02, LG-03, LG-04: named by the hour in which requests ended, counted from zero, with first and last time beside.
    #[test]
    fn logs_are_named_as_the_original_names_them() {
        let root = tempfile::tempdir().unwrap();
        let mut files = LogFiles::new(root.path().into());
        let late = at("2014-07-31T18:59:59.9Z");
        files.push("acct", (late, at("2014-07-31T18:59:59.99Z")), Access::Write, "one").unwrap();
        files.push("acct", (late, at("2014-07-31T19:00:00.1Z")), Access::Read, "two").unwrap();
        assert_eq!(names(root.path()), ["acct/$logs/table/2014/07/31/1800/000000.log"], "another hour began");
        files
            .push("acct", (at("2014-07-31T19:00:05Z"), at("2014-07-31T19:00:05Z")), Access::Delete, "three")
            .unwrap();
        files.flush().unwrap();
        files.flush().unwrap();
        let found = names(root.path());
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[1], "acct/$logs/table/2014/07/31/1900/000000.log");
        assert_eq!(fs::read_to_string(root.path().join(&found[1])).unwrap(), "two\nthree\n");
        let beside = root.path().join(&found[0]).with_extension("metadata.json");
        let metadata = fs::read_to_string(beside).unwrap();
        assert_eq!(
            metadata,
            "{\"EndTime\":\"2014-07-31T18:59:59Z\",\"LogType\":\"write\",\"LogVersion\":\"1.0\",\"StartTime\":\"2014-07-31T18:59:59Z\"}\n"
        );
    }

    #[test]
    fn a_server_that_starts_again_begins_a_new_log() {
        let root = tempfile::tempdir().unwrap();
        let moment = at("2014-07-31T18:00:00Z");
        for line in ["one", "two"] {
            let mut files = LogFiles::new(root.path().into());
            files.push("acct", (moment, moment), Access::Read, line).unwrap();
            files.flush().unwrap();
        }
        let directory = "acct/$logs/table/2014/07/31/1800";
        assert_eq!(
            names(root.path()),
            [format!("{directory}/000000.log"), format!("{directory}/000001.log")]
        );
    }

    #[test]
    fn old_logs_go() {
        let root = tempfile::tempdir().unwrap();
        let mut files = LogFiles::new(root.path().into());
        for text in
            ["2013-12-31T23:00:00Z", "2014-07-30T01:00:00Z", "2014-07-31T17:59:00Z", "2014-07-31T18:01:00Z"]
        {
            files.push("acct", (at(text), at(text)), Access::Read, "x").unwrap();
        }
        files.flush().unwrap();
        files.trim("acct", at("2014-07-31T18:30:00Z")).unwrap();
        assert_eq!(names(root.path()), ["acct/$logs/table/2014/07/31/1800/000000.log"]);
        assert!(!root.path().join("acct/$logs/table/2013").exists());
        files.trim("unknown", at("2014-07-31T18:30:00Z")).unwrap();
    }
}
