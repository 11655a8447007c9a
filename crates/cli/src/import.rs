//! `lazuli import`: files into tables, in batches by partition, so that it can be killed and goes on.
//!
//! Entities are upserted, so that what is written twice is as if written once. A window of entities is held in memory, put in
//! the order of their partitions and written; then a state file says how much of the file is done. With
//! `--existing refuse`, entities of the next window that are there already with the same content are taken for what a run that was
//! killed has written; others are refused.

mod dated;
mod source;

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
use crate::progress::{Progress, thousands};
use crate::state::{StateFile, number};
use crate::target::{EXIT_CODES, Fault, Target};

use dated::{Dated, Wanted};
use source::Source;

/// Read tables from files.
///
/// TABLE.jsonl and TABLE.csv become table TABLE, which is created if it is not there. Entities replace those with the same
/// keys. An import that was interrupted goes on where it was when it is started again; with --existing refuse, entities that it
/// may have written last and that are there with the same properties count as its own. The service gives each entity a new
/// Timestamp; --timestamp-as keeps the old one in a property. Into the store of a stopped server, --keep-timestamp keeps the
/// Timestamps of the file, and with them the ETags.
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  lazuli export people --timestamps && lazuli import people.jsonl
  lazuli import people.jsonl --table persons --timestamp-as WrittenAt
  lazuli import people.jsonl --location copied-data     into a store that no server has open
  lazuli import people.jsonl --location kept-data --keep-timestamp     and keep ETags too

{EXIT_CODES}"))]
pub struct Import {
    /// The files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Table for the file, if it has another name than that
    #[arg(short, long, value_name = "NAME")]
    table: Option<String>,

    /// JSON Lines or CSV [default: what the name of the file says]
    #[arg(long, value_enum)]
    format: Option<FileFormat>,

    /// What to do with entities that are there already
    #[arg(long, value_enum, default_value = "replace")]
    existing: Existing,

    /// Keep the Timestamp of the file in a property of this name
    #[arg(long, value_name = "NAME")]
    timestamp_as: Option<String>,

    /// Give each entity the Timestamp of the file, and with it its ETag; only with --location. One that would go back behind that
    /// of the entity that is there, or lies in the future, is refused
    #[arg(long, conflicts_with = "timestamp_as")]
    keep_timestamp: bool,

    /// Start anew, if an earlier import was interrupted
    #[arg(long)]
    overwrite: bool,

    /// Print nothing but errors
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    target: Target,
}

/// Longer keys may not fit a URL, where each of their bytes can take three.
const KEYS_IN_URL_BYTES_MAX: usize = 512;

/// What to do with entities that are there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Existing {
    /// Replace them
    Replace,
    /// Add and change properties; others stay
    Merge,
    /// Stop
    Refuse,
}

impl Import {
    /// Reads the files.
    pub fn run(mut self) -> Result<ExitCode, String> {
        if self.table.is_some() && self.files.len() > 1 {
            return Err("--table is for one file".into());
        }
        self.target = self.target.or_new();
        if !self.keep_timestamp {
            return self.target.run(async |service| self.all(service, None).await);
        }
        if !self.target.is_direct() {
            return Err("over the wire the service sets the Timestamp: --keep-timestamp is for the store of a stopped server \
                        (--location DIR); --timestamp-as NAME keeps the old Timestamp in a property"
                .into());
        }
        if self.existing == Existing::Merge {
            return Err("what is merged is neither of its two versions: --keep-timestamp goes with --existing replace or refuse"
                .into());
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
        let mut source = Source::open(path, format, needs_timestamps)?;
        // A file that was changed since is another file.
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
            // A file that is not readable from its start makes no table.
            let window = Source::open(path, format, needs_timestamps)?.window()?;
            self.entities(window, &source, wanted)?;
        }
        let is_new = create(&table).await?;
        if is_new {
            // What was imported before went with its table.
            state.forget();
        }
        source.resume(state.content())?;
        if state.is_resumed() && !self.quiet {
            let rows = thousands(number(state.content(), "rows"));
            tell!("{}: going on after {rows} entities that an earlier run imported", table.name());
        }
        let is_resumed = state.is_resumed();
        if self.existing == Existing::Refuse && wanted.is_none() && !is_resumed {
            // So that a run that is killed in its first window is known to have been.
            let (bytes, line) = source.place();
            state.save(json!({ "rows": 0, "bytes": bytes, "line": line }))?;
        }
        let copied = self.copy(&table, &mut source, &mut state, wanted).await;
        let has_done_nothing = number(state.content(), "rows") == 0;
        if copied.is_err() && is_new && has_done_nothing {
            tell!(
                "lazuli: table {} was made for this import and stays; mend the file and import it again",
                table.name()
            );
        }
        if copied.as_ref().is_err_and(|fault| !fault.may_pass()) && has_done_nothing && !is_resumed {
            // Nothing was interrupted: what was refused is refused again the next time, unless the file was mended.
            state.remove()?;
            return copied.map(drop);
        }
        let rows = copied?;
        state.remove()?;
        if !self.quiet {
            say!("{}: {} entities", table.name(), thousands(rows));
        }
        Ok(())
    }

    fn format_of(&self, path: &Path) -> Result<FileFormat, Fault> {
        match (self.format, path.extension().and_then(OsStr::to_str)) {
            (Some(format), _) => Ok(format),
            (None, Some("jsonl" | "ndjson" | "json")) => Ok(FileFormat::Jsonl),
            (None, Some("csv")) => Ok(FileFormat::Csv),
            _ => Err(format!("{}: is it JSON Lines or CSV? Say so with --format", path.display()).into()),
        }
    }

    async fn copy(
        &self,
        table: &Table,
        source: &mut Source,
        state: &mut StateFile,
        wanted: Option<&Wanted>,
    ) -> Result<u64, Fault> {
        let mode = match self.existing {
            Existing::Replace => WriteMode::UpsertReplace,
            Existing::Merge => WriteMode::UpsertMerge,
            Existing::Refuse => WriteMode::Insert,
        };
        let options = BulkOptions { mode, ..BulkOptions::default() };
        let mut rows = number(state.content(), "rows");
        let mut progress = Progress::start("import", self.quiet);
        // With Timestamps that are kept, the store itself knows what is the same.
        let mut may_be_there = state.is_resumed() && self.existing == Existing::Refuse && wanted.is_none();
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
            // Stable, so that of two entities with the same keys the later one stays.
            entities.sort_by(|a, b| a.partition_key.cmp(&b.partition_key));
            if let Err(stopped) = table.write_all(entities, options, |_| {}).await {
                let refused = wanted.and_then(Wanted::refused);
                return Err(refused.map_or(stopped.error.into(), |(line, why)| source.at(line, &why)));
            }
            let (bytes, line) = source.place();
            state.save(json!({ "rows": rows, "bytes": bytes, "line": line }))?;
            progress.reach(rows, bytes, Some(source.length));
        }
    }

    /// The entities to write; what becomes of their Timestamps is said to `wanted`.
    fn entities(
        &self,
        window: Vec<(Dynamic, u64)>,
        source: &Source,
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

/// Those entities that are not there just as they are to be written.
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
            // Who may add only cannot look.
            Err(error) if error.is_not_found() || error.status() == Some(403) => missing.push(entity),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(missing)
}

/// Do both have the same properties? By their texts, since a Double that is not a number equals nothing.
fn is_same(one: &Dynamic, other: &Dynamic) -> bool {
    let same = |a: &Value, b: &Value| a.kind() == b.kind() && edm::text(a) == edm::text(b);
    one.props.len() == other.props.len()
        && one.props.iter().all(|(name, a)| other.props.value(name).is_some_and(|b| same(a, b)))
}

/// Makes the table if it can be made: a signature of a table is not good for that.
/// `true` if it was not there.
async fn create(table: &Table) -> Result<bool, Fault> {
    match table.create_if_missing().await {
        Err(error) if error.status() == Some(403) => Ok(false),
        other => Ok(other?),
    }
}
