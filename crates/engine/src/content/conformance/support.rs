//! Helpers for operations that the suite needs often.

use bytes::{Bytes, BytesMut};

use crate::conformance::Rng;
use crate::content::{Content, ContentStatus, Piece};
use crate::{Error, Result};

/// Sizes around every boundary that a store may have.
pub const SIZES: [usize; 24] = [
    1,
    2,
    4095,
    4096,
    4097,
    8 * 1024,
    64 * 1024 - 1,
    64 * 1024,
    64 * 1024 + 1,
    128 * 1024 - 9,
    128 * 1024 - 8,
    128 * 1024 - 7,
    128 * 1024,
    256 * 1024 - 1,
    256 * 1024,
    256 * 1024 + 1,
    300_000,
    1024 * 1024 - 257,
    1024 * 1024 - 1,
    1024 * 1024,
    1024 * 1024 + 1,
    2_500_000,
    4 * 1024 * 1024,
    4 * 1024 * 1024 + 12_345,
];

/// Pseudo-random bytes from a seed.
pub fn bytes_of(seed: u64, length: usize) -> Bytes {
    let mut rng = Rng::new(seed);
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        bytes.extend_from_slice(&rng.next_u64().to_le_bytes());
    }
    bytes.truncate(length);
    bytes.into()
}

/// Stores bytes in one write.
pub async fn write_all(content: &dyn Content, bytes: &Bytes) -> Vec<Piece> {
    let mut writer = content.begin(Some(bytes.len() as u64), None);
    writer.write(bytes.clone()).await.expect("the store accepts bytes");
    writer.seal().await.expect("the store seals")
}

/// Stores bytes that fit into one piece.
pub async fn write_one(content: &dyn Content, bytes: &Bytes) -> Piece {
    let pieces = write_all(content, bytes).await;
    assert_eq!(pieces.len(), 1, "{} bytes are one piece", bytes.len());
    pieces[0]
}

/// Reads a range of a piece.
pub async fn read(content: &dyn Content, piece: &Piece, range: std::ops::Range<u64>) -> Result<Bytes> {
    let mut reader = content.read(piece, range);
    let mut all = BytesMut::new();
    while let Some(bytes) = reader.next().await? {
        all.extend_from_slice(&bytes);
    }
    Ok(all.freeze())
}

/// Reads whole pieces.
pub async fn read_all(content: &dyn Content, pieces: &[Piece]) -> Result<Bytes> {
    let mut all = BytesMut::new();
    for piece in pieces {
        all.extend_from_slice(&read(content, piece, 0..u64::MAX).await?);
    }
    Ok(all.freeze())
}

/// A piece must not be readable.
pub async fn assert_gone(content: &dyn Content, piece: &Piece) {
    let found = content.read(piece, 0..u64::MAX).next().await;
    assert!(matches!(found, Err(Error::Corrupt(_))), "{piece} is still there: {:?}", found.map(drop));
}

/// Releases pieces that are not pinned.
pub async fn release(content: &dyn Content, pieces: &[Piece]) {
    assert_eq!(content.release(pieces.to_vec()).await, Ok(vec![]), "nothing is pinned");
}

/// The status once no upload is in progress and nothing is left to free.
pub async fn settled(content: &dyn Content) -> ContentStatus {
    loop {
        let status = content.status().await.expect("the store reports its status");
        if status.dead == 0 && status.writing == 0 {
            return status;
        }
        tokio::task::yield_now().await;
    }
}
