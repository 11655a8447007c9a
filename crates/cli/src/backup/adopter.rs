//! Puts the content of a backup or of another engine into a new store, several pieces concurrently.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use lazuli_engine::content::{Content, Piece};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Maximum total size of the pieces being written concurrently. A larger piece is written alone.
const UNDER_WAY_BYTES_MAX: u32 = 128 * 1024 * 1024;
/// Maximum number of pieces being written concurrently: they share syncs.
const UNDER_WAY_MAX: usize = 64;

/// Puts content into a new store. The blocks of a piece must arrive in order.
pub struct Adopter {
    content: Arc<dyn Content>,
    open: BytesMut,
    under_way: JoinSet<lazuli_engine::Result<()>>,
    room: Arc<Semaphore>,
}

impl Adopter {
    /// Fills `content`.
    pub fn new(content: Arc<dyn Content>) -> Self {
        let room = Arc::new(Semaphore::new(UNDER_WAY_BYTES_MAX as usize));
        Self { content, open: BytesMut::new(), under_way: JoinSet::new(), room }
    }

    /// Takes the next bytes of a piece.
    pub async fn take(&mut self, piece: Piece, bytes: Bytes) -> Result<(), String> {
        self.open.extend_from_slice(&bytes);
        if self.open.len() < piece.length as usize {
            return Ok(());
        }
        let whole = self.open.split().freeze();
        while self.under_way.len() >= UNDER_WAY_MAX {
            self.arrive().await?;
        }
        let room = Arc::clone(&self.room).acquire_many_owned(piece.length.min(UNDER_WAY_BYTES_MAX)).await;
        let content = Arc::clone(&self.content);
        self.under_way.spawn(async move {
            let adopted = content.adopt(piece, whole).await;
            drop(room);
            adopted
        });
        Ok(())
    }

    /// Waits until everything is durable.
    pub async fn finish(mut self) -> Result<(), String> {
        while !self.under_way.is_empty() {
            self.arrive().await?;
        }
        if self.open.is_empty() { Ok(()) } else { Err("a piece of content is not complete".into()) }
    }

    async fn arrive(&mut self) -> Result<(), String> {
        match self.under_way.join_next().await {
            Some(Ok(adopted)) => adopted.map_err(|error| error.to_string()),
            Some(Err(error)) => Err(error.to_string()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use lazuli_engine::content::checksum::Summing;
    use lazuli_engine::content::{MemoryContent, verify};

    use super::*;

    fn piece(number: u64, bytes: &[u8]) -> Piece {
        let mut summing = Summing::default();
        summing.add(bytes);
        Piece { stream: 9, offset: number << 20, length: bytes.len() as u32, crc: summing.finish().0 }
    }

    #[tokio::test]
    async fn pieces_are_put_together_and_adopted() {
        let content = MemoryContent::default();
        let mut adopter = Adopter::new(Arc::new(content.clone()));
        let all: Vec<(Piece, Bytes)> = (1..200_u64)
            .map(|number| {
                let bytes = Bytes::from(vec![number as u8; 1000 * number as usize]);
                (piece(number, &bytes), bytes)
            })
            .collect();
        for (piece, bytes) in &all {
            for part in bytes.chunks(70_000) {
                adopter.take(*piece, Bytes::copy_from_slice(part)).await.unwrap();
            }
        }
        adopter.finish().await.unwrap();
        for (piece, _) in &all {
            verify(&content, piece).await.unwrap();
        }
    }

    #[tokio::test]
    async fn failures_and_incomplete_pieces_are_reported() {
        let content: Arc<dyn Content> = Arc::new(MemoryContent::default());
        let bytes = Bytes::from_static(b"some bytes");
        let good = piece(1, &bytes);
        let mut adopter = Adopter::new(Arc::clone(&content));
        adopter.take(good, bytes.slice(..4)).await.unwrap();
        assert!(adopter.finish().await.is_err());
        let mut adopter = Adopter::new(content);
        adopter.take(Piece { crc: good.crc ^ 1, ..good }, bytes).await.unwrap();
        assert!(adopter.finish().await.is_err());
    }
}
