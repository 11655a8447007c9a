//! Restarts, and content that earlier processes left behind.

use bytes::Bytes;

use super::support::{assert_gone, bytes_of, read_all, release, settled, write_all, write_one};
use super::{ContentFactory, Home};
use crate::conformance::Rng;
use crate::content::{Content, Piece, Swept};

async fn sweep(content: &dyn Content, named: &[Piece]) -> Swept {
    let mut sweep = content.sweep().await.expect("a sweep begins");
    named.iter().for_each(|piece| sweep.keep(piece));
    sweep.finish().await.expect("a sweep ends")
}

/// Sealed content survives a restart.
pub async fn content_survives_a_restart(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let mut stored: Vec<(Vec<Piece>, Bytes)> = Vec::new();
    for life in 0..4 {
        let content = home.open().await;
        for size in [1, 70_000, 1_300_000] {
            let bytes = bytes_of(life, size);
            stored.push((write_all(&*content, &bytes).await, bytes));
        }
        for (pieces, bytes) in &stored {
            assert!(read_all(&*content, pieces).await.as_ref() == Ok(bytes), "{pieces:?}");
        }
    }
}

/// Bytes of an earlier process that no row refers to are freed; the others stay.
pub async fn a_sweep_frees_what_no_row_names(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let content = home.open().await;
    let mut stored = Vec::new();
    for n in 0..40_u64 {
        let bytes = bytes_of(n, 1 + (n as usize * 37_000) % 1_500_000);
        stored.push((write_one(&*content, &bytes).await, bytes));
    }
    drop(content);
    let content = home.open().await;
    let (kept, lost): (Vec<_>, Vec<_>) = stored.into_iter().enumerate().partition(|(n, _)| n % 3 == 0);
    let named: Vec<Piece> = kept.iter().map(|(_, (piece, _))| *piece).collect();
    let live: u64 = named.iter().map(Piece::footprint).sum();
    let dead: u64 = lost.iter().map(|(_, (piece, _))| piece.footprint()).sum();
    for round in 0..2 {
        let freed_bytes = if round == 0 { dead } else { 0 };
        let swept = sweep(&*content, &named).await;
        assert_eq!(swept, Swept { kept_bytes: live, freed_bytes, is_complete: true }, "round {round}");
    }
    assert_eq!(settled(&*content).await.live, live);
    for (_, (piece, bytes)) in &kept {
        assert!(read_all(&*content, &[*piece]).await.as_ref() == Ok(bytes), "{piece}");
    }
    for (_, (piece, _)) in &lost {
        assert_gone(&*content, piece).await;
    }
    release(&*content, &named).await;
    assert_eq!(settled(&*content).await.live, 0);
}

/// Uploads of this process, sealed or not, before or after the sweep began, are not touched although no row
/// refers to them.
pub async fn a_sweep_keeps_uploads_of_this_process(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let content = home.open().await;
    let old = write_one(&*content, &bytes_of(1, 100_000)).await;
    drop(content);
    let content = home.open().await;
    let bytes = bytes_of(2, 2_000_000);
    let mut open = content.begin(Some(bytes.len() as u64), None);
    open.write(bytes.slice(..1_000_000)).await.expect("the store accepts bytes");
    let sealed = write_one(&*content, &bytes).await;
    let begun = content.sweep().await.expect("a sweep begins");
    let later = write_one(&*content, &bytes).await;
    assert!(begun.finish().await.expect("a sweep ends").is_complete);
    assert_gone(&*content, &old).await;
    open.write(bytes.slice(1_000_000..)).await.expect("the store accepts bytes");
    let open = open.seal().await.expect("the store seals");
    for pieces in [open, vec![sealed], vec![later]] {
        assert!(read_all(&*content, &pieces).await.as_ref() == Ok(&bytes), "{pieces:?}");
    }
}

/// Content that is being read or copied is left to the next sweep.
pub async fn a_sweep_keeps_pinned_pieces(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let content = home.open().await;
    let bytes = bytes_of(1, 100_000);
    let piece = write_one(&*content, &bytes).await;
    drop(content);
    let content = home.open().await;
    for pinned in [content.pin(&[piece]), content.pin_all()] {
        assert!(!sweep(&*content, &[]).await.is_complete);
        assert!(read_all(&*content, &[piece]).await.as_ref() == Ok(&bytes));
        drop(pinned);
    }
    assert!(sweep(&*content, &[]).await.is_complete);
    assert_gone(&*content, &piece).await;
}

/// A sweep that could not see all rows frees nothing.
pub async fn a_dropped_sweep_frees_nothing(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let content = home.open().await;
    let bytes = bytes_of(1, 100_000);
    let piece = write_one(&*content, &bytes).await;
    drop(content);
    let content = home.open().await;
    drop(content.sweep().await.expect("a sweep begins"));
    assert!(read_all(&*content, &[piece]).await == Ok(bytes));
}

/// Property: after any operations, exactly the referenced content is present.
pub async fn random_operations_lose_no_named_content(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let mut rng = Rng::new(11);
    let mut named: Vec<(Vec<Piece>, Bytes)> = Vec::new();
    for life in 0..6 {
        let content = home.open().await;
        for step in 0..60 {
            match rng.below(8) {
                0..4 => {
                    let magnitude = 8 + rng.below(13);
                    let bytes = bytes_of(life * 1000 + step, 1 + rng.below(1 << magnitude));
                    named.push((write_all(&*content, &bytes).await, bytes));
                }
                // An upload that was never committed.
                4 => drop(write_all(&*content, &bytes_of(step, 1 + rng.below(200_000))).await),
                5 => {
                    let mut writer = content.begin(None, None);
                    writer.write(bytes_of(step, 400_000)).await.expect("the store accepts bytes");
                }
                6 if !named.is_empty() => {
                    let (pieces, _) = named.swap_remove(rng.below(named.len()));
                    release(&*content, &pieces).await;
                }
                7 if step % 5 == 0 => {
                    let pieces: Vec<Piece> = named.iter().flat_map(|(pieces, _)| pieces.clone()).collect();
                    assert!(sweep(&*content, &pieces).await.is_complete);
                }
                _ => {}
            }
        }
        for (pieces, bytes) in &named {
            assert!(read_all(&*content, pieces).await.as_ref() == Ok(bytes), "life {life}: {pieces:?}");
        }
    }
    let content = home.open().await;
    let pieces: Vec<Piece> = named.iter().flat_map(|(pieces, _)| pieces.clone()).collect();
    assert!(sweep(&*content, &pieces).await.is_complete);
    assert_eq!(settled(&*content).await.live, pieces.iter().map(Piece::footprint).sum::<u64>());
}
