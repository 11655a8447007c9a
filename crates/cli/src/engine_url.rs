//! Picks the storage engine by its URL.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use lazuli_engine::memory::Memory;
use lazuli_engine::{Clock, Engine};
use lazuli_objects::ObjectsUrl;
use lazuli_postgres::{Postgres, PostgresUrl};
use lazuli_store::{Durability, OpenError, Options, Store};

use crate::contents;

/// Where the data lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineUrl {
    /// `memory:`, nothing on disk.
    Memory,
    /// `file:DIR`, the embedded store.
    File(PathBuf),
    /// `postgres://…`, a database that several servers may share.
    Postgres(Box<PostgresUrl>),
}

impl FromStr for EngineUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("memory", "" | "//")) => Ok(EngineUrl::Memory),
            Some(("file", path)) if !path.is_empty() => {
                let path = Path::new(path.strip_prefix("//").unwrap_or(path));
                reject_database(path)?;
                Ok(EngineUrl::File(path.into()))
            }
            Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => {
                Ok(EngineUrl::Postgres(Box::new(text.parse()?)))
            }
            _ => Err("unknown engine; expected memory:, file:DIR or postgres://USER@HOST/DATABASE".into()),
        }
    }
}

impl EngineUrl {
    /// The directory of the embedded store.
    pub fn directory(&self) -> Option<&Path> {
        match self {
            EngineUrl::Memory | EngineUrl::Postgres(_) => None,
            EngineUrl::File(path) => Some(path),
        }
    }
}

/// An absolute path.
pub fn whole(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.into())
}

/// The error for a directory without a store.
pub fn no_store(place: &Path) -> String {
    format!("there is no store in {}; pass the data directory of the server with --location", place.display())
}

/// The reason why an engine could not be opened.
pub enum EngineError {
    /// Another process has the engine open.
    InUse(String),
    /// Anything else.
    Failed(String),
}

impl From<EngineError> for String {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::InUse(why) | EngineError::Failed(why) => why,
        }
    }
}

/// Settings of the embedded store; other engines ignore them.
pub struct StoreSettings {
    /// Defines when a change is acknowledged.
    pub durability: Durability,
    /// Memory for caches; `None` for the store's default.
    pub cache_bytes: Option<u64>,
    /// Open the store even if acknowledged data is missing.
    pub accept_data_loss: bool,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self { durability: Durability::Full, cache_bytes: None, accept_data_loss: false }
    }
}

/// Opens the engine, with its content in an object store if a URL names one.
pub async fn open(
    url: &EngineUrl,
    content: Option<&ObjectsUrl>,
    settings: StoreSettings,
) -> Result<Arc<dyn Engine>, EngineError> {
    match (url, content) {
        (EngineUrl::Memory, None) => Ok(Arc::new(Memory::new(Clock::system()))),
        (EngineUrl::File(path), None) => open_store(path, settings),
        (EngineUrl::Postgres(url), None) => {
            let opened = Postgres::open(PostgresUrl::clone(url), Clock::system()).await;
            opened.map(|engine| Arc::new(engine) as _).map_err(|error| failed(url, &error))
        }
        (EngineUrl::Postgres(url), Some(content)) => {
            let opened = Postgres::open_rows(PostgresUrl::clone(url), Clock::system()).await;
            let rows = opened.map_err(|error| failed(url, &error))?;
            contents::attach(rows, content).await.map_err(EngineError::Failed)
        }
        (EngineUrl::Memory | EngineUrl::File(_), Some(_)) => Err(EngineError::Failed(ONLY_DATABASES.into())),
    }
}

/// Opens the engine for a command that uses no content, wherever the content is.
pub async fn open_rows(url: &EngineUrl) -> Result<Arc<dyn Engine>, EngineError> {
    match url {
        EngineUrl::Postgres(url) => {
            let opened = Postgres::open_rows(PostgresUrl::clone(url), Clock::system()).await;
            opened.map(|engine| Arc::new(engine) as _).map_err(|error| failed(url, &error))
        }
        EngineUrl::Memory | EngineUrl::File(_) => open(url, None, StoreSettings::default()).await,
    }
}

/// The error for an object store combined with an engine that stores content itself.
pub const ONLY_DATABASES: &str =
    "an object store needs --engine postgres://…; other engines store content themselves";

fn failed(url: &PostgresUrl, error: &lazuli_postgres::DatabaseError) -> EngineError {
    EngineError::Failed(format!("{url}: {error}"))
}

/// Rejects the URL of a database where a directory is expected: messages that name the directory would show its password.
fn reject_database(path: &Path) -> Result<(), String> {
    let text = path.to_string_lossy();
    if text.starts_with("postgres:") || text.starts_with("postgresql:") {
        return Err("expected a directory, not the URL of a database; pass that with --engine".into());
    }
    Ok(())
}

/// A backup is not a store: opening it would leave an empty store among its files.
fn reject_backup(path: &Path) -> Result<(), String> {
    let is_backup = path.join(lazuli_archive::manifest::FILE).exists();
    if is_backup && !path.join(lazuli_store::FORMAT_FILE).exists() {
        let shown = path.display();
        return Err(format!(
            "{shown} is a backup, not a store; create a store from it: lazuli restore {shown} --location NEW-DIRECTORY"
        ));
    }
    Ok(())
}

/// Opens the embedded store.
pub fn open_store(path: &Path, settings: StoreSettings) -> Result<Arc<dyn Engine>, EngineError> {
    reject_database(path).map_err(EngineError::Failed)?;
    reject_backup(path).map_err(EngineError::Failed)?;
    let StoreSettings { durability, cache_bytes, accept_data_loss } = settings;
    let mut options = Options { durability, accept_data_loss, ..Options::default() };
    if let Some(bytes) = cache_bytes {
        options = options.with_caches(bytes);
    }
    match Store::open(path, options) {
        Ok(store) => Ok(Arc::new(store)),
        Err(error @ OpenError::InUse { .. }) => Err(EngineError::InUse(error.to_string())),
        Err(error @ OpenError::Lost(_)) => Err(EngineError::Failed(format!(
            "{error}. Restore a backup, or start once with --accept-data-loss to continue without it"
        ))),
        Err(error) => Err(EngineError::Failed(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        assert_eq!("memory:".parse(), Ok(EngineUrl::Memory));
        assert_eq!("file:data".parse(), Ok(EngineUrl::File("data".into())));
        assert_eq!("file:///var/lib/lazuli".parse(), Ok(EngineUrl::File("/var/lib/lazuli".into())));
        let url: EngineUrl = "postgres://me:secret@one,two/db".parse().unwrap();
        assert!(matches!(&url, EngineUrl::Postgres(url) if url.to_string() == "postgres://me@one,two/db"));
        assert_eq!(url.directory(), None);
        for bad in [
            "",
            "data",
            "file:",
            "memory:x",
            "redis://x",
            "postgres://h/db?nonsense=1",
            "file:postgres://u:p@h",
            "file://postgresql://u@h",
        ] {
            assert!(bad.parse::<EngineUrl>().is_err(), "{bad}");
        }
    }
}
