//! `lazuli blob pages`: the ranges of a page blob that were written.

use std::process::ExitCode;

use clap::Args;
use lazuli_model::Service;
use serde_json::Value as Json;

use super::path::BlobPath;
use crate::fault::EXIT_CODES;
use crate::output::Format;
use crate::records::Records;
use crate::storage::StorageRequest;
use crate::target::Target;

const FIELDS: &[&str] = &["Start", "End", "Cleared"];
/// Ranges of one response.
const RANGES_MAX: u32 = 5000;

/// Print the ranges of a page blob that were written
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  lazuli blob pages files/disk.vhd
  lazuli blob pages files/disk.vhd --since TIME      the changes since that snapshot

{EXIT_CODES}"))]
pub struct Pages {
    /// Page blob
    #[arg(value_name = "CONTAINER/NAME", value_parser = BlobPath::parse_blob)]
    path: BlobPath,

    /// Of this snapshot
    #[arg(long, value_name = "TIME")]
    snapshot: Option<String>,

    /// Print only ranges that have changed since this snapshot
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Output format [default: table on a terminal, jsonl elsewhere]
    #[arg(short, long, value_enum)]
    output: Option<Format>,

    #[command(flatten)]
    target: Target,
}

impl Pages {
    /// Runs the command.
    pub fn run(self) -> Result<ExitCode, String> {
        self.target.storage(Service::Blob, |storage| {
            let mut session = storage.session();
            let mut records = Records::new(self.output, FIELDS);
            let mut marker = None::<String>;
            loop {
                let call = StorageRequest::new("GET", &self.path.names()).with("comp", "pagelist");
                let call = call.maybe("snapshot", self.snapshot.as_ref());
                let call = call.maybe("prevsnapshot", self.since.as_ref());
                let call = call.with("maxresults", RANGES_MAX).maybe("marker", marker.as_ref());
                let list = session.document(&call)?;
                let rows: Vec<Vec<Json>> = list
                    .children
                    .iter()
                    .filter(|range| matches!(range.name.as_str(), "PageRange" | "ClearRange"))
                    .map(|range| {
                        let number = |name| range.text_of(name).parse::<u64>().unwrap_or_default().into();
                        vec![number("Start"), number("End"), (range.name == "ClearRange").into()]
                    })
                    .collect();
                records.page(&rows)?;
                marker = Some(list.text_of("NextMarker").to_owned()).filter(|next| !next.is_empty());
                if marker.is_none() {
                    break;
                }
            }
            records.end()?;
            Ok(ExitCode::SUCCESS)
        })
    }
}
