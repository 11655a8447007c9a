//! `lazuli engine`: looks after engines, and moves data from one to another.

use std::cmp::Ordering;
use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use lazuli_archive::{Packer, Totals};
use lazuli_engine::{Dump, Stored, keycode};
use lazuli_postgres::{Filler, Postgres, SCHEMA_VERSION};
use lazuli_store::{Durability, Loader, Options};

use crate::engine_url::{self, EngineUrl};
use crate::progress::Progress;
use crate::runtime;

/// Bytes of rows that are read or written together.
const PAGE_BYTES: usize = 1024 * 1024;

/// Look after storage engines.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli engine migrate postgres://lazuli@db/lazuli   brings the tables up to date
  lazuli engine copy file:lazuli-data postgres://lazuli@db/lazuli
  lazuli engine copy postgres://lazuli@db1,db2/lazuli file:copy   and back")]
pub struct EngineArgs {
    #[command(subcommand)]
    command: EngineCommand,
}

#[derive(Subcommand)]
enum EngineCommand {
    /// Bring the tables of a database to the version that this program works with
    ///
    /// An empty database is set up; servers do that by themselves when they start.
    #[command(after_help = "Examples:\n  lazuli engine migrate postgres://lazuli@db/lazuli")]
    Migrate {
        /// The database: postgres://…
        url: EngineUrl,
    },
    /// Copy everything from one engine to another, and verify it by count and checksum
    ///
    /// Accounts, keys, tables, policies and entities go over with their timestamps and ETags. The copy is of one moment: stop
    /// the servers of FROM, or what they write meanwhile stays behind. TO must be empty. A copy into a database that was
    /// interrupted goes on where it was when the same command is given again, and until it is complete no server starts on
    /// it; one into a directory is begun anew, after the directory was removed.
    #[command(after_help = "Examples:\n  lazuli engine copy file:lazuli-data postgres://lazuli@db/lazuli")]
    Copy {
        /// Where the data is: file:DIR or postgres://…
        from: EngineUrl,
        /// Where it goes: file:DIR or postgres://…
        to: EngineUrl,
        /// Print nothing but errors
        #[arg(short = 'q', long)]
        quiet: bool,
    },
}

impl EngineArgs {
    /// Carries the command out.
    pub fn run(self) -> Result<ExitCode, String> {
        let runtime = runtime::many_threads()?;
        match self.command {
            EngineCommand::Migrate { url } => runtime.block_on(migrate(url)),
            EngineCommand::Copy { from, to, quiet } => runtime.block_on(copy(&from, &to, quiet)),
        }
    }
}

async fn migrate(url: EngineUrl) -> Result<ExitCode, String> {
    let EngineUrl::Postgres(url) = url else {
        return Err(
            "only databases have tables to migrate; a store is brought up to date when it opens".into()
        );
    };
    match Postgres::migrate(*url).await.map_err(|error| error.to_string())? {
        None => say!("the tables were made, version {SCHEMA_VERSION}"),
        Some(SCHEMA_VERSION) => say!("nothing to do: the tables have version {SCHEMA_VERSION}"),
        Some(before) => say!("the tables went from version {before} to {SCHEMA_VERSION}"),
    }
    Ok(ExitCode::SUCCESS)
}

async fn copy(from: &EngineUrl, to: &EngineUrl, quiet: bool) -> Result<ExitCode, String> {
    if from == to {
        return Err("FROM and TO are the same".into());
    }
    if let EngineUrl::File(path) = from
        && !path.exists()
    {
        return Err(format!("there is no store in {}", path.display()));
    }
    let source = engine_url::open(from, Durability::Full, None).await?;
    let copied = copy_from(&mut *source.dump().await.map_err(|error| error.to_string())?, to, quiet).await;
    let closed = source.close().await.map_err(|error| error.to_string());
    let (totals, how) = copied?;
    closed?;
    if !quiet {
        say!("{how}");
        say!("verified: {} rows, checksum {:032x}", totals.rows, totals.digest);
    }
    Ok(ExitCode::SUCCESS)
}

async fn copy_from(source: &mut dyn Dump, to: &EngineUrl, quiet: bool) -> Result<(Totals, String), String> {
    match to {
        EngineUrl::Memory => Err("a copy in memory would be gone at once".into()),
        EngineUrl::File(path) => into_store(source, path, quiet).await,
        EngineUrl::Postgres(url) => {
            let filler = Filler::begin((**url).clone()).await.map_err(|error| format!("{url}: {error}"))?;
            into_database(source, filler, quiet).await
        }
    }
}

async fn into_store(source: &mut dyn Dump, path: &Path, quiet: bool) -> Result<(Totals, String), String> {
    let mut loader = Loader::create(path, &Options::default()).map_err(|error| error.to_string())?;
    let mut count = Count::new("copy", quiet);
    loop {
        let rows = source.next(PAGE_BYTES).await.map_err(|error| error.to_string())?;
        if rows.is_empty() {
            break;
        }
        count.add(&rows);
        loader.put(&rows).map_err(|error| error.to_string())?;
    }
    let marks = source.marks();
    let (wanted, how) = count.end(marks);
    let loaded = loader.seal(marks).map_err(|error| error.to_string())?;
    let mut found = Count::new("verify", quiet);
    let marks = loaded.read_back(|rows| found.add(&rows)).map_err(|error| error.to_string())?;
    compare(&found.end(marks).0, &wanted)?;
    loaded.publish().map_err(|error| error.to_string())?;
    Ok((wanted, how))
}

/// Walks through what is to be there and what is there, side by side: so a copy that was begun goes on.
async fn into_database(
    source: &mut dyn Dump,
    filler: Filler,
    quiet: bool,
) -> Result<(Totals, String), String> {
    let error = |error: lazuli_engine::Error| error.to_string();
    let mut there = Walk::new(filler.so_far().await.map_err(error)?);
    let mut count = Count::new("copy", quiet);
    loop {
        let rows = source.next(PAGE_BYTES).await.map_err(error)?;
        if rows.is_empty() {
            break;
        }
        count.add(&rows);
        let (mut put, mut gone) = (Vec::new(), Vec::new());
        for row in rows {
            match there.up_to(&row, &mut gone).await.map_err(error)? {
                Some(found) if found == row => {}
                _ => put.push(row),
            }
        }
        if !gone.is_empty() {
            filler.remove(&gone).await.map_err(error)?;
        }
        if !put.is_empty() {
            filler.put(&put).await.map_err(error)?;
        }
    }
    while let Some(row) = there.next().await.map_err(error)? {
        filler.remove(&[row]).await.map_err(error)?;
    }
    drop(there);
    let marks = source.marks();
    let (wanted, how) = count.end(marks);
    let mut found = Count::new("verify", quiet);
    let mut all = filler.so_far().await.map_err(error)?;
    loop {
        let rows = all.next(PAGE_BYTES).await.map_err(error)?;
        if rows.is_empty() {
            break;
        }
        found.add(&rows);
    }
    drop(all);
    compare(&found.end(marks).0, &wanted)?;
    filler.finish(marks).await.map_err(error)?;
    Ok((wanted, how))
}

/// Goes through a dump row by row.
struct Walk {
    dump: Box<dyn Dump>,
    ready: std::collections::VecDeque<Stored>,
}

impl Walk {
    fn new(dump: Box<dyn Dump>) -> Self {
        Self { dump, ready: std::collections::VecDeque::new() }
    }

    async fn next(&mut self) -> lazuli_engine::Result<Option<Stored>> {
        if self.ready.is_empty() {
            self.ready.extend(self.dump.next(PAGE_BYTES).await?);
        }
        Ok(self.ready.pop_front())
    }

    /// The row with the same key, if it is there; those before it go to `before`.
    async fn up_to(
        &mut self,
        wanted: &Stored,
        before: &mut Vec<Stored>,
    ) -> lazuli_engine::Result<Option<Stored>> {
        while let Some(row) = self.next().await? {
            match order(&row, wanted) {
                Ordering::Less => before.push(row),
                Ordering::Equal => return Ok(Some(row)),
                Ordering::Greater => {
                    self.ready.push_front(row);
                    return Ok(None);
                }
            }
        }
        Ok(None)
    }
}

/// The order in which dumps give rows.
fn order(a: &Stored, b: &Stored) -> Ordering {
    let key = |stored: &Stored| {
        let mut bytes = Vec::new();
        keycode::encode_key_into(&mut bytes, &stored.row.partition, &stored.row.row);
        bytes
    };
    a.table.cmp(&b.table).then_with(|| key(a).cmp(&key(b)))
}

/// Counts rows and bytes, and sums them up.
struct Count {
    packer: Packer,
    progress: Progress,
    rows: u64,
    bytes: u64,
}

impl Count {
    fn new(what: &'static str, quiet: bool) -> Self {
        Self { packer: Packer::new(), progress: Progress::start(what, quiet), rows: 0, bytes: 0 }
    }

    fn add(&mut self, rows: &[Stored]) {
        let _ = self.packer.rows(rows);
        self.rows += rows.len() as u64;
        self.bytes += rows.iter().map(|row| row.bytes() as u64).sum::<u64>();
        self.progress.reach(self.rows, self.bytes, None);
    }

    fn end(self, marks: lazuli_engine::Marks) -> (Totals, String) {
        (self.packer.end(marks).1, self.progress.finish())
    }
}

fn compare(found: &Totals, wanted: &Totals) -> Result<(), String> {
    if found == wanted {
        return Ok(());
    }
    Err(format!(
        "the copy has {} rows with checksum {:032x}, the original {} with {:032x}; give the command again",
        found.rows, found.digest, wanted.rows, wanted.digest
    ))
}
