//! `lazuli blob`: uploads, downloads, lists, copies, deletes and leases blobs.

mod append;
mod download;
mod files;
pub mod list;
mod pages;
mod parts;
mod path;
mod pool;
mod rehydrate;
mod tags;
mod upload;
mod url;

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use lazuli_model::Service;
use serde_json::Value as Json;

use crate::fault::{EXIT_CODES, Fault, found, usage};
use crate::lease::LeaseCommand;
use crate::output::Format;
use crate::progress::{bytes_text, plural, thousands};
use crate::records::Records;
use crate::storage::{Session, Storage, StorageRequest, escape_path};
use crate::target::{Target, is_url};

pub use files::content_type;
use list::{FIELDS, ListQuery};
use path::BlobPath;
use pool::{Counts, each};

/// Maximum connections of a transfer.
const WORKERS_MAX: i64 = 64;
/// Number of connections for deleting many blobs.
const DELETE_WORKERS: usize = 4;
/// Interval for polling the status of a copy.
const COPY_PERIOD: Duration = Duration::from_millis(200);

/// Upload, download, list, copy, delete and lease blobs.
///
/// Works with Lazuli, Azure and Azurite. A blob is named CONTAINER/NAME; names may contain slashes.
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  lazuli container create files
  lazuli blob upload report.pdf files
  lazuli blob list files
  lazuli blob download files/report.pdf copy.pdf
  lazuli blob url files/report.pdf --permissions r --expires 1h

{EXIT_CODES}"))]
pub struct Blob {
    #[command(subcommand)]
    command: BlobCommand,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Snapshots {
    /// Delete the blob and its snapshots
    Include,
    /// The snapshots alone
    Only,
}

#[derive(Subcommand)]
enum BlobCommand {
    /// Print the blobs of a container
    #[command(after_help = format!("Examples:\n  lazuli blob list files\n  lazuli blob list files/2026/ --delimiter / --output json\n  lazuli blob list files --include snapshots\n\n{EXIT_CODES}"))]
    List {
        /// Container, and a prefix of names
        #[arg(value_name = "CONTAINER[/PREFIX]", value_parser = BlobPath::parse)]
        path: BlobPath,
        /// Print one line for all names that are equal up to this delimiter
        #[arg(long, value_name = "TEXT")]
        delimiter: Option<String>,
        /// Entries to include in the listing: snapshots, versions, deleted, uncommittedblobs, separated by commas
        #[arg(long, value_name = "LIST", value_delimiter = ',')]
        include: Vec<String>,
        /// Output format [default: table on a terminal, jsonl elsewhere]
        #[arg(short, long, value_enum)]
        output: Option<Format>,
        #[command(flatten)]
        target: Target,
    },
    /// Print the properties and metadata of a blob
    #[command(after_help = format!("Examples:\n  lazuli blob show files/report.pdf\n\n{EXIT_CODES}"))]
    Show {
        #[command(flatten)]
        at: At,
    },
    /// Report whether a blob exists: the exit code is 3 if not
    #[command(after_help = format!("Examples:\n  lazuli blob exists files/report.pdf\n\n{EXIT_CODES}"))]
    Exists {
        #[command(flatten)]
        at: At,
    },
    Upload(upload::Upload),
    Append(append::Append),
    Pages(pages::Pages),
    Download(download::Download),
    /// Copy a blob on the server, and wait until it is complete
    #[command(after_help = format!("Examples:\n  lazuli blob copy files/report.pdf archive/report.pdf\n\n{EXIT_CODES}"))]
    Copy {
        /// Blob to copy, or a URL
        #[arg(value_name = "SOURCE")]
        source: String,
        #[command(flatten)]
        at: At,
    },
    /// Delete blobs
    #[command(after_help = format!("Examples:\n  lazuli blob delete files/report.pdf --snapshots include\n  lazuli blob delete files/2025/ --recursive\n\n{EXIT_CODES}"))]
    Delete(Delete),
    /// Create a snapshot, and print its time
    #[command(after_help = format!("Examples:\n  lazuli blob snapshot files/report.pdf\n  lazuli blob download files/report.pdf --snapshot TIME\n\n{EXIT_CODES}"))]
    Snapshot {
        #[command(flatten)]
        at: At,
    },
    /// Acquire, renew, change, release or break the lease of a blob
    #[command(after_help = format!("Examples:\n  lazuli blob lease acquire files/report.pdf --duration 60\n\n{EXIT_CODES}"))]
    Lease {
        #[command(subcommand)]
        command: LeaseCommand<At>,
    },
    Url(url::Url),
    /// Print the tags of a blob, or replace them
    #[command(after_help = format!("Examples:\n  lazuli blob tags files/report.pdf\n  lazuli blob tags files/report.pdf project=blue year=2026\n\n{EXIT_CODES}"))]
    Tags(tags::Tags),
    /// Move a blob to another access tier
    #[command(after_help = format!("Examples:\n  lazuli blob tier files/report.pdf Cool\n\n{EXIT_CODES}"))]
    Tier {
        #[command(flatten)]
        at: At,
        /// Tier: Hot, Cool, Cold or Archive
        tier: String,
    },
    Rehydrate(rehydrate::Rehydrate),
    /// Restore a blob that was deleted, with its snapshots
    #[command(after_help = format!("Examples:\n  lazuli blob undelete files/report.pdf\n\n{EXIT_CODES}"))]
    Undelete {
        #[command(flatten)]
        at: At,
    },
    /// Print the versions of a blob
    #[command(after_help = format!("Examples:\n  lazuli blob versions files/report.pdf\n\n{EXIT_CODES}"))]
    Versions {
        #[command(flatten)]
        at: At,
        /// Output format [default: table on a terminal, jsonl elsewhere]
        #[arg(short, long, value_enum)]
        output: Option<Format>,
    },
}

/// One blob.
#[derive(Args)]
struct At {
    /// Blob
    #[arg(value_name = "CONTAINER/NAME", value_parser = BlobPath::parse_blob)]
    path: BlobPath,
    #[command(flatten)]
    target: Target,
}

#[derive(Args)]
struct Delete {
    /// Blobs, or containers and prefixes with --recursive
    #[arg(value_name = "CONTAINER/NAME", required = true, value_parser = BlobPath::parse)]
    paths: Vec<BlobPath>,
    /// Delete all blobs whose names start with NAME
    #[arg(short, long)]
    recursive: bool,
    /// Succeed if a blob does not exist
    #[arg(long)]
    if_exists: bool,
    /// Delete the snapshots as well, or only the snapshots
    #[arg(long, value_enum)]
    snapshots: Option<Snapshots>,
    /// Id of the blob's lease
    #[arg(long, value_name = "GUID", conflicts_with = "recursive")]
    lease_id: Option<String>,
    /// Print errors only
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    target: Target,
}

impl Blob {
    /// Runs the command.
    pub fn run(self) -> Result<ExitCode, String> {
        match self.command {
            BlobCommand::List { path, delimiter, include, output, target } => {
                let query = ListQuery { path: &path, delimiter: delimiter.as_deref(), include: &include };
                print_list(&target, &query, output, |_| true)
            }
            BlobCommand::Versions { at, output } => {
                let include = ["versions".to_owned()];
                let query = ListQuery { path: &at.path, delimiter: None, include: &include };
                print_list(&at.target, &query, output, |name| name == at.path.name)
            }
            BlobCommand::Show { at } => at.run(|session, call| show(session, &call)),
            BlobCommand::Exists { at } => at.target.storage(Service::Blob, |storage| {
                let exists = storage.session().exists(&StorageRequest::new("HEAD", &at.path.names()))?;
                say!("{exists}");
                Ok(found(exists))
            }),
            BlobCommand::Upload(upload) => upload.run(),
            BlobCommand::Append(append) => append.run(),
            BlobCommand::Pages(pages) => pages.run(),
            BlobCommand::Rehydrate(rehydrate) => rehydrate.run(),
            BlobCommand::Download(download) => download.run(),
            BlobCommand::Copy { source, at } => at.target.storage(Service::Blob, |storage| {
                copy(storage, &source, &at.path)?;
                Ok(ExitCode::SUCCESS)
            }),
            BlobCommand::Delete(delete) => delete.run(),
            BlobCommand::Snapshot { at } => at.run(|session, call| {
                let response =
                    session.send(&StorageRequest { method: "PUT", ..call }.with("comp", "snapshot"))?;
                say!("{}", response.header("x-ms-snapshot").unwrap_or_default());
                Ok(())
            }),
            BlobCommand::Lease { command } => command.at().run(|session, call| {
                command.run(session, StorageRequest { method: "PUT", ..call }.with("comp", "lease"))
            }),
            BlobCommand::Url(url) => url.run(),
            BlobCommand::Tags(tags) => tags.run(),
            BlobCommand::Tier { at, tier } => at.run(|session, call| {
                let call = StorageRequest { method: "PUT", ..call }
                    .with("comp", "tier")
                    .header("x-ms-access-tier", &tier);
                session.send(&call).map(drop)
            }),
            BlobCommand::Undelete { at } => at.run(|session, call| {
                session.send(&StorageRequest { method: "PUT", ..call }.with("comp", "undelete")).map(drop)
            }),
        }
    }
}

impl At {
    /// Runs `work` with a connection, and with a request for the properties of the blob.
    fn run(
        &self,
        work: impl FnOnce(&mut Session<'_>, StorageRequest) -> Result<(), Fault>,
    ) -> Result<ExitCode, String> {
        self.target.storage(Service::Blob, |storage| {
            let mut call = StorageRequest::new("HEAD", &self.path.names());
            call.is_repeatable = false;
            work(&mut storage.session(), call)?;
            Ok(ExitCode::SUCCESS)
        })
    }
}

fn print_list(
    target: &Target,
    query: &ListQuery<'_>,
    output: Option<Format>,
    wanted: impl Fn(&str) -> bool,
) -> Result<ExitCode, String> {
    target.storage(Service::Blob, |storage| {
        let mut records = Records::new(output, FIELDS);
        list::each_page(&mut storage.session(), query, |blobs| {
            let mut rows = Vec::with_capacity(blobs.len());
            for blob in blobs {
                let record = list::record(blob)?;
                if record.first().and_then(Json::as_str).is_some_and(&wanted) {
                    rows.push(record);
                }
            }
            Ok(records.page(&rows)?)
        })?;
        records.end()?;
        Ok(ExitCode::SUCCESS)
    })
}

/// Prints the headers that describe the blob.
fn show(session: &mut Session<'_>, call: &StorageRequest) -> Result<(), Fault> {
    let response = session.send(call)?;
    let about_the_response =
        ["date", "server", "x-ms-request-id", "x-ms-version", "connection", "accept-ranges", "vary"];
    let headers = response.headers().filter(|(name, _)| {
        let name = name.to_ascii_lowercase();
        !about_the_response.contains(&name.as_str()) && !name.starts_with("access-control")
    });
    let pairs: Vec<(String, String)> =
        headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    if Format::or_default(None) == Format::Table {
        let rows: Vec<Vec<String>> = pairs.into_iter().map(|(name, value)| vec![name, value]).collect();
        crate::output::aligned(&rows).iter().for_each(|line| say!("{line}"));
    } else {
        let object: serde_json::Map<String, Json> =
            pairs.into_iter().map(|(name, value)| (name, value.into())).collect();
        say!("{}", Json::Object(object));
    }
    Ok(())
}

/// Copies a blob, and waits for the end of the copy.
fn copy(storage: &Storage, source: &str, to: &BlobPath) -> Result<(), Fault> {
    let source = if is_url(source) {
        source.to_owned()
    } else {
        let path = BlobPath::parse_blob(source)?;
        let signature = storage.signature().map(|token| format!("?{token}")).unwrap_or_default();
        format!("{}/{}/{}{signature}", storage.endpoint(), path.container, escape_path(&path.name))
    };
    let mut session = storage.session();
    let started =
        session.send(&StorageRequest::new("PUT", &to.names()).header("x-ms-copy-source", source))?;
    let mut status = started.header("x-ms-copy-status").unwrap_or_default().to_owned();
    while status == "pending" {
        pause();
        let found = session.send(&StorageRequest::new("HEAD", &to.names()))?;
        status = found.header("x-ms-copy-status").unwrap_or_default().to_owned();
        if status != "pending" && status != "success" {
            let why = found.header("x-ms-copy-status-description").unwrap_or_default();
            return Err(format!("{to}: the copy ended with status {status} {why}")
                .trim_end()
                .to_owned()
                .into());
        }
    }
    Ok(())
}

#[allow(clippy::disallowed_methods, reason = "the protocol has no event for the end of a copy")]
fn pause() {
    std::thread::sleep(COPY_PERIOD);
}

impl Delete {
    fn run(self) -> Result<ExitCode, String> {
        if let Some(path) = self.paths.iter().find(|path| path.name.is_empty() && !self.recursive) {
            return usage(format!(
                "{path} is not the name of a blob; pass --recursive to delete all blobs of the container"
            ));
        }
        self.target.storage(Service::Blob, |storage| {
            let mut count = 0;
            for path in &self.paths {
                count += if self.recursive {
                    self.many(storage, path)?
                } else {
                    self.one(&mut storage.session(), path)?
                };
            }
            if self.recursive && !self.quiet {
                say!("{} {} deleted", thousands(count), plural(count, "blob", "blobs"));
            }
            Ok(ExitCode::SUCCESS)
        })
    }

    fn one(&self, session: &mut Session<'_>, path: &BlobPath) -> Result<u64, Fault> {
        let snapshots = self.snapshots.map(|snapshots| match snapshots {
            Snapshots::Include => "include",
            Snapshots::Only => "only",
        });
        let call =
            StorageRequest::new("DELETE", &path.names()).maybe_header("x-ms-delete-snapshots", snapshots);
        let call = call.maybe_header("x-ms-lease-id", self.lease_id.as_ref());
        // Another client may delete the same blobs at the same time.
        let ignored = if self.if_exists || self.recursive { "BlobNotFound" } else { "" };
        session.send_unless(&call, ignored).map(u64::from)
    }

    fn many(&self, storage: &Storage, path: &BlobPath) -> Result<u64, Fault> {
        let count = std::sync::atomic::AtomicU64::new(0);
        let query = ListQuery { path, delimiter: None, include: &[] };
        list::each_page(&mut storage.session(), &query, |blobs| {
            let names: Result<Vec<String>, String> = blobs.iter().map(list::name).collect();
            each(storage, DELETE_WORKERS, names?.into_iter(), |session, name| {
                let deleted = self.one(session, &path.sibling(name))?;
                count.fetch_add(deleted, std::sync::atomic::Ordering::Relaxed);
                Ok(())
            })
        })?;
        Ok(count.into_inner())
    }
}

/// Prints the result of a transfer, even if it failed half-way.
fn report(verb: &str, counts: Counts, quiet: bool) {
    let Counts { blobs, unchanged, bytes } = counts;
    if quiet || (blobs == 0 && unchanged == 0) {
        return;
    }
    let skipped = match unchanged {
        0 => String::new(),
        count => format!(", {} unchanged", thousands(count)),
    };
    say!("{} {} {verb}, {}{skipped}", thousands(blobs), plural(blobs, "blob", "blobs"), bytes_text(bytes));
}
