//! `lazuli container`: lists, creates, deletes and leases containers.

use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use lazuli_model::Service;
use serde_json::Value as Json;

use crate::fault::{EXIT_CODES, found};
use crate::lease::LeaseCommand;
use crate::output::Format;
use crate::records::{Records, text};
use crate::storage::{StorageRequest, parse_pair};
use crate::target::Target;

const FIELDS: &[&str] = &["Name", "LastModified", "ETag", "PublicAccess", "LeaseState", "Metadata"];

/// List, create, delete and lease containers.
///
/// Works with Lazuli, Azure and Azurite. For blobs, see lazuli blob.
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  lazuli container create files
  lazuli container create site --public-access blob
  lazuli container list
  lazuli container exists files && lazuli container delete files

{EXIT_CODES}"))]
pub struct Container {
    #[command(subcommand)]
    command: ContainerCommand,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PublicAccess {
    /// Everyone may read blobs whose names they know
    Blob,
    /// Everyone may list and read blobs
    Container,
}

#[derive(Subcommand)]
enum ContainerCommand {
    /// Print all containers
    #[command(after_help = format!("Examples:\n  lazuli container list --prefix fi --output json\n\n{EXIT_CODES}"))]
    List {
        /// Print only containers whose names start with this
        #[arg(long, value_name = "TEXT")]
        prefix: Option<String>,
        /// Output format [default: table on a terminal, jsonl elsewhere]
        #[arg(short, long, value_enum)]
        output: Option<Format>,
        #[command(flatten)]
        target: Target,
    },
    /// Create a container
    #[command(after_help = format!("Examples:\n  lazuli container create files --if-missing --metadata owner=ada\n\n{EXIT_CODES}"))]
    Create {
        /// Name: lower-case letters, digits and hyphens
        name: String,
        /// Let everyone read without a signature
        #[arg(long, value_enum)]
        public_access: Option<PublicAccess>,
        /// Succeed if it already exists
        #[arg(long)]
        if_missing: bool,
        /// Metadata; may be repeated
        #[arg(long, value_name = "NAME=VALUE", value_parser = parse_pair)]
        metadata: Vec<(String, String)>,
        #[command(flatten)]
        target: Target,
    },
    /// Delete a container with all its blobs
    #[command(after_help = format!("Examples:\n  lazuli container delete files\n  lazuli container delete files --if-exists\n\n{EXIT_CODES}"))]
    Delete {
        /// Name
        name: String,
        /// Succeed if it does not exist
        #[arg(long)]
        if_exists: bool,
        /// Id of the container's lease
        #[arg(long, value_name = "GUID")]
        lease_id: Option<String>,
        #[command(flatten)]
        target: Target,
    },
    /// Report whether a container exists: the exit code is 3 if not
    #[command(after_help = format!("Examples:\n  lazuli container exists files\n\n{EXIT_CODES}"))]
    Exists {
        /// Name
        name: String,
        #[command(flatten)]
        target: Target,
    },
    /// Acquire, renew, change, release or break the lease of a container
    #[command(after_help = format!("Examples:\n  lazuli container lease acquire files --duration 60\n\n{EXIT_CODES}"))]
    Lease {
        #[command(subcommand)]
        command: LeaseCommand<At>,
    },
}

/// One container.
#[derive(Args)]
struct At {
    /// Name
    name: String,
    #[command(flatten)]
    target: Target,
}

impl Container {
    /// Runs the command.
    pub fn run(self) -> Result<ExitCode, String> {
        let at = |method, name: &str| StorageRequest::new(method, &[name]).with("restype", "container");
        match self.command {
            ContainerCommand::List { prefix, output, target } => list(&target, prefix.as_deref(), output),
            ContainerCommand::Create { name, public_access, if_missing, metadata, target } => {
                target.or_new().storage(Service::Blob, |storage| {
                    let access = public_access.map(|access| match access {
                        PublicAccess::Blob => "blob",
                        PublicAccess::Container => "container",
                    });
                    let call =
                        at("PUT", &name).maybe_header("x-ms-blob-public-access", access).metadata(&metadata);
                    let ignored = if if_missing { "ContainerAlreadyExists" } else { "" };
                    storage.session().send_unless(&call, ignored)?;
                    Ok(ExitCode::SUCCESS)
                })
            }
            ContainerCommand::Delete { name, if_exists, lease_id, target } => {
                target.storage(Service::Blob, |storage| {
                    let call = at("DELETE", &name).maybe_header("x-ms-lease-id", lease_id.as_ref());
                    let ignored = if if_exists { "ContainerNotFound" } else { "" };
                    storage.session().send_unless(&call, ignored)?;
                    Ok(ExitCode::SUCCESS)
                })
            }
            ContainerCommand::Exists { name, target } => target.storage(Service::Blob, |storage| {
                let exists = storage.session().exists(&at("HEAD", &name))?;
                say!("{exists}");
                Ok(found(exists))
            }),
            ContainerCommand::Lease { command } => command.at().target.storage(Service::Blob, |storage| {
                let call = at("PUT", &command.at().name).with("comp", "lease");
                command.run(&mut storage.session(), call)?;
                Ok(ExitCode::SUCCESS)
            }),
        }
    }
}

fn list(target: &Target, prefix: Option<&str>, output: Option<Format>) -> Result<ExitCode, String> {
    target.storage(Service::Blob, |storage| {
        let mut session = storage.session();
        let mut records = Records::new(output, FIELDS);
        let mut marker: Option<String> = None;
        loop {
            let call = StorageRequest::new("GET", &[""]).with("comp", "list").with("include", "metadata");
            let page = session.document(&call.maybe("prefix", prefix).maybe("marker", marker.as_ref()))?;
            let containers =
                page.child("Containers").map(|list| list.children.as_slice()).unwrap_or_default();
            let rows: Vec<Vec<Json>> = containers
                .iter()
                .map(|container| {
                    let property = |name| {
                        container
                            .child("Properties")
                            .map_or(Json::Null, |all| text(all.text_of(name).trim_matches('"')))
                    };
                    vec![
                        container.text_of("Name").into(),
                        property("Last-Modified"),
                        property("Etag"),
                        property("PublicAccess"),
                        property("LeaseState"),
                        container.metadata(),
                    ]
                })
                .collect();
            records.page(&rows)?;
            let next = page.text_of("NextMarker");
            if next.is_empty() {
                break;
            }
            marker = Some(next.to_owned());
        }
        records.end()?;
        Ok(ExitCode::SUCCESS)
    })
}
