//! Listings, and pieces that are moved from one store to another with their names.

use super::support::{bytes_of, read_all, release, write_all, write_one};
use super::{ContentFactory, Home};
use crate::conformance::Rng;
use crate::content::{ALIGN_BYTES, Content, Extent, MemoryContent, Piece, Spot};

async fn list_all(content: &dyn Content) -> Vec<Extent> {
    let mut extents: Vec<Extent> = Vec::new();
    let mut from = Some(Spot::START);
    while let Some(spot) = from {
        let listing = content.list(spot).await.expect("a listing");
        assert!(listing.next.is_none_or(|next| next > spot), "a listing continues: {listing:?}");
        extents.extend(listing.extents);
        from = listing.next;
    }
    for pair in extents.windows(2) {
        let end = Spot { offset: pair[0].start.offset + pair[0].bytes, ..pair[0].start };
        assert!(end <= pair[1].start, "{pair:?}");
    }
    extents
}

fn is_covered(piece: &Piece, extents: &[Extent]) -> bool {
    let (mut at, end) = (piece.offset, piece.offset + u64::from(piece.length));
    for extent in extents.iter().filter(|extent| extent.start.stream == piece.stream) {
        if extent.start.offset <= at {
            at = at.max(extent.start.offset + extent.bytes);
        }
    }
    at >= end
}

/// All pages together cover every piece, wherever they start.
pub async fn listings_cover_every_piece(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let content = home.open().await;
    assert_eq!(list_all(&*content).await, []);
    let mut pieces = Vec::new();
    for n in 0..1_200 {
        let size = if n % 400 == 0 { 1_200_000 } else { 100 + n as usize * 7 };
        pieces.push(write_one(&*content, &bytes_of(n, size)).await);
    }
    let (released, kept): (Vec<_>, Vec<_>) = pieces.into_iter().enumerate().partition(|(n, _)| n % 3 == 1);
    release(&*content, &released.into_iter().map(|(_, piece)| piece).collect::<Vec<_>>()).await;
    super::settled(&*content).await;
    let mut content = content;
    for _ in 0..2 {
        let extents = list_all(&*content).await;
        for (_, piece) in &kept {
            assert!(is_covered(piece, &extents), "{piece} is not listed");
        }
        let listed: u64 = extents.iter().map(|extent| extent.bytes).sum();
        let live: u64 = kept.iter().map(|(_, piece)| piece.footprint()).sum();
        assert_eq!(listed, live, "nothing else is listed");
        drop(content);
        content = home.open().await;
    }
}

/// Pieces keep their names in another store, regardless of its kind.
pub async fn pieces_move_between_stores(factory: &impl ContentFactory) {
    let mut other_home = factory.home().await;
    let source = other_home.open().await;
    let elsewhere = MemoryContent::default();
    let mut home = factory.home().await;
    let target = home.open().await;
    let mut moved = Vec::new();
    for (seed, size) in [3, 65_536, 65_537, 1_500_000, 20_000].into_iter().enumerate() {
        let bytes = bytes_of(seed as u64, size);
        let piece = write_one(&*source, &bytes).await;
        target.adopt(piece, bytes.clone()).await.expect("it is adopted");
        elsewhere.adopt(piece, bytes.clone()).await.expect("it is adopted");
        moved.push((piece, bytes));
    }
    for (piece, bytes) in &moved {
        assert!(read_all(&*target, &[*piece]).await.as_ref() == Ok(bytes), "{piece}");
        assert!(read_all(&elsewhere, &[*piece]).await.as_ref() == Ok(bytes), "{piece}");
    }
    drop(target);
    let target = home.open().await;
    for (piece, bytes) in &moved {
        assert!(read_all(&*target, &[*piece]).await.as_ref() == Ok(bytes), "{piece}");
        release(&*target, &[*piece]).await;
    }
}

/// A restore that was interrupted can start again.
pub async fn adopting_twice_is_harmless(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let content = home.open().await;
    let bytes = bytes_of(1, 200_000);
    let foreign = foreign(9, &bytes).await;
    for _ in 0..2 {
        content.adopt(foreign, bytes.clone()).await.expect("it is adopted");
    }
    drop(content);
    let content = home.open().await;
    content.adopt(foreign, bytes.clone()).await.expect("it is adopted again");
    assert!(read_all(&*content, &[foreign]).await == Ok(bytes));
}

/// The name that `bytes` have in a store whose stream has this number.
async fn foreign(stream: u64, bytes: &bytes::Bytes) -> Piece {
    let piece = write_one(&MemoryContent::default(), bytes).await;
    Piece { stream, ..piece }
}

/// Bytes that do not belong to the name, and impossible names, are rejected.
pub async fn adopting_rejects_other_bytes(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let content = home.open().await;
    let bytes = bytes_of(1, 100_000);
    let good = foreign(5, &bytes).await;
    for (piece, bytes) in [
        (Piece { crc: good.crc ^ 1, ..good }, bytes.clone()),
        (Piece { length: 99_999, ..good }, bytes.clone()),
        (good, bytes.slice(1..)),
        (good, bytes_of(2, 100_000)),
        (Piece { offset: 1, ..good }, bytes.clone()),
        (Piece { stream: 0, ..good }, bytes.clone()),
        (Piece { stream: u64::MAX, ..good }, bytes.clone()),
    ] {
        content.adopt(piece, bytes).await.expect_err("it is rejected");
    }
    assert_eq!(content.status().await.expect("a status").live, 0);
}

/// Stored content is never overwritten.
pub async fn adopting_never_overwrites(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let content = home.open().await;
    let bytes = bytes_of(1, 300_000);
    let own = write_one(&*content, &bytes).await;
    let other = bytes_of(2, 300_000);
    let piece = foreign(own.stream, &other).await;
    content
        .adopt(Piece { offset: own.offset, ..piece }, other.clone())
        .await
        .expect_err("the position is in use");
    drop(content);
    let content = home.open().await;
    for offset in [own.offset, own.offset + ALIGN_BYTES] {
        content.adopt(Piece { offset, ..piece }, other.clone()).await.expect_err("the position is in use");
    }
    assert!(read_all(&*content, &[own]).await.as_ref() == Ok(&bytes));
    content.adopt(own, bytes.clone()).await.expect("the same bytes are no change");
}

/// New uploads never get a position in an adopted stream.
pub async fn adopted_streams_are_not_written_to(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let mut rng = Rng::new(3);
    for life in 0..4 {
        let content = home.open().await;
        let bytes = bytes_of(life, 10_000);
        let own = write_all(&*content, &bytes).await[0];
        let foreign = foreign(own.stream + 1 + rng.below(3) as u64, &bytes).await;
        content.adopt(foreign, bytes.clone()).await.expect("it is adopted");
        for _ in 0..3 {
            assert_ne!(write_one(&*content, &bytes).await.stream, foreign.stream);
            assert_ne!(write_one(&*content, &bytes_of(life, 1_100_000)).await.stream, foreign.stream);
        }
        assert!(read_all(&*content, &[foreign]).await == Ok(bytes));
    }
}
