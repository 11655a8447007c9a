//! `lazuli restore`: creates a store from a backup, or fills a database with it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use lazuli_archive::block::Totals;
use lazuli_archive::{ArchiveReader, Block, Packer};
use lazuli_objects::ObjectsUrl;
use lazuli_postgres::PostgresUrl;
use lazuli_store::crash_point::{self, Point};
use lazuli_store::{Loader, Options};

use crate::backup::adopter::Adopter;
use crate::backup::{describe, moment};
use crate::engine;
use crate::engine_url::EngineUrl;
use crate::progress::Progress;
use crate::runtime;
use crate::summary::Counter;

/// Create a store from a backup, or fill a database with it.
///
/// Verifies every byte of the backup, reads every row back from the new store, and compares count and checksum before the
/// store can be used. Entities keep their Timestamps and ETags; new ones are greater than any in the backup.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli restore /backups/monday --location new-data
  lazuli serve --location new-data
  lazuli restore /backups/monday --engine postgres://lazuli@db/lazuli \\
      --content 's3://blobs/new?endpoint=http://s3:8333'

The location must be empty or not exist: nothing is overwritten. serve rejects the directory of an
interrupted restore; remove it and restore again. A database must be empty, too, and unused. To
resume an interrupted restore into a database, run the same command again.")]
pub struct Restore {
    /// Directory of the backup
    #[arg(value_name = "BACKUP")]
    backup: PathBuf,

    /// Directory of the new store
    #[arg(short = 'l', long, value_name = "DIR", required_unless_present = "engine")]
    location: Option<PathBuf>,

    /// Database to fill, in place of a directory: postgres://…
    #[arg(long, value_name = "URL", conflicts_with = "location")]
    engine: Option<EngineUrl>,

    /// Object store for the content of the database: s3://…
    #[arg(long, value_name = "URL", requires = "engine")]
    content: Option<ObjectsUrl>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,

    /// Print errors only
    #[arg(short = 'q', long)]
    quiet: bool,
}

impl Restore {
    /// Runs the command.
    pub fn run(self) -> Result<ExitCode, String> {
        let reader = ArchiveReader::open(&self.backup).map_err(|error| error.to_string())?;
        let manifest = reader.manifest().clone();
        let (target, done) = match (&self.engine, &self.location) {
            (Some(EngineUrl::Postgres(url)), _) => (url.to_string(), self.fill(reader, url)?),
            (None, Some(location)) => (location.display().to_string(), self.create(reader, location)?),
            _ => return Err("--engine expects the URL of a database; pass --location for a new store".into()),
        };
        if self.json {
            say!("{}", describe(&manifest, &target));
        } else if !self.quiet {
            say!("{done}, as of {}", moment(&manifest));
            say!("the store is ready: {target}");
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Creates a store in a directory.
    fn create(&self, mut reader: ArchiveReader, location: &Path) -> Result<String, String> {
        let quiet = self.quiet || self.json;
        let mut progress = Progress::start("restore", "rows", quiet);
        let loader = Loader::create(location, &Options::default()).map_err(|e| e.to_string())?;
        let contents = load(&mut reader, loader, &mut progress, quiet)
            .map_err(|e| format!("{e}; {} is incomplete: remove it", location.display()))?;
        Ok(format!("{contents}; {}", progress.finish_bytes()))
    }

    /// Fills a database.
    fn fill(&self, reader: ArchiveReader, url: &PostgresUrl) -> Result<String, String> {
        let filled = engine::restore(reader, url, self.content.as_ref(), self.quiet || self.json);
        runtime::many_threads()?.block_on(filled)
    }
}

fn load(
    reader: &mut ArchiveReader,
    mut loader: Loader,
    progress: &mut Progress,
    quiet: bool,
) -> Result<String, String> {
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
    Ok(counter.finish())
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
