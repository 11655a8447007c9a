//! `lazuli logs`: prints the request logs that service properties enable, from the container `$logs` of an account.

mod blobs;

use std::collections::HashMap;
use std::io::{self, IsTerminal as _, Write};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use lazuli_model::DateTime;
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_server::Service;
use lazuli_server::analytics::line::{FIELDS, LogLine};
use lazuli_server::clock;
use serde_json::{Map, Value};

use crate::fault::Fault;
use crate::storage::Storage;
use crate::target::Target;
use blobs::{AGENT, LogReader};

/// Polling interval of `--follow`.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Print the request logs of an account whose service properties enable logging.
///
/// Prints columns on a terminal, and elsewhere the lines as logged, in the format of Storage Analytics. New requests appear after
/// about a second. Reads the blobs in $logs, so it works with every server that speaks the protocol.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli logs                                        everything, oldest first
  lazuli logs --since 10m --status error             what failed in the last ten minutes
  lazuli logs --operation QueryEntities --follow     queries as they come; ends with Ctrl-C
  lazuli logs --service blob --since 2026-01-31T12:00Z --until 2026-01-31T13:00Z --json
  lazuli logs -l lazuli-data --account shop          without a server

Set Table Service Properties enables logging, for instance:
  az storage logging update --services bqt --log rwd --retention 7")]
pub struct Logs {
    #[command(flatten)]
    target: Target,

    /// Print only requests to this service: blob, queue or table
    #[arg(long, value_name = "SERVICE", value_parser = parse_service)]
    service: Option<Service>,

    /// Print only requests since this time: 2026-01-31T12:00Z, 2026-01-31, or an age: 90s, 10m, 2h, 7d
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    since: Option<DateTime>,

    /// Print only requests before this time
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    until: Option<DateTime>,

    /// Print only this operation, such as InsertEntity
    #[arg(long, value_name = "NAME")]
    operation: Option<String>,

    /// Print only this status: a number (404), a class (4xx), a name (EntityAlreadyExists), ok or error
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,

    /// Keep printing new requests
    #[arg(short = 'f', long, conflicts_with_all = ["until", "location"])]
    follow: bool,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl Logs {
    /// Prints the logs.
    pub fn run(self) -> Result<ExitCode, String> {
        let follows = self.follow.then(interrupts).transpose()?;
        self.target.storage(Service::Blob, |storage| self.print_all(storage, follows))
    }

    fn print_all(
        &self,
        storage: &Storage,
        follows: Option<std::sync::mpsc::Receiver<()>>,
    ) -> Result<ExitCode, Fault> {
        let mut reader = LogReader { session: storage.session(), places: HashMap::new() };
        let look = match (self.json, io::stdout().is_terminal()) {
            (true, _) => Look::Json,
            (false, true) => Look::Columns,
            (false, false) => Look::AsLogged,
        };
        let (is_there, mut is_read) = self.print(&mut reader, look, (self.since, self.until))?;
        let Some(interrupts) = follows else {
            if !is_there {
                tell!("lazuli: no request logs found; `lazuli logs --help` says how to enable logging");
            }
            return Ok(ExitCode::SUCCESS);
        };
        while is_read && interrupts.recv_timeout(LOOK_EVERY).is_err() {
            // Lines are written a little later, to the log of the hour in which a request ended.
            let now = clock::now();
            let recent = DateTime::from_ticks(now.ticks().saturating_sub(RECENT_TICKS));
            (_, is_read) = self.print(&mut reader, look, (recent.max(self.since), Some(now)))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Prints new lines of the logs of some hours. Returns whether there are logs, and whether the output is
    /// still being read.
    fn print(
        &self,
        reader: &mut LogReader<'_>,
        look: Look,
        (since, until): (Option<DateTime>, Option<DateTime>),
    ) -> Result<(bool, bool), Fault> {
        let mut out = io::stdout().lock();
        let (mut is_there, mut is_read) = (false, true);
        let services =
            Service::ALL.into_iter().filter(|own| self.service.is_none_or(|wanted| wanted == *own));
        for service in services {
            let is_more = reader.read_on(service, since, until, &mut |text| {
                is_there = true;
                let Some(line) = LogLine::parse(text).filter(|line| self.wants(line)) else { return true };
                is_read = show(&mut out, look, text, &line).is_ok();
                is_read
            })?;
            if !is_more {
                break;
            }
        }
        Ok((is_there, is_read && out.flush().is_ok()))
    }

    fn wants(&self, line: &LogLine) -> bool {
        let start = DateTime::parse(line.get("request-start-time"));
        let Some(start) = start else { return false };
        self.since.is_none_or(|since| start >= since)
            && self.until.is_none_or(|until| start < until)
            // Reading logs is itself logged; this command does not print its own requests.
            && line.get("user-agent-header") != AGENT
            && self
                .operation
                .as_ref()
                .is_none_or(|name| name.eq_ignore_ascii_case(line.get("operation-type")))
            && self.status.as_ref().is_none_or(|wanted| is_status(wanted, line))
    }
}

/// The time for which logs may still grow: two hours.
const RECENT_TICKS: u64 = 2 * 3600 * TICKS_PER_SECOND;

/// Receives a message when the user presses Ctrl-C.
fn interrupts() -> Result<std::sync::mpsc::Receiver<()>, String> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let runtime = crate::runtime::one_thread()?;
    std::thread::spawn(move || {
        let _ = runtime.block_on(tokio::signal::ctrl_c());
        let _ = sender.send(());
    });
    Ok(receiver)
}

fn parse_service(text: &str) -> Result<Service, String> {
    let found = Service::ALL.into_iter().find(|service| service.label() == text);
    found.ok_or_else(|| "expected blob, queue or table".into())
}

/// Output format of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    AsLogged,
    Columns,
    Json,
}

fn show(out: &mut impl Write, look: Look, text: &str, line: &LogLine) -> io::Result<()> {
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
            // Escape strings of clients, so that they cannot control the terminal.
            line.get("requested-object-key").escape_debug(),
        ),
    }
}

/// Does a line match `--status`? The argument is a number, a class of numbers, `ok`, `error`, or a name with or
/// without the prefix for the kind of authentication, such as `SAS`.
fn is_status(wanted: &str, line: &LogLine) -> bool {
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

/// Parses a time or an age.
fn parse_moment(text: &str) -> Result<DateTime, String> {
    moment(text, clock::now())
        .ok_or_else(|| "expected a time such as 2026-01-31T12:00Z, or an age such as 10m".into())
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

    fn line(status: &str, number: &str) -> LogLine {
        let mut fields = vec![String::new(); FIELDS_OF_1_0];
        fields[3] = status.into();
        fields[4] = number.into();
        LogLine(fields)
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
