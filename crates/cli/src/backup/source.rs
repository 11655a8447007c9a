//! The sources of the blocks of a backup: the server that has the store open, the store itself, or a database.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lazuli_engine::Engine;
use lazuli_objects::ObjectsUrl;
use lazuli_probe::Request;
use lazuli_probe::blocking::Connection;
use lazuli_service::naming;
use serde_json::Value;

use crate::admin;
use crate::engine_url::{self, EngineError, EngineUrl};
use crate::runtime::{self, Runtime};

/// Timeout for a block from the server.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Returns the blocks of a backup.
pub enum BackupInput {
    /// A server.
    Server(Server),
    /// A store that no other process has open, or a database.
    Store(Box<OpenStore>),
}

/// A server that has started a backup.
pub struct Server {
    connection: Connection,
    address: String,
    token: String,
    id: String,
}

/// A store or a database that was opened for a backup.
pub struct OpenStore {
    runtime: Runtime,
    engine: Arc<dyn Engine>,
    blocks: lazuli_archive::BackupSource,
}

impl BackupInput {
    /// Starts a backup of the store in `location`.
    pub fn open(location: &Path) -> Result<Self, String> {
        match engine_url::open_store(location, engine_url::StoreSettings::default()) {
            Ok(engine) => OpenStore::begin(engine).map(|store| Self::Store(Box::new(store))),
            Err(EngineError::InUse(why)) => Server::begin(location)
                .map(Self::Server)
                .map_err(|error| format!("{why}, and the server did not accept the request: {error}")),
            Err(EngineError::Failed(why)) => Err(why),
        }
    }

    /// Starts a backup of a database, which front ends may use at the same time.
    pub fn of_database(url: &EngineUrl, content: Option<&ObjectsUrl>) -> Result<Self, String> {
        if !matches!(url, EngineUrl::Postgres(_)) {
            return Err("--engine expects the URL of a database; pass --location for a store".into());
        }
        let runtime = runtime::many_threads()?;
        let opened = runtime.block_on(engine_url::open(url, content, engine_url::StoreSettings::default()));
        OpenStore::begin_on(runtime, opened?).map(|store| Self::Store(Box::new(store)))
    }

    /// The next block.
    pub fn next_block(&mut self) -> Result<Vec<u8>, String> {
        match self {
            Self::Server(server) => server.next_block(),
            Self::Store(store) => store.next_block(),
        }
    }

    /// Closes the source.
    pub fn close(self) {
        match self {
            // After the last block the backup has already ended; before that, tell the server to abandon it.
            Self::Server(mut server) => drop(server.ask("DELETE", &format!("/backups/{}", server.id))),
            Self::Store(store) => store.close(),
        }
    }
}

impl OpenStore {
    fn begin(engine: Arc<dyn Engine>) -> Result<Self, String> {
        Self::begin_on(runtime::one_thread()?, engine)
    }

    fn begin_on(runtime: Runtime, engine: Arc<dyn Engine>) -> Result<Self, String> {
        let blocks = runtime.block_on(lazuli_archive::BackupSource::begin(&*engine, naming()));
        Ok(Self { runtime, blocks: blocks.map_err(|e| e.to_string())?, engine })
    }

    fn next_block(&mut self) -> Result<Vec<u8>, String> {
        let block = self.runtime.block_on(self.blocks.next());
        let block = block.map_err(|error| error.to_string())?;
        block.ok_or_else(|| "the backup has already ended".into())
    }

    fn close(self) {
        drop(self.blocks);
        // Nothing was written.
        let _ = self.runtime.block_on(self.engine.close());
    }
}

impl Server {
    fn begin(location: &Path) -> Result<Self, String> {
        let (address, token) = admin::address_and_token(location)?;
        let connection = Connection::open(&address, TIMEOUT).map_err(|e| format!("{address}: {e}"))?;
        let mut server = Self { connection, address, token, id: String::new() };
        let response = server.ask("POST", "/backups")?;
        let response: Value = serde_json::from_slice(&response).map_err(|e| e.to_string())?;
        let id =
            response.get("backup").and_then(Value::as_str).ok_or("the response contains no backup id")?;
        server.id = id.to_owned();
        Ok(server)
    }

    fn next_block(&mut self) -> Result<Vec<u8>, String> {
        let path = format!("/backups/{}/next", self.id);
        self.ask("POST", &path).map_err(|error| format!("the server did not continue the backup: {error}"))
    }

    /// The body of the response to a call that must succeed.
    fn ask(&mut self, method: &'static str, path: &str) -> Result<Vec<u8>, String> {
        let mut request = Request::new(method, path)
            .with("Host", self.address.clone())
            .with("Authorization", format!("Bearer {}", self.token));
        request.announce_length();
        let response = self.connection.exchange(&request).map_err(|error| error.to_string())?;
        if response.status == 200 {
            return Ok(response.body);
        }
        let body: Option<Value> = serde_json::from_slice(&response.body).ok();
        let error = body.as_ref().and_then(|value| value.get("error")).and_then(Value::as_str);
        Err(error.map_or_else(|| format!("the server responded with {}", response.status), str::to_owned))
    }
}
