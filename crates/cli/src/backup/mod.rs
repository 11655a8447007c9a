//! `lazuli backup`: a consistent copy of everything, while the server keeps serving.

pub mod adopter;
mod source;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command};
use lazuli_archive::{ArchiveWriter, Block, Manifest, Unpacker};
use lazuli_model::DateTime;
use lazuli_store::crash_point::{self, Point};
use serde_json::json;

use crate::backup::source::BackupInput;
use crate::engine_url::no_store;
use crate::location::StoreLocation;
use crate::progress::Progress;
use crate::summary::Counter;

/// Copy everything into a new directory, without stopping the server.
///
/// The backup is a snapshot: it has every change that was acknowledged before it began, none that was made later, and no batch
/// in part. It contains tables, queues, blobs, accounts with their keys, access policies, service properties, and the clock of
/// ETags. If a server has the store open, the server makes the backup and keeps serving.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli backup /backups/monday                          of ./lazuli-data
  lazuli backup --location /var/lib/lazuli /backups/tuesday
  lazuli check /backups/monday                           verifies it
  lazuli restore /backups/monday --location new-data     makes a store of it

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

    /// Print the result as JSON
    #[arg(long)]
    json: bool,

    /// Print nothing but errors
    #[arg(short = 'q', long)]
    quiet: bool,
}

impl Backup {
    /// Runs the command.
    pub fn run(self, root: &Command) -> Result<ExitCode, String> {
        let location = self.location.directory(root)?;
        if !location.exists() {
            return Err(no_store(&location));
        }
        let mut source = BackupInput::open(&location)?;
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
    // Decode what is received: a backup that cannot be restored is useless.
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
