//! Encodes the outcome of an operation as a response.
//!
//! Header names are sent as they are written here, since old .NET clients expect the documented letter case.
//! The presence of headers and elements depends on the version, as recorded.

mod account;
mod container;
mod error;
mod field;
mod list;
mod properties;
mod read;
mod write;

pub use error::failure;

use lazuli_model::blob::Outcome;
use lazuli_model::blob::lease::LeaseReply;

use super::response_format::ResponseFormat;
use crate::http::response::{Context, Response};
use crate::xml;
use field::Fields;

/// The response to a successful operation. The content of a blob is not part of it, but `content_length`
/// announces it.
pub fn outcome(context: &Context, wanted: &ResponseFormat, outcome: &Outcome) -> Response {
    match outcome {
        Outcome::Properties(found) => xml::properties(lazuli_model::Service::Blob, context, found),
        Outcome::PropertiesSet => Response::new(202),
        Outcome::Stats => xml::stats(context),
        Outcome::AccountInformation(found) => account::information(context, found),
        Outcome::UserDelegationKey(key) => account::delegation_key(context, key),
        Outcome::Containers(page) => list::containers(context, wanted, page),
        Outcome::Found(page) => list::found(context, wanted, page),
        Outcome::Blobs(page) => list::blobs(context, wanted, page),

        Outcome::ContainerCreated(stamp) => Response::new(201).stamp(context, *stamp),
        Outcome::Container(found) => container::properties(context, found),
        Outcome::ContainerMetadata(stamp, metadata) | Outcome::Metadata(stamp, metadata) => {
            Response::new(200).stamp(context, *stamp).metadata(metadata)
        }
        Outcome::ContainerAcl(stamp, access, policies) => container::acl(context, *stamp, *access, policies),
        Outcome::ContainerUpdated(stamp) | Outcome::ExpirySet(stamp) => {
            Response::new(200).stamp(context, *stamp)
        }
        Outcome::ContainerDeleted => Response::new(202),
        Outcome::ContainerRestored => Response::new(201),
        Outcome::Leased(stamp, reply) => lease(reply).stamp(context, *stamp),

        Outcome::Content(_)
        | Outcome::Blob(_)
        | Outcome::BlockList(_)
        | Outcome::Tags(_)
        | Outcome::PageRanges(_) => read::outcome(context, wanted, outcome),
        _ => write::outcome(context, wanted, outcome),
    }
}

fn lease(reply: &LeaseReply) -> Response {
    match reply {
        LeaseReply::Acquired(id) => Response::new(201).with("x-ms-lease-id", id.to_string()),
        LeaseReply::Renewed(id) | LeaseReply::Changed(id) => {
            Response::new(200).with("x-ms-lease-id", id.to_string())
        }
        LeaseReply::Released => Response::new(200),
        LeaseReply::Broken(seconds) => Response::new(202).with("x-ms-lease-time", seconds.to_string()),
    }
}

#[cfg(test)]
mod tests;
