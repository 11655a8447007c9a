//! `lazuli message import`: JSON Lines into a queue, in order, so that an interrupted import can be resumed.
//!
//! A state file next to the input records how many lines are done. It is saved after every page of messages;
//! after a kill, at most one page is added twice.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_model::{DateTime, Service};
use serde_json::{Value as Json, json};

use super::put_call;
use super::text::Encoding;
use crate::fault::{EXIT_CODES, Fault};
use crate::progress::{Progress, plural, thousands};
use crate::state::{StateFile, number};
use crate::storage::Session;
use crate::target::Target;

/// Number of messages between two saves of the state file.
const SAVE_EVERY: u64 = 32;

/// Add messages from JSON Lines to a queue
///
/// Each line is an object with a MessageText, as written by export, or a JSON string. Messages are added in
/// order. They keep their expiry times; expired ones are skipped. To resume an interrupted import, run the same
/// command again; if it was killed, up to 32 messages may be added twice.
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  lazuli message export jobs --file jobs.jsonl && lazuli message import other jobs.jsonl
  lazuli message import jobs work.jsonl --time-to-live -1

{EXIT_CODES}"))]
pub struct Import {
    /// Queue, which must exist
    queue: String,

    /// File
    file: PathBuf,

    /// Seconds until the messages expire; -1 means never [default: as in the file, else 7 days]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    time_to_live: Option<i64>,

    #[command(flatten)]
    encoding: Encoding,

    /// Start from the first line, even if an earlier import was interrupted
    #[arg(long)]
    overwrite: bool,

    /// Print errors only
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    target: Target,
}

/// The position of the import, and counts of the results.
#[derive(Default)]
struct Counts {
    lines: u64,
    bytes: u64,
    added: u64,
    expired: u64,
}

impl Import {
    /// Runs the command.
    pub fn run(self) -> Result<ExitCode, String> {
        self.target.storage(Service::Queue, |storage| {
            let failed = |error: std::io::Error| Fault::Message(format!("{}: {error}", self.file.display()));
            let file = File::open(&self.file).map_err(failed)?;
            let length = file.metadata().map_err(failed)?.len();
            let identity = self.target.identity_of(storage.endpoint())?;
            let purpose = json!({ "import": self.queue, "to": identity, "bytes": length });
            let mut path = self.file.as_os_str().to_owned();
            path.push(".import-state");
            let mut state = StateFile::open(path.into(), purpose, self.overwrite)?;
            let counts = self.copy(&mut storage.session(), file, length, &mut state)?;
            state.remove()?;
            if !self.quiet {
                let Counts { added, expired, .. } = counts;
                say!("{}: {} {} added", self.queue, thousands(added), plural(added, "message", "messages"));
                if expired > 0 {
                    say!("{}: {} expired and not imported", self.queue, thousands(expired));
                }
            }
            Ok(ExitCode::SUCCESS)
        })
    }

    fn copy(
        &self,
        session: &mut Session<'_>,
        file: File,
        length: u64,
        state: &mut StateFile,
    ) -> Result<Counts, Fault> {
        let done = number(state.content(), "lines");
        let mut counts = Counts {
            added: number(state.content(), "added"),
            expired: number(state.content(), "expired"),
            ..Counts::default()
        };
        let mut progress = Progress::start("import", "messages", self.quiet);
        for line in BufReader::new(file).split(b'\n') {
            let line = line?;
            counts.lines += 1;
            counts.bytes += line.len() as u64 + 1;
            if counts.lines <= done || line.trim_ascii().is_empty() {
                continue;
            }
            if let Err(fault) = self.add(session, &line, &mut counts) {
                save(state, &Counts { lines: counts.lines - 1, ..counts })?;
                return Err(fault);
            }
            if counts.lines.is_multiple_of(SAVE_EVERY) {
                save(state, &counts)?;
            }
            progress.reach(counts.added, counts.bytes, Some(length));
        }
        let _ = progress.finish();
        Ok(counts)
    }

    fn add(&self, session: &mut Session<'_>, line: &[u8], counts: &mut Counts) -> Result<(), Fault> {
        let at = |why: &str| Fault::Message(format!("{}:{}: {why}", self.file.display(), counts.lines));
        let value: Json = serde_json::from_slice(line).map_err(|error| at(&error.to_string()))?;
        let text = text_of(&value).ok_or_else(|| at(NO_TEXT))?;
        let expires = value.get("ExpirationTime").and_then(Json::as_str).unwrap_or_default();
        let expires = match expires {
            "" => None,
            text => Some(DateTime::parse_http(text).ok_or_else(|| at("ExpirationTime is not an HTTP date"))?),
        };
        let Some(ttl) = self.time_to_live(expires) else {
            counts.expired += 1;
            return Ok(());
        };
        let call = put_call(&self.queue, &self.encoding.encode(text)).maybe("messagettl", ttl);
        session.send(&call)?;
        counts.added += 1;
        Ok(())
    }

    /// The time to live in seconds; `Some(None)` is the default; `None` if the message has expired.
    fn time_to_live(&self, expires: Option<DateTime>) -> Option<Option<i64>> {
        remaining(self.time_to_live, expires, lazuli_server::clock::now())
    }
}

const NO_TEXT: &str = "there is no MessageText";

fn text_of(value: &Json) -> Option<&str> {
    value.as_str().or_else(|| value.get("MessageText").and_then(Json::as_str))
}

/// The text of the message in a line of JSON.
pub fn text_of_line(line: &str) -> Result<String, String> {
    let value: Json = serde_json::from_str(line).map_err(|error| error.to_string())?;
    text_of(&value).map(str::to_owned).ok_or_else(|| NO_TEXT.into())
}

fn remaining(wanted: Option<i64>, expires: Option<DateTime>, now: DateTime) -> Option<Option<i64>> {
    let Some(expires) = expires.filter(|_| wanted.is_none()) else { return Some(wanted) };
    // Messages that never expire have an expiry time in the year 9999.
    if expires.iso().as_str().starts_with("9999-") {
        return Some(Some(-1));
    }
    let ticks = expires.ticks().checked_sub(now.ticks())?;
    i64::try_from(ticks / TICKS_PER_SECOND).ok().filter(|seconds| *seconds > 0).map(Some)
}

fn save(state: &mut StateFile, counts: &Counts) -> Result<(), Fault> {
    state.save(json!({ "lines": counts.lines, "added": counts.added, "expired": counts.expired }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_expire_when_they_would_have_expired() {
        let time = |text| DateTime::parse(text).unwrap();
        let now = time("2026-01-01T00:00:00Z");
        assert_eq!(remaining(None, None, now), Some(None));
        assert_eq!(remaining(Some(-1), Some(time("2020-01-01")), now), Some(Some(-1)));
        assert_eq!(remaining(None, Some(time("2026-01-01T00:01:00Z")), now), Some(Some(60)));
        assert_eq!(remaining(None, Some(time("2025-12-31")), now), None);
        assert_eq!(remaining(None, Some(now), now), None);
        assert_eq!(remaining(None, Some(time("9999-12-31T23:59:59Z")), now), Some(Some(-1)));
    }
}
