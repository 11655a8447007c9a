//! Load on servers that run already, each connection on the next of them: how throughput grows with front ends.
//!
//! `cargo run --release -p lazuli-bench --example endpoints -- SECONDS 127.0.0.1:PORT…`

#![allow(clippy::print_stdout, reason = "this is a program that talks to people")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lazuli_bench::client::Connection;
use lazuli_bench::request::{Signer, entity, entity_path};
use tokio::task::JoinSet;
use tokio::time::Instant;

const CONNECTIONS: usize = 64;
const ROWS: usize = 2_000;
const TABLE: &str = "endpoints";

#[derive(Clone, Copy)]
enum Work {
    Get,
    Upsert,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let slice = Duration::from_secs(args.next().ok_or("how many seconds?")?.parse()?);
    let servers: Vec<String> = args.collect();
    let first = servers.first().ok_or("which servers?")?;
    let (signer, mut connection) = (Signer::new(first), Connection::open(first).await?);
    let table = format!("{{\"TableName\":\"{TABLE}\"}}");
    connection.exchange(&signer.request("POST", "/Tables", "", &table)).await?;
    for row in 0..ROWS {
        let answer = connection.exchange(&request(&signer, Work::Upsert, row)).await?;
        assert_eq!(answer.status, 204, "{}", String::from_utf8_lossy(&answer.body));
    }
    for (name, work) in [("get", Work::Get), ("upsert", Work::Upsert)] {
        let count = run(&servers, work, slice).await?;
        println!("{name}: {} /s with {} front ends", count / slice.as_secs().max(1), servers.len());
    }
    Ok(())
}

fn request(signer: &Signer, work: Work, row: usize) -> Vec<u8> {
    let (partition, row) = (format!("p{}", row % 16), format!("{row:06}"));
    let path = entity_path(TABLE, &partition, &row);
    match work {
        Work::Get => signer.request("GET", &path, "", ""),
        Work::Upsert => signer.request("PUT", &path, "", &entity(&partition, &row)),
    }
}

async fn run(servers: &[String], work: Work, slice: Duration) -> std::io::Result<u64> {
    let count = Arc::new(AtomicU64::new(0));
    let mut connections = Vec::new();
    for number in 0..CONNECTIONS {
        let server = &servers[number % servers.len()];
        connections.push((Signer::new(server), Connection::open(server).await?));
    }
    let end = Instant::now() + slice;
    let mut tasks = JoinSet::new();
    for (number, (signer, mut connection)) in connections.into_iter().enumerate() {
        let count = count.clone();
        tasks.spawn(async move {
            let mut turn = number * 31;
            while Instant::now() < end {
                turn += 1;
                let answer = connection.exchange(&request(&signer, work, turn % ROWS)).await;
                if answer.is_ok_and(|answer| answer.status < 300) {
                    count.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
    }
    tasks.join_all().await;
    Ok(count.load(Ordering::Relaxed))
}
