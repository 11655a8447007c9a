//! `lazuli export`: tables to files, page by page, so that an interrupted export can be resumed.
//!
//! Entities go to `TABLE.jsonl.part`. After each page, a state file records the valid length of that file and the start of the
//! next page. At the end the file is renamed, or converted to CSV. So a file with its final name is always complete.

use std::fs::File;
use std::io::{BufReader, BufWriter, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use lazuli_client::decode::decode_page;
use lazuli_client::{Continuation, Dynamic, PageRequest, PageSource as _, Table, TableService, Trail};
use serde_json::{Value as Json, json};

use crate::csv::{Column, Columns};
use crate::edm;
use crate::fault::{EXIT_CODES, Fault};
use crate::output::{lines_to_csv, write_lines};
use crate::progress::{Progress, plural, thousands};
use crate::state::{StateFile, number, text};
use crate::target::Target;

/// Write tables to files.
///
/// Writes each table to TABLE.jsonl or TABLE.csv in the directory, with types; docs/operate.md describes the formats. To resume
/// an interrupted export, run the same command again.
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  lazuli export people                            people.jsonl in this directory
  lazuli export --all --directory copy --timestamps
  lazuli export people --format csv --filter \"PartitionKey eq 'a'\" --directory some
  lazuli export --all --location /var/lib/lazuli --directory direct    of a stopped server

{EXIT_CODES}"))]
pub struct Export {
    /// Tables
    #[arg(value_name = "TABLE", required_unless_present = "all", conflicts_with = "all")]
    tables: Vec<String>,

    /// All tables of the account
    #[arg(long)]
    all: bool,

    /// Directory for the files
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    directory: PathBuf,

    /// File format
    #[arg(long, value_enum, default_value = "jsonl")]
    format: FileFormat,

    /// Write only entities that match this expression
    #[arg(short, long, value_name = "EXPRESSION")]
    filter: Option<String>,

    /// Write the Timestamp of each entity, too
    #[arg(long)]
    timestamps: bool,

    /// Start again, and replace existing files
    #[arg(long)]
    overwrite: bool,

    /// Print errors only
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    target: Target,
}

/// File format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FileFormat {
    /// JSON Lines
    Jsonl,
    /// CSV
    Csv,
}

impl FileFormat {
    /// The extension of the file name.
    pub fn extension(self) -> &'static str {
        match self {
            FileFormat::Jsonl => "jsonl",
            FileFormat::Csv => "csv",
        }
    }
}

impl Export {
    /// Writes the files.
    pub fn run(self) -> Result<ExitCode, String> {
        self.target.run(async |service| {
            std::fs::create_dir_all(&self.directory)
                .map_err(|error| format!("{}: {error}", self.directory.display()))?;
            let names = if self.all { service.table_names().await? } else { self.tables.clone() };
            for name in &names {
                self.table(service, name).await?;
            }
            if names.is_empty() && !self.quiet {
                say!("the account has no tables");
            }
            Ok(ExitCode::SUCCESS)
        })
    }

    async fn table(&self, service: &TableService, name: &str) -> Result<(), Fault> {
        let table = service.table(name)?;
        let path = self.directory.join(format!("{}.{}", table.name(), self.format.extension()));
        let part = self.directory.join(format!("{}.jsonl.part", table.name()));
        let mut state = self.begin(service, &path, table.name())?;
        let rows = self.fetch(&table, &part, &mut state).await?;
        self.complete(&part, &path, &state)?;
        state.remove()?;
        if !self.quiet {
            say!("{}: {} {}", path.display(), thousands(rows), plural(rows, "entity", "entities"));
        }
        Ok(())
    }

    /// The state of an interrupted export, or of a new one.
    fn begin(&self, service: &TableService, path: &Path, name: &str) -> Result<StateFile, Fault> {
        let purpose = json!({
            "export": name, "from": self.target.identity(service)?, "filter": self.filter, "timestamps": self.timestamps,
        });
        let place = self.directory.join(format!("{name}.export-state"));
        let state = StateFile::open(place, purpose, self.overwrite)?;
        if !state.is_resumed() && path.exists() && !self.overwrite {
            return Err(format!("{} already exists; pass --overwrite to replace it", path.display()).into());
        }
        Ok(state)
    }

    /// Reads the rest of the table, and appends it to the file.
    async fn fetch(&self, table: &Table, part: &Path, state: &mut StateFile) -> Result<u64, Fault> {
        let mut told = Told::read(state.content())?;
        let mut file = open_part(part, told.bytes)?;
        let mut progress = Progress::start("export", "entities", self.quiet);
        let mut request = PageRequest::new(table.table_name().clone());
        request.filter.clone_from(&self.filter);
        let mut trail = Trail::starting_at(told.next.clone());
        while !told.is_done {
            request.continuation.clone_from(&told.next);
            let page = table.page(request.clone()).await?;
            let mut entities: Vec<Dynamic> = decode_page(&page.body)?;
            trail.advance(page.continuation.as_ref(), entities.is_empty())?;
            for entity in &mut entities {
                entity.timestamp = entity.timestamp.filter(|_| self.timestamps);
                if self.format == FileFormat::Csv {
                    told.columns.take_in(entity)?;
                }
            }
            write_lines(&mut BufWriter::new(&mut file), &entities)?;
            file.sync_data()?;
            told.bytes = file.stream_position()?;
            told.rows += entities.len() as u64;
            told.is_done = page.continuation.is_none();
            told.next = page.continuation;
            state.save(told.write())?;
            progress.reach(told.rows, told.bytes, None);
        }
        let _ = progress.finish();
        Ok(told.rows)
    }

    /// Gives the file its final name.
    fn complete(&self, part: &Path, path: &Path, state: &StateFile) -> Result<(), Fault> {
        if self.format == FileFormat::Jsonl {
            return Ok(std::fs::rename(part, path)?);
        }
        let whole = path.with_extension("csv.part");
        let mut out = BufWriter::new(File::create(&whole)?);
        lines_to_csv(BufReader::new(File::open(part)?), &Told::read(state.content())?.columns, &mut out)?;
        out.flush()?;
        out.get_ref().sync_data()?;
        std::fs::rename(&whole, path)?;
        Ok(std::fs::remove_file(part)?)
    }
}

/// Opens the file and truncates it to its valid length.
fn open_part(part: &Path, bytes: u64) -> Result<File, Fault> {
    let told = |error: std::io::Error| Fault::Message(format!("{}: {error}", part.display()));
    let mut file = File::options().create(true).write(true).truncate(false).open(part).map_err(told)?;
    if file.metadata().map_err(told)?.len() < bytes {
        return Err(
            format!("{} is shorter than it was; pass --overwrite to start over", part.display()).into()
        );
    }
    file.set_len(bytes).map_err(told)?;
    file.seek(SeekFrom::End(0)).map_err(told)?;
    Ok(file)
}

/// The progress of an export.
#[derive(Debug, Default, PartialEq)]
struct Told {
    rows: u64,
    bytes: u64,
    next: Option<Continuation>,
    is_done: bool,
    columns: Columns,
}

impl Told {
    fn write(&self) -> Json {
        let columns: Vec<Json> =
            self.columns.0.iter().map(|column| json!([column.name, column.kind.name()])).collect();
        json!({
            "rows": self.rows, "bytes": self.bytes, "next": self.next.as_ref().map(ToString::to_string),
            "done": self.is_done, "columns": columns,
        })
    }

    fn read(content: &Json) -> Result<Self, Fault> {
        let next = match content.get("next").and_then(Json::as_str) {
            Some(text) => Some(text.parse()?),
            None => None,
        };
        let column =
            |pair: &Json| Some(Column { name: text(pair, 0)?.to_owned(), kind: edm::kind(text(pair, 1)?)? });
        let columns = content.get("columns").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
        Ok(Self {
            rows: number(content, "rows"),
            bytes: number(content, "bytes"),
            next,
            is_done: content.get("done").and_then(Json::as_bool).unwrap_or_default(),
            columns: Columns(columns.iter().filter_map(column).collect()),
        })
    }
}

#[cfg(test)]
mod tests {
    use lazuli_model::EdmType;

    use super::*;

    #[test]
    fn saved_progress_is_read_back() {
        let told = Told {
            rows: 5,
            bytes: 700,
            next: Some(Continuation { partition: "1!4!YQ--".into(), row: Some("1!0!".into()) }),
            is_done: false,
            columns: Columns(vec![Column { name: "Ä".into(), kind: EdmType::Int64 }]),
        };
        assert!(Told::read(&told.write()).is_ok_and(|again| again == told));
        assert!(Told::read(&Json::Null).is_ok_and(|again| again == Told::default()));
    }
}
