//! One request again and again through the whole server, without sockets and without a second process: for counting
//! instructions, which unlike times do not depend on what else the machine does.
//!
//! ```sh
//! cargo build --release -p lazuli-bench --example hot
//! valgrind --tool=callgrind target/release/examples/hot get 2000
//! perf record -g target/release/examples/hot egt 2000
//! ```
//!
//! The kinds of requests are `bare`, `get`, `insert`, `egt`, `page` and `scan`. What the loop around them costs shows in
//! `bare`, which is answered by a handler that does nothing.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::disallowed_methods, reason = "a measuring tool")]

use std::sync::Arc;
use std::time::Instant;

use lazuli_bench::bare::BareHandler;
use lazuli_bench::request::{Signer, entity, entity_path, query_path};
use lazuli_server::accounts::GivenAccount;
use lazuli_server::http::{Handler, Peer, Shared, serve};
use lazuli_server::{Config, Directory, Frontend, Limits};
use lazuli_store::{Durability, Options, Store};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::watch;

const AUTHORITY: &str = "127.0.0.1:10002";
const TABLE: &str = "Bench";
const ROWS: usize = 5000;
const PIPE_BYTES: usize = 1 << 20;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let kind = arguments.first().map_or("get", String::as_str).to_owned();
    let count: usize = arguments.get(1).map_or(1000, |text| text.parse().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(run(&kind, count));
}

async fn run(kind: &str, count: usize) {
    if kind == "bare" {
        let mut pipe = connect(Arc::new(BareHandler::reading()));
        return repeat(&mut pipe, kind, count).await;
    }
    let dir = tempfile::tempdir().unwrap();
    let options = Options { durability: Durability::Relaxed, ..Options::default() };
    let store = Arc::new(Store::open(dir.path(), options).unwrap());
    let config = Config::new(AUTHORITY.parse().unwrap());
    let directory = Directory::new(vec![GivenAccount::development()]);
    let mut pipe = connect(Arc::new(Frontend::over(store, directory, config).unwrap()));
    let signer = Signer::new(AUTHORITY);
    let create = signer.request("POST", "/Tables", "", &format!("{{\"TableName\":\"{TABLE}\"}}"));
    exchange(&mut pipe, &create).await;
    let rows: Vec<(String, String)> = (0..ROWS).map(|row| ("p".to_owned(), format!("{row:09}"))).collect();
    if matches!(kind, "get" | "page" | "scan") {
        for chunk in rows.chunks(100) {
            exchange(&mut pipe, &signer.batch(TABLE, chunk)).await;
        }
    }
    repeat(&mut pipe, kind, count).await;
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

async fn repeat(pipe: &mut DuplexStream, kind: &str, count: usize) {
    let signer = Signer::new(AUTHORITY);
    // Made before, so that their making does not count.
    let requests: Vec<Vec<u8>> = (0..count).map(|number| request(&signer, kind, number)).collect();
    let start = Instant::now();
    let mut bytes = 0;
    for request in &requests {
        bytes += exchange(pipe, request).await;
    }
    let each = start.elapsed().as_secs_f64() * 1e6 / count as f64;
    println!("{kind}: {each:.2} us each, {} bytes of answer", bytes / count);
}

fn request(signer: &Signer, kind: &str, number: usize) -> Vec<u8> {
    let row = format!("{:09}", number % ROWS);
    match kind {
        "insert" => {
            let entity = entity("p", &format!("{number:09}"));
            signer.request("POST", &format!("/{TABLE}"), "Prefer: return-no-content\r\n", &entity)
        }
        "egt" => {
            let rows: Vec<_> = (0..100).map(|row| (format!("p{number}"), format!("{row:09}"))).collect();
            signer.batch(TABLE, &rows)
        }
        "page" => signer.request("GET", &query_path(TABLE, "PartitionKey eq 'p'", ""), "", ""),
        "scan" => {
            let filter = "PartitionKey eq 'p' and Prop5 eq 'none'";
            signer.request("GET", &query_path(TABLE, filter, ""), "", "")
        }
        _ => signer.request("GET", &entity_path(TABLE, "p", &row), "", ""),
    }
}

/// Sends a request and reads its answer, in which nothing but the length matters; tells that of the body.
async fn exchange(pipe: &mut DuplexStream, request: &[u8]) -> usize {
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
        return length;
    }
}
