//! `lazuli import`: files into tables, in batches by partition, so that it can be killed and goes on.
//!
//! Entities are upserted, so that what is written twice is as if written once. A window of entities is held in memory, put in
//! the order of their partitions and written; then a state file says how much of the file is done.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use lazuli_client::{BulkOptions, Dynamic, Table, TableService, WriteMode};
use lazuli_model::Value;
use serde_json::{Value as Json, json};

use crate::csv;
use crate::edm;
use crate::export::FileFormat;
use crate::progress::{Progress, thousands};
use crate::state::{StateFile, number};
use crate::target::{EXIT_CODES, Fault, Target};

/// So many entities are held at a time, at most.
const WINDOW_ENTITIES_MAX: usize = 2000;
/// And so many bytes of the file.
const WINDOW_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// Larger than any entity can be as JSON.
const LINE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Read tables from files.
///
/// TABLE.jsonl and TABLE.csv become table TABLE, which is created if it is not there. Entities replace those with the same
/// keys. An import that was interrupted goes on where it was when it is started again. The service gives each entity a new
/// Timestamp; --timestamp-as keeps the old one in a property. A backup (lazuli backup, lazuli restore) keeps Timestamps.
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  lazuli export people --timestamps && lazuli import people.jsonl
  lazuli import people.jsonl --table persons --timestamp-as WrittenAt
  lazuli import people.jsonl --location copied-data     into a store that no server has open

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

    /// Start anew, if an earlier import was interrupted
    #[arg(long)]
    overwrite: bool,

    /// Print nothing but errors
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    target: Target,
}

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
        self.target.run(async |service| {
            for path in &self.files {
                self.file(service, path).await?;
            }
            Ok(ExitCode::SUCCESS)
        })
    }

    async fn file(&self, service: &TableService, path: &Path) -> Result<(), Fault> {
        let name =
            self.table.clone().or_else(|| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        let table = service.table(&name.unwrap_or_default())?;
        let mut source = Source::open(path, self.format_of(path)?)?;
        // A file that was changed since is another file.
        let changed = std::fs::metadata(path).and_then(|data| data.modified()).ok();
        let changed = changed.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        let changed = changed.map(|time| time.as_micros().to_string());
        let purpose = json!({
            "import": table.name(), "to": service.endpoint().as_str(), "bytes": source.length, "changed": changed,
        });
        let mut place = path.as_os_str().to_owned();
        place.push(".import-state");
        let mut state = StateFile::open(place.into(), purpose, self.overwrite)?;
        if create(&table).await? && state.is_resumed() {
            // What was imported before went with its table.
            state.forget();
        }
        source.resume(state.content())?;
        if state.is_resumed() && !self.quiet {
            let rows = thousands(number(state.content(), "rows"));
            eprintln!("{}: going on after {rows} entities that an earlier run imported", table.name());
        }
        let rows = self.copy(&table, &mut source, &mut state).await?;
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

    async fn copy(&self, table: &Table, source: &mut Source, state: &mut StateFile) -> Result<u64, Fault> {
        let mode = match self.existing {
            Existing::Replace => WriteMode::UpsertReplace,
            Existing::Merge => WriteMode::UpsertMerge,
            Existing::Refuse => WriteMode::Insert,
        };
        let options = BulkOptions { mode, ..BulkOptions::default() };
        let mut rows = number(state.content(), "rows");
        let mut progress = Progress::start("import", self.quiet);
        loop {
            let mut window = source.window(self.timestamp_as.as_deref())?;
            if window.is_empty() {
                let _ = progress.finish();
                return Ok(rows);
            }
            rows += window.len() as u64;
            // Stable, so that of two entities with the same keys the later one stays.
            window.sort_by(|a, b| a.partition_key.cmp(&b.partition_key));
            table.write_all(window, options, |_| {}).await.map_err(|stopped| stopped.error)?;
            let (bytes, line) = source.place();
            state.save(json!({ "rows": rows, "bytes": bytes, "line": line }))?;
            progress.reach(rows, bytes, Some(source.length));
        }
    }
}

/// Makes the table if it can be made: a signature of a table is not good for that.
/// `true` if it was not there.
async fn create(table: &Table) -> Result<bool, Fault> {
    match table.create_if_missing().await {
        Err(error) if error.status() == Some(403) => Ok(false),
        other => Ok(other?),
    }
}

/// A file being read.
struct Source {
    path: PathBuf,
    length: u64,
    reader: SourceReader,
}

enum SourceReader {
    Lines(Lines),
    Csv(csv::Reader<BufReader<File>>),
}

struct Lines {
    input: BufReader<File>,
    offset: u64,
    line: u64,
    /// The line of the last entity.
    entity_line: u64,
}

impl Source {
    fn open(path: &Path, format: FileFormat) -> Result<Self, Fault> {
        let said = |error: std::io::Error| Fault::Said(format!("{}: {error}", path.display()));
        let file = File::open(path).map_err(said)?;
        let length = file.metadata().map_err(said)?.len();
        let input = BufReader::new(file);
        let reader = match format {
            FileFormat::Jsonl => SourceReader::Lines(Lines { input, offset: 0, line: 1, entity_line: 1 }),
            FileFormat::Csv => SourceReader::Csv(
                csv::Reader::new(input).map_err(|why| format!("{}: {why}", path.display()))?,
            ),
        };
        Ok(Self { path: path.to_owned(), length, reader })
    }

    /// Goes on behind what is done.
    fn resume(&mut self, content: &Json) -> Result<(), Fault> {
        let (bytes, line) = (number(content, "bytes"), number(content, "line"));
        if bytes == 0 {
            return Ok(());
        }
        match &mut self.reader {
            SourceReader::Lines(lines) => {
                lines.input.seek(SeekFrom::Start(bytes))?;
                (lines.offset, lines.line) = (bytes, line);
            }
            SourceReader::Csv(reader) => {
                reader.input_mut().seek(SeekFrom::Start(bytes))?;
                reader.resume(bytes, line);
            }
        }
        Ok(())
    }

    /// How much was read: bytes, and the line that comes next.
    fn place(&self) -> (u64, u64) {
        match &self.reader {
            SourceReader::Lines(lines) => (lines.offset, lines.line),
            SourceReader::Csv(reader) => (reader.offset, reader.line),
        }
    }

    /// The next entities; none at the end.
    fn window(&mut self, timestamp_as: Option<&str>) -> Result<Vec<Dynamic>, Fault> {
        let mut window = Vec::new();
        let start = self.place().0;
        while window.len() < WINDOW_ENTITIES_MAX && self.place().0 - start < WINDOW_BYTES_MAX {
            let (next, line) = match &mut self.reader {
                SourceReader::Lines(lines) => (lines.next_entity(), lines.entity_line),
                SourceReader::Csv(reader) => (reader.next_entity(), reader.record_line),
            };
            let said = |why: String| Fault::Said(format!("{}:{line}: {why}", self.path.display()));
            let Some(mut entity) = next.map_err(said)? else { break };
            if let (Some(name), Some(time)) = (timestamp_as, entity.timestamp) {
                edm::set(&mut entity, name, Value::DateTime(time)).map_err(said)?;
            }
            window.push(entity);
        }
        Ok(window)
    }
}

impl Lines {
    fn next_entity(&mut self) -> Result<Option<Dynamic>, String> {
        loop {
            let mut line = Vec::new();
            let read = self.input.by_ref().take(LINE_BYTES_MAX + 1).read_until(b'\n', &mut line);
            let read = read.map_err(|error| error.to_string())? as u64;
            if read == 0 {
                return Ok(None);
            }
            if read > LINE_BYTES_MAX {
                return Err("the line is too long to be an entity".into());
            }
            if line.trim_ascii().is_empty() {
                (self.offset, self.line) = (self.offset + read, self.line + 1);
                continue;
            }
            self.entity_line = self.line;
            let entity = edm::from_line(&line)?;
            (self.offset, self.line) = (self.offset + read, self.line + 1);
            return Ok(Some(entity));
        }
    }
}
