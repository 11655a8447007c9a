//! `lazuli query`: entities of a table, by a filter.

use std::process::ExitCode;

use clap::Args;
use lazuli_client::decode::decode_page;
use lazuli_client::{Dynamic, Explain, PageRequest, PageSource as _, TableService, Trail};
use lazuli_model::table::entity::{PARTITION_KEY, ROW_KEY};

use crate::fault::{EXIT_CODES, Fault};
use crate::output::{Format, Printer};
use crate::progress::{plural, thousands};
use crate::target::Target;

/// Number of entities that are read by default.
const DEFAULT_TOP: u64 = 100;
/// Largest page that a service returns.
const PAGE_ENTITIES_MAX: u64 = 1000;
/// Maximum number of plans that are shown. The pages of a query differ only in their ranges.
const PLANS_MAX: usize = 3;

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
  lazuli query people --filter 'Age gt 30' --explain     how much the server reads for it

{EXIT_CODES}"))]
pub struct Query {
    /// The table
    table: String,

    /// Only entities that match this expression, such as: Age gt 30 and Name ne 'Ada'
    #[arg(short, long, value_name = "EXPRESSION")]
    filter: Option<String>,

    /// Properties to return; separate several with commas, or repeat the flag
    #[arg(short, long, value_name = "NAME", value_delimiter = ',')]
    select: Vec<String>,

    /// Maximum number of entities [default: 100]
    #[arg(long, value_name = "COUNT", conflicts_with = "all")]
    top: Option<u64>,

    /// All entities
    #[arg(long)]
    all: bool,

    /// Print to standard error how the server executed the query: the plan, the key ranges, the entities read
    /// and returned
    #[arg(long)]
    explain: bool,

    /// Output format [default: table on a terminal, jsonl elsewhere]
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
                tell!("there are more entities; pass --top COUNT or --all to read them");
            }
            Ok(ExitCode::SUCCESS)
        })
    }

    /// Prints page by page; returns whether there are more entities.
    async fn print(&self, service: &TableService) -> Result<bool, Fault> {
        let table = service.table(&self.table)?;
        let mut printer =
            Printer::new(Format::or_default(self.output), std::io::BufWriter::new(std::io::stdout()));
        let mut left = if self.all { u64::MAX } else { self.top.unwrap_or(DEFAULT_TOP) };
        let mut request = PageRequest::new(table.table_name().clone());
        request.filter.clone_from(&self.filter);
        request.select = with_keys(&self.select);
        request.explain = self.explain;
        let mut cost = Cost::default();
        let mut trail = Trail::default();
        while left > 0 {
            request.top = u32::try_from(left.min(PAGE_ENTITIES_MAX)).ok();
            let page = table.page(request.clone()).await?;
            if self.explain {
                cost.add(page.explain.as_ref());
            }
            let entities: Vec<Dynamic> = decode_page(&page.body)?;
            left = left.saturating_sub(entities.len() as u64);
            printer.page(&entities)?;
            trail.advance(page.continuation.as_ref(), entities.is_empty())?;
            request.continuation = page.continuation;
            if request.continuation.is_none() {
                break;
            }
        }
        printer.end()?;
        if self.explain {
            cost.show();
        }
        Ok(request.continuation.is_some())
    }
}

/// The cost of a query, summed over its pages.
#[derive(Default)]
struct Cost {
    pages: u64,
    plan: Vec<(String, String)>,
    rows_read: u64,
    rows_returned: u64,
    micros: u64,
    is_unknown: bool,
}

impl Cost {
    fn add(&mut self, explain: Option<&Explain>) {
        let Some(explain) = explain else {
            self.is_unknown = true;
            return;
        };
        self.pages += 1;
        let plan = (explain.plan.clone(), explain.ranges.clone());
        if !self.plan.contains(&plan) && self.plan.len() < PLANS_MAX {
            self.plan.push(plan);
        }
        self.rows_read += explain.rows_read;
        self.rows_returned += explain.rows_returned;
        self.micros += explain.plan_us + explain.scan_us + explain.encode_us;
    }

    fn show(&self) {
        if self.is_unknown {
            return tell!("explain: this server does not explain queries, only Lazuli does");
        }
        for (plan, ranges) in &self.plan {
            tell!("explain: plan {plan}, key ranges {ranges}");
        }
        tell!(
            "explain: {} read, {} returned, {} {}, {} ms on the server",
            thousands(self.rows_read),
            thousands(self.rows_returned),
            thousands(self.pages),
            plural(self.pages, "page", "pages"),
            self.micros / 1000
        );
    }
}

/// The properties to request: an empty list means all.
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
