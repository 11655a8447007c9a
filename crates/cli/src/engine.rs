//! `lazuli engine`: migrates storage engines, and copies data from one to another.

use std::cmp::Ordering;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use lazuli_archive::{ArchiveReader, Block, ContentBlock, Packer, Totals};
use lazuli_engine::content::{Content, Copied, Copy};
use lazuli_engine::{Dump, Stored, keycode};
use lazuli_objects::ObjectsUrl;
use lazuli_postgres::{Filler, Postgres, PostgresUrl, SCHEMA_VERSION};
use lazuli_service::naming;
use lazuli_store::{Loader, Options};

use crate::backup::adopter::Adopter;
use crate::contents;
use crate::engine_url::{self, EngineUrl};
use crate::progress::Progress;
use crate::runtime;
use crate::summary::Counter;

/// Bytes of rows read or written together.
const PAGE_BYTES: usize = 1024 * 1024;

/// Migrate storage engines, and copy data between them.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli engine migrate postgres://lazuli@db/lazuli   brings the tables up to date
  lazuli engine copy file:lazuli-data postgres://lazuli@db/lazuli
  lazuli engine copy postgres://lazuli@db1,db2/lazuli file:copy   and back
  lazuli engine copy file:lazuli-data postgres://lazuli@db/lazuli \\
      --to-content 's3://blobs?endpoint=http://s3:8333'   content into an object store")]
pub struct EngineArgs {
    #[command(subcommand)]
    command: EngineCommand,
}

#[derive(Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one, for as long as the program runs")]
enum EngineCommand {
    /// Migrate the tables of a database to the version of this program
    ///
    /// Also sets up an empty database, as servers do when they start.
    #[command(after_help = "Examples:\n  lazuli engine migrate postgres://lazuli@db/lazuli")]
    Migrate {
        /// Database: postgres://…
        url: EngineUrl,
    },
    /// Copy everything from one engine to another, and verify it by count and checksum
    ///
    /// Copies accounts, keys, tables, queues, blobs and policies, with timestamps and ETags. The copy is a
    /// snapshot: stop the servers of FROM first, or their concurrent changes are not copied. TO must be empty.
    /// To resume an interrupted copy into a database, run the same command again; no server starts on the
    /// database until the copy is complete. After an interrupted copy into a directory, remove the directory
    /// and start again.
    #[command(after_help = "Examples:\n  lazuli engine copy file:lazuli-data postgres://lazuli@db/lazuli")]
    Copy {
        /// Source: file:DIR or postgres://…
        from: EngineUrl,
        /// Destination: file:DIR or postgres://…
        to: EngineUrl,
        /// Object store with the content of a source in a database: s3://…
        #[arg(long, value_name = "URL")]
        from_content: Option<ObjectsUrl>,
        /// Object store for the content of a destination in a database: s3://…
        #[arg(long, value_name = "URL")]
        to_content: Option<ObjectsUrl>,
        /// Print errors only
        #[arg(short = 'q', long)]
        quiet: bool,
    },
}

/// The data to copy.
enum Origin {
    /// Everything in an engine, which other processes may use at the same time if it is shared.
    Engine(Box<Copy>),
    /// A backup.
    Backup(Box<ArchiveReader>),
}

impl Origin {
    async fn next(&mut self) -> Result<Copied, String> {
        match self {
            Self::Engine(copy) => copy.next(PAGE_BYTES).await.map_err(|error| error.to_string()),
            Self::Backup(reader) => match reader.next_block().map_err(|error| error.to_string())? {
                Some(Block::Rows(rows)) => Ok(Copied::Rows(rows)),
                Some(Block::Content(ContentBlock { piece, offset, bytes })) => {
                    Ok(Copied::Content { piece, offset, bytes })
                }
                Some(Block::End(totals)) => Ok(Copied::End(totals.marks)),
                None => Err("the backup ends too early".into()),
            },
        }
    }
}

/// An engine, and the object store with its content if there is one.
struct End {
    url: EngineUrl,
    content: Option<ObjectsUrl>,
}

impl EngineArgs {
    /// Runs the command.
    pub fn run(self) -> Result<ExitCode, String> {
        let runtime = runtime::many_threads()?;
        match self.command {
            EngineCommand::Migrate { url } => runtime.block_on(migrate(url)),
            EngineCommand::Copy { from, to, from_content, to_content, quiet } => {
                let from = End { url: from, content: from_content };
                let to = End { url: to, content: to_content };
                runtime.block_on(copy(&from, &to, quiet))
            }
        }
    }
}

async fn migrate(url: EngineUrl) -> Result<ExitCode, String> {
    let EngineUrl::Postgres(url) = url else {
        return Err("only databases are migrated; a store is migrated when it is opened".into());
    };
    match Postgres::migrate(*url).await.map_err(|error| error.to_string())? {
        None => say!("created the tables, version {SCHEMA_VERSION}"),
        Some(SCHEMA_VERSION) => say!("nothing to do: the tables have version {SCHEMA_VERSION}"),
        Some(before) => say!("migrated the tables from version {before} to {SCHEMA_VERSION}"),
    }
    Ok(ExitCode::SUCCESS)
}

async fn copy(from: &End, to: &End, quiet: bool) -> Result<ExitCode, String> {
    if from.url == to.url {
        return Err("FROM and TO are the same".into());
    }
    if let EngineUrl::File(path) = &from.url
        && !path.exists()
    {
        return Err(format!("there is no store in {}", path.display()));
    }
    let source =
        engine_url::open(&from.url, from.content.as_ref(), engine_url::StoreSettings::default()).await?;
    let all = Copy::begin(&*source, naming()).await.map_err(|error| error.to_string())?;
    let mut all = Origin::Engine(Box::new(all));
    let copied = copy_from(&mut all, to, quiet).await;
    drop(all);
    let closed = source.close().await.map_err(|error| error.to_string());
    let (totals, how) = copied?;
    closed?;
    if !quiet {
        say!("{how}");
        say!("verified: checksum {:032x}", totals.digest);
    }
    Ok(ExitCode::SUCCESS)
}

/// Fills a database from a backup. To resume, call it again.
pub async fn restore(
    backup: ArchiveReader,
    url: &PostgresUrl,
    content: Option<&ObjectsUrl>,
    quiet: bool,
) -> Result<String, String> {
    let wanted = backup.manifest().totals.of_rows();
    let (found, how) = fill(&mut Origin::Backup(Box::new(backup)), url, content, quiet).await?;
    compare(&found, &wanted)?;
    Ok(how)
}

async fn copy_from(source: &mut Origin, to: &End, quiet: bool) -> Result<(Totals, String), String> {
    match (&to.url, &to.content) {
        (EngineUrl::Memory, _) => {
            Err("cannot copy to memory: the copy would be lost when the command ends".into())
        }
        (EngineUrl::File(_), Some(_)) => Err(engine_url::ONLY_DATABASES.into()),
        (EngineUrl::File(path), None) => into_store(source, path, quiet).await,
        (EngineUrl::Postgres(url), content) => fill(source, url, content.as_ref(), quiet).await,
    }
}

async fn fill(
    source: &mut Origin,
    url: &PostgresUrl,
    content: Option<&ObjectsUrl>,
    quiet: bool,
) -> Result<(Totals, String), String> {
    let filler = Filler::begin(url.clone()).await.map_err(|error| format!("{url}: {error}"))?;
    let content = match content {
        Some(content) => contents::of_filler(filler.engine(), content).await?,
        None => filler.content(),
    };
    into_database(source, filler, content, quiet).await
}

async fn into_store(source: &mut Origin, path: &Path, quiet: bool) -> Result<(Totals, String), String> {
    let mut loader = Loader::create(path, &Options::default()).map_err(|error| error.to_string())?;
    let mut count = Count::new("copy", quiet);
    let mut adopter = Adopter::new(loader.content());
    let marks = loop {
        match source.next().await? {
            Copied::Rows(rows) => {
                count.add(&rows);
                loader.put(&rows).map_err(|error| error.to_string())?;
            }
            Copied::Content { piece, bytes, .. } => {
                count.add_content(&bytes);
                adopter.take(piece, bytes).await?;
            }
            Copied::End(marks) => break marks,
        }
    };
    adopter.finish().await?;
    let (wanted, how) = count.end(marks);
    let loaded = loader.seal(marks).map_err(|error| error.to_string())?;
    let mut found = Count::new("verify", quiet);
    let marks = loaded.read_back(|rows| found.add(&rows)).map_err(|error| error.to_string())?;
    compare(&found.end(marks).0, &wanted)?;
    loaded.publish().map_err(|error| error.to_string())?;
    Ok((wanted, how))
}

/// Compares source and destination row by row, and writes the differences. An interrupted copy can therefore be
/// resumed.
async fn into_database(
    source: &mut Origin,
    filler: Filler,
    content: Arc<dyn Content>,
    quiet: bool,
) -> Result<(Totals, String), String> {
    let error = |error: lazuli_engine::Error| error.to_string();
    let mut there = Walk::new(filler.so_far().await.map_err(error)?);
    let mut count = Count::new("copy", quiet);
    let mut adopter = Adopter::new(content);
    let marks = loop {
        let rows = match source.next().await? {
            Copied::Rows(rows) => rows,
            Copied::Content { piece, bytes, .. } => {
                count.add_content(&bytes);
                adopter.take(piece, bytes).await?;
                continue;
            }
            Copied::End(marks) => break marks,
        };
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
    };
    adopter.finish().await?;
    while let Some(row) = there.next().await.map_err(error)? {
        filler.remove(&[row]).await.map_err(error)?;
    }
    drop(there);
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

/// Reads a dump row by row.
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

    /// The row with the same key, if there is one; rows before it are passed to `before`.
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

/// The order of the rows in a dump.
fn order(a: &Stored, b: &Stored) -> Ordering {
    let key = |stored: &Stored| {
        let mut bytes = Vec::new();
        keycode::encode_key_into(&mut bytes, &stored.row.partition, &stored.row.row);
        bytes
    };
    a.table.cmp(&b.table).then_with(|| key(a).cmp(&key(b)))
}

/// Counts contents, rows and bytes, and sums them up.
struct Count {
    packer: Packer,
    contents: Counter,
    progress: Progress,
    rows: u64,
    bytes: u64,
}

impl Count {
    fn new(what: &'static str, quiet: bool) -> Self {
        let (packer, contents) = (Packer::new(), Counter::new());
        Self { packer, contents, progress: Progress::start(what, "rows", quiet), rows: 0, bytes: 0 }
    }

    fn add(&mut self, rows: &[Stored]) {
        let _ = self.packer.rows(rows);
        rows.iter().for_each(|row| self.contents.see(row.table, row.row.view()));
        self.rows += rows.len() as u64;
        self.bytes += rows.iter().map(|row| row.bytes() as u64).sum::<u64>();
        self.progress.reach(self.rows, self.bytes, None);
    }

    fn add_content(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.progress.reach(self.rows, self.bytes, None);
    }

    fn end(self, marks: lazuli_engine::Marks) -> (Totals, String) {
        let how = format!("{}; {}", self.contents.finish(), self.progress.finish_bytes());
        (self.packer.end(marks).1, how)
    }
}

fn compare(found: &Totals, wanted: &Totals) -> Result<(), String> {
    if found == wanted {
        return Ok(());
    }
    Err(format!(
        "the copy has {} rows with checksum {:032x}, the source {} with {:032x}; run the command again",
        found.rows, found.digest, wanted.rows, wanted.digest
    ))
}
