//! One request again and again through the whole server, without sockets and without a second process: for counting
//! instructions, which unlike times do not depend on what else the machine does.
//!
//! ```sh
//! cargo build --release -p lazuli-bench --example hot
//! valgrind --tool=callgrind target/release/examples/hot get 2000
//! perf record -g target/release/examples/hot egt 2000
//! ```
//!
//! The kinds of requests are `bare`, `get`, `insert`, `upsert`, `egt`, `page` and `scan` of tables, `queue-put`, `queue-get`
//! (which includes a put), `queue-drain` (32 puts, a get of 32, a delete of each), `queue-peek`, `blob-put` and `blob-get`. `bare` is served by a handler that does nothing, so it shows
//! the cost of the loop around the others.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::disallowed_methods, reason = "a measuring tool")]

use std::sync::Arc;
use std::time::Instant;

use lazuli_bench::bare::BareHandler;
use lazuli_bench::queue::request as queue;
use lazuli_bench::session::BenchAccount;
use lazuli_bench::table::request;
use lazuli_probe::{Request, Response};
use lazuli_server::accounts::ConfiguredAccount;
use lazuli_server::http::{Handler, Peer, Shared, serve};
use lazuli_server::{Config, Directory, Endpoint, Limits, Service, State};
use lazuli_store::{Durability, Options, Store};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::watch;

const AUTHORITY: &str = "127.0.0.1:10002";
const TABLE: &str = "Bench";
const ROWS: usize = 5000;
const DRAINED: u64 = 32;
const PIPE_BYTES: usize = 1 << 20;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let kind = arguments.first().map_or("get", String::as_str).to_owned();
    let count: usize = arguments.get(1).map_or(1000, |text| text.parse().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(run(&kind, count));
}

async fn run(kind: &str, count: usize) {
    let service = service_of(kind);
    let account = BenchAccount::new(service, AUTHORITY);
    if kind == "bare" {
        let mut pipe = connect(Arc::new(BareHandler::reading(1100)));
        return repeat(&mut pipe, &account, kind, count).await;
    }
    let dir = tempfile::tempdir().unwrap();
    let options = Options { durability: Durability::Relaxed, ..Options::default() };
    let store = Arc::new(Store::open(dir.path(), options).unwrap());
    let config = Config::new(AUTHORITY.parse().unwrap());
    let directory = Directory::new(vec![ConfiguredAccount::development()]);
    let state = Arc::new(State::over(store, directory, config).unwrap());
    let mut pipe = connect(Arc::new(Endpoint::new(state, service)));
    prepare(&mut pipe, &account, kind).await;
    repeat(&mut pipe, &account, kind, count).await;
}

fn service_of(kind: &str) -> Service {
    match kind.split('-').next() {
        Some("queue") => Service::Queue,
        Some("blob") => Service::Blob,
        _ => Service::Table,
    }
}

async fn prepare(pipe: &mut DuplexStream, account: &BenchAccount, kind: &str) {
    match service_of(kind) {
        Service::Table => {
            exchange(pipe, &account.bytes(request::create_table(account, TABLE))).await;
            let rows: Vec<_> = (0..ROWS).map(|row| ("p".to_owned(), format!("{row:09}"))).collect();
            for chunk in rows.chunks(100).filter(|_| matches!(kind, "get" | "upsert" | "page" | "scan")) {
                exchange(pipe, &account.bytes(request::transaction(account, TABLE, chunk))).await;
            }
        }
        Service::Queue => {
            exchange(pipe, &account.bytes(account.request("PUT", "/bench"))).await;
            exchange(pipe, &account.bytes(message(account))).await;
        }
        Service::Blob => {
            exchange(pipe, &account.bytes(account.request("PUT", "/bench?restype=container"))).await;
            exchange(pipe, &account.bytes(blob(account, "blob"))).await;
        }
    }
}

fn message(account: &BenchAccount) -> Request {
    let body = format!("<QueueMessage><MessageText>{}</MessageText></QueueMessage>", "x".repeat(1000));
    account.request("POST", "/bench/messages").with("Content-Type", "application/xml").body(body)
}

fn blob(account: &BenchAccount, name: &str) -> Request {
    account
        .request("PUT", &format!("/bench/{name}"))
        .with("x-ms-blob-type", "BlockBlob")
        .with("Content-Type", "application/octet-stream")
        .body(vec![b'x'; 4096])
}

fn connect<H: Handler>(handler: Arc<H>) -> DuplexStream {
    let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        let peer = Peer { address: AUTHORITY.parse().unwrap(), is_tls: false };
        serve(theirs, peer, &*handler, Shared::new(Limits::default(), stopped)).await;
        drop(stop);
    });
    ours
}

async fn repeat(pipe: &mut DuplexStream, account: &BenchAccount, kind: &str, count: usize) {
    if kind == "queue-drain" {
        return drain(pipe, account, count).await;
    }
    // Built before the loop, so that building them does not count.
    let requests: Vec<Vec<u8>> =
        (0..count).flat_map(|number| requests(account, kind, number)).map(|one| account.bytes(one)).collect();
    let start = Instant::now();
    let mut bytes = 0;
    for request in &requests {
        bytes += exchange(pipe, request).await;
    }
    let each = start.elapsed().as_secs_f64() * 1e6 / count as f64;
    println!("{kind}: {each:.2} us each, {} bytes of response", bytes / count);
}

/// The receipts are in responses, so the requests are built and signed in the loop.
async fn drain(pipe: &mut DuplexStream, account: &BenchAccount, count: usize) {
    let start = Instant::now();
    for _ in 0..count {
        for _ in 0..DRAINED {
            exchange(pipe, &account.bytes(message(account))).await;
        }
        let get = queue::get(account, "bench", DRAINED, 600);
        let body = respond(pipe, &account.bytes(get)).await;
        for receipt in queue::receipts(&Response { body, ..Response::default() }) {
            exchange(pipe, &account.bytes(queue::delete(account, "bench", &receipt))).await;
        }
    }
    let each = start.elapsed().as_secs_f64() * 1e6 / count as f64;
    println!("queue-drain: {each:.2} us each");
}

fn requests(account: &BenchAccount, kind: &str, number: usize) -> Vec<Request> {
    let row = format!("{number:09}");
    let one = match kind {
        "insert" => request::insert(account, TABLE, "p", &row),
        "upsert" => request::upsert(account, TABLE, "p", &format!("{:09}", number % ROWS)),
        "egt" => {
            let rows: Vec<_> = (0..100).map(|row| (format!("p{number}"), format!("{row:09}"))).collect();
            request::transaction(account, TABLE, &rows)
        }
        "page" => request::query(account, TABLE, "PartitionKey eq 'p'", ""),
        "scan" => request::query(account, TABLE, "PartitionKey eq 'p' and Prop5 eq 'none'", ""),
        "queue-put" => message(account),
        "queue-get" => return vec![message(account), account.request("GET", "/bench/messages")],
        "queue-peek" => account.request("GET", "/bench/messages?peekonly=true"),
        "blob-put" => blob(account, &row),
        "blob-get" => account.request("GET", "/bench/blob"),
        _ => request::get(account, TABLE, "p", &format!("{:09}", number % ROWS)),
    };
    vec![one]
}

/// Sends a request and reads the response. Returns the length of its body.
async fn exchange(pipe: &mut DuplexStream, request: &[u8]) -> usize {
    respond(pipe, request).await.len()
}

/// Sends a request and reads the response. Returns its body.
async fn respond(pipe: &mut DuplexStream, request: &[u8]) -> Vec<u8> {
    pipe.write_all(request).await.unwrap();
    let mut input = Vec::with_capacity(16 * 1024);
    loop {
        assert!(pipe.read_buf(&mut input).await.unwrap() > 0, "the server hung up");
        let Some(end) = input.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&input[..end]).to_ascii_lowercase();
        assert!(head.starts_with("http/1.1 2"), "{}", String::from_utf8_lossy(&input));
        let length = head.split("content-length: ").nth(1).unwrap().split("\r\n").next().unwrap();
        let length: usize = length.parse().unwrap();
        while input.len() < end + 4 + length {
            input.reserve(64 * 1024);
            pipe.read_buf(&mut input).await.unwrap();
        }
        return input.split_off(end + 4);
    }
}
