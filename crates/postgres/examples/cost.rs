//! What an operation costs beside plain SQL that does the same: `cargo run --release --example cost -- postgres://…`
//!
//! Both run in this process on the same server, with as many connections, in turns; the ratios of the same round count.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lazuli_engine::{Change, Clock, Condition, Engine, TableId, Write};
use lazuli_postgres::{Postgres, PostgresUrl};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_postgres::{Client, NoTls};

const CONNECTIONS: usize = 16;
const SLICE: Duration = Duration::from_secs(2);
const ROUNDS: usize = 3;
const ROWS: u64 = 5_000;
const TABLE: TableId = TableId(1_000_000);

#[derive(Clone, Copy)]
enum Work {
    Get,
    Upsert,
    Batch,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or("which database?")?;
    let parsed: PostgresUrl = format!("{url}?pool={CONNECTIONS}").parse()?;
    let engine = Arc::new(Postgres::open(parsed, Clock::system()).await?);
    for row in 0..ROWS {
        put(&*engine, row, 1).await?;
    }
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
        tokio::spawn(connection);
        clients.push(Arc::new(client));
    }
    for (name, work) in [("get", Work::Get), ("upsert", Work::Upsert), ("batch of 100", Work::Batch)] {
        for _ in 0..ROUNDS {
            let plain = plain(&clients, work).await?;
            let ours = ours(&engine, work).await;
            let ratio = ours as f64 / plain as f64;
            print(&format!(
                "{name}: plain {} /s, engine {} /s, ratio {ratio:.2}",
                per_second(plain),
                per_second(ours)
            ));
        }
    }
    engine.close().await?;
    Ok(())
}

#[allow(clippy::print_stdout, reason = "this is a program that talks to people")]
fn print(line: &str) {
    println!("{line}");
}

fn per_second(count: u64) -> u64 {
    count / SLICE.as_secs()
}

fn value() -> Vec<u8> {
    vec![b'x'; 1000]
}

async fn put(engine: &dyn Engine, row: u64, count: u64) -> lazuli_engine::Result<()> {
    let write = |n: u64| Write {
        row: format!("{:08}", row + n).into(),
        condition: Condition::Any,
        change: Change::Put(value().into()),
    };
    engine.apply(TABLE, "p", (0..count).map(write).collect()).await.map(|_| ())
}

async fn ours(engine: &Arc<Postgres>, work: Work) -> u64 {
    let (count, end) = (Arc::new(AtomicU64::new(0)), Instant::now() + SLICE);
    let mut tasks = JoinSet::new();
    for task in 0..CONNECTIONS as u64 {
        let (engine, count) = (engine.clone(), count.clone());
        tasks.spawn(async move {
            let mut turn = task * 313;
            while Instant::now() < end {
                turn += 1;
                let row = turn % ROWS;
                let done = match work {
                    Work::Get => engine.get(TABLE, "p", &[&format!("{row:08}")]).await.map(|_| ()),
                    Work::Upsert => put(&*engine, row, 1).await,
                    Work::Batch => put(&*engine, task * 100, 100).await,
                };
                done.expect("the database is there");
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    tasks.join_all().await;
    count.load(Ordering::Relaxed)
}

/// The statements that a careful programmer would write.
async fn plain(clients: &[Arc<Client>], work: Work) -> Result<u64, tokio_postgres::Error> {
    let (count, end) = (Arc::new(AtomicU64::new(0)), Instant::now() + SLICE);
    let mut tasks = JoinSet::new();
    for (task, client) in clients.iter().cloned().enumerate() {
        let count = count.clone();
        let get = "SELECT ver, val FROM lazuli_row WHERE tbl = $1 AND pk = $2 AND rk = $3";
        let upsert = "INSERT INTO lazuli_row (tbl, pk, rk, ver, val) VALUES ($1, $2, $3, $4, $5) \
                      ON CONFLICT (tbl, pk, rk) DO UPDATE SET ver = excluded.ver, val = excluded.val";
        let batch = "INSERT INTO lazuli_row (tbl, pk, rk, ver, val) SELECT $1, $2, r.rk, $3, r.val \
                     FROM unnest($4::bytea[], $5::bytea[]) AS r(rk, val) \
                     ON CONFLICT (tbl, pk, rk) DO UPDATE SET ver = excluded.ver, val = excluded.val";
        let text = match work {
            Work::Get => get,
            Work::Upsert => upsert,
            Work::Batch => batch,
        };
        let statement = client.prepare(text).await?;
        tasks.spawn(async move {
            let (table, partition) = (i64::try_from(TABLE.0).unwrap_or(1), b"p".to_vec());
            let mut turn = task as u64 * 313;
            while Instant::now() < end {
                turn += 1;
                let row = format!("{:08}", turn % ROWS).into_bytes();
                let version = i64::try_from(turn).unwrap_or(1);
                let done = match work {
                    Work::Get => client.query(&statement, &[&table, &partition, &row]).await.map(|_| ()),
                    Work::Upsert => {
                        let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
                            [&table, &partition, &row, &version, &value()];
                        client.execute(&statement, &parameters).await.map(|_| ())
                    }
                    Work::Batch => {
                        let rows: Vec<Vec<u8>> =
                            (0..100).map(|n| format!("{:08}", task * 100 + n).into_bytes()).collect();
                        let values: Vec<Vec<u8>> = (0..100).map(|_| value()).collect();
                        let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
                            [&table, &partition, &version, &rows, &values];
                        client.execute(&statement, &parameters).await.map(|_| ())
                    }
                };
                done.expect("the database is there");
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    tasks.join_all().await;
    Ok(count.load(Ordering::Relaxed))
}
