//! `lazuli import --from-azurite`: the data directory of a stopped Azurite.
//!
//! Azurite keeps metadata in one JSON file per service, and the content of messages and blobs in extents, which
//! are plain files. The files are streamed, a collection at a time, so memory is bounded by the largest
//! document. Everything is written with ordinary requests. A run can be repeated: entities and blobs are
//! replaced by identical ones, and messages are added only to queues that are empty.

mod blobs;
mod content;
mod extents;
mod loki;
mod properties;
mod queues;
mod tables;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lazuli_client::{AccessPolicy, DateTime, SignedIdentifier};
use lazuli_model::Service;
use serde_json::Value as Json;

use crate::fault::{Fault, usage};
use crate::progress::{bytes_text, plural, thousands};
use crate::target::Target;

/// Maximum number of problems that are printed individually.
const PROBLEMS_SHOWN_MAX: u64 = 20;

/// An import of a data directory.
pub struct FromAzurite<'a> {
    /// The directory.
    pub directory: &'a Path,
    /// The account whose data is read; needed if there are several.
    pub account: Option<&'a str>,
    /// Keep the Timestamps of entities.
    pub keep_timestamp: bool,
    /// Print errors only.
    pub quiet: bool,
    /// Where the data goes.
    pub target: &'a Target,
}

/// Counts of imported and skipped resources.
#[derive(Default)]
struct Report {
    tables: u64,
    entities: u64,
    queues: u64,
    messages: u64,
    expired: u64,
    containers: u64,
    blobs: u64,
    snapshots: u64,
    blocks: u64,
    bytes: u64,
    leases: u64,
    problems: u64,
}

impl Report {
    /// Counts and prints something that could not be imported. A lost connection ends the import instead.
    fn problem(&mut self, what: &str, fault: Fault) -> Result<(), Fault> {
        if fault.may_pass() {
            return Err(fault);
        }
        self.problems += 1;
        if self.problems <= PROBLEMS_SHOWN_MAX {
            tell!("lazuli: {what}: {fault}");
        }
        Ok(())
    }

    fn print(&self) {
        let count = |number: u64, one: &str, several: &str| {
            format!("{} {}", thousands(number), plural(number, one, several))
        };
        say!("{}, {}", count(self.tables, "table", "tables"), count(self.entities, "entity", "entities"));
        say!("{}, {}", count(self.queues, "queue", "queues"), count(self.messages, "message", "messages"));
        say!(
            "{}, {}, {}, {}",
            count(self.containers, "container", "containers"),
            count(self.blobs, "blob", "blobs"),
            count(self.snapshots, "snapshot", "snapshots"),
            bytes_text(self.bytes)
        );
        for (number, one, several, what) in [
            (self.blocks, "uncommitted block", "uncommitted blocks", "imported"),
            (self.expired, "expired message", "expired messages", "not imported"),
            (self.leases, "lease", "leases", "not imported; acquire them again if needed"),
            (self.problems, "problem", "problems", "printed above; everything else was imported"),
        ] {
            if number > 0 {
                say!("{} {what}", count(number, one, several));
            }
        }
    }
}

impl FromAzurite<'_> {
    /// Imports tables, queues and blobs, and prints a report.
    pub fn run(&self) -> Result<ExitCode, String> {
        if self.keep_timestamp && !self.target.is_direct() {
            return usage(
                "--keep-timestamp needs --location DIR: over the wire, the service sets the Timestamp",
            );
        }
        let account = self.account()?;
        let mut report = Report::default();
        for service in [Service::Table, Service::Queue, Service::Blob] {
            if !self.database(service).exists() {
                continue;
            }
            let mut is_done = false;
            let code = match service {
                Service::Table => tables::import(self, &account, &mut report, &mut is_done),
                Service::Queue => self.target.storage(service, |storage| {
                    queues::import(self, &account, storage, &mut report)?;
                    is_done = true;
                    Ok(ExitCode::SUCCESS)
                }),
                Service::Blob => self.target.storage(service, |storage| {
                    blobs::import(self, &account, storage, &mut report)?;
                    is_done = true;
                    Ok(ExitCode::SUCCESS)
                }),
            }?;
            if !is_done {
                tell!("lazuli: the import stopped; run the same command again to repeat it");
                return Ok(code);
            }
        }
        if !self.quiet {
            report.print();
        }
        Ok(if report.problems == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// The file with the metadata of a service.
    fn database(&self, service: Service) -> PathBuf {
        crate::azurite::database(self.directory, service)
    }

    /// The account to import.
    fn account(&self) -> Result<String, String> {
        let mut accounts = BTreeSet::new();
        for service in Service::ALL {
            let file = self.database(service);
            if file.exists() {
                let is_root = |name: &str| {
                    ["$TABLES_COLLECTION$", "$QUEUES_COLLECTION$", "$CONTAINERS_COLLECTION$"].contains(&name)
                };
                let read = loki::each(&file, is_root, |_, document: Json| {
                    accounts.extend(account_of(&document).map(str::to_owned));
                    Ok(())
                });
                read.map_err(|fault| fault.to_string())?;
            }
        }
        if Service::ALL.iter().all(|service| !self.database(*service).exists()) {
            return Err(format!("{}: no Azurite data found (__azurite_db_*.json)", self.directory.display()));
        }
        let known = accounts.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        match (self.account, accounts.len()) {
            (Some(account), _) if accounts.contains(account) => Ok(account.to_owned()),
            (Some(account), _) => {
                Err(format!("no data of account '{account}' found; accounts with data: {known}"))
            }
            (None, 0) => Ok(String::new()),
            (None, 1) => Ok(known),
            (None, _) => Err(format!("several accounts have data; choose one with --from-account: {known}")),
        }
    }
}

/// The account that a document belongs to.
fn account_of(document: &Json) -> Option<&str> {
    document.get("accountName").or_else(|| document.get("account")).and_then(Json::as_str)
}

/// A member of a document that is a string; empty if there is none.
fn text<'a>(document: &'a Json, name: &str) -> &'a str {
    document.get(name).and_then(Json::as_str).unwrap_or_default()
}

/// The stored access policies of a table, queue or container.
fn policies(list: Option<&Json>) -> Vec<SignedIdentifier> {
    let list = list.and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
    let policy = |terms: &Json| AccessPolicy {
        start: DateTime::parse(text(terms, "start")),
        expiry: DateTime::parse(text(terms, "expiry")),
        permissions: terms.get("permission").and_then(Json::as_str).map(str::to_owned),
    };
    let identifier = |one: &Json| SignedIdentifier {
        id: text(one, "id").to_owned(),
        policy: one.get("accessPolicy").map(policy),
    };
    list.iter().map(identifier).collect()
}

/// The metadata of a queue, container or blob.
fn metadata(document: &Json) -> Vec<(String, String)> {
    let pairs = document.get("metadata").and_then(Json::as_object).into_iter().flatten();
    pairs.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn policies_and_metadata_of_documents() {
        let document = json!({
            "account": "a", "metadata": { "team": "x" },
            "acl": [{ "id": "p", "accessPolicy": { "start": "2026-01-01T00:00:00Z", "permission": "r" } }, { "id": "q" }],
        });
        assert_eq!(account_of(&document), Some("a"));
        assert_eq!(metadata(&document), [("team".to_owned(), "x".to_owned())]);
        let found = policies(document.get("acl"));
        let first = found[0].policy.clone().unwrap();
        assert_eq!((found.len(), first.permissions.as_deref(), first.expiry), (2, Some("r"), None));
        assert_eq!(first.start, DateTime::parse("2026-01-01T00:00:00Z"));
        assert_eq!(found[1].policy, None);
        assert!(policies(None).is_empty());
    }
}
