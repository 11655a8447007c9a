//! Clients of a table: each writes a pair of rows in one transaction, and reads the pairs of all clients.

use std::sync::Arc;

use lazuli_model::Service;

use super::{SETTLED_AFTER, request};
use crate::network::{Fate, RequestOutcome};
use crate::time::pass;
use crate::world::World;

const VERSION: &str = "2019-02-02";
const BOUNDARY: &str = "multipart/mixed; boundary=batch_1";

/// Writes one pair and reads all of them, `steps` times in total.
pub async fn use_rows(world: Arc<World>, client: usize, clients: usize, steps: u32) {
    use_rows_table(&world).await;
    for _ in 0..steps {
        world.rest().await;
        if world.rng.chance(450) {
            write_pair(&world, client).await;
        } else {
            let other = world.rng.below(clients as u64) as usize;
            read_pair(&world, other).await;
        }
    }
}

/// Creates the table of the pairs, unless it exists.
pub async fn use_rows_table(world: &World) {
    let create = || {
        let create = request("POST", format!("/{}/Tables", super::STEADY), VERSION);
        create.with("Prefer", "return-no-content").json("{\"TableName\":\"Rows\"}")
    };
    world.set_up(Service::Table, create).await;
}

fn name_of(client: usize) -> String {
    format!("pair p{client}")
}

async fn write_pair(world: &World, client: usize) {
    let name = name_of(client);
    let number = world.ledger().registers.begin(&name, true);
    let access = world.steady().await;
    let batch = request("POST", format!("/{}/$batch", access.account), VERSION);
    let batch = batch.with("Content-Type", BOUNDARY).body(batch_body(&access.account, client, number));
    let outcome = world.send_as(&access, Service::Table, batch).await;
    let fate = batch_fate(&outcome);
    world.ledger().registers.settle(&name, number, fate);
    if fate == Fate::Unknown {
        pass(SETTLED_AFTER).await;
    }
}

fn batch_body(account: &str, client: usize, number: u64) -> String {
    let mut body = String::from("--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_1\r\n\r\n");
    for row in ["a", "b"] {
        body.push_str(
            "--changeset_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n",
        );
        body.push_str(&format!(
            "PUT http://127.0.0.1:10000/{account}/Rows(PartitionKey='p{client}',RowKey='{row}') HTTP/1.1\r\n\
             Content-Type: application/json\r\n\r\n{{\"Number\":{number}}}\r\n"
        ));
    }
    body.push_str("--changeset_1--\r\n--batch_1--\r\n");
    body
}

/// A transaction that failed is a response within a response.
fn batch_fate(outcome: &RequestOutcome) -> Fate {
    let outer = outcome.fate();
    if outer != Fate::Applied {
        return outer;
    }
    let text = outcome.text();
    let mut inner = text.split("HTTP/1.1 ").skip(1).map(|rest| rest.get(..3).unwrap_or_default());
    match inner.find(|status| !status.starts_with('2')) {
        None => Fate::Applied,
        Some(status) if status.starts_with('4') || status == "503" => Fate::Rejected,
        Some(_) => Fate::Unknown,
    }
}

/// Reads a pair and checks its values.
pub async fn read_pair(world: &World, client: usize) -> Option<()> {
    let name = name_of(client);
    let floor = world.ledger().registers.floor(&name);
    let access = world.steady().await;
    let target = format!("/{}/Rows()?$filter=PartitionKey%20eq%20'p{client}'", access.account);
    let query = request("GET", target, VERSION).with("Accept", "application/json;odata=nometadata");
    let outcome = world.send_as(&access, Service::Table, query).await;
    if outcome.status() == 404 {
        world.trace.fail("the table Rows has disappeared".into());
    }
    if outcome.status() != 200 {
        return None;
    }
    let text = outcome.text();
    let numbers: Vec<u64> = text
        .split("\"Number\":")
        .skip(1)
        .filter_map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok())
        .collect();
    let checked = match numbers[..] {
        [] => world.ledger().registers.check(&name, floor, None),
        [first, second] if first == second => world.ledger().registers.check(&name, floor, Some(first)),
        _ => Err(format!("{name} is torn: {numbers:?}")),
    };
    world.expect(checked);
    Some(())
}
