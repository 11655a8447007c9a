//! Load on servers that run already, each connection on the next of them: how throughput grows with front ends.
//!
//! `cargo run --release -p lazuli-bench --example endpoints -- fill|get|upsert SECONDS 127.0.0.1:PORT…`
//!
//! Prints how many operations it did; fails if one was refused.

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
        let table = format!("{{\"TableName\":\"{TABLE}\"}}");
        let request = Signer::new(first).request("POST", "/Tables", "", &table);
        Connection::open(first).await?.exchange(&request).await?;
    }
    println!("{}", run(&servers, work, slice).await?);
    Ok(())
}

fn request(signer: &Signer, work: Work, row: usize) -> Vec<u8> {
    let (partition, row) = (format!("p{}", row % 16), format!("{row:06}"));
    let path = entity_path(TABLE, &partition, &row);
    match work {
        Work::Get => signer.request("GET", &path, "", ""),
        Work::Fill | Work::Upsert => signer.request("PUT", &path, "", &entity(&partition, &row)),
    }
}

async fn run(servers: &[String], work: Work, slice: Duration) -> Result<u64, Box<dyn std::error::Error>> {
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
            let step = if work == Work::Fill { CONNECTIONS } else { 1 };
            for row in (number..).step_by(step) {
                let is_over = if work == Work::Fill { row >= ROWS } else { Instant::now() >= end };
                if is_over {
                    break;
                }
                let answer = connection.exchange(&request(&signer, work, row % ROWS)).await?;
                if answer.status >= 300 {
                    return Err(std::io::Error::other(String::from_utf8_lossy(&answer.body).into_owned()));
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
