//! What it costs to read a page into the caller's type: `cargo bench -p lazuli-client`.
//!
//! A page of 1000 entities with 10 properties each is read again and again; the best round counts, since everything
//! else is the machine's noise.

#![allow(clippy::print_stdout, clippy::disallowed_methods, missing_docs)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use lazuli_client::decode::decode_page;
use lazuli_client::entity::encode;
use lazuli_client::{DateTime, Dynamic, Entity, Guid, Result};

const ROWS: u32 = 1000;
const ROUNDS: u32 = 200;

#[derive(Clone, Debug, Entity)]
#[table(rename_all = "PascalCase")]
struct Order {
    #[table(partition_key)]
    customer: String,
    #[table(row_key)]
    number: u32,
    description: String,
    city: String,
    quantity: i32,
    weight: f64,
    total_cents: i64,
    paid: bool,
    placed: DateTime,
    id: Guid,
    note: Option<String>,
    priority: i32,
}

fn order(number: u32) -> Order {
    Order {
        customer: "customer-000042".into(),
        number,
        description: "Six strings, nickel wound".into(),
        city: "Delft".into(),
        quantity: 3,
        weight: 0.25,
        total_cents: 123_456_789_012,
        paid: true,
        placed: DateTime::from_unix(Duration::from_secs(1_700_000_000)),
        id: Guid([7; 16]),
        note: Some("leave at the door".into()),
        priority: 5,
    }
}

fn main() -> Result<()> {
    let mut page = br#"{"odata.metadata":"http://host/$metadata#Orders","value":["#.to_vec();
    for number in 0..ROWS {
        if number > 0 {
            page.push(b',');
        }
        let body = encode(&order(number))?.body;
        // As the service writes it: with the ETag and the timestamp in front.
        page.extend(br#"{"odata.etag":"W/\"datetime'2023-11-14T22%3A13%3A20.1234567Z'\"","#);
        page.extend(br#""Timestamp":"2023-11-14T22:13:20.1234567Z","#);
        page.extend(&body[1..]);
    }
    page.extend(b"]}");
    println!("a page of {ROWS} entities with 10 properties: {} bytes", page.len());
    measure::<Order>("into a struct", &page)?;
    measure::<Dynamic>("into Dynamic", &page)
}

fn measure<T: Entity>(what: &str, page: &[u8]) -> Result<()> {
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let rows = black_box(decode_page::<T>(black_box(page))?);
        best = best.min(start.elapsed());
        drop(rows);
    }
    let nanos = best.as_nanos() / u128::from(ROWS);
    println!("{what}: {nanos} ns for an entity");
    Ok(())
}
