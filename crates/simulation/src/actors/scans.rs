//! Clients that write rows of many partitions, and read all of them page by page while others write.

use std::sync::Arc;

use lazuli_model::Service;

use super::{SETTLED_AFTER, STEADY, request};
use crate::network::{Fate, RequestOutcome};
use crate::time::pass;
use crate::world::World;

const VERSION: &str = "2019-02-02";
/// Number of partitions of the table. Each contains one row of each client.
const PARTITIONS: u64 = 5;
/// Rows on a page.
const PAGE_ROWS: u64 = 3;
/// Maximum pages of a scan, more than it can have.
const PAGES_MAX: usize = 100;

/// Writes rows and scans the table, `steps` times in total.
pub async fn use_scans(world: Arc<World>, client: usize, clients: usize, steps: u32) {
    let create = || {
        let create = request("POST", format!("/{STEADY}/Tables"), VERSION);
        create.with("Prefer", "return-no-content").json("{\"TableName\":\"Many\"}")
    };
    world.set_up(Service::Table, create).await;
    for _ in 0..steps {
        world.rest().await;
        if world.rng.chance(750) {
            write_row(&world, client).await;
        } else {
            scan_rows(&world, clients).await;
        }
    }
}

fn name_of(partition: u64, client: usize) -> String {
    format!("row s{partition} c{client}")
}

async fn write_row(world: &World, client: usize) {
    let partition = world.rng.below(PARTITIONS);
    let name = name_of(partition, client);
    let is_deletion = world.rng.chance(300);
    let number = world.ledger().registers.begin(&name, !is_deletion);
    let target = format!("/{STEADY}/Many(PartitionKey='s{partition}',RowKey='c{client}')");
    let change = if is_deletion {
        request("DELETE", target, VERSION).with("If-Match", "*")
    } else {
        request("PUT", target, VERSION).json(format!("{{\"Number\":{number}}}"))
    };
    let access = world.steady().await;
    let outcome = world.send_as(&access, Service::Table, change).await;
    // A row that does not exist counts as deleted.
    let fate = if is_deletion && outcome.status() == 404 { Fate::Applied } else { outcome.fate() };
    world.ledger().registers.settle(&name, number, fate);
    if fate == Fate::Unknown {
        pass(SETTLED_AFTER).await;
    }
}

/// Reads all rows page by page. Each page is read at a different time, so each row is checked separately.
async fn scan_rows(world: &World, clients: usize) {
    let mut floors = Vec::new();
    for partition in 0..PARTITIONS {
        for client in 0..clients {
            let name = name_of(partition, client);
            let floor = world.ledger().registers.floor(&name);
            floors.push((format!("s{partition}"), format!("c{client}"), name, floor));
        }
    }
    let Some(rows) = all_pages(world).await else { return };
    if !rows.is_sorted_by(|before, after| (&before.0, &before.1) < (&after.0, &after.1)) {
        world.trace.fail(format!("a scan returns rows twice or out of order: {rows:?}"));
    }
    for (partition, row, name, floor) in floors {
        let seen = rows.iter().find(|found| found.0 == partition && found.1 == row).map(|found| found.2);
        let checked = world.ledger().registers.check(&name, floor, seen);
        world.expect(checked);
    }
}

/// The rows of all pages: PartitionKey, RowKey, number. `None` if a page cannot be read.
async fn all_pages(world: &World) -> Option<Vec<(String, String, u64)>> {
    let (mut rows, mut after) = (Vec::new(), String::new());
    for _ in 0..PAGES_MAX {
        let access = world.steady().await;
        let target = format!("/{STEADY}/Many()?$top={PAGE_ROWS}{after}");
        let query = request("GET", target, VERSION).with("Accept", "application/json;odata=nometadata");
        let outcome = world.send_as(&access, Service::Table, query).await;
        if outcome.status() != 200 {
            return None;
        }
        rows.extend(rows_of(&outcome));
        let Some(partition) = outcome.header("x-ms-continuation-NextPartitionKey") else { return Some(rows) };
        after = format!("&NextPartitionKey={}", escaped(partition));
        if let Some(row) = outcome.header("x-ms-continuation-NextRowKey") {
            after.push_str(&format!("&NextRowKey={}", escaped(row)));
        }
    }
    world.trace.fail("a scan does not end".into());
    None
}

fn rows_of(outcome: &RequestOutcome) -> Vec<(String, String, u64)> {
    let text = outcome.text();
    let field = |part: &str, name: &str| {
        let rest = part.split(&format!("\"{name}\":")).nth(1)?;
        Some(rest.trim_start_matches('"').split(['"', ',', '}']).next()?.to_owned())
    };
    let row = |part: &str| {
        let number = field(part, "Number")?.parse().ok()?;
        Some((field(part, "PartitionKey")?, field(part, "RowKey")?, number))
    };
    text.split('{').skip(2).filter_map(row).collect()
}

fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}
