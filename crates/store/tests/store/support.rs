//! Stores in directories of their own.

use lazuli_engine::conformance::upsert;
use lazuli_engine::{Applied, Clock, Engine, TableId, Version};
use lazuli_store::{Durability, Options, Store};
use tempfile::TempDir;

pub const TABLE: TableId = TableId(7);

/// Options for a test: little memory, the given clock.
pub fn options(clock: Clock) -> Options {
    Options { cache_bytes: 1024 * 1024, clock, durability: Durability::Full, ..Options::default() }
}

pub fn directory() -> TempDir {
    tempfile::tempdir().unwrap()
}

pub fn open(dir: &TempDir) -> Store {
    open_at(dir, Clock::system())
}

pub fn open_at(dir: &TempDir, clock: Clock) -> Store {
    Store::open(dir.path(), options(clock)).unwrap()
}

pub async fn set(store: &Store, row: &str, value: &str) -> Version {
    match store.apply(TABLE, "p", vec![upsert(row, value)]).await {
        Ok(Applied::Done { version, .. }) => version,
        other => panic!("{other:?}"),
    }
}

pub async fn get(store: &Store, row: &str) -> Option<String> {
    let rows = store.get(TABLE, "p", &[row]).await.unwrap();
    rows[0].as_ref().map(|row| String::from_utf8_lossy(&row.value).into_owned())
}
