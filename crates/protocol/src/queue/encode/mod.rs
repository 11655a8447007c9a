//! Encodes the outcome of an operation as a response, in the format of the request's version.
//!
//! Every response to GET forbids caching. XML documents start with a byte order mark.

use lazuli_model::queue::operation::ListedQueue;
use lazuli_model::queue::{Dequeued, Enqueued, Message, Outcome};
use lazuli_model::{DateTime, Guid, Metadata, Service};

use super::response_format::{Listing, ResponseFormat};
use super::{marker, receipt};
use crate::ApiVersion;
use crate::http::metadata::with_metadata;
use crate::http::response::{Context, Response};
use crate::xml::write::{DECLARATION, empty, leaf, nest, nest_with, plain_leaf};
use crate::xml::{self, delegation};

/// The header with the number of moved messages. It is specific to Lazuli, like the operation.
pub const MOVED_COUNT: &str = "x-lazuli-moved-count";
/// Bytes of a message in a response, in addition to its text: tags, id, times, receipt.
const MESSAGE_MARKUP_BYTES: usize = 448;
/// Bytes of a queue in a listing, in addition to its metadata.
const QUEUE_MARKUP_BYTES: usize = 96;

/// The response to a successful operation.
pub fn outcome(context: &Context, wanted: &ResponseFormat, outcome: &Outcome) -> Response {
    match outcome {
        Outcome::Queues { queues, next } => uncached(listing(context, wanted, queues, next.as_deref())),
        Outcome::QueueCreated => Response::new(201),
        Outcome::Metadata { metadata, messages } => {
            let response = uncached(Response::new(200));
            with_metadata(response.with("x-ms-approximate-messages-count", messages.to_string()), metadata)
        }
        Outcome::Acl(policies) => uncached(xml::acl(policies)),
        Outcome::MessagePut(message) => put(context, message),
        Outcome::Messages(messages) => uncached(dequeued(context, messages)),
        Outcome::Peeked(messages) => uncached(peeked(messages)),
        Outcome::MessageUpdated { receipt } => Response::new(204)
            .with("x-ms-popreceipt", receipt::encode(receipt).as_str().to_owned())
            .with("x-ms-time-next-visible", receipt.next_visible.http().as_str().to_owned()),
        Outcome::Properties(found) => uncached(xml::properties(Service::Queue, context, found)),
        Outcome::MessagesMoved(count) => Response::new(200).with(MOVED_COUNT, count.to_string()),
        Outcome::PropertiesSet => Response::new(202),
        Outcome::Stats => uncached(xml::stats(context)),
        Outcome::UserDelegationKey(key) => delegation::response(Service::Queue, context, key),
        Outcome::QueueUnchanged
        | Outcome::QueueDeleted
        | Outcome::MetadataSet
        | Outcome::AclSet
        | Outcome::MessageDeleted
        | Outcome::MessagesCleared => Response::new(204),
    }
}

fn uncached(response: Response) -> Response {
    response.with("Cache-Control", "no-cache")
}

/// Up to 2012-02-12 the attribute has another name, and each queue has its URL.
fn listing(
    context: &Context,
    wanted: &ResponseFormat,
    queues: &[ListedQueue],
    next: Option<&str>,
) -> Response {
    let is_old = context.version < ApiVersion::V2013_08_15;
    let attribute = if is_old { "AccountName" } else { "ServiceEndpoint" };
    let endpoint = format!("{}/", context.base.as_str());
    let body = document(queues.len() * QUEUE_MARKUP_BYTES, |out| {
        nest_with(out, "EnumerationResults", &[(attribute, &endpoint)], |out| {
            push_echo(out, wanted.listing.as_deref());
            nest_or_empty(out, "Queues", queues, |out, queue| {
                nest(out, "Queue", |out| {
                    leaf(out, "Name", &queue.name);
                    if is_old {
                        leaf(out, "Url", &format!("{endpoint}{}", queue.name));
                    }
                    if let Some(metadata) = &queue.metadata {
                        push_metadata(out, metadata);
                    }
                });
            });
            let next = next.map(|name| marker::encode(&context.account, name));
            leaf(out, "NextMarker", next.as_deref().unwrap_or_default());
        });
    });
    with_document(200, body)
}

fn push_echo(out: &mut Vec<u8>, listing: Option<&Listing>) {
    let Some(Listing { prefix, marker, max_results }) = listing else { return };
    for (name, value) in [("Prefix", prefix), ("Marker", marker), ("MaxResults", max_results)] {
        if let Some(value) = value {
            leaf(out, name, value);
        }
    }
}

fn push_metadata(out: &mut Vec<u8>, metadata: &Metadata) {
    if metadata.is_empty() {
        return empty(out, "Metadata");
    }
    nest(out, "Metadata", |out| {
        for (name, value) in metadata.iter() {
            leaf(out, name, value);
        }
    });
}

/// Before 2016-05-31 the response does not describe the new message.
fn put(context: &Context, message: &Enqueued) -> Response {
    if context.version < ApiVersion::V2016_05_31 {
        return Response::new(201);
    }
    let body = document(MESSAGE_MARKUP_BYTES, |out| {
        nest(out, "QueueMessagesList", |out| {
            nest(out, "QueueMessage", |out| {
                push_identity(out, message.id, message.inserted, message.expires);
                push_receipt(out, &message.receipt);
            });
        });
    });
    with_document(201, body)
}

/// Up to 2014-02-14 the dequeue count comes before the receipt.
fn dequeued(context: &Context, messages: &[Dequeued]) -> Response {
    let is_old = context.version < ApiVersion::V2015_02_21;
    // Before 2009-09-19 there is no dequeue count.
    let counts = context.version >= ApiVersion::V2009_09_19;
    let text: usize = messages.iter().map(|dequeued| dequeued.message.text.len()).sum();
    let body = document(text + messages.len() * MESSAGE_MARKUP_BYTES, |out| {
        nest_or_empty(out, "QueueMessagesList", messages, |out, Dequeued { message, receipt }| {
            nest(out, "QueueMessage", |out| {
                push_identity(out, message.id, message.inserted, message.expires);
                if is_old && counts {
                    push_count(out, message);
                }
                push_receipt(out, receipt);
                if !is_old {
                    push_count(out, message);
                }
                leaf(out, "MessageText", &message.text);
            });
        });
    });
    with_document(200, body)
}

fn peeked(messages: &[Message]) -> Response {
    let text: usize = messages.iter().map(|message| message.text.len()).sum();
    let body = document(text + messages.len() * MESSAGE_MARKUP_BYTES, |out| {
        nest_or_empty(out, "QueueMessagesList", messages, |out, message| {
            nest(out, "QueueMessage", |out| {
                push_identity(out, message.id, message.inserted, message.expires);
                push_count(out, message);
                leaf(out, "MessageText", &message.text);
            });
        });
    });
    with_document(200, body)
}

fn push_identity(out: &mut Vec<u8>, id: Guid, inserted: DateTime, expires: DateTime) {
    plain_leaf(out, "MessageId", std::str::from_utf8(&id.text()).unwrap_or_default());
    plain_leaf(out, "InsertionTime", inserted.http().as_str());
    plain_leaf(out, "ExpirationTime", expires.http().as_str());
}

fn push_receipt(out: &mut Vec<u8>, receipt: &lazuli_model::queue::Receipt) {
    plain_leaf(out, "PopReceipt", receipt::encode(receipt).as_str());
    plain_leaf(out, "TimeNextVisible", receipt.next_visible.http().as_str());
}

fn push_count(out: &mut Vec<u8>, message: &Message) {
    plain_leaf(out, "DequeueCount", itoa::Buffer::new().format(message.dequeue_count));
}

fn nest_or_empty<T>(out: &mut Vec<u8>, name: &str, items: &[T], write: impl Fn(&mut Vec<u8>, &T)) {
    if items.is_empty() {
        return empty(out, name);
    }
    nest(out, name, |out| items.iter().for_each(|item| write(out, item)));
}

/// A document with enough capacity for its content.
fn document(bytes: usize, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::with_capacity(DECLARATION.len() + 128 + bytes);
    out.extend_from_slice(DECLARATION);
    write(&mut out);
    out
}

fn with_document(status: u16, body: Vec<u8>) -> Response {
    Response::new(status).with("Content-Type", "application/xml").with_body(body)
}

#[cfg(test)]
mod tests;
