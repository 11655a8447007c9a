//! `lazuli message`: the messages of a queue.

mod export;
mod import;
mod text;

use std::io::BufRead as _;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use lazuli_model::Service;
use lazuli_protocol::xml::write::{document, leaf, nest};
use serde_json::{Value as Json, json};

use crate::fault::{EXIT_CODES, Fault};
use crate::output::Format;
use crate::progress::{plural, thousands};
use crate::records::Records;
use crate::storage::xml::Element;
use crate::storage::{Session, StorageRequest};
use crate::target::Target;

pub use import::text_of_line;
use text::Encoding;

/// Maximum messages that one request returns.
const PAGE_MESSAGES_MAX: u32 = 32;
/// Maximum messages that one request moves.
const MOVE_MESSAGES_MAX: u64 = 1024;
/// The response header with the number of moved messages.
const MOVED_COUNT: &str = "x-lazuli-moved-count";

/// Put, get, change and move the messages of a queue.
///
/// Message texts are sent as they are. Some libraries, such as Azure Functions, expect Base64: --base64 encodes texts that
/// are sent and decodes texts that are received.
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  lazuli message put jobs 'water the plants'
  lazuli message peek jobs
  lazuli message get jobs --count 5 --visibility-timeout 60
  lazuli message move jobs-poison jobs
  lazuli message export jobs > jobs.jsonl

{EXIT_CODES}"))]
pub struct Message {
    #[command(subcommand)]
    command: MessageCommand,
}

#[derive(Subcommand)]
enum MessageCommand {
    /// Add messages at the back of a queue
    #[command(after_help = format!("Examples:\n  lazuli message put jobs 'water the plants' --time-to-live 3600\n  lazuli message put jobs - < work.txt     one message per line\n\n{EXIT_CODES}"))]
    Put(Put),
    /// Dequeue messages: print them and hide them from other clients for a while
    #[command(after_help = format!("Examples:\n  lazuli message get jobs --count 5 --visibility-timeout 60\n\n{EXIT_CODES}"))]
    Get {
        /// Seconds for which other clients do not see the messages
        #[arg(long, value_name = "SECONDS", default_value_t = 30)]
        visibility_timeout: u32,
        #[command(flatten)]
        read: Read,
    },
    /// Print messages without changing them
    #[command(after_help = format!("Examples:\n  lazuli message peek jobs --count 32\n\n{EXIT_CODES}"))]
    Peek(Read),
    /// Change the text of a dequeued message, or hide it for longer
    #[command(after_help = format!("Examples:\n  lazuli message update jobs ID RECEIPT --visibility-timeout 60\n\n{EXIT_CODES}"))]
    Update(Update),
    /// Delete a dequeued message
    #[command(after_help = format!("Examples:\n  lazuli message delete jobs ID RECEIPT\n\n{EXIT_CODES}"))]
    Delete {
        #[command(flatten)]
        held: Held,
        #[command(flatten)]
        target: Target,
    },
    /// Delete all messages of a queue
    #[command(after_help = format!("Examples:\n  lazuli message clear jobs\n\n{EXIT_CODES}"))]
    Clear {
        /// Queue
        queue: String,
        #[command(flatten)]
        target: Target,
    },
    /// Move visible messages to the back of another queue
    ///
    /// Use it for messages in a poison queue. Each message is moved exactly once, even if the command or the
    /// server is killed in between. Ids, texts and expiry times stay; the dequeue count restarts at 0. Only
    /// Lazuli can move messages; other servers reject the request.
    #[command(after_help = format!("Examples:\n  lazuli message move jobs-poison jobs\n  lazuli message move jobs-poison jobs --max 10\n\n{EXIT_CODES}"))]
    Move {
        /// Source queue
        from: String,
        /// Destination queue
        to: String,
        /// Maximum number of messages [default: all visible messages]
        #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
        max: Option<u64>,
        #[command(flatten)]
        target: Target,
    },
    Export(export::Export),
    Import(import::Import),
}

#[derive(Args)]
struct Put {
    /// Queue
    queue: String,
    /// Texts, or - for one message per line of standard input
    #[arg(value_name = "TEXT", required = true)]
    texts: Vec<String>,
    /// Seconds until the messages expire; -1 means never [default: 7 days]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    time_to_live: Option<i64>,
    /// Seconds until the messages become visible
    #[arg(long, value_name = "SECONDS")]
    visibility_timeout: Option<u32>,
    #[command(flatten)]
    encoding: Encoding,
    /// Output format [default: nothing on a terminal, jsonl elsewhere]
    #[arg(short, long, value_enum)]
    output: Option<Format>,
    #[command(flatten)]
    target: Target,
}

#[derive(Args)]
struct Read {
    /// Queue
    queue: String,
    /// Maximum number of messages (at most 32)
    #[arg(long, visible_alias = "num-messages", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(PAGE_MESSAGES_MAX)))]
    count: u32,
    #[command(flatten)]
    encoding: Encoding,
    /// Output format [default: table on a terminal, jsonl elsewhere]
    #[arg(short, long, value_enum)]
    output: Option<Format>,
    #[command(flatten)]
    target: Target,
}

/// A message that a client has dequeued.
#[derive(Args)]
struct Held {
    /// Queue
    queue: String,
    /// Id of the message, as printed by get
    id: String,
    /// Pop receipt, as printed by get
    #[arg(value_name = "RECEIPT")]
    pop_receipt: String,
}

#[derive(Args)]
struct Update {
    #[command(flatten)]
    held: Held,
    /// New text [default: the text stays]
    #[arg(long, visible_alias = "content", value_name = "TEXT")]
    text: Option<String>,
    /// Seconds for which the message stays invisible from now on
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    visibility_timeout: u32,
    #[command(flatten)]
    encoding: Encoding,
    #[command(flatten)]
    target: Target,
}

impl Message {
    /// Runs the command.
    pub fn run(self) -> Result<ExitCode, String> {
        match self.command {
            MessageCommand::Put(put) => put.run(),
            MessageCommand::Get { visibility_timeout, read } => read.run(Some(visibility_timeout)),
            MessageCommand::Peek(read) => read.run(None),
            MessageCommand::Update(update) => update.run(),
            MessageCommand::Delete { held, target } => target.storage(Service::Queue, |storage| {
                storage.session().send(&held.call("DELETE"))?;
                Ok(ExitCode::SUCCESS)
            }),
            MessageCommand::Clear { queue, target } => target.storage(Service::Queue, |storage| {
                storage.session().send(&StorageRequest::new("DELETE", &[&queue, "messages"]))?;
                Ok(ExitCode::SUCCESS)
            }),
            MessageCommand::Move { from, to, max, target } => {
                target.storage(Service::Queue, |storage| move_all(&mut storage.session(), &from, &to, max))
            }
            MessageCommand::Export(export) => export.run(),
            MessageCommand::Import(import) => import.run(),
        }
    }
}

impl Put {
    fn run(self) -> Result<ExitCode, String> {
        self.target.storage(Service::Queue, |storage| {
            let mut session = storage.session();
            let mut records = Records::new(self.output, &["MessageId", "PopReceipt", "ExpirationTime"]);
            let is_quiet = self.output.is_none() && Format::or_default(None) == Format::Table;
            let mut put = |text: &str| -> Result<(), Fault> {
                let call = put_call(&self.queue, &self.encoding.encode(text));
                let call = call.maybe("messagettl", self.time_to_live);
                let list = session.document(&call.maybe("visibilitytimeout", self.visibility_timeout))?;
                let message = list.child("QueueMessage").unwrap_or(&list);
                let fields = ["MessageId", "PopReceipt", "ExpirationTime"];
                let record = fields.map(|name| Json::from(message.text_of(name))).to_vec();
                if is_quiet { Ok(()) } else { Ok(records.page(&[record])?) }
            };
            if self.texts == ["-"] {
                for line in std::io::stdin().lock().lines() {
                    put(&line?)?;
                }
            } else {
                for text in &self.texts {
                    put(text)?;
                }
            }
            records.end()?;
            Ok(ExitCode::SUCCESS)
        })
    }
}

/// The request that adds a message.
pub fn put_call(queue: &str, text: &str) -> StorageRequest {
    let call = StorageRequest::new("POST", &[queue, "messages"]).header("Content-Type", "application/xml");
    call.body(message_document(text))
}

fn message_document(text: &str) -> Vec<u8> {
    document(|out| nest(out, "QueueMessage", |out| leaf(out, "MessageText", text)))
}

impl Read {
    fn run(self, visibility_timeout: Option<u32>) -> Result<ExitCode, String> {
        self.target.storage(Service::Queue, |storage| {
            let call =
                StorageRequest::new("GET", &[&self.queue, "messages"]).with("numofmessages", self.count);
            let mut call = match visibility_timeout {
                Some(seconds) => call.with("visibilitytimeout", seconds),
                None => call.with("peekonly", "true"),
            };
            // If it were sent again, it would hide more messages than it returns.
            call.is_repeatable = visibility_timeout.is_none();
            let list = storage.session().document(&call)?;
            let mut records = Records::new(
                self.output,
                &[
                    "MessageId",
                    "PopReceipt",
                    "InsertionTime",
                    "ExpirationTime",
                    "TimeNextVisible",
                    "DequeueCount",
                    "MessageText",
                ],
            );
            let rows: Result<Vec<_>, Fault> =
                list.children.iter().map(|message| Ok(record(message, &self.encoding)?)).collect();
            records.page(&rows?)?;
            records.end()?;
            Ok(ExitCode::SUCCESS)
        })
    }
}

fn record(message: &Element, encoding: &Encoding) -> Result<Vec<Json>, String> {
    let mut values: Vec<Json> =
        ["MessageId", "PopReceipt", "InsertionTime", "ExpirationTime", "TimeNextVisible"]
            .map(|name| crate::records::text(message.text_of(name)))
            .to_vec();
    values.push(crate::records::number(message.text_of("DequeueCount")));
    values.push(json!(encoding.decode(message.text_of("MessageText"))?));
    Ok(values)
}

impl Held {
    fn call(&self, method: &'static str) -> StorageRequest {
        StorageRequest::new(method, &[&self.queue, "messages", &self.id])
            .with("popreceipt", &self.pop_receipt)
    }
}

impl Update {
    fn run(self) -> Result<ExitCode, String> {
        self.target.storage(Service::Queue, |storage| {
            let mut call = self.held.call("PUT").with("visibilitytimeout", self.visibility_timeout);
            if let Some(text) = &self.text {
                call = call.header("Content-Type", "application/xml");
                call = call.body(message_document(&self.encoding.encode(text)));
            }
            let response = storage.session().send(&call)?;
            let header = |name: &str| response.header(name).unwrap_or_default().to_owned();
            let record = vec![header("x-ms-popreceipt").into(), header("x-ms-time-next-visible").into()];
            let mut records = Records::new(None, &["PopReceipt", "TimeNextVisible"]);
            records.page(&[record])?;
            records.end()?;
            Ok(ExitCode::SUCCESS)
        })
    }
}

/// Moves messages in requests of a bounded number each.
fn move_all(session: &mut Session<'_>, from: &str, to: &str, max: Option<u64>) -> Result<ExitCode, Fault> {
    let mut moved = 0;
    let report = |moved: u64| say!("{} {} moved", thousands(moved), plural(moved, "message", "messages"));
    loop {
        let count = max.map_or(MOVE_MESSAGES_MAX, |max| (max - moved).min(MOVE_MESSAGES_MAX));
        if count == 0 {
            break;
        }
        let call = StorageRequest::new("PUT", &[from, "messages"]).with("comp", "move").with("to", to);
        let response = match session.send(&call.with("numofmessages", count)) {
            Ok(response) => response,
            Err(fault) => {
                if moved > 0 {
                    report(moved);
                }
                return Err(explained(fault));
            }
        };
        let step: u64 = response.header(MOVED_COUNT).and_then(|text| text.parse().ok()).unwrap_or_default();
        moved += step;
        if step < count {
            break;
        }
    }
    report(moved);
    Ok(ExitCode::SUCCESS)
}

/// Other servers do not support the operation.
fn explained(fault: Fault) -> Fault {
    match fault.rejected() {
        Some(error) if error.status == 405 || error.code == "UnsupportedHttpVerb" => {
            Fault::Message(format!("this server cannot move messages; only Lazuli servers can: {error}"))
        }
        _ => fault,
    }
}
