//! `lazuli blob tags`: prints or replaces the tags of a blob.

use std::process::ExitCode;

use clap::Args;
use lazuli_model::Service;
use lazuli_protocol::xml::write::{document, leaf, nest};
use serde_json::{Map, Value as Json};

use super::path::BlobPath;
use crate::storage::{StorageRequest, parse_pair};
use crate::target::Target;

#[derive(Args)]
pub struct Tags {
    /// Blob
    #[arg(value_name = "CONTAINER/NAME", value_parser = BlobPath::parse_blob)]
    path: BlobPath,

    /// New tags, which replace all others [default: print the tags]
    #[arg(value_name = "NAME=VALUE", value_parser = parse_pair)]
    tags: Vec<(String, String)>,

    /// Remove all tags
    #[arg(long, conflicts_with = "tags")]
    clear: bool,

    #[command(flatten)]
    target: Target,
}

impl Tags {
    /// Runs the command.
    pub fn run(self) -> Result<ExitCode, String> {
        self.target.storage(Service::Blob, |storage| {
            let mut session = storage.session();
            if self.tags.is_empty() && !self.clear {
                let found =
                    session.document(&StorageRequest::new("GET", &self.path.names()).with("comp", "tags"))?;
                let set = found.child("TagSet").map(|set| set.children.as_slice()).unwrap_or_default();
                let pair = |tag: &crate::storage::xml::Element| {
                    (tag.text_of("Key").to_owned(), tag.text_of("Value").into())
                };
                say!("{}", Json::Object(set.iter().map(pair).collect::<Map<_, _>>()));
                return Ok(ExitCode::SUCCESS);
            }
            let body = document(|out| {
                nest(out, "Tags", |out| {
                    nest(out, "TagSet", |out| {
                        for (name, value) in &self.tags {
                            nest(out, "Tag", |out| {
                                leaf(out, "Key", name);
                                leaf(out, "Value", value);
                            });
                        }
                    });
                });
            });
            let call = StorageRequest::new("PUT", &self.path.names()).with("comp", "tags");
            session.send(&call.header("Content-Type", "application/xml").body(body))?;
            Ok(ExitCode::SUCCESS)
        })
    }
}
