//! `lazuli backup`: a consistent copy of everything, while the server keeps serving.

pub mod adopter;
mod source;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command};
use lazuli_archive::{ArchiveWriter, Block, Manifest, Unpacker};
use lazuli_model::DateTime;
use lazuli_objects::ObjectsUrl;
use lazuli_store::crash_point::{self, Point};
use serde_json::json;

use crate::backup::source::BackupInput;
use crate::config;
use crate::engine_url::{EngineUrl, no_store};
use crate::location::StoreLocation;
use crate::progress::Progress;
use crate::summary::Counter;

/// Copy everything into a new directory, without stopping the server.
///
/// The backup is a snapshot: it contains every change that was acknowledged before it began, no later change, and no partial
/// batch. It contains tables, queues, blobs, accounts with their keys, access policies, service properties, and the clock of
/// ETags. If a server has the store open, the server creates the backup and keeps serving. Front ends that share a database
/// keep serving, too, and keep replaced content until the backup is complete.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli backup /backups/monday                          of ./lazuli-data
  lazuli backup --location /var/lib/lazuli /backups/tuesday
  lazuli backup --engine postgres://lazuli@db/lazuli \\
      --content 's3://blobs?endpoint=http://s3:8333' /backups/cluster
  lazuli check /backups/monday                           verifies it
  lazuli restore /backups/monday --location new-data     creates a store from it

The directory must be empty or not exist. Only its owner can read it, because it contains account
keys. manifest.json is written last: a backup without it is incomplete, and restore rejects it. While
the backup runs, the server keeps the files of its snapshot, at most as much disk space as the store
uses now. docs/backup-format.md describes the format.")]
pub struct Backup {
    /// Directory of the backup
    #[arg(value_name = "DIR")]
    target: PathBuf,

    #[command(flatten)]
    location: StoreLocation,

    /// Database that servers share, in place of a directory: postgres://…
    #[arg(long, value_name = "URL", conflicts_with = "location")]
    engine: Option<EngineUrl>,

    /// Object store with the content of the database: s3://…
    #[arg(long, value_name = "URL", requires = "engine")]
    content: Option<ObjectsUrl>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,

    /// Print errors only
    #[arg(short = 'q', long)]
    quiet: bool,
}

impl Backup {
    /// Runs the command.
    pub fn run(self, root: &Command) -> Result<ExitCode, String> {
        let mut source = self.source(root)?;
        let mut progress = Progress::start("backup", "rows", self.quiet || self.json);
        let result = copy(&mut source, &self.target, &mut progress);
        source.close();
        let (manifest, contents) = result?;
        let done = progress.finish_bytes();
        if self.json {
            say!("{}", describe(&manifest, &self.target.display().to_string()));
        } else if !self.quiet {
            say!("{contents}; {done}, as of {}", moment(&manifest));
            say!("the backup is complete: {}", self.target.display());
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The source of the backup, as specified by flags; by default, the data that `lazuli serve` would open.
    fn source(&self, root: &Command) -> Result<BackupInput, String> {
        if let Some(url) = &self.engine {
            return BackupInput::of_database(url, self.content.as_ref());
        }
        if !self.location.is_named()
            && let Some((url, content)) = config::usual_serve(root)?.database()
        {
            return BackupInput::of_database(&url, content.as_ref());
        }
        let location = self.location.directory(root)?;
        if !location.exists() {
            return Err(no_store(&location));
        }
        BackupInput::open(&location)
    }
}

fn copy(
    source: &mut BackupInput,
    target: &std::path::Path,
    progress: &mut Progress,
) -> Result<(Manifest, String), String> {
    let text = |error: lazuli_archive::Error| error.to_string();
    let mut writer = ArchiveWriter::create(target).map_err(text)?;
    if let Some(mode) = writer.mode_before() {
        tell!(
            "lazuli: {}: changed the mode from {mode:o}, so that only the owner can read it",
            target.display()
        );
    }
    // Decode the received bytes: a backup that cannot be restored is useless.
    let mut unpacker = Unpacker::new();
    let mut counter = Counter::new();
    loop {
        let bytes = source.next_block()?;
        let block =
            unpacker.read(&bytes).map_err(|error| format!("the server sent a damaged block: {error}"))?;
        crash_point::pass(Point::BackupBlock);
        writer.push(&bytes).map_err(text)?;
        let (rows, bytes) = unpacker.so_far();
        progress.reach(rows, bytes, None);
        if let Block::Rows(rows) = &block {
            rows.iter().for_each(|row| counter.see(row.table, row.row.view()));
        }
        if let Block::End(totals) = block {
            let sealed = writer.seal().map_err(text)?;
            crash_point::pass(Point::BackupSealed);
            let created = lazuli_server::clock::now().iso_seconds().as_str().to_owned();
            let manifest = sealed.publish(created, totals).map_err(text)?;
            return Ok((manifest, counter.finish()));
        }
    }
}

/// The time of a backup's snapshot, in words.
pub fn moment(manifest: &Manifest) -> String {
    match DateTime::from_ticks(manifest.totals.marks.last_version.0) {
        Some(time) if manifest.totals.marks.last_version.0 > 0 => time.iso().as_str().to_owned(),
        _ => "before the first change".to_owned(),
    }
}

/// A backup, as JSON.
pub fn describe(manifest: &Manifest, directory: &str) -> serde_json::Value {
    let totals = &manifest.totals;
    json!({
        "directory": directory,
        "rows": totals.rows,
        "bytes": totals.bytes,
        "content_bytes": totals.content.map_or(0, |content| content.bytes),
        "parts": manifest.parts.len(),
        "last_version": totals.marks.last_version.0.to_string(),
        "moment": moment(manifest),
        "digest": format!("{:032x}", totals.digest),
    })
}
