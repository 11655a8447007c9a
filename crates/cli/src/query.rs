//! `lazuli query`: entities of a table, by a filter.

use std::process::ExitCode;

use clap::Args;
use lazuli_client::decode::decode_page;
use lazuli_client::{Dynamic, PageRequest, PageSource as _, TableService, Trail};
use lazuli_model::entity::{PARTITION_KEY, ROW_KEY};

use crate::output::{Format, Printer};
use crate::target::{EXIT_CODES, Fault, Target};

/// What is read if nobody says how much.
const DEFAULT_TOP: u64 = 100;
/// The largest page that a service gives.
const PAGE_ENTITIES_MAX: u64 = 1000;

/// Read entities of a table.
///
/// The filter is the $filter of the protocol. Keys are always printed.
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  lazuli query people
  lazuli query people --filter \"PartitionKey eq 'a' and Age gt 30\" --select Name,Age
  lazuli query people --all --output jsonl > people.jsonl
  lazuli query people --top 5 --output csv

{EXIT_CODES}"))]
pub struct Query {
    /// The table
    table: String,

    /// Only entities for which this holds, such as: Age gt 30 and Name ne 'Ada'
    #[arg(short, long, value_name = "EXPRESSION")]
    filter: Option<String>,

    /// Only these properties; several with commas, or repeated
    #[arg(short, long, value_name = "NAME", value_delimiter = ',')]
    select: Vec<String>,

    /// At most so many entities [default: 100]
    #[arg(long, value_name = "COUNT", conflicts_with = "all")]
    top: Option<u64>,

    /// All entities
    #[arg(long)]
    all: bool,

    /// How to print them [default: table on a terminal, jsonl elsewhere]
    #[arg(short, long, value_enum)]
    output: Option<Format>,

    #[command(flatten)]
    target: Target,
}

impl Query {
    /// Reads and prints.
    pub fn run(self) -> Result<ExitCode, String> {
        self.target.run(async |service| {
            let has_more = self.print(service).await?;
            if has_more && self.top.is_none() {
                tell!("there are more; --top COUNT or --all reads them");
            }
            Ok(ExitCode::SUCCESS)
        })
    }

    /// Prints page by page; tells whether there is more.
    async fn print(&self, service: &TableService) -> Result<bool, Fault> {
        let table = service.table(&self.table)?;
        let mut printer =
            Printer::new(Format::or_default(self.output), std::io::BufWriter::new(std::io::stdout()));
        let mut left = if self.all { u64::MAX } else { self.top.unwrap_or(DEFAULT_TOP) };
        let mut request = PageRequest::new(table.table_name().clone());
        request.filter.clone_from(&self.filter);
        request.select = with_keys(&self.select);
        let mut trail = Trail::default();
        while left > 0 {
            request.top = u32::try_from(left.min(PAGE_ENTITIES_MAX)).ok();
            let page = table.page(request.clone()).await?;
            let entities: Vec<Dynamic> = decode_page(&page.body)?;
            left = left.saturating_sub(entities.len() as u64);
            printer.page(&entities)?;
            trail.go_on(page.continuation.as_ref(), entities.is_empty())?;
            request.continuation = page.continuation;
            if request.continuation.is_none() {
                break;
            }
        }
        printer.end()?;
        Ok(request.continuation.is_some())
    }
}

/// What to ask for: nothing is everything.
pub fn with_keys(select: &[String]) -> Vec<String> {
    if select.is_empty() {
        return Vec::new();
    }
    let mut names = vec![PARTITION_KEY.to_owned(), ROW_KEY.to_owned()];
    for name in select.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}
