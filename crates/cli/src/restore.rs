//! `lazuli restore`: makes a new store from a backup.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use lazuli_archive::block::Totals;
use lazuli_archive::{ArchiveReader, Block, Manifest, Packer};
use lazuli_store::crash_point::{self, Point};
use lazuli_store::{Loader, Options};

use crate::backup::adopter::Adopter;
use crate::backup::{describe, moment};
use crate::progress::Progress;
use crate::runtime;
use crate::summary::Counter;

/// Make a new store from a backup.
///
/// Verifies every byte of the backup, reads every row back from the new store, and compares count and checksum before the
/// store can be used. Entities keep their Timestamps and ETags; new ones are greater than any in the backup.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli restore /backups/monday --location new-data
  lazuli serve --location new-data

The location must be empty or not exist: nothing is overwritten. serve rejects the directory of an
interrupted restore; remove it and restore again.")]
pub struct Restore {
    /// Directory of the backup
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
    /// Runs the command.
    pub fn run(self) -> Result<ExitCode, String> {
        let quiet = self.quiet || self.json;
        let mut reader = ArchiveReader::open(&self.backup).map_err(|error| error.to_string())?;
        let mut progress = Progress::start("restore", "rows", quiet);
        let loader = Loader::create(&self.location, &Options::default()).map_err(|e| e.to_string())?;
        let (manifest, contents) = load(&mut reader, loader, &mut progress, quiet)
            .map_err(|e| format!("{e}; {} is incomplete, remove it", self.location.display()))?;
        let done = progress.finish_bytes();
        if self.json {
            say!("{}", describe(&manifest, &self.location.display().to_string()));
        } else if !self.quiet {
            say!("{contents}; {done}, as of {}", moment(&manifest));
            say!("the store is ready: {}", self.location.display());
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn load(
    reader: &mut ArchiveReader,
    mut loader: Loader,
    progress: &mut Progress,
    quiet: bool,
) -> Result<(Manifest, String), String> {
    let mut counter = Counter::new();
    let manifest = reader.manifest().clone();
    let all = Some(manifest.totals.all_bytes());
    let runtime = runtime::many_threads()?;
    let mut adopter = Adopter::new(loader.content());
    while let Some(block) = reader.next_block().map_err(|error| error.to_string())? {
        match block {
            Block::Rows(rows) => {
                crash_point::pass(Point::RestoreRows);
                rows.iter().for_each(|row| counter.see(row.table, row.row.view()));
                loader.put(&rows).map_err(|error| error.to_string())?;
            }
            Block::Content(content) => runtime.block_on(adopter.take(content.piece, content.bytes))?,
            Block::End(_) => {}
        }
        let (rows, bytes) = reader.so_far();
        progress.reach(rows, bytes, all);
    }
    runtime.block_on(adopter.finish())?;
    let loaded = loader.seal(manifest.totals.marks).map_err(|error| error.to_string())?;
    let mut packer = Packer::new();
    let mut verified = Progress::start("verify", "rows", quiet);
    let (mut rows, mut bytes) = (0, 0);
    let marks = loaded.read_back(|page| {
        rows += page.len() as u64;
        bytes += page.iter().map(|row| row.bytes() as u64).sum::<u64>();
        let _ = packer.rows(&page);
        verified.reach(rows, bytes, all);
    });
    let marks = marks.map_err(|error| error.to_string())?;
    let _ = verified.finish();
    compare(&packer.end(marks).1, &manifest.totals.of_rows())?;
    crash_point::pass(Point::RestoreLoaded);
    loaded.publish().map_err(|error| error.to_string())?;
    Ok((manifest, counter.finish()))
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
