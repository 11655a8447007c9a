//! `lazuli backup`: a copy of everything, of one moment, while the server goes on.

mod source;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command};
use lazuli_archive::{Block, Manifest, Unpacker, Writer};
use lazuli_model::DateTime;
use lazuli_store::crash_point::{self, Point};
use serde_json::json;

use crate::backup::source::Source;
use crate::engine_url::no_store;
use crate::place::Place;
use crate::progress::Progress;

/// Copy everything into a new directory, without stopping the server.
///
/// The copy is of one moment: every change that was acknowledged before it is there, none after it, and no batch in part.
/// It holds tables, entities, accounts with their keys, access policies and service properties, and the clock of ETags.
/// A server that has the store open is asked for it and serves on; a store that nobody has open is opened.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli backup /backups/monday                          of ./lazuli-data
  lazuli backup --location /var/lib/lazuli /backups/tuesday
  lazuli check /backups/monday                           is it as it was written?
  lazuli restore /backups/monday --location new-data     makes a new store of it

The directory must be empty or not exist; it is made readable by its owner only, for account keys
are in it, so it cannot be another user's or one that is shared. It is whole when it has a
manifest.json, which is written last: a backup that was interrupted has none and is refused by
restore. While it runs the server keeps the files of that moment: at most the disk space that the
store has now, given back at the end. The format is described in docs/backup-format.md.")]
pub struct Backup {
    /// Where the backup goes
    #[arg(value_name = "DIR")]
    target: PathBuf,

    #[command(flatten)]
    place: Place,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,

    /// Print nothing but errors
    #[arg(short = 'q', long)]
    quiet: bool,
}

impl Backup {
    /// Carries the command out.
    pub fn run(self, root: &Command) -> Result<ExitCode, String> {
        let location = self.place.directory(root)?;
        if !location.exists() {
            return Err(no_store(&location));
        }
        let mut source = Source::open(&location)?;
        let mut progress = Progress::start("backup", self.quiet || self.json);
        let result = copy(&mut source, &self.target, &mut progress);
        source.close();
        let manifest = result?;
        let done = progress.finish();
        if self.json {
            say!("{}", describe(&manifest, &self.target.display().to_string()));
        } else if !self.quiet {
            say!("{done}, as of {}", moment(&manifest));
            say!("the backup is whole: {}", self.target.display());
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn copy(source: &mut Source, target: &std::path::Path, progress: &mut Progress) -> Result<Manifest, String> {
    let text = |error: lazuli_archive::Error| error.to_string();
    let mut writer = Writer::create(target).map_err(text)?;
    if let Some(mode) = writer.mode_before() {
        tell!("lazuli: {}: is now its owner's alone; its mode was {mode:o}", target.display());
    }
    // What comes is read as well: a backup that could not be restored is no backup.
    let mut unpacker = Unpacker::new();
    loop {
        let bytes = source.next_block()?;
        let block = unpacker.read(&bytes).map_err(|error| format!("what was received is wrong: {error}"))?;
        crash_point::pass(Point::BackupBlock);
        writer.push(&bytes).map_err(text)?;
        let (rows, bytes) = unpacker.so_far();
        progress.reach(rows, bytes, None);
        if let Block::End(totals) = block {
            let sealed = writer.seal().map_err(text)?;
            crash_point::pass(Point::BackupSealed);
            let created = lazuli_server::clock::now().iso_seconds().as_str().to_owned();
            return sealed.publish(created, totals).map_err(text);
        }
    }
}

/// The moment that a backup is of, for people.
pub fn moment(manifest: &Manifest) -> String {
    match DateTime::from_ticks(manifest.totals.marks.last_version.0) {
        Some(time) if manifest.totals.marks.last_version.0 > 0 => time.iso().as_str().to_owned(),
        _ => "before the first change".to_owned(),
    }
}

/// What a backup is, for programs.
pub fn describe(manifest: &Manifest, directory: &str) -> serde_json::Value {
    let totals = &manifest.totals;
    json!({
        "directory": directory,
        "rows": totals.rows,
        "bytes": totals.bytes,
        "parts": manifest.parts.len(),
        "last_version": totals.marks.last_version.0.to_string(),
        "moment": moment(manifest),
        "digest": format!("{:032x}", totals.digest),
    })
}
