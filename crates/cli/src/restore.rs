//! `lazuli restore`: makes a new store of a backup.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use lazuli_archive::block::Totals;
use lazuli_archive::{Block, Manifest, Packer, Reader};
use lazuli_store::crash_point::{self, Point};
use lazuli_store::{Loader, Options};

use crate::backup::{describe, moment};
use crate::progress::Progress;

/// Make a new store of a backup.
///
/// Every byte of the backup is verified on the way in, and every row is read back from the new store and compared by
/// count and checksum before the store counts. Entities keep their timestamps and ETags; new ones are greater than any
/// that the backup knows.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli restore /backups/monday --location new-data
  lazuli serve --location new-data

The location must be empty or not exist: what is there is never overwritten. A restore that was
interrupted leaves a directory that serve refuses; remove it and restore again.")]
pub struct Restore {
    /// The backup
    #[arg(value_name = "BACKUP")]
    backup: PathBuf,

    /// Directory of the new store
    #[arg(short = 'l', long, value_name = "DIR")]
    location: PathBuf,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,

    /// Print nothing but errors
    #[arg(short = 'q', long)]
    quiet: bool,
}

impl Restore {
    /// Carries the command out.
    pub fn run(self) -> Result<ExitCode, String> {
        let quiet = self.quiet || self.json;
        let mut reader = Reader::open(&self.backup).map_err(|error| error.to_string())?;
        let mut progress = Progress::start("restore", quiet);
        let loader = Loader::create(&self.location, &Options::default()).map_err(|e| e.to_string())?;
        let manifest = load(&mut reader, loader, &mut progress, quiet)
            .map_err(|e| format!("{e}; what was begun in {} is not a store", self.location.display()))?;
        let done = progress.finish();
        if self.json {
            say!("{}", describe(&manifest, &self.location.display().to_string()));
        } else if !self.quiet {
            say!("{done}, as of {}", moment(&manifest));
            say!("the store is ready: {}", self.location.display());
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn load(
    reader: &mut Reader,
    mut loader: Loader,
    progress: &mut Progress,
    quiet: bool,
) -> Result<Manifest, String> {
    let manifest = reader.manifest().clone();
    let all = Some(manifest.totals.bytes);
    while let Some(block) = reader.next_block().map_err(|error| error.to_string())? {
        if let Block::Rows(rows) = block {
            crash_point::pass(Point::RestoreRows);
            loader.put(&rows).map_err(|error| error.to_string())?;
        }
        let (rows, bytes) = reader.so_far();
        progress.reach(rows, bytes, all);
    }
    let loaded = loader.seal(manifest.totals.marks).map_err(|error| error.to_string())?;
    let mut packer = Packer::new();
    let mut verified = Progress::start("verify", quiet);
    let (mut rows, mut bytes) = (0, 0);
    let marks = loaded.read_back(|page| {
        rows += page.len() as u64;
        bytes += page.iter().map(|row| row.bytes() as u64).sum::<u64>();
        let _ = packer.rows(&page);
        verified.reach(rows, bytes, all);
    });
    let marks = marks.map_err(|error| error.to_string())?;
    let _ = verified.finish();
    compare(&packer.end(marks).1, &manifest.totals)?;
    crash_point::pass(Point::RestoreLoaded);
    loaded.publish().map_err(|error| error.to_string())?;
    Ok(manifest)
}

fn compare(found: &Totals, wanted: &Totals) -> Result<(), String> {
    if found == wanted {
        return Ok(());
    }
    Err(format!(
        "the new store has {} rows with checksum {:032x}, the backup {} with {:032x}",
        found.rows, found.digest, wanted.rows, wanted.digest
    ))
}
