//! Released content is freed, other content is not, and no name is used again.

use std::collections::HashSet;

use super::support::{assert_gone, bytes_of, read_all, release, settled, write_all, write_one};
use super::{ContentFactory, Home};
use crate::content::{Piece, Spot};

/// A released piece cannot be read, and its bytes are freed.
pub async fn released_pieces_are_gone(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let content = home.open().await;
    for size in [10, 70_000, 1_500_000] {
        let before = settled(&*content).await;
        let piece = write_one(&*content, &bytes_of(1, size)).await;
        assert_eq!(settled(&*content).await.live, before.live + piece.footprint());
        release(&*content, &[piece]).await;
        assert_gone(&*content, &piece).await;
        let after = settled(&*content).await;
        assert_eq!((after.live, after.freed), (before.live, before.freed + piece.footprint()));
    }
}

/// A release can be repeated at any time, and can include pieces that never existed.
pub async fn releasing_again_is_harmless(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let content = home.open().await;
    let bytes = bytes_of(1, 50_000);
    let released = write_one(&*content, &bytes).await;
    let kept = write_one(&*content, &bytes).await;
    for _ in 0..3 {
        release(&*content, &[released, released]).await;
    }
    release(&*content, &[Piece { stream: kept.stream + 77, ..kept }, Piece { offset: 1 << 50, ..kept }])
        .await;
    assert_eq!(settled(&*content).await.live, kept.footprint());
    drop(content);
    let content = home.open().await;
    release(&*content, &[released]).await;
    let later = write_one(&*content, &bytes).await;
    release(&*content, &[released]).await;
    for piece in [kept, later] {
        assert!(read_all(&*content, &[piece]).await.as_ref() == Ok(&bytes), "{piece}");
    }
}

/// Freeing a piece does not affect its neighbours.
pub async fn releasing_frees_no_neighbours(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let content = home.open().await;
    let sizes = [1, 4096, 5000, 65_536, 65_537, 131_064, 131_065, 262_144, 1_048_576, 1_100_000];
    let mut stored = Vec::new();
    for seed in 0..3 * sizes.len() {
        let bytes = bytes_of(seed as u64, sizes[seed % sizes.len()]);
        stored.push((write_one(&*content, &bytes).await, bytes));
    }
    let (released, kept): (Vec<_>, Vec<_>) = stored.into_iter().enumerate().partition(|(n, _)| n % 2 == 0);
    release(&*content, &released.iter().map(|(_, (piece, _))| *piece).collect::<Vec<_>>()).await;
    let live = kept.iter().map(|(_, (piece, _))| piece.footprint()).sum::<u64>();
    assert_eq!(settled(&*content).await.live, live);
    for (_, (piece, bytes)) in &kept {
        assert!(read_all(&*content, &[*piece]).await.as_ref() == Ok(bytes), "{piece}");
    }
    for (_, (piece, _)) in &released {
        assert_gone(&*content, piece).await;
    }
}

/// A download that has started completes with the original bytes.
pub async fn a_reader_keeps_its_piece(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let content = home.open().await;
    let bytes = bytes_of(1, 1_500_000);
    let piece = write_one(&*content, &bytes).await;
    let mut reader = content.read(&piece, 0..u64::MAX);
    let mut found = reader.next().await.expect("it is whole").expect("it has bytes").to_vec();
    assert_eq!(content.release(vec![piece]).await, Ok(vec![piece]), "the reader has pinned it");
    while let Some(chunk) = reader.next().await.expect("it is whole") {
        found.extend_from_slice(&chunk);
    }
    assert!(found == bytes);
    drop(reader);
    release(&*content, &[piece]).await;
    assert_eq!(settled(&*content).await.live, 0);
}

/// A pin protects its pieces and no others.
pub async fn pinned_pieces_are_kept(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let content = home.open().await;
    let bytes = bytes_of(1, 100_000);
    let (kept, other) = (write_one(&*content, &bytes).await, write_one(&*content, &bytes).await);
    let pinned = content.pin(&[kept]);
    assert_eq!(content.release(vec![other, kept]).await, Ok(vec![kept]));
    assert!(read_all(&*content, &[kept]).await.as_ref() == Ok(&bytes));
    assert_gone(&*content, &other).await;
    drop(pinned);
    release(&*content, &[kept]).await;
    assert_gone(&*content, &kept).await;
}

/// A copy of the whole store finds everything that existed when it started.
pub async fn a_pin_of_everything_keeps_everything(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let content = home.open().await;
    let bytes = bytes_of(1, 100_000);
    let piece = write_one(&*content, &bytes).await;
    let pinned = content.pin_all();
    assert_eq!(content.release(vec![piece]).await, Ok(vec![piece]));
    assert!(read_all(&*content, &[piece]).await.as_ref() == Ok(&bytes));
    let later = write_one(&*content, &bytes).await;
    drop(pinned);
    release(&*content, &[piece, later]).await;
    assert_eq!(settled(&*content).await.live, 0);
}

/// Uploads that are dropped, at any stage, leave nothing.
pub async fn abandoned_uploads_are_freed(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let content = home.open().await;
    let kept = write_one(&*content, &bytes_of(1, 70_000)).await;
    for size in [0, 1, 5_000, 300_000, 3_000_000, 6_000_000] {
        for hint in [None, Some(size as u64), Some(2 * size as u64)] {
            let mut writer = content.begin(hint, None);
            let mut rest = bytes_of(2, size);
            while !rest.is_empty() {
                writer.write(rest.split_to(rest.len().min(100_000))).await.expect("the store accepts bytes");
            }
        }
    }
    assert_eq!(settled(&*content).await.live, kept.footprint());
    let mut listed = 0;
    let mut from = Some(Spot::START);
    while let Some(spot) = from {
        let listing = content.list(spot).await.expect("a listing");
        listed += listing.extents.iter().map(|extent| extent.bytes).sum::<u64>();
        from = listing.next;
    }
    assert!(listed <= kept.footprint(), "{listed} bytes are stored");
}

/// Even if everything was released and the store was opened again, new names are unique.
pub async fn names_are_never_reused(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let mut used = HashSet::new();
    for life in 0..5 {
        let content = home.open().await;
        for size in [20, 5_000, 2_000_000] {
            let pieces = write_all(&*content, &bytes_of(life, size)).await;
            assert!(pieces.iter().all(|piece| used.insert(piece.spot())), "{pieces:?} was used before");
            release(&*content, &pieces).await;
        }
        settled(&*content).await;
    }
}

/// Live bytes are those that are sealed and not released.
pub async fn status_counts_bytes(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let content = home.open().await;
    assert_eq!(settled(&*content).await, Default::default());
    let first = write_one(&*content, &bytes_of(1, 10_000)).await;
    let second = write_one(&*content, &bytes_of(2, 1_200_000)).await;
    let status = settled(&*content).await;
    assert_eq!((status.live, status.unswept), (first.footprint() + second.footprint(), 0));
    assert!(!status.metrics().is_empty());
    drop(content);
    let content = home.open().await;
    let status = settled(&*content).await;
    assert_eq!(status.live + status.unswept, first.footprint() + second.footprint());
    let mut sweep = content.sweep().await.expect("a sweep begins");
    sweep.keep(&first);
    let swept = sweep.finish().await.expect("a sweep ends");
    assert!(swept.is_complete);
    let status = settled(&*content).await;
    assert_eq!((status.live, status.unswept), (first.footprint(), 0));
}
