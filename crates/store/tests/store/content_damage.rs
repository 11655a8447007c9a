//! Damaged packs: flipped bits, truncated files and missing files are reported, never returned as content.

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use lazuli_engine::conformance::Rng;
use lazuli_engine::content::conformance::{bytes_of, read_all, write_all};
use lazuli_engine::content::{Content, Piece};
use lazuli_engine::{Engine, Error};
use lazuli_store::{Options, Store};
use tempfile::TempDir;

use crate::support::directory;

const SIZES: [usize; 6] = [1, 9_000, 65_536, 70_000, 400_000, 1_300_000];

/// A closed store with some content.
async fn make(dir: &TempDir) -> Vec<(Piece, Bytes)> {
    let store = Store::open(dir.path(), Options::default()).unwrap();
    let content = store.content().unwrap();
    let mut stored = Vec::new();
    for (seed, size) in SIZES.into_iter().enumerate() {
        let bytes = bytes_of(seed as u64, size);
        stored.push((write_all(&*content, &bytes).await[0], bytes));
    }
    store.close().await.unwrap();
    stored
}

fn packs(dir: &TempDir) -> Vec<PathBuf> {
    let mut packs: Vec<PathBuf> =
        fs::read_dir(dir.path().join("content")).unwrap().map(|entry| entry.unwrap().path()).collect();
    packs.sort();
    packs
}

/// Reads everything; each piece is intact or reported as damaged. Returns the number of damaged pieces.
async fn damaged(content: &dyn Content, stored: &[(Piece, Bytes)], context: &str) -> usize {
    let mut count = 0;
    for (piece, bytes) in stored {
        match read_all(content, &[*piece]).await {
            Ok(found) => assert!(found == *bytes, "{context}: {piece} is wrong"),
            Err(Error::Corrupt(_)) => count += 1,
            Err(other) => panic!("{context}: {other}"),
        }
    }
    count
}

/// The pieces that a byte of a pack belongs to, checksums included and padding not.
fn owners(stored: &[(Piece, Bytes)], pack: &Path, at: u64) -> usize {
    let number: u64 = pack.file_stem().unwrap().to_str().unwrap().parse().unwrap();
    let is_owner = |piece: &Piece| {
        let sums = if piece.blocks() > 1 { 4 * piece.blocks() as u64 } else { 0 };
        piece.stream == number && (piece.offset..piece.offset + u64::from(piece.length) + sums).contains(&at)
    };
    stored.iter().filter(|(piece, _)| is_owner(piece)).count()
}

/// Only the piece that contains the bit is damaged; a bit between pieces damages none.
#[tokio::test]
async fn flipped_bits_are_never_returned() {
    let dir = directory();
    let stored = make(&dir).await;
    let store = Store::open(dir.path(), Options::default()).unwrap();
    let content = store.content().unwrap();
    let mut rng = Rng::new(5);
    for pack in packs(&dir) {
        let original = fs::read(&pack).unwrap();
        for _ in 0..40 {
            let at = rng.below(original.len());
            let mut bytes = original.clone();
            bytes[at] ^= 1 << rng.below(8);
            // In place: the store has the file open.
            fs::write(&pack, &bytes).unwrap();
            let context = format!("{} at {at}", pack.display());
            assert_eq!(
                damaged(&*content, &stored, &context).await,
                owners(&stored, &pack, at as u64),
                "{context}"
            );
        }
        fs::write(&pack, &original).unwrap();
    }
    assert_eq!(damaged(&*content, &stored, "mended").await, 0);
}

/// A range fails if, and only if, its blocks are damaged; the rest of the piece stays readable.
#[tokio::test]
async fn damage_is_found_by_block() {
    let dir = directory();
    let stored = make(&dir).await;
    let (piece, bytes) = &stored[4];
    let pack = packs(&dir).into_iter().find(|pack| owners(&stored, pack, piece.offset) > 0).unwrap();
    let mut damaged = fs::read(&pack).unwrap();
    damaged[usize::try_from(piece.offset).unwrap() + 100_000] ^= 1;
    fs::write(&pack, &damaged).unwrap();
    let store = Store::open(dir.path(), Options::default()).unwrap();
    let content = store.content().unwrap();
    for (start, end, is_whole) in
        [(0, 65_536, true), (65_535, 65_537, false), (131_071, 131_072, false), (131_072, 400_000, true)]
    {
        let found = content.read(piece, start..end).next().await;
        match found {
            Ok(Some(found)) => {
                assert!(is_whole && found[..] == bytes[start as usize..start as usize + found.len()]);
            }
            Err(Error::Corrupt(_)) => assert!(!is_whole, "{start}..{end}"),
            other => panic!("{start}..{end}: {other:?}"),
        }
    }
}

/// Packs that are shorter than they were, empty or gone: their pieces are reported, those of other packs are not.
#[tokio::test]
async fn cut_packs_are_reported() {
    let dir = directory();
    let stored = make(&dir).await;
    for pack in packs(&dir) {
        let original = fs::read(&pack).unwrap();
        for keep in [original.len() - 1, original.len() / 2, 4096, 0] {
            fs::write(&pack, &original[..keep]).unwrap();
            let store = Store::open(dir.path(), Options::default()).unwrap();
            let content = store.content().unwrap();
            let lost = (keep..original.len()).map(|at| owners(&stored, &pack, at as u64)).max();
            let found = damaged(&*content, &stored, &format!("{keep} bytes left")).await;
            assert!(found >= lost.unwrap_or(0).min(1) && found < stored.len(), "{keep}: {found}");
        }
        fs::remove_file(&pack).unwrap();
        let store = Store::open(dir.path(), Options::default()).unwrap();
        let found = damaged(&*store.content().unwrap(), &stored, "the pack is gone").await;
        assert!(found > 0 && found < stored.len());
        drop(store);
        fs::write(&pack, &original).unwrap();
    }
    let store = Store::open(dir.path(), Options::default()).unwrap();
    assert_eq!(damaged(&*store.content().unwrap(), &stored, "mended").await, 0);
}

/// Files that are not packs are left alone.
#[tokio::test]
async fn other_files_are_left_alone() {
    let dir = directory();
    make(&dir).await;
    let names = ["notes.txt", "1.pack.bak", "0000000000000000.pack", "x.pack"];
    let path = |name: &str| dir.path().join("content").join(name);
    names.iter().for_each(|name| fs::write(path(name), "mine").unwrap());
    let store = Store::open(dir.path(), Options::default()).unwrap();
    let content = store.content().unwrap();
    let sweep = content.sweep().await.unwrap();
    sweep.finish().await.unwrap();
    write_all(&*content, &bytes_of(1, 100)).await;
    store.close().await.unwrap();
    names.iter().for_each(|name| assert_eq!(fs::read(path(name)).unwrap(), b"mine"));
}
