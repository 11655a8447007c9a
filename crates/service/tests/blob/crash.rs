//! Crashes at every step: a script of operations and sweeps is stopped after its n-th call of the engine or the content
//! store, for every n. After a restart and a sweep, every blob is complete, and no unnamed content is left.
//!
//! A call that is cut off either was applied or not; both cases are tried. In a second series only the n-th call fails and
//! the process lives on: then the same process must clean up.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use bytes::Bytes;
use lazuli_engine::Engine;
use lazuli_engine::content::MemoryContent;
use lazuli_engine::memory::Memory;
use lazuli_model::ErrorCode;
use lazuli_model::blob::Outcome;
use lazuli_model::blob::list::{BlobEntry, Include};
use lazuli_model::blob::operation::{BlobAction, Revision};
use lazuli_model::blob::write::DeleteSnapshots;

use crate::fused::{Fault, Fuse, FusedContent, FusedEngine};
use crate::world::{CONTAINER, Features, START_TICKS, World, blob, bytes_of, clock, tagged, tags_of, with};

/// The states that a blob may have: several while an operation is under way. `None` is a blob that does not exist.
pub type Expected = BTreeMap<&'static str, Vec<Option<Bytes>>>;

/// A script under way.
pub struct Run {
    pub world: World,
    pub expected: Expected,
    pub snapshots: Vec<(&'static str, Revision, Bytes)>,
    /// A list whose commit is under way.
    committing: Option<(&'static str, Vec<String>, Bytes)>,
}

pub type Crash = Result<(), ErrorCode>;

impl Run {
    /// Puts a blob. Until that returns, the blob has the old state or the new one.
    pub async fn put(&mut self, name: &'static str, content: Bytes) -> Crash {
        self.may_become(name, Some(content.clone()));
        self.world.put(name, content.clone()).await?;
        self.has_become(name, Some(content));
        Ok(())
    }

    pub async fn stage(&mut self, name: &str, ids: Range<u64>, length: usize) -> Crash {
        for id in ids {
            self.world.stage(name, &format!("{id:04}"), bytes_of(id, length)).await?;
        }
        Ok(())
    }

    pub async fn commit(&mut self, name: &'static str, ids: &[u64], length: usize) -> Crash {
        let content: Vec<u8> = ids.iter().flat_map(|id| bytes_of(*id, length)).collect();
        let content = Bytes::from(content);
        self.may_become(name, Some(content.clone()));
        let ids: Vec<String> = ids.iter().map(|id| format!("{id:04}")).collect();
        self.committing = Some((name, ids.clone(), content.clone()));
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        self.world.commit(name, &ids).await?;
        self.committing = None;
        self.has_become(name, Some(content));
        Ok(())
    }

    pub async fn snapshot(&mut self, name: &'static str) -> Crash {
        let Outcome::SnapshotMade { snapshot, .. } = self.world.on(name, BlobAction::Snapshot(None)).await?
        else {
            panic!()
        };
        let content = self.expected[name][0].clone().unwrap();
        self.snapshots.push((name, Revision::Snapshot(snapshot), content));
        Ok(())
    }

    pub async fn delete(&mut self, name: &'static str, snapshots: DeleteSnapshots) -> Crash {
        let gone: Vec<_> = self.snapshots.extract_if(.., |(owner, ..)| *owner == name).collect();
        if snapshots != DeleteSnapshots::Only {
            self.may_become(name, None);
        }
        drop(gone);
        self.world.on(name, BlobAction::Delete { snapshots, is_permanent: false }).await?;
        if snapshots != DeleteSnapshots::Only {
            self.has_become(name, None);
        }
        Ok(())
    }

    pub async fn sweep(&mut self) -> Crash {
        for _ in 0..3 {
            self.world.reclaim.round().await.map_err(crate::world::code)?;
            self.world.sweep.round().await.map_err(crate::world::code)?;
        }
        Ok(())
    }

    pub fn may_become(&mut self, name: &'static str, state: Option<Bytes>) {
        self.expected.entry(name).or_insert_with(|| vec![None]).push(state);
    }

    pub fn has_become(&mut self, name: &'static str, state: Option<Bytes>) {
        self.expected.insert(name, vec![state]);
    }

    /// Everything that makes or removes references to content, with sweeps in between.
    async fn script(&mut self) -> Crash {
        self.world.create_container(CONTAINER).await?;
        self.put("put", bytes_of(1, 100)).await?;
        self.put("put", bytes_of(2, 10)).await?;
        self.put("put", bytes_of(3, 200)).await?;
        self.sweep().await?;
        self.stage("blocks", 0..3, 100).await?;
        self.stage("blocks", 1..2, 100).await?;
        self.sweep().await?;
        self.commit("blocks", &[0, 1, 2, 1], 100).await?;
        self.stage("blocks", 3..5, 100).await?;
        self.commit("blocks", &[4, 0, 3], 100).await?;
        self.snapshot("blocks").await?;
        self.sweep().await?;
        self.put("blocks", bytes_of(9, 150)).await?;
        self.stage("blocks", 5..6, 5).await?;
        self.delete("put", DeleteSnapshots::Unspecified).await?;
        self.sweep().await?;
        self.snapshot("blocks").await?;
        self.delete("blocks", DeleteSnapshots::Only).await?;
        self.sweep().await?;
        self.stage("small", 0..40, 10).await?;
        self.commit("small", &(0..40).collect::<Vec<_>>(), 10).await?;
        self.delete("blocks", DeleteSnapshots::Include).await?;
        self.put("blocks", bytes_of(11, 100)).await?;
        self.sweep().await
    }

    /// More blocks than a segment takes: segments are written before the commit that names them.
    async fn long_script(&mut self) -> Crash {
        self.world.create_container(CONTAINER).await?;
        self.stage("long", 0..520, 40).await?;
        let all: Vec<u64> = (0..520).collect();
        self.commit("long", &all, 40).await?;
        self.sweep().await?;
        self.snapshot("long").await?;
        let reversed: Vec<u64> = (0..520).rev().collect();
        self.commit("long", &reversed, 40).await?;
        self.sweep().await?;
        self.delete("long", DeleteSnapshots::Include).await?;
        self.sweep().await
    }

    async fn dropped_script(&mut self) -> Crash {
        self.world.create_container(CONTAINER).await?;
        self.put("a", bytes_of(1, 100)).await?;
        self.stage("b", 0..2, 100).await?;
        self.sweep().await?;
        self.may_become("a", None);
        self.world.on_container(CONTAINER, lazuli_model::blob::container::ContainerAction::Delete).await?;
        self.has_become("a", None);
        self.sweep().await?;
        self.world.pass(1000);
        self.sweep().await?;
        self.world.create_container(CONTAINER).await?;
        self.put("a", bytes_of(2, 100)).await?;
        self.sweep().await
    }

    /// Everything that keeps, restores and expires states of a blob.
    async fn kept_script(&mut self, has_versions: bool) -> Crash {
        self.world.create_container(CONTAINER).await?;
        self.world.try_retain(Some(2)).await?;
        self.put("a", bytes_of(1, 100)).await?;
        self.world.pass(1);
        self.put("a", bytes_of(2, 100)).await?;
        self.snapshot("a").await?;
        self.sweep().await?;
        self.delete("a", DeleteSnapshots::Include).await?;
        self.sweep().await?;
        // With versions, a deleted blob comes back by copying one of them.
        let restored = Some(bytes_of(2, 100)).filter(|_| !has_versions);
        self.may_become("a", restored.clone());
        self.world.on("a", BlobAction::Undelete).await?;
        self.has_become("a", restored);
        self.world.pass(24 * 60 * 60);
        self.put("a", bytes_of(3, 100)).await?;
        self.sweep().await?;
        self.delete("a", DeleteSnapshots::Include).await?;
        self.world.pass(3 * 24 * 60 * 60);
        self.sweep().await?;
        self.put("a", bytes_of(4, 100)).await?;
        self.sweep().await
    }

    /// Everything that changes tags, with sweeps late enough to clean the index.
    async fn tagged_script(&mut self) -> Crash {
        self.world.create_container(CONTAINER).await?;
        for (number, pairs) in
            [&[("k", "1"), ("l", "1")][..], &[("k", "2")], &[], &[("k", "1")]].into_iter().enumerate()
        {
            let content = bytes_of(number as u64, 30);
            self.may_become("a", Some(content.clone()));
            self.world.put_with("a", content.clone(), tagged(pairs)).await?;
            self.has_become("a", Some(content));
            self.world.pass(150);
            self.sweep().await?;
        }
        for pairs in [&[("k", "2"), ("l", "2")][..], &[("l", "2")], &[("k", "1")]] {
            self.world.on("a", BlobAction::SetTags(tags_of(pairs))).await?;
            self.world.pass(150);
            self.sweep().await?;
        }
        self.delete("a", DeleteSnapshots::Unspecified).await?;
        self.world.pass(300);
        self.sweep().await
    }
}

/// Runs a script up to its n-th call, and checks the state afterwards. `false` when the script ends before.
async fn fault_at(n: i64, fault: Fault, carries_out: bool, which: usize) -> bool {
    let ticks = Arc::new(AtomicU64::new(START_TICKS));
    let engine: Arc<dyn Engine> = Arc::new(Memory::new(clock(&ticks)));
    let memory = MemoryContent::default();
    let fuse = Fuse { left: Arc::new(AtomicI64::new(n)), fault, carries_out };
    let left = fuse.left.clone();
    let fused: Arc<dyn Engine> = Arc::new(FusedEngine(engine.clone(), fuse.clone()));
    let content = Arc::new(FusedContent(memory.clone(), fuse));
    let ids = Arc::new(AtomicU64::new(0));
    let copy_at_once_max = Some(50).filter(|_| which == 8);
    let features = Features { versions: which == 5, copy_at_once_max, ..Features::default() };
    let world =
        World::over_with(fused, memory.clone(), ticks.clone(), 20, Some(content), ids.clone(), features);
    let mut run = Run { world, expected: Expected::new(), snapshots: Vec::new(), committing: None };
    let _ = match which {
        0 => run.script().await,
        1 => run.long_script().await,
        2 => run.dropped_script().await,
        4 | 5 => run.kept_script(which == 5).await,
        6 => run.append_script().await,
        7 => run.page_script().await,
        8 => run.pending_script().await,
        _ => run.tagged_script().await,
    };
    // Folding the tail of an append blob may fail without failing the append, so only the fuse shows whether the fault
    // occurred.
    let has_burnt = left.load(Ordering::SeqCst) < 0;
    // The calls of the check do not count: a fault there says nothing about the script.
    left.store(i64::MAX, Ordering::SeqCst);
    if fault == Fault::Crash {
        let world = World::over_with(engine, memory.reopened(), ticks, 20, None, ids, features);
        drop(std::mem::replace(&mut run.world, world));
    }
    run.check(&format!("script {which}, call {n}, {fault:?}, {carries_out}")).await;
    has_burnt
}

/// Every way in which a call can fail.
const FAULTS: [(Fault, bool); 4] =
    [(Fault::Crash, false), (Fault::Crash, true), (Fault::Failure, false), (Fault::Failure, true)];

impl Run {
    /// Checks the data that a new process finds.
    async fn check(mut self, case: &str) {
        let _ = self.world.create_container(CONTAINER).await;
        for round in 0..3 {
            for (name, states) in &self.expected {
                let found = self.state_of(name).await;
                let length = found.as_ref().map(Bytes::len);
                assert!(states.contains(&found), "{case}: {name} in round {round} has {length:?} bytes");
            }
            for (name, revision, content) in &self.snapshots {
                let found = self.world.read_of(name, *revision).await;
                assert!(found.as_deref() == Ok(content), "{case}: snapshot of {name}");
            }
            self.check_tags(case).await;
            self.world.settle().await;
            // A copy that was begun is pending no longer than a restart takes.
            while self.world.blobs.copies().round().await.unwrap() {}
        }
        self.check_retry(case).await;
        self.check_leaks(case).await;
    }

    /// A search finds a blob by each tag that it has, and by no other.
    async fn check_tags(&self, case: &str) {
        let tags = self.world.tags("a").await.unwrap_or_default();
        for (name, value) in [("k", "1"), ("k", "2"), ("l", "1"), ("l", "2")] {
            let found = self.world.find(&format!("{name}='{value}'")).await;
            assert_eq!(found.len(), usize::from(tags.get(name) == Some(value)), "{case}: {name}={value}");
        }
    }

    async fn state_of(&self, name: &str) -> Option<Bytes> {
        match self.world.read(name).await {
            Ok(found) => Some(found.into()),
            Err(ErrorCode::BlobNotFound) => None,
            Err(other) => panic!("{name}: {other:?}"),
        }
    }

    /// A client that does not know whether its list was committed commits it again.
    async fn check_retry(&self, case: &str) {
        let Some((name, ids, content)) = &self.committing else { return };
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        self.world.commit(name, &ids).await.unwrap_or_else(|error| panic!("{case}: {error:?}"));
        assert!(self.state_of(name).await.as_ref() == Some(content), "{case}: {name} after a retry");
    }

    async fn delete_versions(&self) {
        for entry in self.world.entries(Include { versions: true, ..Include::default() }).await {
            if let BlobEntry::Blob(item) = entry {
                let delete =
                    BlobAction::Delete { snapshots: DeleteSnapshots::Unspecified, is_permanent: false };
                let delete = with(blob(&item.name, delete), |request| request.revision = item.revision);
                self.world.run(delete).await.unwrap();
            }
        }
    }

    /// Blocks that were never committed expire. When all blobs are deleted, nothing is left.
    async fn check_leaks(&mut self, case: &str) {
        for name in self.expected.keys() {
            let delete = BlobAction::Delete { snapshots: DeleteSnapshots::Include, is_permanent: false };
            let _ = self.world.on(name, delete).await;
        }
        self.delete_versions().await;
        self.world.pass(8 * 24 * 60 * 60);
        self.world.settle().await;
        // A commit whose outcome was not known has arrived by now.
        self.world.pass(1000);
        self.world.settle().await;
        assert_eq!(self.world.pieces().await, 0, "{case}: content that nothing names");
        assert_eq!(self.world.rows().await, 0, "{case}: rows of blobs that do not exist");
    }
}

/// A fault at any call of a script neither loses acknowledged content nor leaks unused content.
#[tokio::test]
async fn no_fault_loses_or_leaks_content() {
    for which in [0, 2, 3, 4, 5, 6, 7, 8] {
        for (fault, carries_out) in FAULTS {
            let mut n = 0;
            while fault_at(n, fault, carries_out, which).await {
                n += 1;
            }
            assert!(n > 20, "the script makes {n} calls");
        }
    }
}

/// A list that was interrupted leaves segments that share pieces with blocks that still count.
#[tokio::test]
async fn no_fault_within_a_long_list_loses_or_leaks_content() {
    // Uploads are tried by the other scripts.
    let staged = 520 * 3;
    for (fault, carries_out) in FAULTS {
        let mut n = staged - 2;
        while fault_at(n, fault, carries_out, 1).await {
            n += 1;
        }
        assert!(n > staged + 20, "the script makes {n} calls");
    }
}
