//! Clients of a page blob: each writes and clears its own part, and reads the whole blob.

use std::ops::Range;
use std::sync::Arc;

use lazuli_model::Service;

use super::blobs::{WORD_BYTES, container};
use super::{SETTLED_AFTER, STEADY, request};
use crate::network::{Fate, Got, RequestOutcome};
use crate::time::pass;
use crate::world::World;

const VERSION: &str = "2021-08-06";
const PAGE_BYTES: usize = 512;
/// Pages of each client. Together they exceed the size of one row on the server, and some changes cross a row
/// boundary.
const PAGES_EACH: usize = 20;
/// The longest change.
const CHANGE_PAGES_MAX: u64 = 6;
/// Attempts to determine the outcome of a change.
const READS_MAX: usize = 5;

/// Writes pages and reads, `steps` times in total.
pub async fn use_pages(world: Arc<World>, client: usize, clients: usize, steps: u32) {
    world.set_up(Service::Blob, container).await;
    let bytes = clients * PAGES_EACH * PAGE_BYTES;
    let create = || {
        let create = request("PUT", target(""), VERSION).with("x-ms-blob-type", "PageBlob");
        create.with("x-ms-blob-content-length", bytes.to_string()).with("If-None-Match", "*")
    };
    world.set_up(Service::Blob, create).await;
    for _ in 0..steps {
        world.rest().await;
        match world.rng.below(10) {
            0..5 => change(&world, client).await,
            5..8 => {
                read_pages(&world, clients).await;
            }
            _ => read_ranges(&world, clients).await,
        }
    }
}

fn target(query: &str) -> String {
    format!("/{STEADY}/things/disk{query}")
}

/// The register of a page.
fn name_of(page: usize) -> String {
    format!("page {page}")
}

fn page_of(number: u64, page: usize) -> Vec<u8> {
    format!("{number:08}{page:08}").repeat(PAGE_BYTES / WORD_BYTES / 2).into_bytes()
}

/// Writes or clears some pages of the client.
async fn change(world: &World, client: usize) {
    let first = client * PAGES_EACH + world.rng.below(PAGES_EACH as u64) as usize;
    let count = 1 + world.rng.below(CHANGE_PAGES_MAX) as usize;
    let pages = first..((client + 1) * PAGES_EACH).min(first + count);
    let is_write = world.rng.chance(750);
    let numbers: Vec<u64> =
        pages.clone().map(|page| world.ledger().registers.begin(&name_of(page), is_write)).collect();
    let range = format!("bytes={}-{}", pages.start * PAGE_BYTES, pages.end * PAGE_BYTES - 1);
    let change = request("PUT", target("?comp=page"), VERSION).with("x-ms-range", range);
    let change = if is_write {
        let content = pages.clone().zip(&numbers).flat_map(|(page, number)| page_of(*number, page));
        change.with("x-ms-page-write", "update").body(content.collect::<Vec<u8>>())
    } else {
        change.with("x-ms-page-write", "clear")
    };
    let access = world.steady().await;
    let outcome = world.send_as(&access, Service::Blob, change).await;
    if outcome.status() == 404 {
        world.trace.fail("the page blob has disappeared".into());
    }
    let settle = |fate| {
        let mut ledger = world.ledger();
        pages.clone().zip(&numbers).for_each(|(page, number)| {
            ledger.registers.settle(&name_of(page), *number, fate);
        });
    };
    settle(outcome.fate());
    if outcome.fate() == Fate::Unknown {
        pass(SETTLED_AFTER).await;
        settle(fate_of(world, &pages, &numbers, is_write).await);
    }
}

/// The outcome of an unknown change: no other client changes these pages, so either all of them show it or
/// none.
async fn fate_of(world: &World, pages: &Range<usize>, numbers: &[u64], is_write: bool) -> Fate {
    for _ in 0..READS_MAX {
        let range = format!("bytes={}-{}", pages.start * PAGE_BYTES, pages.end * PAGE_BYTES - 1);
        let access = world.steady().await;
        let get = request("GET", target(""), VERSION).with("x-ms-range", range);
        let outcome = world.send_as(&access, Service::Blob, get).await;
        let RequestOutcome::Got(Got { status: 206, body, is_broken: false, .. }) = &outcome else { continue };
        let Some(shown) = pages_of(body, pages.start) else {
            world.trace.fail(format!("pages {pages:?} are torn"));
            return Fate::Unknown;
        };
        let is_shown = |(shown, number): (&Option<u64>, &u64)| match shown {
            Some(shown) => is_write && shown == number,
            None => !is_write,
        };
        let count = shown.iter().zip(numbers).filter(|pair| is_shown(*pair)).count();
        return match count {
            // Pages that were already empty do not show whether they were cleared.
            all if all == numbers.len() && !is_write => Fate::Unknown,
            all if all == numbers.len() => Fate::Applied,
            0 => Fate::Rejected,
            _ if !is_write => Fate::Rejected,
            _ => {
                world.trace.fail(format!("a write of pages {pages:?} was applied in part: {shown:?}"));
                Fate::Unknown
            }
        };
    }
    Fate::Unknown
}

/// Reads all pages and checks each.
pub async fn read_pages(world: &World, clients: usize) -> Option<()> {
    let floors = floors(world, clients);
    let access = world.steady().await;
    let failed = world.core.failed_calls();
    let outcome = world.send_as(&access, Service::Blob, request("GET", target(""), VERSION)).await;
    match &outcome {
        RequestOutcome::Got(Got { status: 200, body, is_broken: false, .. }) => {
            let Some(shown) = pages_of(body, 0).filter(|shown| shown.len() == floors.len()) else {
                world.trace.fail(format!("the page blob has {} bytes, or is torn", body.len()));
                return Some(());
            };
            for (page, (number, floor)) in shown.into_iter().zip(floors).enumerate() {
                let checked = world.ledger().registers.check(&name_of(page), floor, number);
                world.expect(checked);
            }
            Some(())
        }
        RequestOutcome::Got(Got { status: 200, is_broken: true, .. })
            if world.core.failed_calls() == failed =>
        {
            world.trace.fail("the page blob ended early, although no call has failed".into());
            None
        }
        RequestOutcome::Got(Got { status: 404, error, .. }) => {
            world.trace.fail(format!("the page blob has disappeared: {error:?}"));
            None
        }
        _ => None,
    }
}

/// Requests the written ranges and checks each page.
async fn read_ranges(world: &World, clients: usize) {
    let floors = floors(world, clients);
    let access = world.steady().await;
    let get = request("GET", target("?comp=pagelist"), VERSION);
    let outcome = world.send_as(&access, Service::Blob, get).await;
    if outcome.status() != 200 {
        return;
    }
    let text = outcome.text();
    let number = |part: &str, name: &str| -> Option<usize> {
        let (_, rest) = part.split_once(&format!("<{name}>"))?;
        rest.split('<').next()?.parse().ok()
    };
    let range =
        |part: &str| Some(number(part, "Start")? / PAGE_BYTES..(number(part, "End")? + 1) / PAGE_BYTES);
    let ranges: Option<Vec<Range<usize>>> = text.split("<PageRange>").skip(1).map(range).collect();
    let Some(ranges) = ranges else { return world.trace.fail(format!("not a list of pages: {text}")) };
    for (page, floor) in floors.into_iter().enumerate() {
        let is_written = ranges.iter().any(|range| range.contains(&page));
        let checked = world.ledger().registers.check_presence(&name_of(page), floor, is_written);
        world.expect(checked);
    }
}

/// The last acknowledged change of each page.
fn floors(world: &World, clients: usize) -> Vec<u64> {
    let ledger = world.ledger();
    (0..clients * PAGES_EACH).map(|page| ledger.registers.floor(&name_of(page))).collect()
}

/// The numbers of the writes that the pages show; `None` for an empty page. No result if a page contains a byte
/// that was never written.
fn pages_of(content: &[u8], first: usize) -> Option<Vec<Option<u64>>> {
    let shown = content.chunks(PAGE_BYTES).enumerate().map(|(at, bytes)| {
        if bytes.iter().all(|byte| *byte == 0) {
            return Some(None);
        }
        let number = std::str::from_utf8(bytes.get(..WORD_BYTES)?).ok()?.parse().ok()?;
        (bytes == page_of(number, first + at)).then_some(Some(number))
    });
    shown.collect()
}
