//! Containers and blobs of Azurite.
//!
//! Each snapshot is imported by writing its content to the blob and taking a snapshot, oldest first; the
//! current blob is written last. The times are those of the import.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use lazuli_model::Service;
use lazuli_protocol::xml::send::write_acl;
use serde_json::Value as Json;

use super::content::UploadWriter;
use super::extents::{Extents, Part};
use super::{FromAzurite, Report, account_of, loki, metadata, policies, text};
use crate::blob::list;
use crate::fault::Fault;
use crate::progress::{Progress, plural};
use crate::storage::{Session, Storage, StorageRequest};

/// Container and name of a blob.
type Key = (String, String);

/// Imports the containers of an account.
pub fn import(
    from: &FromAzurite<'_>,
    account: &str,
    storage: &Storage,
    report: &mut Report,
) -> Result<(), Fault> {
    let file = from.database(Service::Blob);
    let mut session = storage.session();
    super::properties::import(&file, account, &mut session, report)?;
    let containers = create_all(&file, account, &mut session, report)?;
    let mut import = Import {
        account,
        containers,
        session,
        extents: Extents::new(from.directory.join("__blobstorage__")),
        report,
        progress: Progress::start("blobs", "blobs", from.quiet),
    };
    import.blobs(&file)?;
    import.blocks(&file)?;
    let _ = import.progress.finish();
    Ok(())
}

fn create_all(
    file: &Path,
    account: &str,
    session: &mut Session<'_>,
    report: &mut Report,
) -> Result<BTreeSet<String>, Fault> {
    let mut containers = BTreeSet::new();
    loki::each(
        file,
        |name| name == "$CONTAINERS_COLLECTION$",
        |_, document: Json| {
            if account_of(&document) != Some(account) {
                return Ok(());
            }
            let name = text(&document, "name");
            report.leases += u64::from(is_leased(&document));
            match create(name, &document, session) {
                Ok(()) => {
                    report.containers += 1;
                    containers.insert(name.to_owned());
                }
                Err(fault) => report.problem(&format!("container {name}"), fault)?,
            }
            Ok(())
        },
    )?;
    Ok(containers)
}

fn create(name: &str, document: &Json, session: &mut Session<'_>) -> Result<(), Fault> {
    let access = document.get("properties").map(|properties| text(properties, "publicAccess"));
    let access = access.filter(|access| !access.is_empty());
    let call = StorageRequest::new("PUT", &[name]).with("restype", "container").metadata(&metadata(document));
    let call = call.maybe_header("x-ms-blob-public-access", access).repeatable();
    session.send_unless(&call, "ContainerAlreadyExists")?;
    let policies = policies(document.get("containerAcl"));
    if policies.is_empty() {
        return Ok(());
    }
    let call = StorageRequest::new("PUT", &[name]).with("restype", "container").with("comp", "acl");
    let call = call.maybe_header("x-ms-blob-public-access", access).header("Content-Type", "application/xml");
    session.send(&call.body(write_acl(&policies)).repeatable())?;
    Ok(())
}

fn is_leased(document: &Json) -> bool {
    document.get("properties").is_some_and(|properties| text(properties, "leaseState") == "leased")
}

struct Import<'a, 's> {
    account: &'a str,
    containers: BTreeSet<String>,
    session: Session<'s>,
    extents: Extents,
    report: &'a mut Report,
    progress: Progress,
}

impl Import<'_, '_> {
    fn blobs(&mut self, file: &Path) -> Result<(), Fault> {
        // The documents of blobs with snapshots are kept until all of them are read, since their order matters.
        let mut waiting: BTreeMap<Key, Vec<Json>> = BTreeMap::new();
        let is_blobs = |name: &str| name == "$BLOBS_COLLECTION$";
        loki::each(file, is_blobs, |_, document: Json| {
            if self.is_wanted(&document, "name") && !text(&document, "snapshot").is_empty() {
                waiting.entry(key(&document, "name")).or_default();
            }
            Ok(())
        })?;
        loki::each(file, is_blobs, |_, document: Json| {
            if !self.is_wanted(&document, "name") {
                return Ok(());
            }
            match waiting.get_mut(&key(&document, "name")) {
                Some(documents) => documents.push(document),
                None => self.blob(&document)?,
            }
            Ok(())
        })?;
        for ((container, name), mut documents) in waiting {
            let what = format!("blob {container}/{name}");
            match self.snapshots(&container, &name) {
                Ok(0) => {}
                Ok(found) => {
                    documents.retain(|document| text(document, "snapshot").is_empty());
                    let snapshots = plural(found, "snapshot", "snapshots");
                    let them = plural(found, "it", "them");
                    let fault = format!(
                        "it already has {found} {snapshots}; delete {them} to import those of Azurite"
                    );
                    self.report.problem(&what, Fault::Message(fault))?;
                }
                Err(fault) => {
                    self.report.problem(&what, fault)?;
                    continue;
                }
            }
            // Times in the same format sort as strings; the current blob has none, and comes last.
            documents.sort_by_key(|document| {
                let time = text(document, "snapshot").to_owned();
                (time.is_empty(), time)
            });
            for document in &documents {
                self.blob(document)?;
            }
        }
        Ok(())
    }

    /// The number of snapshots that the blob has at the destination: a repeated import adds none.
    fn snapshots(&mut self, container: &str, name: &str) -> Result<u64, Fault> {
        // The name itself sorts before all names that start with it, so the first page is enough.
        let call = StorageRequest::new("GET", &[container]).with("restype", "container").with("comp", "list");
        let page = self.session.document(&call.with("prefix", name).with("include", "snapshots"))?;
        let mut found = 0;
        for blob in page.child("Blobs").map(|blobs| blobs.children.as_slice()).unwrap_or_default() {
            found += u64::from(list::name(blob)? == name && !blob.text_of("Snapshot").is_empty());
        }
        Ok(found)
    }

    fn is_wanted(&self, document: &Json, name: &str) -> bool {
        let is_there = |member: &str| document.get(member).and_then(Json::as_bool).unwrap_or_default();
        account_of(document) == Some(self.account)
            && self.containers.contains(text(document, "containerName"))
            && !text(document, name).is_empty()
            && !is_there("deleted")
    }

    /// Writes a blob, or a snapshot of it.
    fn blob(&mut self, document: &Json) -> Result<(), Fault> {
        // A blob that has only uncommitted blocks.
        if document.get("isCommitted").and_then(Json::as_bool) == Some(false) {
            return Ok(());
        }
        let (container, name) = key(document, "name");
        let is_snapshot = !text(document, "snapshot").is_empty();
        self.report.leases += u64::from(is_leased(document) && !is_snapshot);
        let mut writer = UploadWriter { session: &mut self.session, extents: &mut self.extents };
        let mut written = writer.write(&container, &name, document);
        if is_snapshot && written.is_ok() {
            let call = StorageRequest::new("PUT", &[&container, &name]).with("comp", "snapshot");
            written = self.session.send(&call).and(written);
        }
        match written {
            Ok(bytes) => {
                self.report.bytes += bytes;
                let count = if is_snapshot { &mut self.report.snapshots } else { &mut self.report.blobs };
                *count += 1;
            }
            Err(fault) => self.report.problem(&format!("blob {container}/{name}"), fault)?,
        }
        self.progress.reach(self.report.blobs, self.report.bytes, None);
        Ok(())
    }

    /// Blocks that were staged but not committed.
    fn blocks(&mut self, file: &Path) -> Result<(), Fault> {
        loki::each(
            file,
            |name| name == "$BLOCKS_COLLECTION$",
            |_, document: Json| {
                let is_committed = document.get("isCommitted").and_then(Json::as_bool).unwrap_or_default();
                if is_committed || !self.is_wanted(&document, "blobName") {
                    return Ok(());
                }
                let Some(part) = document.get("persistency").and_then(Part::of) else { return Ok(()) };
                let (container, name) = key(&document, "blobName");
                let mut writer = UploadWriter { session: &mut self.session, extents: &mut self.extents };
                match writer.block(&container, &name, text(&document, "name"), &part) {
                    Ok(()) => self.report.blocks += 1,
                    Err(fault) => {
                        self.report.problem(&format!("a block of blob {container}/{name}"), fault)?
                    }
                }
                Ok(())
            },
        )
    }
}

fn key(document: &Json, name: &str) -> Key {
    (text(document, "containerName").to_owned(), text(document, name).to_owned())
}
