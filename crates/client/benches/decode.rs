//! The cost of decoding a page into the caller's type: `cargo bench -p lazuli-client`.
//!
//! A page of 1000 entities with 10 properties each is decoded repeatedly; the best round counts, since everything else is
//! noise. Then 100 such pages are streamed, and the memory of the process is checked: it must be that of one
//! page.

#![allow(clippy::print_stdout, clippy::disallowed_methods, missing_docs, reason = "a measuring tool")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lazuli_client::decode::decode_page;
use lazuli_client::entity::encode;
use lazuli_client::{
    BoxFuture, Continuation, DateTime, Dynamic, Entity, Error, Guid, PageRequest, PageSource, Query, RawPage,
    Result, TableName,
};

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
        // As the service writes it: with the ETag and the timestamp first.
        page.extend(br#"{"odata.etag":"W/\"datetime'2023-11-14T22%3A13%3A20.1234567Z'\"","#);
        page.extend(br#""Timestamp":"2023-11-14T22:13:20.1234567Z","#);
        page.extend(&body[1..]);
    }
    page.extend(b"]}");
    println!("a page of {ROWS} entities with 10 properties: {} bytes", page.len());
    measure::<Order>("into a struct", &page)?;
    measure::<Dynamic>("into Dynamic", &page)?;
    stream(page)
}

/// The same page, a number of times.
struct Repeated {
    page: Vec<u8>,
    times: u32,
}

impl PageSource for Repeated {
    fn page<'a>(&'a self, request: PageRequest) -> BoxFuture<'a, Result<RawPage>> {
        let number: u32 = request.continuation.map_or(0, |at| at.partition.parse().unwrap_or(self.times));
        let next = (number + 1 < self.times)
            .then(|| Continuation { partition: (number + 1).to_string(), row: None });
        let body = self.page.clone().into();
        Box::pin(async move { Ok(RawPage { body, continuation: next, explain: None, request_id: None }) })
    }
}

/// Streams 100,000 entities and prints how the memory of the process grew between the first page and the last.
fn stream(page: Vec<u8>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.map_err(|error| Error::input(error.to_string()))?;
    let table = TableName::new("Orders").map_err(|_| Error::input("a table name"))?;
    let mut rows = Query::<Order>::new(Arc::new(Repeated { page, times: 100 }), table).stream();
    runtime.block_on(async {
        let (mut count, mut first) = (0_u64, None);
        let start = Instant::now();
        while rows.try_next().await?.is_some() {
            count += 1;
            if count == 2000 {
                first = peak_kib();
            }
        }
        let took = start.elapsed().as_millis();
        println!("a stream of {count} entities: {took} ms, peak memory {first:?} KiB after 2 pages, {:?} at the end", peak_kib());
        Ok(())
    })
}

/// Peak memory of the process, if the system reports it.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
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
    println!("{what}: {nanos} ns per entity");
    Ok(())
}
