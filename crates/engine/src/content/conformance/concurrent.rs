//! Many uploads and downloads at the same time.

use std::sync::Arc;

use super::support::{bytes_of, read_all, release, settled, write_all};
use super::{ContentFactory, Home};
use crate::conformance::Rng;
use crate::content::{Content, Piece};

const WRITERS: u64 = 24;

/// Every upload gets its own bytes back, and no two share a position.
pub async fn concurrent_writers_do_not_mix(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let content = home.open().await;
    let tasks: Vec<_> =
        (0..WRITERS).map(|seed| tokio::spawn(write_in_parts(Arc::clone(&content), seed))).collect();
    let mut stored = Vec::new();
    for task in tasks {
        stored.push(task.await.expect("no panic"));
    }
    let mut pieces: Vec<Piece> = stored.iter().flat_map(|(pieces, _)| pieces.clone()).collect();
    pieces.sort();
    for pair in pieces.windows(2) {
        let is_apart =
            pair[0].stream < pair[1].stream || pair[0].offset + pair[0].footprint() <= pair[1].offset;
        assert!(is_apart, "{pair:?}");
    }
    for (pieces, bytes) in stored {
        assert!(read_all(&*content, &pieces).await == Ok(bytes), "{pieces:?}");
    }
}

async fn write_in_parts(content: Arc<dyn Content>, seed: u64) -> (Vec<Piece>, bytes::Bytes) {
    let mut rng = Rng::new(seed);
    let bytes = bytes_of(seed, 1 + rng.below(1 << (10 + seed % 12)));
    let hint = [None, Some(bytes.len() as u64)][rng.below(2)];
    let mut writer = content.begin(hint, None);
    let mut rest = bytes.clone();
    while !rest.is_empty() {
        let part = 1 + rng.below(100_000);
        writer.write(rest.split_to(part.min(rest.len()))).await.expect("the store accepts bytes");
        tokio::task::yield_now().await;
    }
    (writer.seal().await.expect("the store seals"), bytes)
}

/// Uploads, downloads and releases of different pieces do not disturb each other.
pub async fn readers_and_writers_work_together(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let content = home.open().await;
    let tasks: Vec<_> = (0..8)
        .map(|seed| {
            let content = Arc::clone(&content);
            tokio::spawn(async move {
                let mut rng = Rng::new(seed);
                let mut kept = Vec::new();
                for round in 0..12 {
                    let bytes = bytes_of(seed * 100 + round, 1 + rng.below(200_000));
                    let pieces = write_all(&*content, &bytes).await;
                    assert!(read_all(&*content, &pieces).await.as_ref() == Ok(&bytes), "{pieces:?}");
                    if rng.one_in(2) {
                        release(&*content, &pieces).await;
                    } else {
                        kept.push((pieces, bytes));
                    }
                }
                for (pieces, bytes) in &kept {
                    assert!(read_all(&*content, pieces).await.as_ref() == Ok(bytes), "{pieces:?}");
                }
                kept.iter().flat_map(|(pieces, _)| pieces).map(Piece::footprint).sum::<u64>()
            })
        })
        .collect();
    let mut live = 0;
    for task in tasks {
        live += task.await.expect("no panic");
    }
    assert_eq!(settled(&*content).await.live, live);
}
