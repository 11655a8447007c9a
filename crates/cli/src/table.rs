//! `lazuli table`: lists, creates and deletes tables.

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;

use crate::fault::{EXIT_CODES, found};
use crate::output::Format;
use crate::target::Target;

/// List, create and delete tables.
///
/// Works with Lazuli, Azure and Azurite. For entities, see lazuli entity.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli table create animals
  lazuli table list
  lazuli table exists animals && lazuli table delete animals")]
pub struct Table {
    #[command(subcommand)]
    command: TableCommand,
}

#[derive(Subcommand)]
enum TableCommand {
    /// Print the names of all tables
    #[command(after_help = format!("Examples:\n  lazuli table list\n  lazuli table list --prefix pe --output json\n\n{EXIT_CODES}"))]
    List {
        /// Print only tables whose names start with this
        #[arg(long, value_name = "TEXT")]
        prefix: Option<String>,
        /// Output format [default: table on a terminal, jsonl elsewhere]
        #[arg(short, long, value_enum)]
        output: Option<Format>,
        #[command(flatten)]
        target: Target,
    },
    /// Create a table
    #[command(after_help = format!("Examples:\n  lazuli table create animals\n  lazuli table create animals --if-missing\n\n{EXIT_CODES}"))]
    Create {
        /// Name
        name: String,
        /// Succeed if it already exists
        #[arg(long)]
        if_missing: bool,
        #[command(flatten)]
        target: Target,
    },
    /// Delete a table with all its entities
    #[command(after_help = format!("Examples:\n  lazuli table delete people\n  lazuli table delete people --if-exists\n\n{EXIT_CODES}"))]
    Delete {
        /// Name
        name: String,
        /// Succeed if it does not exist
        #[arg(long)]
        if_exists: bool,
        #[command(flatten)]
        target: Target,
    },
    /// Report whether a table exists: the exit code is 3 if not
    #[command(after_help = format!("Examples:\n  lazuli table exists people\n\n{EXIT_CODES}"))]
    Exists {
        /// Name
        name: String,
        #[command(flatten)]
        target: Target,
    },
}

impl Table {
    /// Runs the command.
    pub fn run(self) -> Result<ExitCode, String> {
        match self.command {
            TableCommand::List { prefix, output, target } => target.run(async |service| {
                let names = match &prefix {
                    Some(prefix) => service.table_names_with_prefix(prefix).await?,
                    None => service.table_names().await?,
                };
                print(&names, Format::or_default(output))?;
                Ok(ExitCode::SUCCESS)
            }),
            TableCommand::Create { name, if_missing, target } => target.run(async |service| {
                let table = service.table(&name)?;
                if if_missing {
                    table.create_if_missing().await?;
                } else {
                    table.create().await?;
                }
                Ok(ExitCode::SUCCESS)
            }),
            TableCommand::Delete { name, if_exists, target } => target.run(async |service| {
                let table = service.table(&name)?;
                if if_exists {
                    table.delete_if_exists().await?;
                } else {
                    table.delete().await?;
                }
                Ok(ExitCode::SUCCESS)
            }),
            TableCommand::Exists { name, target } => target.run(async |service| {
                let exists = service.table(&name)?.exists().await?;
                say!("{exists}");
                Ok(found(exists))
            }),
        }
    }
}

fn print(names: &[String], format: Format) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    match format {
        Format::Table => names.iter().try_for_each(|name| writeln!(out, "{name}")),
        Format::Json => writeln!(out, "{}", json!(names)),
        Format::Jsonl => names.iter().try_for_each(|name| writeln!(out, "{}", json!({ "TableName": name }))),
        Format::Csv => {
            writeln!(out, "TableName")?;
            names.iter().try_for_each(|name| writeln!(out, "{name}"))
        }
    }
}
