//! Picks the storage engine by its URL.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use lazuli_engine::memory::Memory;
use lazuli_engine::{Clock, Engine};
use lazuli_postgres::{Postgres, PostgresUrl};
use lazuli_store::{Durability, OpenError, Options, Store};

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
                refuse_database(path)?;
                Ok(EngineUrl::File(path.into()))
            }
            Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => {
                Ok(EngineUrl::Postgres(Box::new(text.parse()?)))
            }
            _ => Err("the engine is memory:, file:DIR or postgres://USER@HOST/DATABASE".into()),
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

/// A path that means the same in any directory.
pub fn whole(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.into())
}

/// What to say where a command looks for a store and finds none.
pub fn no_store(place: &Path) -> String {
    format!("there is no store in {}; --location names its directory, as that of serve does", place.display())
}

/// Why an engine could not be opened.
pub enum EngineError {
    /// Another process has it open.
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

/// Opens the engine.
pub async fn open(
    url: &EngineUrl,
    durability: Durability,
    cache_bytes: Option<u64>,
) -> Result<Arc<dyn Engine>, EngineError> {
    match url {
        EngineUrl::Memory => Ok(Arc::new(Memory::new(Clock::system()))),
        EngineUrl::File(path) => open_store(path, durability, cache_bytes),
        EngineUrl::Postgres(url) => match Postgres::open(PostgresUrl::clone(url), Clock::system()).await {
            Ok(engine) => Ok(Arc::new(engine)),
            Err(error) => Err(EngineError::Failed(format!("{url}: {error}"))),
        },
    }
}

/// A directory of such a name is a mistake, and its name would be shown with the password in it.
fn refuse_database(path: &Path) -> Result<(), String> {
    let text = path.to_string_lossy();
    if text.starts_with("postgres:") || text.starts_with("postgresql:") {
        return Err("a directory is wanted, not the URL of a database: that is --engine postgres://…".into());
    }
    Ok(())
}

/// Opens the embedded store.
pub fn open_store(
    path: &Path,
    durability: Durability,
    cache_bytes: Option<u64>,
) -> Result<Arc<dyn Engine>, EngineError> {
    refuse_database(path).map_err(EngineError::Failed)?;
    let mut options = Options { durability, ..Options::default() };
    if let Some(bytes) = cache_bytes {
        options = options.with_caches(bytes);
    }
    match Store::open(path, options) {
        Ok(store) => Ok(Arc::new(store)),
        Err(error @ OpenError::InUse { .. }) => Err(EngineError::InUse(error.to_string())),
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
