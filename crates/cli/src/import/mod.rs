//! `lazuli import`: the data of an Azurite, or files to tables, in batches by partition, so that an interrupted import can be resumed.
//!
//! Entities are upserted, so writing one twice changes nothing. A window of entities is held in memory, sorted
//! by partition and written; then a state file records how much of the input is done. With `--existing reject`,
//! a resumed import assumes that existing entities of the next window are its own if their content is the same,
//! and rejects others.

mod azurite;
mod dated;
pub mod source;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use lazuli_client::{BulkOptions, Dynamic, Table, TableService, WriteMode};
use lazuli_engine::Engine;
use lazuli_model::Value;
use serde_json::json;

use crate::edm;
use crate::export::FileFormat;
use crate::fault::{EXIT_CODES, Fault, usage};
use crate::progress::{Progress, plural, thousands};
use crate::state::{StateFile, number};
use crate::target::Target;

use dated::{Dated, Wanted};
use source::ImportSource;

/// Read tables from files, or everything from Azurite.
///
/// --from-azurite reads the data directory of a stopped Azurite: tables, queues and blobs with their
/// properties, metadata, policies, tags, snapshots and uncommitted blocks. Timestamps of blobs and messages are
/// new; leases are not imported.
///
/// From files: TABLE.jsonl and TABLE.csv become table TABLE, which is created if it does not exist. Entities of the file
/// replace existing entities with the same keys. To resume an interrupted import, run the same command again; with
/// --existing reject, it accepts entities that the interrupted run may have written if their properties are the same.
/// The service gives each entity a new Timestamp; --timestamp-as stores the old one in a property. With --location (the
/// store of a stopped server), --keep-timestamp keeps the Timestamps of the file, and with them the ETags.
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  lazuli import --from-azurite ~/azurite                into the server on this machine
  lazuli import --from-azurite ~/azurite --location lazuli-data --keep-timestamp    into a new store
  lazuli export people --timestamps && lazuli import people.jsonl
  lazuli import people.jsonl --table persons --timestamp-as WrittenAt
  lazuli import people.jsonl --location copied-data     into a store that no server has open
  lazuli import people.jsonl --location kept-data --keep-timestamp     and keep ETags too

{EXIT_CODES}"))]
pub struct Import {
    /// Files
    #[arg(value_name = "FILE", required_unless_present = "from_azurite")]
    files: Vec<PathBuf>,

    /// Read the tables, queues and blobs in the data directory of a stopped Azurite
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["files", "table", "format", "existing", "timestamp_as", "overwrite"]
    )]
    from_azurite: Option<PathBuf>,

    /// The account whose data is read, if that directory has several
    #[arg(long, value_name = "NAME", requires = "from_azurite")]
    from_account: Option<String>,

    /// Table [default: the name of the file]
    #[arg(short, long, value_name = "NAME")]
    table: Option<String>,

    /// File format [default: by the extension of the file]
    #[arg(long, value_enum)]
    format: Option<FileFormat>,

    /// What to do with existing entities
    #[arg(long, value_enum, default_value = "replace")]
    existing: Existing,

    /// Store the Timestamps of the file in a property of this name
    #[arg(long, value_name = "NAME")]
    timestamp_as: Option<String>,

    /// Keep the Timestamps and ETags of the file; only with --location. A Timestamp that is older than that of
    /// the existing entity, or in the future, is rejected
    #[arg(long, conflicts_with = "timestamp_as")]
    keep_timestamp: bool,

    /// Start from the first line, even if an earlier import was interrupted
    #[arg(long)]
    overwrite: bool,

    /// Print errors only
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    target: Target,
}

/// Longer keys may not fit in a URL, where each byte of a key can take three.
const KEYS_IN_URL_BYTES_MAX: usize = 512;

/// What to do with existing entities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Existing {
    /// Replace them
    Replace,
    /// Merge them: properties that are not in the file stay.
    Merge,
    /// Stop
    #[value(alias = "refuse")]
    Reject,
}

impl Import {
    /// Reads the files.
    pub fn run(mut self) -> Result<ExitCode, String> {
        if self.table.is_some() && self.files.len() > 1 {
            return usage("--table can only be used with a single file");
        }
        self.target = self.target.or_new();
        if let Some(directory) = &self.from_azurite {
            let from = azurite::FromAzurite {
                directory,
                account: self.from_account.as_deref(),
                keep_timestamp: self.keep_timestamp,
                quiet: self.quiet,
                target: &self.target,
            };
            return from.run();
        }
        if !self.keep_timestamp {
            return self.target.run(async |service| self.all(service, None).await);
        }
        if !self.target.is_direct() {
            return usage(
                "over the wire, the service sets the Timestamp: --keep-timestamp is for the store of a stopped server \
                 (--location DIR); --timestamp-as NAME keeps the old Timestamp in a property",
            );
        }
        if self.existing == Existing::Merge {
            return usage(
                "--keep-timestamp cannot be combined with --existing merge; use --existing replace or reject",
            );
        }
        let wanted = Arc::new(Wanted::default());
        let dated = |engine| Arc::new(Dated::new(engine, Arc::clone(&wanted))) as Arc<dyn Engine>;
        self.target.run_over(dated, async |service| self.all(service, Some(&wanted)).await)
    }

    async fn all(&self, service: &TableService, wanted: Option<&Wanted>) -> Result<ExitCode, Fault> {
        for path in &self.files {
            self.file(service, path, wanted).await?;
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn file(&self, service: &TableService, path: &Path, wanted: Option<&Wanted>) -> Result<(), Fault> {
        let name =
            self.table.clone().or_else(|| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        let table = service.table(&name.unwrap_or_default())?;
        let format = self.format_of(path)?;
        let needs_timestamps = wanted.is_some() || self.timestamp_as.is_some();
        let mut source = ImportSource::open(path, format, needs_timestamps)?;
        // A file that was changed in the meantime counts as another file.
        let changed = std::fs::metadata(path).and_then(|data| data.modified()).ok();
        let changed = changed.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        let changed = changed.map(|time| time.as_micros().to_string());
        let mut purpose = json!({
            "import": table.name(), "to": self.target.identity(service)?, "bytes": source.length, "changed": changed,
        });
        if wanted.is_some() {
            purpose["keepTimestamp"] = true.into();
        }
        let mut place = path.as_os_str().to_owned();
        place.push(".import-state");
        let mut state = StateFile::open(place.into(), purpose, self.overwrite)?;
        if !state.is_resumed() {
            // Create no table for a file whose start cannot be read.
            let window = ImportSource::open(path, format, needs_timestamps)?.window()?;
            self.entities(window, &source, wanted)?;
        }
        let is_new = create(&table).await?;
        if is_new {
            // Entities of the earlier run were deleted with the table.
            state.forget();
        }
        source.resume(state.content())?;
        if state.is_resumed() && !self.quiet {
            let rows = number(state.content(), "rows");
            let noun = plural(rows, "entity", "entities");
            tell!("{}: resuming after {} {noun} of an earlier run", table.name(), thousands(rows));
        }
        let is_resumed = state.is_resumed();
        if self.existing == Existing::Reject && wanted.is_none() && !is_resumed {
            // Records that this run started, even if it is killed in its first window.
            let (bytes, line) = source.place();
            state.save(json!({ "rows": 0, "bytes": bytes, "line": line }))?;
        }
        let copied = self.copy(&table, &mut source, &mut state, wanted).await;
        let has_done_nothing = number(state.content(), "rows") == 0;
        if copied.is_err() && is_new && has_done_nothing {
            tell!(
                "lazuli: table {} was created for this import and is kept; fix the file and import it again",
                table.name()
            );
        }
        if copied.as_ref().is_err_and(|fault| !fault.may_pass()) && has_done_nothing && !is_resumed {
            // The import failed and was not interrupted: there is nothing to resume.
            state.remove()?;
            return copied.map(drop);
        }
        let rows = copied?;
        state.remove()?;
        if !self.quiet {
            say!("{}: {} {}", table.name(), thousands(rows), plural(rows, "entity", "entities"));
        }
        Ok(())
    }

    fn format_of(&self, path: &Path) -> Result<FileFormat, Fault> {
        match (self.format, path.extension().and_then(OsStr::to_str)) {
            (Some(format), _) => Ok(format),
            (None, Some("jsonl" | "ndjson" | "json")) => Ok(FileFormat::Jsonl),
            (None, Some("csv")) => Ok(FileFormat::Csv),
            _ => Err(format!("{}: unknown file format; pass --format jsonl or --format csv", path.display())
                .into()),
        }
    }

    async fn copy(
        &self,
        table: &Table,
        source: &mut ImportSource,
        state: &mut StateFile,
        wanted: Option<&Wanted>,
    ) -> Result<u64, Fault> {
        let mode = match self.existing {
            Existing::Replace => WriteMode::UpsertReplace,
            Existing::Merge => WriteMode::UpsertMerge,
            Existing::Reject => WriteMode::Insert,
        };
        let options = BulkOptions { mode, ..BulkOptions::default() };
        let mut rows = number(state.content(), "rows");
        let mut progress = Progress::start("import", "entities", self.quiet);
        // With kept Timestamps, the store itself compares entities.
        let mut may_be_there = state.is_resumed() && self.existing == Existing::Reject && wanted.is_none();
        loop {
            let window = source.window()?;
            if window.is_empty() {
                let _ = progress.finish();
                return Ok(rows);
            }
            rows += window.len() as u64;
            let mut entities = self.entities(window, source, wanted)?;
            if std::mem::take(&mut may_be_there) {
                entities = missing(table, entities).await?;
            }
            // A stable sort, so that the later one of two entities with the same keys wins.
            entities.sort_by(|a, b| a.partition_key.cmp(&b.partition_key));
            if let Err(stopped) = table.write_all(entities, options, |_| {}).await {
                let rejected = wanted.and_then(Wanted::rejected);
                return Err(rejected.map_or(stopped.error.into(), |(line, why)| source.at(line, &why)));
            }
            let (bytes, line) = source.place();
            state.save(json!({ "rows": rows, "bytes": bytes, "line": line }))?;
            progress.reach(rows, bytes, Some(source.length));
        }
    }

    /// The entities to write; their Timestamps go to `wanted`.
    fn entities(
        &self,
        window: Vec<(Dynamic, u64)>,
        source: &ImportSource,
        wanted: Option<&Wanted>,
    ) -> Result<Vec<Dynamic>, Fault> {
        if let Some(wanted) = wanted {
            wanted.set(&window).map_err(|(line, why)| source.at(line, why))?;
        }
        let keep = |(mut entity, line): (Dynamic, u64)| {
            if let (Some(name), Some(time)) = (&self.timestamp_as, entity.timestamp) {
                edm::set(&mut entity, name, Value::DateTime(time)).map_err(|why| source.at(line, &why))?;
            }
            Ok(entity)
        };
        window.into_iter().map(keep).collect()
    }
}

/// Omits the entities that already exist with the same content.
async fn missing(table: &Table, entities: Vec<Dynamic>) -> Result<Vec<Dynamic>, Fault> {
    let mut missing = Vec::with_capacity(entities.len());
    for entity in entities {
        let (partition, row) = (entity.partition_key.as_str(), entity.row_key.as_str());
        let found = if partition.len() + row.len() <= KEYS_IN_URL_BYTES_MAX {
            table.get::<Dynamic>(partition, row).await
        } else {
            table.get_in_batch::<Dynamic>(partition, row).await
        };
        match found {
            Ok(found) if is_same(&found.value, &entity) => {}
            Ok(_) => missing.push(entity),
            // A signature for adding entities does not necessarily allow reading them.
            Err(error) if error.is_not_found() || error.status() == Some(403) => missing.push(entity),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(missing)
}

/// Do both have the same properties? Compared as strings, because NaN is not equal to itself.
fn is_same(one: &Dynamic, other: &Dynamic) -> bool {
    let same = |a: &Value, b: &Value| a.kind() == b.kind() && edm::text(a) == edm::text(b);
    one.props.len() == other.props.len()
        && one.props.iter().all(|(name, a)| other.props.value(name).is_some_and(|b| same(a, b)))
}

/// Creates the table if the credential permits it, which a service SAS of a table does not. `true` if it did
/// not exist.
async fn create(table: &Table) -> Result<bool, Fault> {
    match table.create_if_missing().await {
        Err(error) if error.status() == Some(403) => Ok(false),
        other => Ok(other?),
    }
}
