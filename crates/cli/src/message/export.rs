//! `lazuli message export`: the visible messages of a queue as JSON Lines.
//!
//! The protocol shows only the front of a queue, so an export dequeues the messages. After writing all of them,
//! it makes them visible again, in their order, or deletes them. The receipts needed for this are kept in a
//! temporary file, so that a long queue does not fill the memory.

use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Seek as _, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use lazuli_model::Service;
use serde_json::{Value as Json, json};

use super::PAGE_MESSAGES_MAX;
use super::text::Encoding;
use crate::fault::{EXIT_CODES, Fault};
use crate::progress::{Progress, plural, thousands};
use crate::queue::message_count;
use crate::storage::xml::Element;
use crate::storage::{Session, StorageRequest};
use crate::target::Target;

/// Write the visible messages of a queue as JSON Lines
///
/// The messages are dequeued while the export runs and become visible again, in the same order, at its end; their dequeue
/// count increases by one. If the export is killed, they become visible when the visibility timeout is over. Messages that
/// other clients hold are not exported.
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  lazuli message export jobs > jobs.jsonl
  lazuli message export jobs --file taken.jsonl --delete

{EXIT_CODES}"))]
pub struct Export {
    /// Queue
    queue: String,

    /// Write to this file, which must not exist [default: standard output]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Delete the messages once they are written
    #[arg(long)]
    delete: bool,

    /// Seconds after which the messages become visible if the export is killed; the export must finish within
    /// this time
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    visibility_timeout: u32,

    #[command(flatten)]
    encoding: Encoding,

    /// Print errors only
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    target: Target,
}

impl Export {
    /// Runs the command.
    pub fn run(self) -> Result<ExitCode, String> {
        self.target.storage(Service::Queue, |storage| {
            let mut session = storage.session();
            let mut receipts = BufWriter::new(tempfile::tempfile()?);
            let written = match &self.file {
                Some(path) => {
                    let file = File::create_new(path)
                        .map_err(|error| Fault::Message(format!("{}: {error}", path.display())))?;
                    let mut out = BufWriter::new(file);
                    let written = self.write(&mut session, &mut out, &mut receipts);
                    out.flush().and_then(|()| out.get_ref().sync_all()).map_err(Fault::from).and(written)
                }
                None => self.write(&mut session, &mut std::io::stdout().lock(), &mut receipts),
            };
            // Also after an error: other clients are waiting for the messages.
            let deletes = self.delete && written.is_ok();
            let released = self.release(&mut session, receipts, deletes);
            let count = written?;
            released?;
            self.report(&mut session, count)?;
            Ok(ExitCode::SUCCESS)
        })
    }

    fn write(
        &self,
        session: &mut Session<'_>,
        out: &mut impl Write,
        receipts: &mut impl Write,
    ) -> Result<u64, Fault> {
        let mut progress = Progress::start("export", "messages", self.quiet);
        let (mut count, mut bytes) = (0, 0);
        let mut call = StorageRequest::new("GET", &[&self.queue, "messages"])
            .with("numofmessages", PAGE_MESSAGES_MAX)
            .with("visibilitytimeout", self.visibility_timeout);
        call.is_repeatable = false;
        loop {
            let list = session.document(&call)?;
            for message in &list.children {
                writeln!(receipts, "{} {}", message.text_of("MessageId"), message.text_of("PopReceipt"))?;
            }
            for message in &list.children {
                let line = format!("{}\n", line(message, &self.encoding)?);
                out.write_all(line.as_bytes())?;
                count += 1;
                bytes += line.len() as u64;
            }
            progress.reach(count, bytes, None);
            if list.children.is_empty() {
                out.flush()?;
                let _ = progress.finish();
                return Ok(count);
            }
        }
    }

    /// Deletes the messages, or makes them visible.
    fn release(
        &self,
        session: &mut Session<'_>,
        receipts: BufWriter<File>,
        deletes: bool,
    ) -> Result<(), Fault> {
        let mut file = receipts.into_inner().map_err(|error| Fault::Message(error.to_string()))?;
        file.rewind()?;
        let (method, what) = if deletes { ("DELETE", "delete") } else { ("PUT", "release") };
        let mut progress = Progress::start(what, "messages", self.quiet);
        for (done, line) in BufReader::new(file).lines().enumerate() {
            let line = line?;
            let Some((id, receipt)) = line.split_once(' ') else { continue };
            let mut call =
                StorageRequest::new(method, &[&self.queue, "messages", id]).with("popreceipt", receipt);
            if !deletes {
                call = call.with("visibilitytimeout", 0);
            }
            // A message that has expired in the meantime needs neither.
            session.send_unless(&call, "MessageNotFound")?;
            progress.reach(done as u64 + 1, 0, None);
        }
        let _ = progress.finish();
        Ok(())
    }

    fn report(&self, session: &mut Session<'_>, count: u64) -> Result<(), Fault> {
        if self.quiet {
            return Ok(());
        }
        let noun = |count| plural(count, "message", "messages");
        tell!("{}: {} {} exported", self.queue, thousands(count), noun(count));
        let all = message_count(session, &self.queue)?;
        let hidden = if self.delete { all } else { all.saturating_sub(count) };
        if hidden > 0 {
            let noun = noun(hidden);
            tell!(
                "{}: {} {noun} not exported: invisible, or added during the export",
                self.queue,
                thousands(hidden)
            );
        }
        Ok(())
    }
}

fn line(message: &Element, encoding: &Encoding) -> Result<Json, String> {
    let text = |name: &str| Json::from(message.text_of(name));
    Ok(json!({
        "MessageId": text("MessageId"),
        "InsertionTime": text("InsertionTime"),
        "ExpirationTime": text("ExpirationTime"),
        "DequeueCount": crate::records::number(message.text_of("DequeueCount")),
        "MessageText": encoding.decode(message.text_of("MessageText"))?,
    }))
}
