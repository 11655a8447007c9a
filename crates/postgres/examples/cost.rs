//! The cost of an operation compared with plain SQL that does the same: `cargo run --release --example cost -- postgres://…`
//!
//! Both run alternately in this process, on the same server, with the same number of connections; compare the ratios within
//! a round. Processor time includes this process and the server's processes for the database, if they are on one machine:
//! unlike the rates, it does not change when the machine is busy with other work.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lazuli_engine::{Change, Clock, Condition, Engine, TableId, Write};
use lazuli_postgres::{Postgres, PostgresUrl};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls};

const CONNECTIONS: usize = 16;
const SLICE: Duration = Duration::from_secs(2);
const ROUNDS: usize = 3;
const BATCH: u64 = 100;
const ROWS: u64 = 50 * BATCH;
const TABLE: TableId = TableId(1_000_000);
/// Microseconds per clock tick in Linux's process statistics.
const MICROS_PER_TICK: u64 = 10_000;

#[derive(Clone, Copy)]
enum Work {
    Get,
    Upsert,
    Batch,
}

/// The results of one slice.
#[derive(Clone, Copy)]
struct Done {
    operations: u64,
    seconds: f64,
    /// Processor time, if it is known.
    micros: u64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or("which database?")?;
    let parsed: PostgresUrl = format!("{url}?pool={CONNECTIONS}").parse()?;
    let engine = Arc::new(Postgres::open(parsed, Clock::system()).await?);
    for first in (0..ROWS).step_by(BATCH as usize) {
        put(&*engine, first, BATCH).await?;
    }
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
        tokio::spawn(connection);
        clients.push(Arc::new(client));
    }
    for (name, work) in [("get", Work::Get), ("upsert", Work::Upsert), ("batch of 100", Work::Batch)] {
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let plain = measured(&clients[0], plain(&clients, work)).await?;
            let ours = measured(&clients[0], ours(&engine, work)).await?;
            print(&format!("{name}: plain {}, engine {}", plain.show(), ours.show()));
            rounds.push((ours.rate() / plain.rate(), ours.cost() / plain.cost()));
        }
        let rate = median(rounds.iter().map(|round| round.0).collect());
        let cost = median(rounds.iter().map(|round| round.1).collect());
        print(&format!(
            "{name}: the engine does {rate:.2} times as many, at {cost:.2} times the processor's time each"
        ));
    }
    engine.close().await?;
    Ok(())
}

#[allow(clippy::print_stdout, reason = "this program prints its results")]
fn print(line: &str) {
    println!("{line}");
}

impl Done {
    fn rate(self) -> f64 {
        self.operations as f64 / self.seconds
    }

    fn cost(self) -> f64 {
        self.micros as f64 / self.operations.max(1) as f64
    }

    fn show(self) -> String {
        format!("{:.0} /s at {:.0} µs", self.rate(), self.cost())
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Runs a slice and measures its duration and processor time.
async fn measured(
    client: &Client,
    slice: impl Future<Output = Result<u64, tokio_postgres::Error>>,
) -> Result<Done, tokio_postgres::Error> {
    let (before, begun) = (processor(client).await?, Instant::now());
    let operations = slice.await?;
    let (seconds, after) = (begun.elapsed().as_secs_f64(), processor(client).await?);
    Ok(Done { operations, seconds, micros: after.saturating_sub(before) })
}

/// The processor time so far of this process and of the server's processes for this database, in microseconds.
async fn processor(client: &Client) -> Result<u64, tokio_postgres::Error> {
    let servers = "SELECT pid FROM pg_stat_activity WHERE datname = current_database()";
    let pids = client.query(servers, &[]).await?;
    let pids = pids.iter().map(|row| row.get::<_, i32>(0).to_string());
    let ticks = |pid: String| -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        // utime and stime, the 14th and 15th of all.
        fields.iter().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
    };
    Ok(pids.chain(["self".to_owned()]).map(ticks).sum::<u64>() * MICROS_PER_TICK)
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

async fn ours(engine: &Arc<Postgres>, work: Work) -> Result<u64, tokio_postgres::Error> {
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
                    Work::Batch => put(&*engine, task * BATCH, BATCH).await,
                };
                done.expect("the database responds");
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    tasks.join_all().await;
    Ok(count.load(Ordering::Relaxed))
}

const GET: &str = "SELECT ver, val FROM lazuli_row WHERE tbl = $1 AND pk = $2 AND rk = $3";
const UPSERT: &str = "INSERT INTO lazuli_row (tbl, pk, rk, ver, val) VALUES ($1, $2, $3, $4, $5) \
     ON CONFLICT (tbl, pk, rk) DO UPDATE SET ver = excluded.ver, val = excluded.val";
const UPSERT_MANY: &str = "INSERT INTO lazuli_row (tbl, pk, rk, ver, val) SELECT $1, $2, r.rk, $3, r.val \
     FROM unnest($4::bytea[], $5::bytea[]) AS r(rk, val) \
     ON CONFLICT (tbl, pk, rk) DO UPDATE SET ver = excluded.ver, val = excluded.val";

/// The statements that a careful programmer would write.
async fn plain(clients: &[Arc<Client>], work: Work) -> Result<u64, tokio_postgres::Error> {
    let (count, end) = (Arc::new(AtomicU64::new(0)), Instant::now() + SLICE);
    let mut tasks = JoinSet::new();
    for (task, client) in clients.iter().cloned().enumerate() {
        let count = count.clone();
        let text = match work {
            Work::Get => GET,
            Work::Upsert => UPSERT,
            Work::Batch => UPSERT_MANY,
        };
        let statement = client.prepare(text).await?;
        tasks.spawn(async move {
            let mut turn = task as u64 * 313;
            while Instant::now() < end {
                turn += 1;
                let done = match work {
                    Work::Get | Work::Upsert => plain_one(&client, &statement, work, turn).await,
                    Work::Batch => plain_many(&client, &statement, task as u64 * BATCH, turn).await,
                };
                done.expect("the database responds");
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    tasks.join_all().await;
    Ok(count.load(Ordering::Relaxed))
}

fn place() -> (i64, Vec<u8>) {
    (i64::try_from(TABLE.0).unwrap_or(1), b"p".to_vec())
}

async fn plain_one(
    client: &Client,
    statement: &tokio_postgres::Statement,
    work: Work,
    turn: u64,
) -> Result<(), tokio_postgres::Error> {
    let (table, partition) = place();
    let row = format!("{:08}", turn % ROWS).into_bytes();
    let version = i64::try_from(turn).unwrap_or(1);
    if matches!(work, Work::Get) {
        return client.query(statement, &[&table, &partition, &row]).await.map(|_| ());
    }
    let parameters: [&(dyn ToSql + Sync); 5] = [&table, &partition, &row, &version, &value()];
    client.execute(statement, &parameters).await.map(|_| ())
}

async fn plain_many(
    client: &Client,
    statement: &tokio_postgres::Statement,
    first: u64,
    turn: u64,
) -> Result<(), tokio_postgres::Error> {
    let (table, partition) = place();
    let version = i64::try_from(turn).unwrap_or(1);
    let rows: Vec<Vec<u8>> = (0..BATCH).map(|n| format!("{:08}", first + n).into_bytes()).collect();
    let values: Vec<Vec<u8>> = (0..BATCH).map(|_| value()).collect();
    let parameters: [&(dyn ToSql + Sync); 5] = [&table, &partition, &version, &rows, &values];
    client.execute(statement, &parameters).await.map(|_| ())
}
