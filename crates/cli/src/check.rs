//! `lazuli check`: is everything as it was written? Of a store that nobody has open, or of a backup.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Command};
use lazuli_archive::{Block, Reader};
use lazuli_engine::RowView;
use lazuli_service::inspect::{Findings, Inspector};
use lazuli_store::{FORMAT_FILE, OpenError, Reading};
use serde_json::json;

use crate::place::Place;
use crate::progress::{Progress, bytes_text, thousands};

/// Verify every checksum and every rule, of a store that is not in use or of a backup.
///
/// Reads every file from end to end: the checksums of files, of log entries and of rows; that keys are canonical and in
/// order, that versions are not of the future, that every table in the catalog and every row of a table belong
/// together, that accounts, policies, properties and entities can be decoded. Nothing is repaired, and nothing is written:
/// the log is copied to a directory for temporary files (TMPDIR) and read there.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli check                              the store in ./lazuli-data
  lazuli check --location /var/lib/lazuli   another one
  lazuli check /backups/monday              a backup, or a store: what lies there tells

Exit code 0 if all is as it was written, 1 if not, or if it cannot be told. A store that a server
has open cannot be checked: stop the server, or make a backup, which reads and verifies every row on
the way, and check that.")]
pub struct Check {
    /// A backup, or the directory of a store
    #[arg(value_name = "DIR", conflicts_with = "location")]
    named: Option<PathBuf>,

    #[command(flatten)]
    place: Place,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,

    /// Print nothing but what is wrong
    #[arg(short = 'q', long)]
    quiet: bool,
}

/// What a check found.
#[derive(Default)]
struct Outcome {
    lines: Vec<String>,
    findings: u64,
    examples: Vec<String>,
    advice: Vec<&'static str>,
}

const RESTORE: &str = "restore the last good backup into a new location (lazuli restore)";
const REWRITE: &str =
    "nothing damaged is ever served; a row that is damaged can be written or deleted anew by its key";
const RETAKE: &str = "do not rely on this backup: take another one";

impl Check {
    /// Carries the command out.
    pub fn run(self, root: &Command) -> Result<ExitCode, String> {
        let quiet = self.quiet || self.json;
        let outcome = match &self.named {
            Some(store) if store.join(FORMAT_FILE).exists() => check_store(store, quiet)?,
            Some(backup) => check_backup(backup, quiet)?,
            None => check_store(&self.place.directory(root)?, quiet)?,
        };
        if self.json {
            say!("{}", json!({ "findings": outcome.findings, "examples": outcome.examples }));
        } else {
            outcome.show(self.quiet);
        }
        Ok(if outcome.findings == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

impl Outcome {
    fn show(&self, quiet: bool) {
        if !quiet {
            self.lines.iter().for_each(|line| say!("{line}"));
        }
        if self.findings == 0 {
            if !quiet {
                say!("all as written");
            }
            return;
        }
        say!("{} found to be wrong:", thousands(self.findings));
        self.examples.iter().for_each(|example| say!("  {example}"));
        let left = self.findings - self.examples.len() as u64;
        if left > 0 {
            say!("  and {} more", thousands(left));
        }
        self.advice.iter().for_each(|advice| say!("what to do: {advice}"));
    }

    fn add(&mut self, findings: u64, examples: Vec<String>) {
        self.findings += findings;
        self.examples.extend(examples);
    }

    fn add_service(&mut self, found: Findings) {
        self.lines.push(format!(
            "content: {} entities in {} tables, {} accounts; {} rows of deleted tables to be removed",
            thousands(found.entities),
            thousands(found.tables),
            thousands(found.accounts),
            thousands(found.pending)
        ));
        self.add(found.findings, found.examples);
    }
}

fn check_store(location: &Path, quiet: bool) -> Result<Outcome, String> {
    let told = |error: OpenError| match error {
        OpenError::InUse { .. } => format!("{error}; stop the server, or check a backup (lazuli backup)"),
        other => other.to_string(),
    };
    let mut outcome = Outcome { advice: vec![RESTORE, REWRITE], ..Outcome::default() };
    let mut progress = Progress::start("files", quiet);
    let files = lazuli_store::inspect(location, |bytes| progress.reach(0, bytes, None)).map_err(told)?;
    let _ = progress.finish();
    outcome.lines.push(format!("files: {} with {} read", thousands(files.files), bytes_text(files.bytes)));
    outcome.lines.extend(files.notes.iter().map(|note| format!("note: {note}")));
    let closed_at = files.closed_at;
    let is_sound = files.findings == 0;
    outcome.add(files.findings, files.examples);
    // Opening would work on what is damaged; what can be said has been said.
    if !is_sound {
        return Ok(outcome);
    }
    let store = match Reading::open(location) {
        Ok(store) => store,
        Err(error @ OpenError::Corrupt(_)) => {
            outcome.add(1, vec![error.to_string()]);
            return Ok(outcome);
        }
        Err(other) => return Err(told(other)),
    };
    check_rows(&store, quiet, &mut outcome)?;
    if let (Some(closed), Some(marks)) = (closed_at, store.marks())
        && closed != marks.last_version
    {
        let (closed, found) = (closed.0, marks.last_version.0);
        outcome.add(1, vec![format!("it was closed at version {closed}, but version {found} is found")]);
    }
    Ok(outcome)
}

fn check_rows(store: &Reading, quiet: bool, outcome: &mut Outcome) -> Result<(), String> {
    let mut progress = Progress::start("rows", quiet);
    let (mut rows, mut bytes) = (0, 0);
    let mut inspector = store.marks().map(Inspector::new);
    let report = store.check_each(&mut |table, row: RowView<'_>| {
        rows += 1;
        bytes += (row.partition.len() + row.row.len() + row.value.len()) as u64;
        progress.reach(rows, bytes, None);
        if let Some(inspector) = &mut inspector {
            inspector.see(table, row);
        }
    });
    let report = report.map_err(|error| error.to_string())?;
    outcome.lines.push(format!("rows: {}", progress.finish()));
    outcome.add(report.findings, report.examples);
    if let Some(inspector) = inspector {
        outcome.add_service(inspector.finish());
    }
    Ok(())
}

fn check_backup(dir: &Path, quiet: bool) -> Result<Outcome, String> {
    let mut reader = Reader::open(dir).map_err(|error| error.to_string())?;
    let mut outcome = Outcome { advice: vec![RETAKE], ..Outcome::default() };
    let totals = reader.manifest().totals;
    let mut inspector = Inspector::new(totals.marks);
    let mut progress = Progress::start("backup", quiet);
    loop {
        match reader.next_block() {
            Ok(Some(Block::Rows(rows))) => {
                for row in &rows {
                    let view = RowView {
                        partition: &row.row.partition,
                        row: &row.row.row,
                        version: row.row.version,
                        value: &row.row.value,
                    };
                    inspector.see(row.table, view);
                }
                let (rows, bytes) = reader.so_far();
                progress.reach(rows, bytes, Some(totals.bytes));
            }
            Ok(Some(Block::End(_))) => {}
            Ok(None) => break,
            Err(error) => {
                outcome.add(1, vec![error.to_string()]);
                break;
            }
        }
    }
    outcome.lines.push(format!("backup: {}", progress.finish()));
    outcome.lines.push(format!(
        "made {}, as of {}",
        reader.manifest().created,
        crate::backup::moment(reader.manifest())
    ));
    outcome.add_service(inspector.finish());
    Ok(outcome)
}
