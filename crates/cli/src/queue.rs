//! `lazuli queue`: lists, creates and deletes queues, and counts their messages.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use lazuli_model::Service;

use crate::fault::{EXIT_CODES, Fault, found};
use crate::output::Format;
use crate::records::{Records, number};
use crate::storage::xml::Element;
use crate::storage::{Session, StorageRequest, parse_pair};
use crate::target::Target;

/// Number of queues whose message counts are printed together.
const STATS_PAGE: usize = 100;

/// List, create and delete queues, and count their messages.
///
/// Works with Lazuli, Azure and Azurite. For messages, see lazuli message.
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  lazuli queue create jobs
  lazuli queue list
  lazuli queue stats jobs
  lazuli queue exists jobs && lazuli queue delete jobs

{EXIT_CODES}"))]
pub struct Queue {
    #[command(subcommand)]
    command: QueueCommand,
}

#[derive(Subcommand)]
enum QueueCommand {
    /// Print the names of all queues, with their metadata
    #[command(after_help = format!("Examples:\n  lazuli queue list\n  lazuli queue list --prefix jo --output json\n\n{EXIT_CODES}"))]
    List {
        /// Print only queues whose names start with this
        #[arg(long, value_name = "TEXT")]
        prefix: Option<String>,
        /// Output format [default: table on a terminal, jsonl elsewhere]
        #[arg(short, long, value_enum)]
        output: Option<Format>,
        #[command(flatten)]
        target: Target,
    },
    /// Create a queue
    #[command(after_help = format!("Examples:\n  lazuli queue create jobs --if-missing --metadata owner=ada\n\n{EXIT_CODES}"))]
    Create {
        /// Name: lower-case letters, digits and hyphens
        name: String,
        /// Succeed if it already exists
        #[arg(long)]
        if_missing: bool,
        /// Metadata; may be repeated
        #[arg(long, value_name = "NAME=VALUE", value_parser = parse_pair)]
        metadata: Vec<(String, String)>,
        #[command(flatten)]
        target: Target,
    },
    /// Delete a queue with all its messages
    #[command(after_help = format!("Examples:\n  lazuli queue delete jobs\n  lazuli queue delete jobs --if-exists\n\n{EXIT_CODES}"))]
    Delete {
        /// Name
        name: String,
        /// Succeed if it does not exist
        #[arg(long)]
        if_exists: bool,
        #[command(flatten)]
        target: Target,
    },
    /// Report whether a queue exists: the exit code is 3 if not
    #[command(after_help = format!("Examples:\n  lazuli queue exists jobs\n\n{EXIT_CODES}"))]
    Exists {
        /// Name
        name: String,
        #[command(flatten)]
        target: Target,
    },
    /// Count the messages of queues, visible or not
    #[command(after_help = format!("Examples:\n  lazuli queue stats\n  lazuli queue stats jobs jobs-poison\n\n{EXIT_CODES}"))]
    Stats {
        /// Names [default: all queues]
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// Output format [default: table on a terminal, jsonl elsewhere]
        #[arg(short, long, value_enum)]
        output: Option<Format>,
        #[command(flatten)]
        target: Target,
    },
}

impl Queue {
    /// Runs the command.
    pub fn run(self) -> Result<ExitCode, String> {
        match self.command {
            QueueCommand::List { prefix, output, target } => target.storage(Service::Queue, |storage| {
                let mut records = Records::new(output, &["Name", "Metadata"]);
                each_page(&mut storage.session(), prefix.as_deref(), |queues| {
                    let rows: Vec<_> = queues
                        .iter()
                        .map(|queue| vec![queue.text_of("Name").into(), queue.metadata()])
                        .collect();
                    Ok(records.page(&rows)?)
                })?;
                records.end()?;
                Ok(ExitCode::SUCCESS)
            }),
            QueueCommand::Create { name, if_missing, metadata, target } => {
                target.or_new().storage(Service::Queue, |storage| {
                    let call = StorageRequest::new("PUT", &[&name]).metadata(&metadata);
                    create(&mut storage.session(), &call, if_missing)?;
                    Ok(ExitCode::SUCCESS)
                })
            }
            QueueCommand::Delete { name, if_exists, target } => target.storage(Service::Queue, |storage| {
                let call = StorageRequest::new("DELETE", &[&name]);
                let ignored = if if_exists { "QueueNotFound" } else { "" };
                storage.session().send_unless(&call, ignored)?;
                Ok(ExitCode::SUCCESS)
            }),
            QueueCommand::Exists { name, target } => target.storage(Service::Queue, |storage| {
                let exists = storage.session().exists(&properties(&name))?;
                say!("{exists}");
                Ok(found(exists))
            }),
            QueueCommand::Stats { names, output, target } => {
                target.storage(Service::Queue, |storage| stats(&mut storage.session(), names, output))
            }
        }
    }
}

/// The request for the metadata and the message count of a queue.
pub fn properties(name: &str) -> StorageRequest {
    StorageRequest::new("HEAD", &[name]).with("comp", "metadata")
}

/// The number of messages in a queue, visible or not.
pub fn message_count(session: &mut Session<'_>, name: &str) -> Result<u64, Fault> {
    let response = session.send(&properties(name))?;
    let count = response.header("x-ms-approximate-messages-count").and_then(|text| text.parse().ok());
    count.ok_or_else(|| Fault::Message("the response has no message count".into()))
}

/// Creates a queue. If it exists with the same metadata, nothing is changed, and the server responds with
/// status 204.
fn create(session: &mut Session<'_>, call: &StorageRequest, if_missing: bool) -> Result<(), Fault> {
    match session.send(call) {
        Ok(response) if response.status == 204 && !if_missing => {
            Err(Fault::Rejected(crate::fault::Rejected {
                status: 409,
                code: "QueueAlreadyExists".into(),
                message: "The specified queue already exists.".into(),
                request_id: response.header("x-ms-request-id").unwrap_or_default().into(),
            }))
        }
        Err(Fault::Rejected(error)) if if_missing && error.code == "QueueAlreadyExists" => Ok(()),
        done => done.map(drop),
    }
}

fn stats(
    session: &mut Session<'_>,
    mut names: Vec<String>,
    output: Option<Format>,
) -> Result<ExitCode, Fault> {
    if names.is_empty() {
        each_page(session, None, |queues| {
            names.extend(queues.iter().map(|queue| queue.text_of("Name").to_owned()));
            Ok(())
        })?;
    }
    let mut records = Records::new(output, &["Name", "Messages"]);
    // The columns of a table are aligned within a page.
    for names in names.chunks(STATS_PAGE) {
        let mut rows = Vec::new();
        for name in names {
            rows.push(vec![name.as_str().into(), number(&message_count(session, name)?.to_string())]);
        }
        records.page(&rows)?;
    }
    records.end()?;
    Ok(ExitCode::SUCCESS)
}

/// Calls `take` with each page of queues.
pub fn each_page(
    session: &mut Session<'_>,
    prefix: Option<&str>,
    mut take: impl FnMut(&[Element]) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut marker = None;
    loop {
        let call = StorageRequest::new("GET", &[""]).with("comp", "list").with("include", "metadata");
        let page = session.document(&call.maybe("prefix", prefix).maybe("marker", marker.as_ref()))?;
        take(page.child("Queues").map(|queues| queues.children.as_slice()).unwrap_or_default())?;
        let next = page.text_of("NextMarker");
        if next.is_empty() {
            return Ok(());
        }
        marker = Some(next.to_owned());
    }
}
