//! Written content is read back: every size, every range.

use std::sync::{Arc, Mutex};

use bytes::Bytes;

use super::support::{SIZES, bytes_of, read, read_all, write_all, write_one};
use super::{ContentFactory, Home};
use crate::Error;
use crate::conformance::Rng;
use crate::content::{ALIGN_BYTES, CHUNK_BYTES_MAX, PIECE_BYTES_MAX, Piece};

/// Content of any size is one valid piece and is read back unchanged.
pub async fn contents_of_every_size_are_read_back(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let content = home.open().await;
    let mut stored = Vec::new();
    for (seed, size) in SIZES.into_iter().enumerate() {
        let bytes = bytes_of(seed as u64, size);
        let piece = write_one(&*content, &bytes).await;
        assert!(piece.is_valid() && piece.offset.is_multiple_of(ALIGN_BYTES), "{piece:?}");
        assert_eq!(piece.length as usize, size);
        stored.push((piece, bytes));
    }
    for (piece, bytes) in stored {
        assert!(read_all(&*content, &[piece]).await.as_ref() == Ok(&bytes), "{piece}");
    }
}

/// Bytes are stored in order, regardless of their division into writes and of the announced length.
pub async fn content_that_arrives_in_parts_is_stored_in_order(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let content = home.open().await;
    let bytes = bytes_of(1, 3_000_001);
    for part in [999, 65_536, 100_000, 262_144, 1_048_577, bytes.len()] {
        for expected in [None, Some(bytes.len() as u64), Some(1), Some(500_000), Some(1 << 40)] {
            let mut writer = content.begin(expected, None);
            let mut rest = bytes.clone();
            while !rest.is_empty() {
                let now = rest.split_to(part.min(rest.len()));
                writer.write(now).await.expect("the store accepts bytes");
                writer.write(Bytes::new()).await.expect("an empty write is not an error");
            }
            let pieces = writer.seal().await.expect("the store seals");
            assert!(pieces.iter().all(Piece::is_valid), "{pieces:?}");
            assert!(read_all(&*content, &pieces).await.as_ref() == Ok(&bytes), "{part} {expected:?}");
        }
    }
}

/// Content above the limit of a piece is divided; a store may have a lower limit.
pub async fn large_content_has_several_pieces(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let content = home.open().await;
    let bytes = bytes_of(1, PIECE_BYTES_MAX as usize + 100_000);
    let pieces = write_all(&*content, &bytes).await;
    assert!(pieces.len() > 1 && pieces.iter().all(Piece::is_valid), "{pieces:?}");
    assert_eq!(pieces.iter().map(|piece| u64::from(piece.length)).sum::<u64>(), bytes.len() as u64);
    assert!(read_all(&*content, &pieces).await.as_ref() == Ok(&bytes));
}

/// Ranges may begin and end at any byte; the part beyond the end is ignored.
pub async fn ranges_are_exact(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let content = home.open().await;
    let bytes = bytes_of(1, 400_000);
    let piece = write_one(&*content, &bytes).await;
    for (start, end) in [
        (0, 0),
        (0, 1),
        (65_535, 65_536),
        (65_535, 65_537),
        (65_536, 131_072),
        (1, 399_999),
        (0, 400_000),
        (399_999, 400_000),
        (262_143, 262_145),
    ] {
        let found = read(&*content, &piece, start..end).await.expect("the range is there");
        assert!(found == bytes[start as usize..end as usize], "{start}..{end}");
    }
    assert!(read(&*content, &piece, 399_000..u64::MAX).await.as_ref() == Ok(&bytes.slice(399_000..)));
    for (start, end) in [(400_000, 400_001), (u64::MAX, u64::MAX), (7, 3)] {
        assert_eq!(read(&*content, &piece, start..end).await, Ok(Bytes::new()), "{start}..{end}");
    }
}

/// Property: a range of stored content equals that range of the written bytes.
pub async fn random_ranges_match(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let content = home.open().await;
    let mut rng = Rng::new(7);
    for round in 0..60 {
        let magnitude = 1 + rng.below(21);
        let length = 1 + rng.below(1 << magnitude);
        let bytes = bytes_of(round, length);
        let piece = write_one(&*content, &bytes).await;
        for _ in 0..8 {
            let start = rng.below(length + 1);
            let end = start + rng.below(length + 1 - start);
            let found = read(&*content, &piece, start as u64..end as u64).await.expect("the range is there");
            assert!(found == bytes[start..end], "{piece}: {start}..{end}");
        }
    }
}

/// No chunk is empty or larger than the limit, and after the end a reader returns `None` again.
pub async fn chunks_are_bounded(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let content = home.open().await;
    let piece = write_one(&*content, &bytes_of(1, 3_000_000)).await;
    for range in [0..u64::MAX, 1..2_999_999, 65_535..2_000_000] {
        let mut reader = content.read(&piece, range);
        while let Some(chunk) = reader.next().await.expect("the piece is whole") {
            assert!((1..=CHUNK_BYTES_MAX).contains(&chunk.len()), "{}", chunk.len());
        }
        assert_eq!(reader.next().await, Ok(None));
    }
}

/// A fold has seen the whole upload when it is sealed.
pub async fn a_fold_sees_every_byte_in_order(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let content = home.open().await;
    let bytes = bytes_of(1, 2_000_000);
    for part in [10_000, 300_000, 2_000_000] {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&seen);
        let fold = Box::new(move |chunks: &[Bytes]| sink.lock().expect("no panic").extend(chunks.concat()));
        let mut writer = content.begin(None, Some(fold));
        for from in (0..bytes.len()).step_by(part) {
            writer
                .write(bytes.slice(from..bytes.len().min(from + part)))
                .await
                .expect("the store accepts bytes");
        }
        writer.seal().await.expect("the store seals");
        assert!(*seen.lock().expect("no panic") == bytes, "{part}");
    }
}

/// An upload without bytes needs no name.
pub async fn an_empty_upload_has_no_pieces(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let content = home.open().await;
    for expected in [None, Some(0), Some(100)] {
        let mut writer = content.begin(expected, None);
        writer.write(Bytes::new()).await.expect("an empty write is not an error");
        assert_eq!(writer.seal().await, Ok(vec![]));
        assert_eq!(content.begin(expected, None).seal().await, Ok(vec![]));
    }
}

/// A name that was never issued yields an error, not bytes.
pub async fn wrong_names_are_not_read(factory: &impl ContentFactory) {
    let mut home = factory.home().await;
    let content = home.open().await;
    for size in [10_000, 200_000] {
        let good = write_one(&*content, &bytes_of(1, size)).await;
        for bad in [
            Piece { crc: good.crc ^ 1, ..good },
            Piece { length: good.length - 1, ..good },
            Piece { length: good.length + 1, ..good },
            Piece { length: PIECE_BYTES_MAX, ..good },
            Piece { offset: good.offset + ALIGN_BYTES, ..good },
            Piece { offset: 1 << 50, ..good },
            Piece { stream: good.stream + 1000, ..good },
        ] {
            let mut reader = content.read(&bad, 0..u64::MAX);
            for _ in 0..2 {
                let found = reader.next().await;
                assert!(matches!(found, Err(Error::Corrupt(_))), "{bad}: {:?}", found.map(drop));
            }
        }
    }
}
