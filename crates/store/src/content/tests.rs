//! Packs on a disk that fails, and bounds that are reached.

use std::fs::{self, File};
use std::io::{self, ErrorKind, IoSlice};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use lazuli_engine::content::conformance::{bytes_of, read_all, settled, write_all};
use lazuli_engine::content::{Content, Piece};
use lazuli_engine::{Error, Result};
use tempfile::TempDir;

use super::disk::{Disk, RealDisk};
use super::limits::{
    CHUNK_UNIT_BYTES, GATHERED_BYTES_MAX, GATHERED_UNIT_BYTES, PACK_BYTES_MAX, READ_BYTES_MAX,
    SMALL_CHUNK_BYTES,
};
use super::{DIRECTORY, PackContent};
use crate::options::Durability;

/// A call of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Create,
    Write,
    Sync,
    SyncDir,
    Punch,
    Remove,
}

/// Decides by the call, and by its number among all calls, whether it fails.
type Plan = Box<dyn Fn(Call, usize) -> Option<ErrorKind> + Send>;

/// A disk that records all calls and fails as planned.
struct Faulty {
    calls: Mutex<Vec<Call>>,
    plan: Mutex<Plan>,
}

impl Faulty {
    fn new() -> Arc<Self> {
        Arc::new(Self { calls: Mutex::default(), plan: Mutex::new(Box::new(|_, _| None)) })
    }

    fn plan(&self, plan: impl Fn(Call, usize) -> Option<ErrorKind> + Send + 'static) {
        *self.plan.lock().unwrap() = Box::new(plan);
    }

    /// Fails all calls of one kind.
    fn fail(&self, failing: Call, kind: ErrorKind) {
        self.plan(move |call, _| (call == failing).then_some(kind));
    }

    fn heal(&self) {
        self.plan(|_, _| None);
    }

    fn count(&self, call: Call) -> usize {
        self.calls.lock().unwrap().iter().filter(|&&other| other == call).count()
    }

    fn note(&self, call: Call) -> io::Result<()> {
        let mut calls = self.calls.lock().unwrap();
        calls.push(call);
        (self.plan.lock().unwrap())(call, calls.len()).map_or(Ok(()), |kind| Err(kind.into()))
    }
}

impl Disk for Faulty {
    fn create(&self, path: &Path) -> io::Result<File> {
        self.note(Call::Create)?;
        RealDisk.create(path)
    }

    /// A failing write leaves some bytes behind.
    fn write(&self, file: &File, buffers: &mut [IoSlice<'_>], offset: u64) -> io::Result<()> {
        if let Err(error) = self.note(Call::Write) {
            RealDisk.write(file, &mut buffers[..1], offset)?;
            return Err(error);
        }
        RealDisk.write(file, buffers, offset)
    }

    fn sync(&self, _: &File) -> io::Result<()> {
        self.note(Call::Sync)
    }

    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        self.note(Call::SyncDir)
    }

    fn punch(&self, file: &File, offset: u64, bytes: u64) -> io::Result<()> {
        self.note(Call::Punch)?;
        RealDisk.punch(file, offset, bytes)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.note(Call::Remove)?;
        RealDisk.remove(path)
    }
}

fn open(dir: &TempDir, disk: &Arc<Faulty>, pack_bytes_max: u64) -> PackContent {
    let disk: Arc<dyn Disk> = Arc::<Faulty>::clone(disk);
    PackContent::open_with(dir.path(), Durability::Full, disk, pack_bytes_max).unwrap()
}

async fn try_write(content: &dyn Content, bytes: &Bytes) -> Result<Vec<Piece>> {
    let mut writer = content.begin(Some(bytes.len() as u64), None);
    for from in (0..bytes.len()).step_by(100_000) {
        writer.write(bytes.slice(from..bytes.len().min(from + 100_000))).await?;
    }
    writer.seal().await
}

fn footprints<'a>(pieces: impl IntoIterator<Item = &'a Piece>) -> u64 {
    pieces.into_iter().map(Piece::footprint).sum()
}

async fn sweep(content: &dyn Content, named: &[Piece]) {
    let mut sweep = content.sweep().await.unwrap();
    named.iter().for_each(|piece| sweep.keep(piece));
    assert!(sweep.finish().await.unwrap().is_complete);
}

fn packs_in(dir: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(dir.path().join(DIRECTORY)).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Only the upload that got no space fails; its bytes are freed, and the pack stays in use.
#[tokio::test]
async fn a_full_disk_fails_only_that_upload() {
    let (dir, disk) = (tempfile::tempdir().unwrap(), Faulty::new());
    let content = open(&dir, &disk, PACK_BYTES_MAX);
    for size in [50_000, 900_000, 3_000_000] {
        let bytes = bytes_of(1, size);
        let before = write_all(&content, &bytes).await;
        disk.fail(Call::Write, ErrorKind::StorageFull);
        let failed = try_write(&content, &bytes).await;
        assert!(matches!(failed, Err(Error::Unavailable(_))), "{failed:?}");
        disk.heal();
        let after = write_all(&content, &bytes).await;
        assert_eq!(after[0].stream, before[0].stream);
        for pieces in [before, after] {
            assert_eq!(read_all(&content, &pieces).await.as_ref(), Ok(&bytes));
            content.release(pieces).await.unwrap();
        }
    }
    assert_eq!(settled(&content).await.live, 0);
}

/// After an error an upload has failed permanently: it cannot be sealed without the missing bytes.
#[tokio::test]
async fn an_upload_that_failed_stays_failed() {
    let (dir, disk) = (tempfile::tempdir().unwrap(), Faulty::new());
    let content = open(&dir, &disk, PACK_BYTES_MAX);
    disk.plan(|call, number| (call == Call::Write && number < 7).then_some(ErrorKind::StorageFull));
    let mut writer = content.begin(None, None);
    let mut failed = None;
    while failed.is_none() {
        failed = writer.write(bytes_of(1, 300_000)).await.err();
    }
    disk.heal();
    assert_eq!(writer.write(bytes_of(1, 10)).await.err(), failed);
    assert_eq!(writer.seal().await.err(), failed);
}

/// A failed sync fails all uploads that wait for it. The pack is abandoned, since the system does not say which bytes
/// it lost.
#[tokio::test]
async fn a_failed_sync_abandons_the_pack() {
    for failing in [Call::Sync, Call::SyncDir] {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Faulty::new());
        // The directory exists, and creating it needed a sync as well.
        let content = open(&dir, &disk, PACK_BYTES_MAX);
        let bytes = bytes_of(1, 80_000);
        let large = write_all(&content, &bytes_of(2, 2_000_000)).await;
        disk.fail(failing, ErrorKind::Other);
        let failed = try_write(&content, &bytes).await;
        assert!(matches!(failed, Err(Error::Unavailable(_))), "{failed:?}");
        disk.heal();
        let syncs = disk.count(Call::Sync);
        let pieces = write_all(&content, &bytes).await;
        assert_eq!((pieces[0].stream, pieces[0].offset), (3, 0), "in a new pack");
        assert_eq!(disk.count(Call::Sync), syncs + 1);
        assert_eq!(read_all(&content, &pieces).await, Ok(bytes));
        assert_eq!(read_all(&content, &large).await, Ok(bytes_of(2, 2_000_000)));
        assert_eq!(settled(&content).await.live, footprints(pieces.iter().chain(&large)));
    }
}

/// Content is acknowledged only after it was written and synced, and after the name of its pack was synced.
#[tokio::test]
async fn everything_is_durable_before_it_is_acknowledged() {
    let (dir, disk) = (tempfile::tempdir().unwrap(), Faulty::new());
    let content = open(&dir, &disk, PACK_BYTES_MAX);
    write_all(&content, &bytes_of(1, 100)).await;
    let probed = [Call::Create, Call::Write, Call::Punch, Call::Remove];
    let first = [Call::Create, Call::Write, Call::Sync, Call::SyncDir];
    assert_eq!(*disk.calls.lock().unwrap(), [&[Call::SyncDir][..], &probed, &first].concat());
    write_all(&content, &bytes_of(1, 100)).await;
    assert_eq!(disk.calls.lock().unwrap()[9..], [Call::Write, Call::Sync]);
    write_all(&content, &bytes_of(1, 1_100_000)).await;
    assert_eq!(disk.calls.lock().unwrap()[11..], first);
}

/// Commits that do not wait for the disk do not wait for content either.
#[tokio::test]
async fn relaxed_content_is_not_synced() {
    let (dir, disk) = (tempfile::tempdir().unwrap(), Faulty::new());
    let shared: Arc<dyn Disk> = Arc::<Faulty>::clone(&disk);
    let content = PackContent::open_with(dir.path(), Durability::Relaxed, shared, PACK_BYTES_MAX).unwrap();
    let bytes = bytes_of(1, 100_000);
    let pieces = write_all(&content, &bytes).await;
    assert_eq!(read_all(&content, &pieces).await, Ok(bytes));
    assert_eq!(disk.count(Call::Sync), 0);
}

/// Full packs are closed. Those without live bytes are removed, except the one with the greatest number.
#[tokio::test]
async fn dead_packs_are_removed() {
    let (dir, disk) = (tempfile::tempdir().unwrap(), Faulty::new());
    let content = open(&dir, &disk, 200_000);
    let mut stored = Vec::new();
    for seed in 0..20 {
        stored.extend(write_all(&content, &bytes_of(seed, 90_000)).await);
    }
    assert_eq!(packs_in(&dir).len(), 7, "three pieces each");
    content.release(stored.clone()).await.unwrap();
    while packs_in(&dir).len() > 1 {
        tokio::task::yield_now().await;
    }
    assert_eq!(packs_in(&dir), ["0000000000000007.pack"]);
    content.close().await.unwrap();
    // The next process continues above it, and can remove it then.
    let content = open(&dir, &disk, 200_000);
    let later = write_all(&content, &bytes_of(1, 90_000)).await;
    assert_eq!(later[0].stream, 8);
    content.release(stored).await.unwrap();
    sweep(&content, &later).await;
    while packs_in(&dir).len() > 1 {
        tokio::task::yield_now().await;
    }
    assert_eq!(packs_in(&dir), ["0000000000000008.pack"]);
    assert_eq!(read_all(&content, &later).await, Ok(bytes_of(1, 90_000)));
}

/// If the file system cannot free parts of a file, whole packs are freed.
#[tokio::test]
async fn without_holes_whole_packs_are_freed() {
    let (dir, disk) = (tempfile::tempdir().unwrap(), Faulty::new());
    disk.fail(Call::Punch, ErrorKind::Unsupported);
    let content = open(&dir, &disk, 200_000);
    let mut stored = Vec::new();
    for seed in 0..6 {
        stored.extend(write_all(&content, &bytes_of(seed, 90_000)).await);
    }
    content.release(vec![stored[0], stored[1]]).await.unwrap();
    // `release` has updated the status when it returns; the thread that frees space has nothing else to do.
    let dead = footprints(&stored[..2]);
    assert_eq!(content.status().await.unwrap().dead, dead);
    assert_eq!(packs_in(&dir).len(), 2);
    content.release(vec![stored[2]]).await.unwrap();
    assert_eq!(settled(&content).await.freed, footprints(&stored[..3]));
    assert_eq!(packs_in(&dir).len(), 1);
    assert_eq!(read_all(&content, &stored[3..4]).await, Ok(bytes_of(3, 90_000)));
    assert_eq!(disk.count(Call::Punch), 1, "it was tried once");
}

/// Space that cannot be freed now is freed by the sweep of the next process.
#[tokio::test]
async fn space_that_could_not_be_freed_is_freed_later() {
    let (dir, disk) = (tempfile::tempdir().unwrap(), Faulty::new());
    let content = open(&dir, &disk, PACK_BYTES_MAX);
    let (kept, gone) =
        (write_all(&content, &bytes_of(1, 90_000)).await, write_all(&content, &bytes_of(2, 90_000)).await);
    disk.fail(Call::Punch, ErrorKind::Other);
    content.release(gone.clone()).await.unwrap();
    content.release(gone.clone()).await.unwrap();
    while disk.count(Call::Punch) < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(content.status().await.unwrap().dead, footprints(&gone));
    content.close().await.unwrap();
    disk.heal();
    let content = open(&dir, &disk, PACK_BYTES_MAX);
    sweep(&content, &kept).await;
    let status = settled(&content).await;
    assert_eq!((status.live, status.freed), (footprints(&kept), footprints(&gone)));
}

/// Whichever disk call fails, acknowledged content is present, and a later process frees all the rest.
#[tokio::test]
async fn any_call_may_fail() {
    for failing in 1..60 {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Faulty::new());
        disk.plan(move |_, number| (number == failing).then_some(ErrorKind::Other));
        let content = open(&dir, &disk, 300_000);
        let mut named: Vec<(Vec<Piece>, Bytes)> = Vec::new();
        for seed in 0..12 {
            let bytes = bytes_of(seed, [10_000, 100_000, 1_200_000][seed as usize % 3]);
            if let Ok(pieces) = try_write(&content, &bytes).await {
                named.push((pieces, bytes));
            }
            if seed % 4 == 3 {
                content.release(named.remove(0).0).await.unwrap();
            }
        }
        content.close().await.unwrap();
        disk.heal();
        let content = open(&dir, &disk, 300_000);
        let pieces: Vec<Piece> = named.iter().flat_map(|(pieces, _)| pieces.clone()).collect();
        for _ in 0..2 {
            for (pieces, bytes) in &named {
                assert!(read_all(&content, pieces).await.as_ref() == Ok(bytes), "{failing}: {pieces:?}");
            }
            sweep(&content, &pieces).await;
        }
        assert_eq!(settled(&content).await.live, footprints(&pieces), "{failing}");
    }
}

/// Beyond the common bound, uploads write each chunk immediately.
#[tokio::test]
async fn uploads_need_no_memory_for_gathering() {
    let (dir, disk) = (tempfile::tempdir().unwrap(), Faulty::new());
    let content = open(&dir, &disk, PACK_BYTES_MAX);
    let all = u32::try_from(GATHERED_BYTES_MAX / GATHERED_UNIT_BYTES).unwrap();
    let _taken = Arc::clone(&content.inner.gathered).try_acquire_many_owned(all).unwrap();
    let bytes = bytes_of(1, 1_000_000);
    let writes = disk.count(Call::Write);
    let pieces = try_write(&content, &bytes).await.unwrap();
    assert!(disk.count(Call::Write) > writes + 9, "ten parts, none gathered");
    assert_eq!(read_all(&content, &pieces).await, Ok(bytes));
}

/// Beyond the common bound downloads get small chunks. A chunk counts until it is dropped.
#[tokio::test]
async fn many_downloads_get_small_chunks() {
    let (dir, disk) = (tempfile::tempdir().unwrap(), Faulty::new());
    let content = open(&dir, &disk, PACK_BYTES_MAX);
    let bytes = bytes_of(1, 1_000_000);
    let piece = write_all(&content, &bytes).await[0];
    let all = (READ_BYTES_MAX / CHUNK_UNIT_BYTES) as u64 * CHUNK_UNIT_BYTES as u64;
    let taken = content.inner.read_room(all).unwrap();
    for range in [0..1_000_000, 5..999_999, 65_530..65_540] {
        let mut reader = content.read(&piece, range.clone());
        let mut found = Vec::new();
        while let Some(chunk) = reader.next().await.unwrap() {
            assert!((1..=SMALL_CHUNK_BYTES).contains(&chunk.len()));
            found.extend_from_slice(&chunk);
        }
        assert!(found == bytes[range.start as usize..range.end as usize]);
    }
    drop(taken);
    let chunk = content.read(&piece, 0..u64::MAX).next().await.unwrap().unwrap();
    assert!(content.inner.read_room(all).is_none(), "{} bytes are held", chunk.len());
    let part = chunk.slice(..1);
    drop(chunk);
    assert!(content.inner.read_room(all).is_none());
    drop(part);
    assert!(content.inner.read_room(all).is_some());
}

/// Users who can read the directory of the store must not be able to read the packs.
#[tokio::test]
async fn packs_are_for_their_owner() {
    let (dir, disk) = (tempfile::tempdir().unwrap(), Faulty::new());
    let content = open(&dir, &disk, PACK_BYTES_MAX);
    assert!(!dir.path().join(DIRECTORY).exists(), "it is made when it is needed");
    write_all(&content, &bytes_of(1, 100)).await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let packs = dir.path().join(DIRECTORY);
    assert_eq!((mode(&packs), mode(&packs.join("0000000000000001.pack"))), (0o700, 0o600));
    content.close().await.unwrap();
    fs::set_permissions(&packs, fs::Permissions::from_mode(0o755)).unwrap();
    open(&dir, &disk, PACK_BYTES_MAX);
    assert_eq!(mode(&packs), 0o700);
}

/// A closed store accepts nothing and frees nothing.
#[tokio::test]
async fn a_closed_store_changes_nothing() {
    let (dir, disk) = (tempfile::tempdir().unwrap(), Faulty::new());
    let content = open(&dir, &disk, PACK_BYTES_MAX);
    let bytes = bytes_of(1, 100_000);
    let pieces = write_all(&content, &bytes).await;
    let mut open = content.begin(None, None);
    open.write(bytes.clone()).await.unwrap();
    content.close().await.unwrap();
    content.close().await.unwrap();
    assert!(matches!(open.seal().await, Err(Error::Unavailable(_))));
    assert!(matches!(try_write(&content, &bytes).await, Err(Error::Unavailable(_))));
    assert!(matches!(content.release(pieces.clone()).await, Err(Error::Unavailable(_))));
    assert!(matches!(content.adopt(pieces[0], bytes).await, Err(Error::Unavailable(_))));
}
