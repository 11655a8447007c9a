//! Load on servers that run already, with connections spread over them: how throughput grows with front ends.
//!
//! `cargo run --release -p lazuli-bench --example endpoints -- fill|get|upsert SECONDS 127.0.0.1:PORT…`
//!
//! Prints the number of operations; fails if one was rejected.

#![allow(clippy::print_stdout, reason = "this program prints its results")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lazuli_bench::session::BenchAccount;
use lazuli_bench::table::request;
use lazuli_model::Service;
use lazuli_probe::Connection;
use tokio::task::JoinSet;
use tokio::time::Instant;

const CONNECTIONS: usize = 64;
const ROWS: usize = 2_000;
const TABLE: &str = "endpoints";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    /// Makes the table and all rows, each once.
    Fill,
    Get,
    Upsert,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let work = match args.next().ok_or("what to do?")?.as_str() {
        "fill" => Work::Fill,
        "get" => Work::Get,
        "upsert" => Work::Upsert,
        other => return Err(format!("fill, get or upsert, not {other}").into()),
    };
    let slice = Duration::from_secs(args.next().ok_or("how many seconds?")?.parse()?);
    let servers: Vec<String> = args.collect();
    let first = servers.first().ok_or("which servers?")?;
    if work == Work::Fill {
        let account = BenchAccount::new(Service::Table, first);
        let create = account.bytes(request::create_table(&account, TABLE));
        Connection::open(first).await?.exchange("POST", &create).await?;
    }
    println!("{}", run(&servers, work, slice).await?);
    Ok(())
}

fn request(account: &BenchAccount, work: Work, row: usize) -> (&'static str, Vec<u8>) {
    let (partition, row) = (format!("p{}", row % 16), format!("{row:06}"));
    match work {
        Work::Get => ("GET", account.bytes(request::get(account, TABLE, &partition, &row))),
        Work::Fill | Work::Upsert => {
            ("PUT", account.bytes(request::upsert(account, TABLE, &partition, &row)))
        }
    }
}

async fn run(servers: &[String], work: Work, slice: Duration) -> Result<u64, Box<dyn std::error::Error>> {
    let count = Arc::new(AtomicU64::new(0));
    let mut connections = Vec::new();
    for number in 0..CONNECTIONS {
        let server = &servers[number % servers.len()];
        connections.push((BenchAccount::new(Service::Table, server), Connection::open(server).await?));
    }
    let end = Instant::now() + slice;
    let mut tasks = JoinSet::new();
    for (number, (account, mut connection)) in connections.into_iter().enumerate() {
        let count = count.clone();
        tasks.spawn(async move {
            let step = if work == Work::Fill { CONNECTIONS } else { 1 };
            for row in (number..).step_by(step) {
                let is_over = if work == Work::Fill { row >= ROWS } else { Instant::now() >= end };
                if is_over {
                    break;
                }
                let (method, bytes) = request(&account, work, row % ROWS);
                let response = connection.exchange(method, &bytes).await?;
                if response.status >= 300 {
                    return Err(std::io::Error::other(response.text()));
                }
                count.fetch_add(1, Ordering::Relaxed);
            }
            std::io::Result::Ok(())
        });
    }
    for done in tasks.join_all().await {
        done?;
    }
    Ok(count.load(Ordering::Relaxed))
}
