//! `lazuli entity`: the entities of tables: single ones, queries, exports and imports.

use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use lazuli_client::{Dynamic, ETag, GetOptions, Versioned, WriteMode, WriteOptions};
use lazuli_model::table::entity::{PARTITION_KEY, ROW_KEY, TIMESTAMP};
use serde_json::json;

use crate::edm;
use crate::export::Export;
use crate::fault::{EXIT_CODES, Fault};
use crate::import::Import;
use crate::output::{Format, Printer, aligned, shown};
use crate::query::{Query, with_keys};
use crate::target::Target;

/// Read and change entities, query, export and import them.
///
/// Properties are written as Name=text, as Age:Int64=5 with a type (Binary, Boolean, DateTime, Double, Guid, Int32, Int64,
/// String), or as Age:=5 whose value is JSON. An entity can also be given as one JSON object, or as - for JSON Lines from
/// standard input.
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  lazuli entity insert people PartitionKey=a RowKey=9 Name=Grace Age:=45
  lazuli entity get people a 9
  lazuli entity merge people PartitionKey=a RowKey=9 Visits:Int64=5
  lazuli entity delete people a 9
  lazuli entity query people --filter 'Age gt 30'     or just: lazuli query

{EXIT_CODES}"))]
pub struct Entity {
    #[command(subcommand)]
    command: EntityCommand,
}

#[derive(Subcommand)]
enum EntityCommand {
    /// Add an entity, which must not exist
    #[command(after_help = "\
Examples:
  lazuli entity insert people PartitionKey=a RowKey=9 Name=Grace Age:=45 Born:DateTime=1906-12-09
  lazuli entity insert people '{\"PartitionKey\":\"a\",\"RowKey\":\"8\",\"Name\":\"Edsger\"}'")]
    Insert(Written),
    /// Add an entity, or replace the existing one
    #[command(after_help = "\
Examples:
  lazuli entity upsert people PartitionKey=a RowKey=9 Name=Grace
  lazuli query people --all --output jsonl | lazuli entity upsert people -")]
    Upsert {
        /// Keep properties that are not given
        #[arg(long)]
        merge: bool,
        #[command(flatten)]
        written: Written,
    },
    /// Change the given properties of an entity, which must exist; the others stay
    #[command(after_help = "Examples:\n  lazuli entity merge people PartitionKey=a RowKey=0 Age:=37")]
    Merge(Conditional),
    /// Replace an entity, which must exist
    #[command(
        visible_alias = "replace",
        after_help = "Examples:\n  lazuli entity update people PartitionKey=a RowKey=0 Name=Ada Age:=37"
    )]
    Update(Conditional),
    /// Print an entity
    #[command(
        visible_alias = "show",
        after_help = "Examples:\n  lazuli entity get people a 0\n  lazuli entity get people a 0 --select Name --output json"
    )]
    Get {
        /// Properties to return; separate several with commas, or repeat the flag
        #[arg(short, long, value_name = "NAME", value_delimiter = ',')]
        select: Vec<String>,
        /// Output format [default: table on a terminal, jsonl elsewhere]
        #[arg(short, long, value_enum)]
        output: Option<Format>,
        #[command(flatten)]
        place: EntityPath,
    },
    /// Delete an entity, which must exist
    #[command(after_help = "Examples:\n  lazuli entity delete people a 0")]
    Delete {
        /// Delete it only if it has this ETag
        #[arg(long, value_name = "ETAG")]
        if_match: Option<String>,
        #[command(flatten)]
        place: EntityPath,
    },
    Query(Query),
    Export(Export),
    Import(Import),
}

/// An entity by its keys.
#[derive(Args)]
struct EntityPath {
    /// Table
    table: String,
    /// PartitionKey
    partition_key: String,
    /// RowKey
    row_key: String,
    #[command(flatten)]
    target: Target,
}

/// An entity to write.
#[derive(Args)]
struct Written {
    /// Table
    table: String,
    /// Properties, or one JSON object, or - for JSON Lines from standard input
    #[arg(value_name = "PROPERTY", required = true)]
    properties: Vec<String>,
    #[command(flatten)]
    target: Target,
}

/// An entity to write, optionally only if it has a certain version.
#[derive(Args)]
struct Conditional {
    /// Write it only if it has this ETag
    #[arg(long, value_name = "ETAG")]
    if_match: Option<String>,
    #[command(flatten)]
    written: Written,
}

impl Entity {
    /// Runs the command.
    pub fn run(self) -> Result<ExitCode, String> {
        match self.command {
            EntityCommand::Insert(written) => written.run(WriteMode::Insert.into()),
            EntityCommand::Upsert { merge: false, written } => written.run(WriteMode::UpsertReplace.into()),
            EntityCommand::Upsert { merge: true, written } => written.run(WriteMode::UpsertMerge.into()),
            EntityCommand::Merge(Conditional { if_match, written }) => {
                written.run(WriteOptions { mode: WriteMode::Merge, if_match: if_match.map(ETag::new) })
            }
            EntityCommand::Update(Conditional { if_match, written }) => {
                written.run(WriteOptions { mode: WriteMode::Replace, if_match: if_match.map(ETag::new) })
            }
            EntityCommand::Query(query) => query.run(),
            EntityCommand::Export(export) => export.run(),
            EntityCommand::Import(import) => import.run(),
            EntityCommand::Get { place, select, output } => get(&place, &select, Format::or_default(output)),
            EntityCommand::Delete { place, if_match } => place.target.run(async |service| {
                let table = service.table(&place.table)?;
                let (partition, row) = (place.partition_key.clone(), place.row_key.clone());
                match if_match.map(ETag::new) {
                    Some(etag) => table.delete_entity_if(partition, row, &etag).await?,
                    None => table.delete_entity(partition, row).await?,
                }
                Ok(ExitCode::SUCCESS)
            }),
        }
    }
}

impl Written {
    fn run(self, options: WriteOptions) -> Result<ExitCode, String> {
        self.target.run(async |service| {
            let table = service.table(&self.table)?;
            if self.properties.len() != 1 || self.properties[0] != "-" {
                let entity = given(&self.properties)?;
                tell(&entity, &table.write(&entity, options).await?)?;
                return Ok(ExitCode::SUCCESS);
            }
            for (number, line) in std::io::stdin().lock().split(b'\n').enumerate() {
                let line = line?;
                if line.trim_ascii().is_empty() {
                    continue;
                }
                let entity = edm::from_line(&line).map_err(|why| format!("line {}: {why}", number + 1))?;
                tell(&entity, &table.write(&entity, options.clone()).await?)?;
            }
            Ok(ExitCode::SUCCESS)
        })
    }
}

/// Parses the entity given on a command line.
fn given(words: &[String]) -> Result<Dynamic, String> {
    if let [object] = words
        && object.trim_start().starts_with('{')
    {
        return edm::from_line(object.as_bytes());
    }
    let mut entity = Dynamic::default();
    let mut keys = Vec::new();
    for word in words {
        let (name, value) = edm::assignment(word)?;
        if name == TIMESTAMP {
            return Err("the Timestamp is set by the service".into());
        }
        edm::set(&mut entity, &name, value)?;
        keys.push(name);
    }
    for key in [PARTITION_KEY, ROW_KEY] {
        if !keys.iter().any(|name| name == key) {
            return Err(format!("{key}=… is missing; it is required, but may be empty"));
        }
    }
    Ok(entity)
}

/// Prints the keys and the ETag, unless standard output is a terminal.
fn tell(entity: &Dynamic, etag: &ETag) -> Result<(), Fault> {
    if Format::or_default(None) == Format::Table {
        return Ok(());
    }
    let told = json!({ "odata.etag": etag.as_str(), "PartitionKey": entity.partition_key, "RowKey": entity.row_key });
    Ok(writeln!(std::io::stdout().lock(), "{told}")?)
}

fn get(place: &EntityPath, select: &[String], format: Format) -> Result<ExitCode, String> {
    place.target.run(async |service| {
        let table = service.table(&place.table)?;
        let mut select = with_keys(select);
        if !select.is_empty() && !select.iter().any(|name| name == TIMESTAMP) {
            select.push(TIMESTAMP.to_owned());
        }
        let options = GetOptions { select, ..GetOptions::default() };
        let (partition, row) = (place.partition_key.clone(), place.row_key.clone());
        let found: Versioned<Dynamic> = table.get_with(partition, row, &options).await?;
        if format == Format::Table {
            print_one(&found)?;
        } else {
            let mut printer = Printer::new(format, std::io::stdout().lock());
            printer.page(std::slice::from_ref(&found.value))?;
            printer.end()?;
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// Prints a line for each property, with its type.
fn print_one(found: &Versioned<Dynamic>) -> Result<(), Fault> {
    let row = |name: &str, kind: &str, value: &str| vec![name.to_owned(), kind.to_owned(), shown(value)];
    let entity = &found.value;
    let mut rows = vec![
        row(PARTITION_KEY, "", &entity.partition_key),
        row(ROW_KEY, "", &entity.row_key),
        row(TIMESTAMP, "", found.timestamp.iso().as_str()),
        vec!["ETag".into(), String::new(), found.etag.to_string()],
    ];
    for (name, value) in &entity.props {
        rows.push(row(name, value.kind().name().trim_start_matches("Edm."), &edm::text(value)));
    }
    let mut out = std::io::stdout().lock();
    for line in aligned(&rows) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn entities_of_a_command_line() {
        let entity = given(&words("PartitionKey=a RowKey= Age:=5 Name=Ada")).unwrap();
        assert_eq!((entity.partition_key.as_str(), entity.row_key.as_str()), ("a", ""));
        assert_eq!(entity.get::<i32>("Age").unwrap(), Some(5));
        let json = given(&[r#" {"PartitionKey":"a","RowKey":"b","Age":5}"#.to_owned()]).unwrap();
        assert_eq!(json.get::<i32>("Age").unwrap(), Some(5));
        for bad in [
            "PartitionKey=a",
            "RowKey=a Name=b",
            "PartitionKey=a RowKey=b Timestamp=c",
            "PartitionKey:=1 RowKey=b",
            "PartitionKey=a RowKey=b x",
            "{}",
        ] {
            assert!(given(&words(bad)).is_err(), "{bad}");
        }
    }
}
