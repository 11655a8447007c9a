//! Where the blocks of a backup come from: the server that has the store open, or the store itself.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lazuli_archive::Packer;
use lazuli_archive::block::{BLOCK_BYTES, CONTENT_BYTES_MAX, HEADER_BYTES};
use lazuli_engine::{Dump, Engine};
use lazuli_store::Durability;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::admin;
use crate::engine_url::{self, EngineError};
use crate::runtime;

/// How long the server may take for a block.
const PATIENCE: Duration = Duration::from_secs(60);
/// The longest line of an answer's head that is read, and how many.
const HEAD_LINE_BYTES_MAX: u64 = 8 * 1024;
const HEAD_LINES_MAX: usize = 100;

/// Gives the blocks of a backup.
pub enum Source {
    /// A server.
    Server(Server),
    /// A store that nobody else has open.
    Store(Box<OpenStore>),
}

/// A server that has begun a backup.
pub struct Server {
    stream: BufReader<TcpStream>,
    address: String,
    token: String,
    id: String,
}

/// A store that was opened for a backup.
pub struct OpenStore {
    runtime: Runtime,
    engine: Arc<dyn Engine>,
    dump: Option<Box<dyn Dump>>,
    packer: Option<Packer>,
}

impl Source {
    /// Begins a backup of the store in `location`.
    pub fn open(location: &Path) -> Result<Self, String> {
        match engine_url::open_store(location, Durability::Full, None) {
            Ok(engine) => OpenStore::begin(engine).map(|store| Self::Store(Box::new(store))),
            Err(EngineError::InUse(why)) => Server::begin(location)
                .map(Self::Server)
                .map_err(|error| format!("{why}, and the server that has it cannot be asked: {error}")),
            Err(EngineError::Failed(why)) => Err(why),
        }
    }

    /// The next block.
    pub fn next_block(&mut self) -> Result<Vec<u8>, String> {
        match self {
            Self::Server(server) => server.next_block(),
            Self::Store(store) => store.next_block(),
        }
    }

    /// Lets go of it.
    pub fn close(self) {
        match self {
            // After the last block it has ended by itself; before, it is told that nobody will come.
            Self::Server(mut server) => drop(server.ask("DELETE", &format!("/backups/{}", server.id))),
            Self::Store(store) => store.close(),
        }
    }
}

impl OpenStore {
    fn begin(engine: Arc<dyn Engine>) -> Result<Self, String> {
        let runtime = runtime::one_thread()?;
        let dump = runtime.block_on(engine.dump()).map_err(|e| e.to_string())?;
        Ok(Self { runtime, engine, dump: Some(dump), packer: Some(Packer::new()) })
    }

    fn next_block(&mut self) -> Result<Vec<u8>, String> {
        let (Some(dump), Some(mut packer)) = (&mut self.dump, self.packer.take()) else {
            return Err("the backup is over".into());
        };
        let rows = self.runtime.block_on(dump.next(BLOCK_BYTES)).map_err(|e| e.to_string())?;
        if rows.is_empty() {
            return Ok(packer.end(dump.marks()).0);
        }
        let block = packer.rows(&rows);
        self.packer = Some(packer);
        Ok(block)
    }

    fn close(self) {
        drop(self.dump);
        // Nothing was written.
        let _ = self.runtime.block_on(self.engine.close());
    }
}

impl Server {
    fn begin(location: &Path) -> Result<Self, String> {
        let (address, token) = admin::address_and_token(location)?;
        let stream = TcpStream::connect(&address).map_err(|e| format!("{address}: {e}"))?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(|e| e.to_string())?;
        stream.set_nodelay(true).map_err(|e| e.to_string())?;
        let mut server = Self { stream: BufReader::new(stream), address, token, id: String::new() };
        let answer = server.ask("POST", "/backups")?;
        let answer: Value = serde_json::from_slice(&answer).map_err(|e| e.to_string())?;
        let id = answer.get("backup").and_then(Value::as_str).ok_or("the answer is not understood")?;
        server.id = id.to_owned();
        Ok(server)
    }

    fn next_block(&mut self) -> Result<Vec<u8>, String> {
        let path = format!("/backups/{}/next", self.id);
        self.ask("POST", &path).map_err(|error| format!("the server did not go on: {error}"))
    }

    /// The body of the answer to a call that was successful.
    fn ask(&mut self, method: &str, path: &str) -> Result<Vec<u8>, String> {
        let (status, body) = self.exchange(method, path).map_err(|error| error.to_string())?;
        if status == 200 {
            return Ok(body);
        }
        let told: Option<Value> = serde_json::from_slice(&body).ok();
        let told = told.as_ref().and_then(|value| value.get("error")).and_then(Value::as_str);
        Err(told.map_or_else(|| format!("it answered {status}"), str::to_owned))
    }

    fn exchange(&mut self, method: &str, path: &str) -> std::io::Result<(u16, Vec<u8>)> {
        let Self { stream, address, token, .. } = self;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nContent-Length: 0\r\n\r\n"
        );
        stream.get_mut().write_all(head.as_bytes())?;
        let malformed = || std::io::Error::other("the answer is not understood");
        let first = read_line(stream)?;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(malformed)?;
        let mut length = 0;
        for _ in 0..HEAD_LINES_MAX {
            let line = read_line(stream)?;
            if line.is_empty() {
                let mut body = vec![0; length];
                stream.read_exact(&mut body)?;
                return Ok((status, body));
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                let bytes = value.trim().parse().ok();
                length = bytes.filter(|&n| n <= HEADER_BYTES + CONTENT_BYTES_MAX).ok_or_else(malformed)?;
            }
        }
        Err(malformed())
    }
}

fn read_line(stream: &mut BufReader<TcpStream>) -> std::io::Result<String> {
    let mut line = String::new();
    if stream.take(HEAD_LINE_BYTES_MAX).read_line(&mut line)? == 0 {
        return Err(std::io::Error::other("the connection was closed"));
    }
    Ok(line.trim_end().to_owned())
}
