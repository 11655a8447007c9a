//! The request logs as blobs in the container `$logs` of each account, named as in Azure:
//! `SERVICE/YYYY/MM/DD/hh00/NNNNNN.log`, where the hour is the one in which a request completed.
//!
//! Lines are collected and written together; a crash loses lines that are not written yet. The counter starts
//! at 000000, as Azure documents it. A log that has reached [`LOG_BYTES_MAX`] is followed by another.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use lazuli_model::blob::BlobName;
use lazuli_model::kind::Access;
use lazuli_model::{DateTime, Service};
use lazuli_service::blob::{Blobs, LogPage};

use super::facts::Facts;
use super::record::period_start;
use crate::state::State;

/// A log of this size is followed by another.
const LOG_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Lines are written when they reach this total size, and periodically.
pub const WAITING_BYTES_MAX: usize = 256 * 1024;
/// Lines beyond this size are dropped: the writer is too slow.
pub const LATE_BYTES_MAX: usize = 16 * WAITING_BYTES_MAX;
/// The last log of an hour.
const NUMBER_MAX: u32 = 999_999;

/// The account, service and hour that identify all logs with one path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Hour {
    /// The service.
    pub service: Service,
    /// The account.
    pub account: String,
    /// The start of the hour.
    pub start: DateTime,
}

/// Lines that belong together and wait to be written.
#[derive(Default)]
struct Lines {
    text: Vec<u8>,
    count: u64,
    facts: Facts,
}

/// Lines waiting to be written.
#[derive(Default)]
pub struct Waiting {
    hours: HashMap<Hour, Lines>,
    bytes: usize,
}

impl Waiting {
    /// Adds a line about a request that started and ended at these times. `false` if too many lines wait.
    pub fn push(
        &mut self,
        (service, account): (Service, &str),
        (start, end): (DateTime, DateTime),
        access: Access,
        line: &str,
    ) -> bool {
        if self.bytes + line.len() >= LATE_BYTES_MAX {
            return false;
        }
        let hour = Hour { service, account: account.to_owned(), start: period_start(end, 3600) };
        let lines = self.hours.entry(hour).or_default();
        lines.text.extend_from_slice(line.as_bytes());
        lines.text.push(b'\n');
        lines.count += 1;
        lines.facts.add(start, access, line);
        self.bytes += line.len() + 1;
        true
    }

    /// Should the lines be written now?
    pub fn is_full(&self) -> bool {
        self.bytes >= WAITING_BYTES_MAX
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.hours.is_empty()
    }
}

/// The reason why lines were not written.
#[derive(Debug)]
pub enum Unwritten {
    /// The logs have reached their quota.
    Quota,
    /// The engine cannot store blobs, the account no longer exists, or the hour has too many logs.
    Nowhere,
    /// The engine failed.
    Engine(lazuli_service::Error),
}

impl fmt::Display for Unwritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unwritten::Quota => f.write_str(
                "the logs have reached --analytics-quota-mib; lines are dropped until old logs are deleted",
            ),
            Unwritten::Nowhere => f.write_str("the account cannot store logs"),
            Unwritten::Engine(error) => error.fmt(f),
        }
    }
}

impl From<lazuli_service::Error> for Unwritten {
    fn from(error: lazuli_service::Error) -> Self {
        Unwritten::Engine(error)
    }
}

/// Writes logs.
pub struct LogWriter {
    state: Arc<State>,
    /// The hour and the number of the current log, for each service of an account.
    numbers: HashMap<(Service, String), (DateTime, u32)>,
    /// Maximum bytes of all logs together. Beyond it lines are dropped: logs must not fill the disk that the data needs.
    quota: u64,
    /// Bytes of all logs, known after the first write.
    used: Option<u64>,
}

impl LogWriter {
    /// A writer of all logs.
    pub fn new(state: Arc<State>, quota: u64) -> Self {
        Self { state, numbers: HashMap::new(), quota, used: None }
    }

    /// Writes lines. Returns the number of lost lines, and the reason why the last of them were lost.
    pub async fn write(&mut self, waiting: Waiting) -> (u64, Option<Unwritten>) {
        let (mut lost, mut why) = (0, None);
        for (hour, lines) in waiting.hours {
            let count = lines.count;
            if let Err(unwritten) = self.add(&hour, lines.text.into(), lines.facts).await {
                lost += count;
                why = Some(unwritten);
            }
        }
        (lost, why)
    }

    /// Adds lines to the log of an hour, or to the next one if that is full.
    pub async fn add(&mut self, hour: &Hour, text: Bytes, facts: Facts) -> Result<(), Unwritten> {
        let length = text.len() as u64;
        let used = match self.used {
            Some(used) => used,
            None => self.count().await?,
        };
        self.used = Some(used);
        if used.saturating_add(length) > self.quota {
            return Err(Unwritten::Quota);
        }
        let state = self.state.clone();
        let blobs = state.blobs().ok_or(Unwritten::Nowhere)?;
        let home = state.directory().home(&hour.account).ok_or(Unwritten::Nowhere)?;
        let key = (hour.service, hour.account.clone());
        let known = self.numbers.get(&key).filter(|(start, _)| *start == hour.start);
        let mut number = known.map_or(0, |(_, number)| *number);
        let annotate = facts.annotate();
        while number <= NUMBER_MAX {
            let name = log_name(hour, number).ok_or(Unwritten::Nowhere)?;
            if blobs.append_log(&home, &name, text.clone(), annotate.clone(), LOG_BYTES_MAX).await? {
                self.numbers.insert(key, (hour.start, number));
                self.used = Some(used + length);
                return Ok(());
            }
            number += 1;
        }
        Err(Unwritten::Nowhere)
    }

    /// Deletes the logs of an account's service from before a moment, in whole hours.
    pub async fn trim(&mut self, service: Service, account: &str, before: DateTime) -> Result<(), Unwritten> {
        let state = self.state.clone();
        let (Some(blobs), Some(home)) = (state.blobs(), state.directory().home(account)) else {
            return Ok(());
        };
        let prefix = format!("{}/", service.label());
        // Names sort chronologically.
        let limit = format!("{prefix}{}", hour_path(before));
        let mut from = None;
        loop {
            let LogPage { logs, next } = blobs.list_logs(&home, &prefix, from).await?;
            for (name, _) in logs {
                if name >= limit {
                    return Ok(());
                }
                if let Ok(name) = BlobName::new(&name) {
                    blobs.discard_log(&home, &name).await?;
                }
            }
            from = next;
            if from.is_none() {
                return Ok(());
            }
        }
    }

    /// Measures the logs again before the next write: retention or a client may have freed space.
    pub fn recount(&mut self) {
        self.used = None;
        let accounts = self.state.directory();
        self.numbers.retain(|(_, account), _| accounts.contains(account));
    }

    /// Bytes of all logs of all accounts.
    async fn count(&self) -> lazuli_service::Result<u64> {
        let Some(blobs) = self.state.blobs() else { return Ok(0) };
        let mut bytes = 0;
        for account in self.state.directory().names() {
            let Some(home) = self.state.directory().home(&account) else { continue };
            bytes += account_bytes(blobs, &home).await?;
        }
        Ok(bytes)
    }
}

async fn account_bytes(blobs: &Blobs, home: &str) -> lazuli_service::Result<u64> {
    let (mut bytes, mut from) = (0, None);
    loop {
        let LogPage { logs, next } = blobs.list_logs(home, "", from).await?;
        bytes += logs.iter().map(|(_, size)| size).sum::<u64>();
        from = next;
        if from.is_none() {
            return Ok(bytes);
        }
    }
}

fn log_name(hour: &Hour, number: u32) -> Option<BlobName> {
    let Hour { service, start, .. } = hour;
    BlobName::new(&format!("{}/{}/{number:06}.log", service.label(), hour_path(*start))).ok()
}

/// `YYYY/MM/DD/hh00`
fn hour_path(moment: DateTime) -> String {
    let text = moment.iso_seconds();
    let text = text.as_str();
    format!("{}/{}/{}/{}00", &text[0..4], &text[5..7], &text[8..10], &text[11..13])
}

#[cfg(test)]
mod tests {
    use lazuli_engine::Clock;
    use lazuli_engine::memory::Memory;

    use super::*;
    use crate::accounts::{ConfiguredAccount, DEVELOPMENT_ACCOUNT, Directory};
    use crate::analytics::import::{Imported, import};
    use crate::config::Config;

    fn at(text: &str) -> DateTime {
        DateTime::parse(text).unwrap()
    }

    /// LG-02: the hour is the one in which the request completed, and the counter starts at zero.
    #[test]
    fn logs_are_named_as_azure_names_them() {
        let mut waiting = Waiting::default();
        let late = at("2014-07-31T18:59:59.9Z");
        for end in ["2014-07-31T18:59:59.99Z", "2014-07-31T19:00:00.1Z"] {
            assert!(waiting.push((Service::Queue, "acct"), (late, at(end)), Access::Write, "one"));
        }
        let mut names: Vec<_> =
            waiting.hours.keys().map(|hour| log_name(hour, 0).unwrap().to_string()).collect();
        names.sort();
        assert_eq!(names, ["queue/2014/07/31/1800/000000.log", "queue/2014/07/31/1900/000000.log"]);
    }

    #[test]
    fn lines_that_cannot_be_written_in_time_are_dropped() {
        let mut waiting = Waiting::default();
        let (moment, line) = (at("2014-07-31T18:00:00Z"), "x".repeat(1023));
        let taken = (0..10_000)
            .filter(|_| waiting.push((Service::Table, "acct"), (moment, moment), Access::Read, &line))
            .count();
        assert!(waiting.is_full() && !waiting.is_empty());
        assert_eq!(taken, LATE_BYTES_MAX / 1024);
    }

    fn writer(quota: u64) -> LogWriter {
        let directory = Directory::new(vec![ConfiguredAccount::development()]);
        let engine = Arc::new(Memory::new(Clock::system()));
        let state = State::over(engine, directory, Config::new(([127, 0, 0, 1], 0).into())).unwrap();
        LogWriter::new(Arc::new(state), quota)
    }

    fn hour(text: &str) -> Hour {
        Hour { service: Service::Table, account: DEVELOPMENT_ACCOUNT.into(), start: at(text) }
    }

    async fn names(writer: &LogWriter) -> Vec<String> {
        let home = writer.state.directory().home(DEVELOPMENT_ACCOUNT).unwrap();
        let page = writer.state.blobs().unwrap().list_logs(&home, "", None).await.unwrap();
        page.logs.into_iter().map(|(name, _)| name).collect()
    }

    /// Retention deletes whole hours, and makes room below the quota.
    #[tokio::test]
    async fn old_logs_are_deleted() {
        let mut writer = writer(40);
        for text in
            ["2013-12-31T23:00:00Z", "2014-07-30T01:00:00Z", "2014-07-31T17:00:00Z", "2014-07-31T18:00:00Z"]
        {
            writer.add(&hour(text), Bytes::from_static(b"ten bytes\n"), Facts::default()).await.unwrap();
        }
        let late = hour("2014-07-31T19:00:00Z");
        let more = Bytes::from_static(b"too much");
        let full = writer.add(&late, more.clone(), Facts::default()).await;
        assert!(matches!(full, Err(Unwritten::Quota)), "{full:?}");
        writer.trim(Service::Table, DEVELOPMENT_ACCOUNT, at("2014-07-31T18:30:00Z")).await.unwrap();
        writer.trim(Service::Blob, DEVELOPMENT_ACCOUNT, at("2015-07-31T18:30:00Z")).await.unwrap();
        writer.trim(Service::Table, "unknown", at("2015-07-31T18:30:00Z")).await.unwrap();
        writer.recount();
        assert_eq!(names(&writer).await, ["table/2014/07/31/1800/000000.log"]);
        writer.add(&late, more, Facts::default()).await.unwrap();
        assert_eq!(names(&writer).await.len(), 2);
    }

    /// Files of earlier versions become blobs with the same names; those of unknown accounts stay.
    #[tokio::test]
    async fn log_files_become_blobs() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("analytics");
        let log = |account: &str| directory.join(account).join("$logs/table/2014/07/31/1800/000000.log");
        let metadata = "{\"LogType\":\"read\",\"StartTime\":\"2014-07-31T18:01:00Z\",\"EndTime\":\"2014-07-31T18:02:00Z\"}";
        for account in [DEVELOPMENT_ACCOUNT, "unknown"] {
            std::fs::create_dir_all(log(account).parent().unwrap()).unwrap();
            std::fs::write(log(account), "one\ntwo\n").unwrap();
            std::fs::write(log(account).with_extension("metadata.json"), metadata).unwrap();
        }
        let mut writer = writer(u64::MAX);
        let done = import(&mut writer, &directory).await.unwrap();
        assert_eq!(done, Imported { files: 1, left: 1 });
        assert!(!log(DEVELOPMENT_ACCOUNT).exists() && log("unknown").exists());
        std::fs::remove_dir_all(directory.join("unknown")).unwrap();
        assert_eq!(import(&mut writer, &directory).await.unwrap(), Imported::default());
        assert!(!directory.exists());
        assert_eq!(names(&writer).await, ["table/2014/07/31/1800/000000.log"]);
        let home = writer.state.directory().home(DEVELOPMENT_ACCOUNT).unwrap();
        assert_eq!(account_bytes(writer.state.blobs().unwrap(), &home).await.unwrap(), 8);
    }
}
