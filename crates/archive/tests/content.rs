//! A backup with content: made of an engine in use, written, read, and put into another store.

#![allow(clippy::unwrap_used, reason = "tests")]

use lazuli_archive::{ArchiveReader, ArchiveWriter, BackupSource, Block, Error, Unpacker};
use lazuli_engine::content::conformance::{bytes_of, read_all, write_all};
use lazuli_engine::content::{MemoryContent, Naming, PIECE_ENCODED_BYTES, Piece, See};
use lazuli_engine::{Change, Clock, Condition, Content, Engine, Memory, Result, RowView, TableId, Write};

const TABLE: TableId = TableId(7);

/// Rows whose values are encoded pieces.
struct Encoded;

impl Naming for Encoded {
    fn pieces(&mut self, table: TableId, row: RowView<'_>, see: &mut See<'_>) -> Result<()> {
        if table == TABLE {
            let pieces = row.value.as_chunks::<PIECE_ENCODED_BYTES>().0;
            pieces.iter().filter_map(Piece::decode).for_each(|piece| see(piece, true));
        }
        Ok(())
    }
}

async fn name(engine: &Memory, row: &str, pieces: &[Piece]) {
    let value: Vec<u8> = pieces.iter().flat_map(Piece::encode).collect();
    let change = Change::Put(value.into());
    engine
        .apply(TABLE, "p", vec![Write { row: row.into(), condition: Condition::Any, change }])
        .await
        .unwrap();
}

/// An engine with three rows, which name some pieces, and their bytes.
async fn engine() -> (Memory, Vec<(Piece, usize)>) {
    let engine = Memory::new(Clock::system());
    let content = engine.content().unwrap();
    let mut stored = Vec::new();
    for size in [9_000, 65_537, 2_000_000] {
        stored.push((write_all(&*content, &bytes_of(size as u64, size)).await[0], size));
    }
    let pieces: Vec<Piece> = stored.iter().map(|(piece, _)| *piece).collect();
    name(&engine, "a", &pieces[..2]).await;
    name(&engine, "b", &pieces).await;
    name(&engine, "c", &[]).await;
    (engine, stored)
}

async fn blocks(engine: &Memory) -> Vec<Vec<u8>> {
    let mut source = BackupSource::begin(engine, Box::new(Encoded)).await.unwrap();
    let mut blocks = Vec::new();
    while let Some(block) = source.next().await.unwrap() {
        blocks.push(block);
    }
    assert!(source.is_over());
    blocks
}

fn write(blocks: &[Vec<u8>], dir: &std::path::Path) {
    let mut writer = ArchiveWriter::create(dir).unwrap();
    let mut unpacker = Unpacker::new();
    for block in blocks {
        writer.push(block).unwrap();
        if let Block::End(totals) = unpacker.read(block).unwrap() {
            writer.seal().unwrap().publish("now".into(), totals).unwrap();
            return;
        }
    }
}

#[tokio::test]
async fn content_goes_into_a_backup_and_out_again() {
    let (engine, stored) = engine().await;
    let dir = tempfile::tempdir().unwrap();
    write(&blocks(&engine).await, &dir.path().join("backup"));
    let mut reader = ArchiveReader::open(&dir.path().join("backup")).unwrap();
    let totals = reader.manifest().totals;
    assert_eq!(totals.content.map(|content| (content.pieces, content.bytes)), Some((3, 2_074_537)));
    let target = MemoryContent::default();
    let (mut rows, mut open) = (0, Vec::new());
    while let Some(block) = reader.next_block().unwrap() {
        match block {
            Block::Rows(some) => rows += some.len(),
            Block::Content(block) => {
                open.extend_from_slice(&block.bytes);
                if block.is_last() {
                    target.adopt(block.piece, std::mem::take(&mut open).into()).await.unwrap();
                }
            }
            Block::End(told) => assert_eq!(told, totals),
        }
    }
    assert_eq!((rows, reader.so_far()), (3, (3, totals.all_bytes())));
    for (piece, size) in stored {
        assert!(read_all(&target, &[piece]).await == Ok(bytes_of(size as u64, size)), "{piece}");
    }
}

/// Flipped bits of content are found, and so are missing blocks.
#[tokio::test]
async fn damaged_content_is_detected() {
    let (engine, _) = engine().await;
    let blocks = blocks(&engine).await;
    let read = |blocks: &[Vec<u8>]| {
        let mut unpacker = Unpacker::new();
        blocks.iter().try_for_each(|block| unpacker.read(block).map(drop))
    };
    assert!(read(&blocks).is_ok());
    for (index, block) in blocks.iter().enumerate() {
        for at in [0, 5, 20, 40, block.len() / 2, block.len() - 1] {
            let mut changed = blocks.clone();
            changed[index][at.min(block.len() - 1)] ^= 1;
            let found = read(&changed);
            assert!(matches!(found, Err(Error::Damaged(_) | Error::Format(_))), "block {index}, byte {at}");
        }
        let mut missing = blocks.clone();
        missing.remove(index);
        let is_short = index + 1 == blocks.len();
        assert!(read(&missing).is_err() || is_short, "block {index} is missing");
    }
}

/// A backup without content is one that an older version can read.
#[tokio::test]
async fn a_backup_without_content_keeps_its_format() {
    let engine = Memory::new(Clock::system());
    name(&engine, "a", &[]).await;
    let dir = tempfile::tempdir().unwrap();
    write(&blocks(&engine).await, &dir.path().join("backup"));
    let text = std::fs::read_to_string(dir.path().join("backup/manifest.json")).unwrap();
    assert!(text.contains("\"format\": 1") && !text.contains("content"), "{text}");
}
