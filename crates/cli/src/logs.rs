//! `lazuli logs`: prints the request logs that service properties switch on.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Command};
use lazuli_model::DateTime;
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_server::analytics::DIRECTORY;
use lazuli_server::analytics::files::{LOGS, SERVICE, hours, logs_of};
use lazuli_server::analytics::line::{FIELDS, Line};
use lazuli_server::clock;
use serde_json::{Map, Value};

use crate::place::Place;
use crate::runtime;

/// How often `--follow` looks for more.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Print the request logs of accounts whose service properties ask for logging.
///
/// On a terminal in columns; into a file or a pipe line by line as logged, in the format of Storage Analytics. New requests
/// show after a second or so. Whether a server runs does not matter.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli logs                                        everything, oldest first
  lazuli logs --since 10m --status error             what failed in the last ten minutes
  lazuli logs --operation QueryEntities --follow     queries as they come; ends with Ctrl-C
  lazuli logs --since 2026-01-31T12:00Z --until 2026-01-31T13:00Z --json

Logging is switched on by Set Table Service Properties, for instance:
  az storage logging update --services t --log rwd --retention 7")]
pub struct Logs {
    #[command(flatten)]
    place: Place,

    /// Directory of the logs, if the server has one of its own for them
    #[arg(long, value_name = "DIR", conflicts_with = "location")]
    analytics_dir: Option<PathBuf>,

    /// Only those of this account
    #[arg(long, value_name = "NAME")]
    account: Option<String>,

    /// Only requests from this time on: 2026-01-31T12:00Z, 2026-01-31, or how long ago: 90s, 10m, 2h, 7d
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    since: Option<DateTime>,

    /// Only requests before this time
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    until: Option<DateTime>,

    /// Only this operation, such as InsertEntity
    #[arg(long, value_name = "NAME")]
    operation: Option<String>,

    /// Only this status: a number (404), a class (4xx), a name (EntityAlreadyExists), ok or error
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,

    /// Go on with what is logged from now on
    #[arg(short = 'f', long, conflicts_with = "until")]
    follow: bool,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

impl Logs {
    /// Prints the logs.
    pub fn run(self, root: &Command) -> Result<ExitCode, String> {
        let directory = match &self.analytics_dir {
            Some(named) => named.clone(),
            None => self.place.directory(root)?.join(DIRECTORY),
        };
        let mut reader = Reader { directory, places: HashMap::new() };
        if !self.follow && reader.accounts(self.account.as_deref())?.is_empty() {
            tell!(
                "lazuli: nothing is logged in {}; `lazuli logs --help` tells how to begin",
                reader.directory.display()
            );
            return Ok(ExitCode::SUCCESS);
        }
        let look = match (self.json, io::stdout().is_terminal()) {
            (true, _) => Look::Json,
            (false, true) => Look::Columns,
            (false, false) => Look::AsLogged,
        };
        if !self.follow {
            return self.print(&mut reader, look).map(|_| ExitCode::SUCCESS);
        }
        let runtime = runtime::one_thread()?;
        runtime.block_on(async {
            let mut ticks = tokio::time::interval(LOOK_EVERY);
            loop {
                tokio::select! {
                    _ = ticks.tick() => {
                        if !self.print(&mut reader, look)? {
                            return Ok(ExitCode::SUCCESS);
                        }
                    }
                    _ = tokio::signal::ctrl_c() => return Ok(ExitCode::SUCCESS),
                }
            }
        })
    }

    /// Prints what is new; `false` when nobody reads it any more.
    fn print(&self, reader: &mut Reader, look: Look) -> Result<bool, String> {
        let mut out = io::stdout().lock();
        let mut is_read = true;
        reader.read_on(self.account.as_deref(), &mut |text| {
            let Some(line) = Line::parse(text).filter(|line| self.wants(line)) else { return true };
            is_read = show(&mut out, look, text, &line).is_ok();
            is_read
        })?;
        Ok(is_read && out.flush().is_ok())
    }

    fn wants(&self, line: &Line) -> bool {
        let start = DateTime::parse(line.get("request-start-time"));
        let Some(start) = start else { return false };
        self.since.is_none_or(|since| start >= since)
            && self.until.is_none_or(|until| start < until)
            && self
                .operation
                .as_ref()
                .is_none_or(|name| name.eq_ignore_ascii_case(line.get("operation-type")))
            && self.status.as_ref().is_none_or(|wanted| is_status(wanted, line))
    }
}

/// How lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    AsLogged,
    Columns,
    Json,
}

fn show(out: &mut impl Write, look: Look, text: &str, line: &Line) -> io::Result<()> {
    match look {
        Look::AsLogged => writeln!(out, "{text}"),
        Look::Json => {
            let members = FIELDS
                .iter()
                .zip(&line.0)
                .map(|(name, value)| ((*name).to_owned(), Value::from(value.as_str())));
            writeln!(out, "{}", Value::Object(members.collect::<Map<_, _>>()))
        }
        Look::Columns => writeln!(
            out,
            "{} {:<24} {:>3} {:<28} {:>7} ms {:<21} {}",
            line.get("request-start-time").get(..23).unwrap_or_default().replacen('T', " ", 1),
            line.get("operation-type"),
            line.get("http-status-code"),
            line.get("request-status"),
            line.get("end-to-end-latency-in-ms"),
            line.get("requester-ip-address"),
            // Escapes keep what a client sent from being taken for commands to the terminal.
            line.get("requested-object-key").escape_debug(),
        ),
    }
}

/// A number, a class of numbers, a name with or without who sent the request, `ok` or `error`.
fn is_status(wanted: &str, line: &Line) -> bool {
    let (number, name) = (line.get("http-status-code"), line.get("request-status"));
    let plain =
        ["SAS", "Anonymous", "OAuth"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    match wanted.to_ascii_lowercase().as_str() {
        "ok" => plain == "Success",
        "error" => plain != "Success",
        class if class.len() == 3 && class.ends_with("xx") => number.starts_with(&class[..1]),
        other => number == other || name.eq_ignore_ascii_case(other) || plain.eq_ignore_ascii_case(other),
    }
}

/// Reads logs, each from where it was left.
struct Reader {
    directory: PathBuf,
    places: HashMap<PathBuf, u64>,
}

impl Reader {
    /// The directories of the accounts that have logs, by name.
    fn accounts(&self, only: Option<&str>) -> Result<Vec<PathBuf>, String> {
        let entries = match std::fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| self.failed(&self.directory, &error))?,
        };
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let named = |path: &PathBuf| only.is_none_or(|name| path.file_name().is_some_and(|own| own == name));
        let mut accounts: Vec<PathBuf> =
            paths.filter(named).filter(|path| path.join(LOGS).is_dir()).collect();
        accounts.sort();
        Ok(accounts)
    }

    /// Hands out every line that was not handed out before, hour by hour, until `take` has had enough.
    fn read_on(&mut self, account: Option<&str>, take: &mut impl FnMut(&str) -> bool) -> Result<(), String> {
        for account in self.accounts(account)? {
            let logs = account.join(LOGS).join(SERVICE);
            for hour in hours(&logs).map_err(|error| self.failed(&logs, &error))? {
                // Old logs may go while they are read.
                for log in logs_of(&hour).unwrap_or_default() {
                    match self.read_log(&log, take) {
                        Ok(true) => {}
                        Ok(false) => return Ok(()),
                        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                        Err(error) => return Err(self.failed(&log, &error)),
                    }
                }
            }
        }
        Ok(())
    }

    fn read_log(&mut self, log: &Path, take: &mut impl FnMut(&str) -> bool) -> io::Result<bool> {
        let mut file = File::open(log)?;
        let place = self.places.entry(log.to_owned()).or_default();
        if file.metadata()?.len() <= *place {
            return Ok(true);
        }
        file.seek(SeekFrom::Start(*place))?;
        let mut file = BufReader::new(file);
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            let read = file.read_until(b'\n', &mut bytes)?;
            // The end of the last line may still be on its way.
            if bytes.last() != Some(&b'\n') {
                return Ok(true);
            }
            *place += read as u64;
            if !take(String::from_utf8_lossy(&bytes).trim_end_matches('\n')) {
                return Ok(false);
            }
        }
    }

    fn failed(&self, path: &Path, error: &io::Error) -> String {
        format!("{}: {error}", path.display())
    }
}

/// A moment, or how long ago one was.
fn parse_moment(text: &str) -> Result<DateTime, String> {
    moment(text, clock::now())
        .ok_or_else(|| "neither a time like 2026-01-31T12:00Z nor one like 10m ago".into())
}

fn moment(text: &str, now: DateTime) -> Option<DateTime> {
    let last = text.chars().last()?;
    let unit = [('s', 1), ('m', 60), ('h', 3600), ('d', 86_400)].iter().find(|(letter, _)| *letter == last);
    if let Some((_, seconds)) = unit {
        let count: u64 = text[..text.len() - 1].parse().ok()?;
        let ago = count.checked_mul(*seconds)?.checked_mul(TICKS_PER_SECOND)?;
        return DateTime::from_ticks(now.ticks().checked_sub(ago)?);
    }
    let padded = match text.len() {
        10 => format!("{text}T00:00:00Z"),
        17 => format!("{}:00Z", text.strip_suffix('Z')?),
        _ => text.to_owned(),
    };
    DateTime::parse(&padded)
}

#[cfg(test)]
mod tests {
    use lazuli_server::analytics::line::FIELDS_OF_1_0;

    use super::*;

    #[test]
    fn moments() {
        let now = DateTime::parse("2026-02-01T00:00:10Z").unwrap();
        for (text, expected) in [
            ("10s", Some("2026-02-01T00:00:00Z")),
            ("2h", Some("2026-01-31T22:00:10Z")),
            ("1d", Some("2026-01-31T00:00:10Z")),
            ("2026-01-31", Some("2026-01-31T00:00:00Z")),
            ("2026-01-31T12:00Z", Some("2026-01-31T12:00:00Z")),
            ("2026-01-31T12:00:01.5Z", Some("2026-01-31T12:00:01.5Z")),
            ("", None),
            ("m", None),
            ("-1h", None),
            ("99999999999999999999d", None),
            ("9999999999999d", None),
            ("yesterday", None),
        ] {
            assert_eq!(moment(text, now), expected.and_then(DateTime::parse), "{text}");
        }
    }

    fn line(status: &str, number: &str) -> Line {
        let mut fields = vec![String::new(); FIELDS_OF_1_0];
        fields[3] = status.into();
        fields[4] = number.into();
        Line(fields)
    }

    #[test]
    fn statuses() {
        for (wanted, status, number, expected) in [
            ("ok", "SASSuccess", "200", true),
            ("ok", "EntityAlreadyExists", "409", false),
            ("error", "EntityAlreadyExists", "409", true),
            ("error", "AnonymousSuccess", "200", false),
            ("404", "TableNotFound", "404", true),
            ("4xx", "TableNotFound", "404", true),
            ("5xx", "TableNotFound", "404", false),
            ("tablenotfound", "SASTableNotFound", "404", true),
            ("SASTableNotFound", "SASTableNotFound", "404", true),
            ("success", "Success", "204", true),
        ] {
            assert_eq!(is_status(wanted, &line(status, number)), expected, "{wanted} {status}");
        }
    }

    #[test]
    fn columns_do_not_command_the_terminal() {
        let mut odd = line("Success", "200");
        odd.0[12] = "/acct/\u{1b}[2J".into();
        let mut out = Vec::new();
        show(&mut out, Look::Columns, "", &odd).unwrap();
        assert!(!out.contains(&0x1b), "{}", String::from_utf8_lossy(&out));
    }
}
