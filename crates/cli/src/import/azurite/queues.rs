//! Queues and messages of Azurite.

use std::collections::BTreeSet;
use std::path::Path;

use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_model::{DateTime, Service};
use lazuli_protocol::xml::send::write_acl;
use serde_json::Value as Json;

use super::extents::{Extents, Part};
use super::{FromAzurite, Report, account_of, loki, metadata, policies, text};
use crate::fault::Fault;
use crate::message::put_call;
use crate::progress::{Progress, plural};
use crate::storage::{Session, Storage, StorageRequest};

/// Maximum length of the content of a message.
const MESSAGE_BYTES_MAX: u64 = 64 * 1024;
/// Maximum time for which a message can be invisible.
const INVISIBLE_SECONDS_MAX: u64 = 7 * 24 * 60 * 60;

/// Imports the queues of an account.
pub fn import(
    from: &FromAzurite<'_>,
    account: &str,
    storage: &Storage,
    report: &mut Report,
) -> Result<(), Fault> {
    let file = from.database(Service::Queue);
    let mut session = storage.session();
    super::properties::import(&file, account, &mut session, report)?;
    let queues = create_all(&file, account, &mut session, report)?;
    let mut extents = Extents::new(from.directory.join("__queuestorage__"));
    let mut progress = Progress::start("queues", "messages", from.quiet);
    let mut bytes = 0;
    loki::each(
        &file,
        |name| name == "$MESSAGES_COLLECTION$",
        |_, document: Json| {
            let queue = text(&document, "queueName");
            if account_of(&document) != Some(account) || !queues.contains(queue) {
                return Ok(());
            }
            match message(&document, &mut extents, lazuli_server::clock::now()) {
                Ok(None) => report.expired += 1,
                Ok(Some(call)) => {
                    bytes += call.body.len() as u64;
                    match session.send(&call) {
                        Ok(_) => report.messages += 1,
                        Err(fault) => report.problem(&named(&document), fault)?,
                    }
                }
                Err(fault) => report.problem(&named(&document), fault)?,
            }
            progress.reach(report.messages, bytes, None);
            Ok(())
        },
    )?;
    let _ = progress.finish();
    Ok(())
}

fn named(message: &Json) -> String {
    format!("queue {}, message {}", text(message, "queueName"), text(message, "messageId"))
}

/// Creates the queues; returns the names of those that are empty, which get messages.
fn create_all(
    file: &Path,
    account: &str,
    session: &mut Session<'_>,
    report: &mut Report,
) -> Result<BTreeSet<String>, Fault> {
    let mut queues = BTreeSet::new();
    loki::each(
        file,
        |name| name == "$QUEUES_COLLECTION$",
        |_, document: Json| {
            if account_of(&document) != Some(account) {
                return Ok(());
            }
            let name = text(&document, "name");
            match create(name, &document, session) {
                Ok(0) => drop(queues.insert(name.to_owned())),
                Ok(count) => report.problem(
                    &format!("queue {name}"),
                    Fault::Message(format!(
                        "it already has {count} {}; clear it to import those of Azurite",
                        plural(count, "message", "messages")
                    )),
                )?,
                Err(fault) => report.problem(&format!("queue {name}"), fault)?,
            }
            report.queues += 1;
            Ok(())
        },
    )?;
    Ok(queues)
}

/// Creates a queue; returns the number of its messages.
fn create(name: &str, document: &Json, session: &mut Session<'_>) -> Result<u64, Fault> {
    let call = StorageRequest::new("PUT", &[name]).metadata(&metadata(document)).repeatable();
    session.send_unless(&call, "QueueAlreadyExists")?;
    let policies = policies(document.get("queueAcl"));
    if !policies.is_empty() {
        let call = StorageRequest::new("PUT", &[name]).with("comp", "acl").body(write_acl(&policies));
        session.send(&call.header("Content-Type", "application/xml").repeatable())?;
    }
    let found = session.send(&StorageRequest::new("GET", &[name]).with("comp", "metadata"))?;
    let count = found.header("x-ms-approximate-messages-count").and_then(|text| text.parse().ok());
    Ok(count.unwrap_or_default())
}

/// The request that adds a message; `None` if it has expired.
fn message(document: &Json, extents: &mut Extents, now: DateTime) -> Result<Option<StorageRequest>, Fault> {
    let broken = || Fault::Message("its document is incomplete".into());
    let part = document.get("persistency").and_then(Part::of).ok_or_else(broken)?;
    if part.length > MESSAGE_BYTES_MAX {
        return Err(Fault::Message(format!("it has more than {MESSAGE_BYTES_MAX} bytes")));
    }
    let content = String::from_utf8(extents.read(&part)?)
        .map_err(|_| Fault::Message("its content is not UTF-8".into()))?;
    let expires = DateTime::parse(text(document, "expirationTime")).ok_or_else(broken)?;
    let left = (expires.ticks().saturating_sub(now.ticks())) / TICKS_PER_SECOND;
    if left == 0 {
        return Ok(None);
    }
    let never = text(document, "expirationTime").starts_with("9999-");
    let visible = document.get("timeNextVisible").and_then(Json::as_f64).unwrap_or_default() / 1000.0;
    let hidden = (visible - now.unix_seconds() as f64).max(0.0) as u64;
    let hidden = if never { hidden } else { hidden.min(left - 1) }.min(INVISIBLE_SECONDS_MAX);
    let call = put_call(text(document, "queueName"), &content);
    let call = if never { call.with("messagettl", -1) } else { call.with("messagettl", left) };
    Ok(Some(call.with("visibilitytimeout", hidden)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_of_messages_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("e"), "text").unwrap();
        let mut extents = Extents::new(directory.path().to_owned());
        let now = DateTime::parse("2026-01-01T00:00:00Z").unwrap();
        let mut call = |expires: &str, hidden: i64| {
            let document = json!({
                "queueName": "jobs", "persistency": { "id": "e", "offset": 0, "count": 4 },
                "expirationTime": expires, "timeNextVisible": (now.unix_seconds() + hidden) * 1000,
            });
            message(&document, &mut extents, now).unwrap().map(|call| call.target())
        };
        assert_eq!(call("2025-12-31T00:00:00.000Z", 0), None);
        let target = |terms: &str| Some(format!("/jobs/messages?{terms}"));
        assert_eq!(call("2026-01-01T00:01:00.000Z", -5), target("messagettl=60&visibilitytimeout=0"));
        assert_eq!(call("2026-01-01T00:01:00.000Z", 90), target("messagettl=60&visibilitytimeout=59"));
        assert_eq!(call("9999-12-31T23:59:59.999Z", 30), target("messagettl=-1&visibilitytimeout=30"));
    }
}
