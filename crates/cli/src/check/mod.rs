//! `lazuli check`: verifies a store that no server has open, a backup, or a database that servers share.

mod content;
mod shared;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Command};
use lazuli_archive::{ArchiveReader, Block};
use lazuli_engine::RowView;
use lazuli_objects::ObjectsUrl;
use lazuli_service::inspect::{Findings, Inspector};
use lazuli_store::{ClosedStore, FORMAT_FILE, OpenError};
use serde_json::json;

use crate::engine_url::{EngineUrl, no_store};
use crate::location::StoreLocation;
use crate::progress::{Progress, bytes_text, plural, thousands};
use crate::summary;

/// Verify every checksum and every rule: of a store that is not in use, of a backup, or of a database while servers use it.
///
/// Reads every file from end to end, and checks that all checksums match, that keys are canonical and in order, that no version
/// is in the future, that every row belongs to a table, queue or container of the catalog, that all content of blobs exists, and
/// that accounts, policies, properties and entities can be decoded. Repairs nothing and writes nothing: the log is copied
/// to a directory for temporary files (TMPDIR) and read there.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli check                              the store in ./lazuli-data
  lazuli check --location /var/lib/lazuli   another one
  lazuli check /backups/monday              a backup or a store
  lazuli check --engine postgres://lazuli@db/lazuli --content 's3://blobs?endpoint=http://s3:8333'
  lazuli check --engine postgres://lazuli@db/lazuli --orphans   also lists content to be freed

The exit code is 0 if everything is intact, else 1. A store that a server has open cannot be checked:
stop the server, or make a backup, which reads and verifies every row, and check that. A database
is checked as a snapshot, while servers use it.")]
pub struct Check {
    /// Directory of a backup or of a store
    #[arg(value_name = "DIR", conflicts_with = "location")]
    named: Option<PathBuf>,

    #[command(flatten)]
    location: StoreLocation,

    /// Database that servers share: postgres://…
    #[arg(long, value_name = "URL", conflicts_with_all = ["named", "location"])]
    engine: Option<EngineUrl>,

    /// Object store with the content of the database: s3://…
    #[arg(long, value_name = "URL", requires = "engine")]
    content: Option<ObjectsUrl>,

    /// List content of stopped servers that no row refers to; nothing is removed
    #[arg(long, requires = "engine")]
    orphans: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,

    /// Print problems only
    #[arg(short = 'q', long)]
    quiet: bool,
}

/// The result of a check.
#[derive(Default)]
struct Outcome {
    lines: Vec<String>,
    findings: u64,
    examples: Vec<String>,
    advice: Vec<&'static str>,
}

const RESTORE: &str = "restore the last good backup into a new location (lazuli restore)";
const REWRITE: &str = "damaged data is never served; a damaged row can be replaced or deleted by its key";
const RETAKE: &str = "do not rely on this backup: take another one";

impl Check {
    /// Runs the command.
    pub fn run(self, root: &Command) -> Result<ExitCode, String> {
        let quiet = self.quiet || self.json;
        let outcome = match (&self.engine, &self.named) {
            (Some(engine), _) => {
                let (content, lists_orphans) = (self.content.as_ref(), self.orphans);
                shared::Shared { engine, content, lists_orphans, quiet }.run()?
            }
            (None, Some(named)) if !named.exists() => {
                return Err(format!("{}: there is no such directory", named.display()));
            }
            (None, Some(store)) if store.join(FORMAT_FILE).exists() => check_store(store, quiet)?,
            (None, Some(backup)) => check_backup(backup, quiet)?,
            (None, None) => check_store(&existing(self.location.directory(root)?)?, quiet)?,
        };
        if self.json {
            say!("{}", json!({ "findings": outcome.findings, "examples": outcome.examples }));
        } else {
            outcome.show(self.quiet);
        }
        Ok(if outcome.findings == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// The directory of a store, which must exist.
fn existing(location: PathBuf) -> Result<PathBuf, String> {
    if location.exists() { Ok(location) } else { Err(no_store(&location)) }
}

impl Outcome {
    fn show(&self, quiet: bool) {
        if !quiet {
            self.lines.iter().for_each(|line| say!("{line}"));
        }
        if self.findings == 0 {
            if !quiet {
                say!("no problems found");
            }
            return;
        }
        let noun = plural(self.findings, "problem", "problems");
        say!("{} {noun} found:", thousands(self.findings));
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
        let mut line = format!("content: {}", summary::describe(&found));
        if found.pending > 0 {
            let rows = plural(found.pending, "row", "rows");
            line.push_str(&format!(
                "; {} {rows} of deleted tables, queues and containers to be removed",
                thousands(found.pending)
            ));
        }
        self.lines.push(line);
        self.add(found.findings, found.examples);
    }
}

fn check_store(location: &Path, quiet: bool) -> Result<Outcome, String> {
    let told = |error: OpenError| match error {
        OpenError::InUse { .. } => format!("{error}; stop the server, or check a backup (lazuli backup)"),
        other => other.to_string(),
    };
    let mut outcome = Outcome { advice: vec![RESTORE, REWRITE], ..Outcome::default() };
    let mut progress = Progress::start("files", "rows", quiet);
    let files = lazuli_store::inspect(location, |bytes| progress.reach(0, bytes, None)).map_err(told)?;
    let _ = progress.finish();
    outcome.lines.push(format!("files: {} with {} read", thousands(files.files), bytes_text(files.bytes)));
    outcome.lines.extend(files.notes.iter().map(|note| format!("note: {note}")));
    let is_sound = files.findings == 0;
    outcome.add(files.findings, files.examples.clone());
    // Do not open a damaged store; the damage has been reported.
    if !is_sound {
        return Ok(outcome);
    }
    let store = match ClosedStore::open(location) {
        Ok(store) => store,
        Err(error @ OpenError::Corrupt(_)) => {
            outcome.add(1, vec![error.to_string()]);
            return Ok(outcome);
        }
        Err(other) => return Err(told(other)),
    };
    check_rows(&store, quiet, &mut outcome)?;
    if let Some(missing) = store.marks().and_then(|marks| files.missing(marks.last_version)) {
        outcome.add(1, vec![format!("acknowledged data is missing: {missing}")]);
    }
    Ok(outcome)
}

fn check_rows(store: &ClosedStore, quiet: bool, outcome: &mut Outcome) -> Result<(), String> {
    let mut progress = Progress::start("rows", "rows", quiet);
    let (mut rows, mut bytes) = (0, 0);
    let mut inspector = store.marks().map(Inspector::new);
    let content = store.content();
    let mut blobs = content::OfStore::new(&*content)?;
    let report = store.check_each(&mut |table, row: RowView<'_>| {
        rows += 1;
        bytes += (row.partition.len() + row.row.len() + row.value.len()) as u64;
        blobs.see(table, row);
        progress.reach(rows, bytes + blobs.bytes(), None);
        if let Some(inspector) = &mut inspector {
            inspector.see(table, row);
        }
    });
    let report = report.map_err(|error| error.to_string())?;
    outcome.lines.push(format!("rows: {}", progress.finish_bytes()));
    outcome.add(report.findings, report.examples);
    if let Some(inspector) = inspector {
        outcome.add_service(inspector.finish());
    }
    blobs.finish(outcome)
}

fn check_backup(dir: &Path, quiet: bool) -> Result<Outcome, String> {
    let mut reader = ArchiveReader::open(dir).map_err(|error| error.to_string())?;
    let mut outcome = Outcome { advice: vec![RETAKE], ..Outcome::default() };
    let totals = reader.manifest().totals;
    let mut inspector = Inspector::new(totals.marks);
    let mut blobs = content::OfBackup::default();
    let mut progress = Progress::start("backup", "rows", quiet);
    loop {
        match reader.next_block() {
            Ok(Some(Block::Rows(rows))) => {
                for row in &rows {
                    inspector.see(row.table, row.row.view());
                    blobs.see(row.table, row.row.view());
                }
                let (rows, bytes) = reader.so_far();
                progress.reach(rows, bytes, Some(totals.all_bytes()));
            }
            Ok(Some(Block::Content(block))) => blobs.found(&block),
            Ok(Some(Block::End(_))) => {}
            Ok(None) => {
                blobs.finish(&mut outcome);
                break;
            }
            Err(error) => {
                outcome.add(1, vec![error.to_string()]);
                break;
            }
        }
    }
    outcome.lines.push(format!("backup: {}", progress.finish_bytes()));
    outcome.lines.push(format!(
        "created {}, as of {}",
        reader.manifest().created,
        crate::backup::moment(reader.manifest())
    ));
    outcome.add_service(inspector.finish());
    Ok(outcome)
}
