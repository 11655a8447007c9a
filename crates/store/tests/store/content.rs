//! Content in pack files: the suite that every content store runs.

use std::sync::Arc;

use lazuli_engine::content::conformance::{ContentFactory, Home};
use lazuli_engine::{Clock, Content, Engine, content_conformance_tests};
use lazuli_store::Store;
use tempfile::TempDir;

use crate::support::{directory, options};

/// Stores in one directory, one after the other.
struct DirectoryHome {
    dir: TempDir,
    store: Option<Store>,
    opened: u64,
}

impl Home for DirectoryHome {
    async fn open(&mut self) -> Arc<dyn Content> {
        if let Some(store) = self.store.take() {
            // Every other time without closing it first.
            if self.opened.is_multiple_of(2) {
                store.close().await.unwrap();
            }
        }
        self.opened += 1;
        let store = Store::open(self.dir.path(), options(Clock::system())).unwrap();
        let content = store.content().unwrap();
        self.store = Some(store);
        content
    }
}

struct OnDisk;

impl ContentFactory for OnDisk {
    type Home = DirectoryHome;

    async fn home(&self) -> DirectoryHome {
        DirectoryHome { dir: directory(), store: None, opened: 0 }
    }
}

content_conformance_tests!(OnDisk);

/// A store loaded from a backup has its content under the same names once it is published; until then, verification
/// gets read-only content.
#[tokio::test]
async fn a_loaded_store_has_its_content() {
    use lazuli_engine::content::conformance::{bytes_of, read_all, write_all};
    use lazuli_engine::{Marks, MemoryContent, TableId, Version};
    use lazuli_store::{ClosedStore, Loader, Options};
    let dir = directory();
    let path = dir.path().join("store");
    let source = MemoryContent::default();
    let mut stored = Vec::new();
    let loader = Loader::create(&path, &Options::default()).unwrap();
    for size in [20_000, 3_000_000, 70_000] {
        let bytes = bytes_of(size as u64, size);
        let piece = write_all(&source, &bytes).await[0];
        loader.content().adopt(piece, bytes.clone()).await.unwrap();
        stored.push((piece, bytes));
    }
    let loaded = loader.seal(Marks { last_version: Version(5), last_table: TableId(1) }).unwrap();
    assert!(read_all(&*loaded.content(), &[stored[1].0]).await.as_ref() == Ok(&stored[1].1));
    loaded.publish().unwrap();
    let reading = ClosedStore::open(&path).unwrap();
    let content = reading.content();
    for (piece, bytes) in &stored {
        assert!(read_all(&*content, &[*piece]).await.as_ref() == Ok(bytes), "{piece}");
    }
    assert!(content.release(vec![stored[0].0]).await.is_err());
    assert!(content.begin(None, None).seal().await.is_ok_and(|pieces| pieces.is_empty()));
    drop((content, reading));
    let store = Store::open(&path, Options::default()).unwrap();
    let content = store.content().unwrap();
    let later = write_all(&*content, &stored[0].1).await[0];
    for (piece, bytes) in &stored {
        assert_ne!(later.stream, piece.stream);
        assert!(read_all(&*content, &[*piece]).await.as_ref() == Ok(bytes), "{piece}");
    }
}
