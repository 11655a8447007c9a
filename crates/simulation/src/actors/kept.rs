//! Clients of blobs in an account with versions and soft delete: each writes and deletes one blob, deletes and
//! restores its versions, and reads and lists the versions of all blobs.

use std::sync::Arc;

use lazuli_model::Service;
use lazuli_probe::Request;

use super::blobs::{content_of, number_of};
use super::{SETTLED_AFTER, request};
use crate::network::{Fate, Got, RequestOutcome};
use crate::time::pass;
use crate::world::World;

/// The account with versions.
pub const KEPT: &str = "kept";
const VERSION: &str = "2021-08-06";
/// Deleted versions can be restored for longer than a simulation takes.
const RETENTION: &str = "<StorageServiceProperties><DeleteRetentionPolicy><Enabled>true</Enabled><Days>7</Days>\
    </DeleteRetentionPolicy></StorageServiceProperties>";
/// Attempts to determine the outcome of a write.
const LISTS_MAX: usize = 5;

/// Writes, deletes, restores and reads, `steps` times in total.
pub async fn use_kept(world: Arc<World>, client: usize, clients: usize, steps: u32) {
    let container = || request("PUT", format!("/{KEPT}/things?restype=container"), VERSION);
    world.set_up_in(KEPT, Service::Blob, container).await;
    let retention =
        || request("PUT", format!("/{KEPT}/?restype=service&comp=properties"), VERSION).body(RETENTION);
    world.set_up_in(KEPT, Service::Blob, retention).await;
    for _ in 0..steps {
        world.rest().await;
        let other = world.rng.below(clients as u64) as usize;
        match world.rng.below(20) {
            0..6 => write(&world, client).await,
            6..8 => delete(&world, client).await,
            8..11 => delete_version(&world, client).await,
            11..13 => restore(&world, client).await,
            13..15 => read(&world, other).await,
            15..18 => {
                read_version(&world, other).await;
            }
            _ => {
                list_kept(&world, other).await;
            }
        }
    }
}

/// The register of the blob, and its name in the ledger of versions.
fn name_of(client: usize) -> String {
    format!("kept blob k{client}")
}

fn target(client: usize, query: &str) -> String {
    format!("/{KEPT}/things/k{client}{query}")
}

async fn send(world: &World, request: Request) -> RequestOutcome {
    let access = world.access_to(KEPT).await;
    world.send_as(&access, Service::Blob, request).await
}

async fn write(world: &World, client: usize) {
    let name = name_of(client);
    let number = {
        let mut ledger = world.ledger();
        let number = ledger.registers.begin(&name, true);
        ledger.kept.writing(&name, number);
        number
    };
    let put = request("PUT", target(client, ""), VERSION).with("x-ms-blob-type", "BlockBlob");
    let put = put.with("x-ms-meta-number", number.to_string()).body(content_of(number));
    let outcome = send(world, put).await;
    settle(world, &name, number, outcome.fate(), outcome.header("x-ms-version-id"));
    if outcome.fate() != Fate::Unknown {
        return;
    }
    pass(SETTLED_AFTER).await;
    for _ in 0..LISTS_MAX {
        let Some(listed) = list_kept(world, client).await else { continue };
        // No other client writes the blob: the write was applied before this listing, or never will be.
        let found = listed.iter().find(|entry| entry.number == number);
        let fate = if found.is_some() { Fate::Applied } else { Fate::Rejected };
        return settle(world, &name, number, fate, found.map(|entry| entry.id.as_str()));
    }
}

fn settle(world: &World, name: &str, number: u64, fate: Fate, id: Option<&str>) {
    let mut ledger = world.ledger();
    ledger.registers.settle(name, number, fate);
    let checked = ledger.kept.written(name, number, fate, id);
    drop(ledger);
    world.expect(checked);
}

/// Deletes the blob. Its versions stay.
async fn delete(world: &World, client: usize) {
    let name = name_of(client);
    let number = world.ledger().registers.begin(&name, false);
    let outcome = send(world, request("DELETE", target(client, ""), VERSION)).await;
    let fate = if outcome.status() == 404 { Fate::Applied } else { outcome.fate() };
    world.ledger().registers.settle(&name, number, fate);
    if fate == Fate::Unknown {
        pass(SETTLED_AFTER).await;
    }
}

async fn delete_version(world: &World, client: usize) {
    let name = name_of(client);
    let versions = world.ledger().kept.versions(&name);
    let Some(version) = world.rng.pick(&versions) else { return };
    let was_live = world.ledger().kept.is_live(&name, version.number);
    world.ledger().kept.changing(&name, version.number, false);
    let query = format!("?versionid={}", version.id.replace(':', "%3A"));
    let outcome = send(world, request("DELETE", target(client, &query), VERSION)).await;
    // 403: it is the current version.
    let fate = outcome.fate();
    world.ledger().kept.changed(&name, version.number, fate);
    if outcome.status() == 404 && was_live {
        world.trace.fail(format!("version {} of {name} cannot be deleted: it is lost", version.number));
    }
    if fate == Fate::Unknown {
        pass(SETTLED_AFTER).await;
    }
}

/// Restores all versions. A deleted blob still has no current version.
async fn restore(world: &World, client: usize) {
    let name = name_of(client);
    let versions = world.ledger().kept.versions(&name);
    for version in &versions {
        world.ledger().kept.changing(&name, version.number, true);
    }
    let outcome = send(world, request("PUT", target(client, "?comp=undelete"), VERSION)).await;
    for version in &versions {
        world.ledger().kept.changed(&name, version.number, outcome.fate());
    }
    if outcome.status() == 404 && !versions.is_empty() {
        world.trace.fail(format!("{name} cannot be restored: it has no versions, but {versions:?}"));
    }
    if outcome.fate() == Fate::Unknown {
        pass(SETTLED_AFTER).await;
    }
}

async fn read(world: &World, client: usize) {
    let name = name_of(client);
    let floor = world.ledger().registers.floor(&name);
    let outcome = send(world, request("GET", target(client, ""), VERSION)).await;
    let checked = match &outcome {
        RequestOutcome::Got(Got { status: 200, body, is_broken: false, .. }) => match number_of(body) {
            Some(number) => world.ledger().registers.check(&name, floor, Some(number)),
            None => Err(format!("{name} is torn: {}", String::from_utf8_lossy(body))),
        },
        RequestOutcome::Got(Got { status: 404, .. }) => world.ledger().registers.check(&name, floor, None),
        _ => Ok(()),
    };
    world.expect(checked);
}

/// Reads a version and checks its content.
async fn read_version(world: &World, client: usize) -> Option<()> {
    let name = name_of(client);
    let versions = world.ledger().kept.versions(&name);
    let version = world.rng.pick(&versions)?;
    let query = format!("?versionid={}", version.id.replace(':', "%3A"));
    let outcome = send(world, request("GET", target(client, &query), VERSION)).await;
    let checked = match &outcome {
        RequestOutcome::Got(Got { status: 200, body, is_broken: false, .. }) => {
            let (found, expected) = (number_of(body), version.number);
            match found == Some(expected) {
                true => world.ledger().kept.check(&name, version, true),
                false => Err(format!("version {expected} of {name} has other content: {found:?}")),
            }
        }
        RequestOutcome::Got(Got { status: 404, .. }) => world.ledger().kept.check(&name, version, false),
        _ => return None,
    };
    world.expect(checked);
    Some(())
}

/// A version in a listing.
struct ListedVersion {
    number: u64,
    id: String,
    is_current: bool,
    is_deleted: bool,
}

/// Lists the versions of a blob and checks that all of them are present. `None` if there is no response.
async fn list_kept(world: &World, client: usize) -> Option<Vec<ListedVersion>> {
    let name = name_of(client);
    let (versions, floor) = {
        let ledger = world.ledger();
        (ledger.kept.versions(&name), ledger.registers.floor(&name))
    };
    let query = format!("?restype=container&comp=list&prefix=k{client}&include=versions,deleted,metadata");
    let outcome = send(world, request("GET", format!("/{KEPT}/things{query}"), VERSION)).await;
    // A page that took too long ends early.
    if outcome.status() != 200 || !outcome.text().contains("<NextMarker />") {
        return None;
    }
    let Some(listed) = listed(&outcome.text()) else {
        world.trace.fail(format!("not a list of versions: {}", outcome.text()));
        return None;
    };
    let ledger = world.ledger();
    let mut checks = Vec::new();
    for version in &versions {
        checks.push(match listed.iter().find(|entry| entry.number == version.number) {
            Some(entry) if entry.id != version.id => {
                Err(format!("version {} of {name} has two ids", version.number))
            }
            Some(entry) => ledger.kept.check(&name, version, !entry.is_deleted),
            None => Err(format!("version {} of {name} is not listed", version.number)),
        });
    }
    for (at, entry) in listed.iter().enumerate() {
        checks.push(ledger.kept.check_listed(&name, entry.number));
        if listed[..at].iter().any(|other| other.number == entry.number) {
            checks.push(Err(format!("{name} shows write {} as two versions", entry.number)));
        }
    }
    let current = listed.iter().find(|entry| entry.is_current).map(|entry| entry.number);
    checks.push(ledger.registers.check(&name, floor, current));
    drop(ledger);
    checks.into_iter().for_each(|checked| world.expect(checked));
    Some(listed)
}

fn listed(text: &str) -> Option<Vec<ListedVersion>> {
    let field = |part: &str, name: &str| -> Option<String> {
        let (_, rest) = part.split_once(&format!("<{name}>"))?;
        rest.split('<').next().map(str::to_owned)
    };
    let entry = |part: &str| {
        Some(ListedVersion {
            number: field(part, "number")?.parse().ok()?,
            id: field(part, "VersionId")?,
            is_current: part.contains("<IsCurrentVersion>true<"),
            is_deleted: part.contains("<Deleted>true<"),
        })
    };
    text.split("<Blob>").skip(1).map(entry).collect()
}

/// After the time of faults: every version is listed, and every version that was not deleted is readable.
pub async fn check_kept(world: &World, client: usize) -> bool {
    let mut is_listed = false;
    for _ in 0..LISTS_MAX {
        is_listed |= list_kept(world, client).await.is_some();
    }
    let count = world.ledger().kept.versions(&name_of(client)).len();
    for _ in 0..count {
        read_version(world, client).await;
    }
    is_listed
}
