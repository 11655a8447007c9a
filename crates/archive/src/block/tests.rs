//! Blocks round-trip, and nothing else is accepted as a block.

use proptest::prelude::*;

use super::*;

fn stored(table: u64, partition: &str, row: &str, version: u64, value: &[u8]) -> Stored {
    let row = Row {
        partition: partition.into(),
        row: row.into(),
        version: Version(version),
        value: Bytes::copy_from_slice(value),
    };
    Stored { table: TableId(table), row }
}

const MARKS: Marks = Marks { last_version: Version(100), last_table: TableId(7) };

fn rows() -> Vec<Stored> {
    vec![
        stored(0, "accounts", "dev", 1, b"key"),
        stored(3, "", "", 2, b""),
        stored(3, "p", "a", 100, &[7; 300]),
        stored(3, "p", "\u{10000}", 5, b"x"),
        stored(3, "p", "\u{ffff}", 5, b"x"),
        stored(4, "a", "a", 9, b"x"),
    ]
}

/// The blocks of `rows`, with `size` rows each, and the end.
fn pack(rows: &[Stored], size: usize) -> (Vec<Vec<u8>>, Totals) {
    let mut packer = Packer::new();
    let mut blocks: Vec<Vec<u8>> = rows.chunks(size).map(|rows| packer.rows(rows)).collect();
    let (end, totals) = packer.end(MARKS);
    blocks.push(end);
    (blocks, totals)
}

fn unpack(blocks: &[Vec<u8>]) -> Result<(Vec<Stored>, Option<Totals>)> {
    let mut unpacker = Unpacker::new();
    let (mut rows, mut totals) = (Vec::new(), None);
    for block in blocks {
        match unpacker.read(block)? {
            Block::Rows(more) => rows.extend(more),
            Block::Content(_) => {}
            Block::End(end) => totals = Some(end),
        }
    }
    Ok((rows, totals))
}

#[test]
fn blocks_round_trip_and_the_digest_is_independent_of_their_size() {
    let mut digests = Vec::new();
    for size in 1..=6 {
        let (blocks, totals) = pack(&rows(), size);
        assert_eq!(unpack(&blocks).unwrap(), (rows(), Some(totals)));
        assert_eq!((totals.rows, totals.newest), (6, Version(100)));
        digests.push(totals.digest);
    }
    assert!(digests.iter().all(|digest| *digest == digests[0]));
    let (_, other) = pack(&rows()[1..], 6);
    assert_ne!(other.digest, digests[0]);
    assert_eq!(unpack(&pack(&[], 1).0).unwrap().0, []);
}

#[test]
fn every_flipped_bit_is_detected() {
    let (blocks, _) = pack(&rows(), 3);
    for index in 0..blocks.len() {
        for bit in 0..blocks[index].len() * 8 {
            let mut changed = blocks.clone();
            changed[index][bit / 8] ^= 1 << (bit % 8);
            assert!(unpack(&changed).is_err(), "block {index}, bit {bit}");
        }
        for length in 0..blocks[index].len() {
            let mut changed = blocks.clone();
            changed[index].truncate(length);
            assert!(unpack(&changed).is_err(), "block {index} of {length} bytes");
        }
    }
}

#[test]
fn missing_duplicate_and_swapped_blocks_are_detected() {
    let (blocks, _) = pack(&rows(), 2);
    let order = |order: &[usize]| unpack(&order.iter().map(|&n| blocks[n].clone()).collect::<Vec<_>>());
    assert!(order(&[0, 1, 2, 3]).is_ok());
    for wrong in [&[1, 2, 3][..], &[0, 2, 3], &[0, 1, 3], &[0, 0, 1, 2, 3], &[0, 2, 1, 3], &[0, 1, 2, 3, 3]] {
        assert!(order(wrong).is_err(), "{wrong:?}");
    }
    assert_eq!(order(&[0, 1]).unwrap().1, None, "a missing end is not invented");
}

#[test]
fn rows_out_of_order_and_versions_beyond_the_last_are_rejected() {
    let check = |rows: &[Stored], why: &str| {
        let error = unpack(&pack(rows, 9).0).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    check(&[stored(1, "b", "", 1, b""), stored(1, "a", "", 1, b"")], "order");
    check(&[stored(1, "a", "a", 1, b""), stored(1, "a", "a", 1, b"")], "order");
    check(&[stored(2, "a", "a", 1, b""), stored(1, "b", "a", 1, b"")], "order");
    check(&[stored(1, "\u{ffff}", "", 1, b""), stored(1, "\u{10000}", "", 1, b"")], "order");
    check(&[stored(1, "a", "", 101, b"")], "do not match");
}

proptest! {
    #[test]
    fn any_bytes_cause_an_error_not_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), keep in any::<bool>()) {
        let mut block = bytes;
        if keep && block.len() >= HEADER_BYTES {
            let length = block.len() - HEADER_BYTES;
            block[..4].copy_from_slice(&MAGIC);
            block[4..8].copy_from_slice(&1_u32.to_le_bytes());
            block[8..16].fill(0);
            block[20..24].copy_from_slice(&as_u32(length).to_le_bytes());
            let sum = checksum(&block);
            block[SUMMED_BYTES..HEADER_BYTES].copy_from_slice(&sum.to_le_bytes());
        }
        let _ = Unpacker::new().read(&block);
    }
}

fn content(seed: u8, length: usize, parts: usize) -> Vec<ContentBlock> {
    let bytes = Bytes::from(vec![seed; length]);
    let mut summing = lazuli_engine::content::checksum::Summing::default();
    summing.add(&bytes);
    let (crc, _) = summing.finish();
    let piece = lazuli_engine::Piece { stream: 1, offset: 0, length: length as u32, crc };
    let starts = (0..length).step_by(length.div_ceil(parts));
    let cut = |from: usize| bytes.slice(from..length.min(from + length.div_ceil(parts)));
    starts.map(|from| ContentBlock { piece, offset: from as u32, bytes: cut(from) }).collect()
}

/// Content follows rows, and its digest does not depend on how it is divided.
#[test]
fn content_round_trips() {
    let mut found = Vec::new();
    for parts in [1, 2, 7] {
        let mut packer = Packer::new();
        let mut blocks = vec![packer.rows(&rows()[..3])];
        for block in content(1, 200_000, parts).iter().chain(&content(2, 10, 1)) {
            blocks.push(packer.content(block).unwrap());
        }
        blocks.push(packer.rows(&rows()[3..]));
        let (end, totals) = packer.end(MARKS);
        blocks.push(end);
        let (read, told) = unpack(&blocks).unwrap();
        assert_eq!((read, told), (rows(), Some(totals)));
        assert_eq!(
            totals.of_rows(),
            pack(&rows(), 6).1,
            "rows have the same digest with and without content"
        );
        found.push(totals.content.unwrap());
    }
    assert_eq!((found[0].pieces, found[0].bytes), (2, 200_010));
    assert!(found.iter().all(|totals| *totals == found[0]));
}

/// Every piece must be complete, in order, and match its checksum.
#[test]
fn wrong_content_is_rejected() {
    let good = content(1, 200_000, 4);
    let reject = |blocks: &[ContentBlock], then_rows: bool| {
        let mut packer = Packer::new();
        let packed: Result<Vec<_>> = blocks.iter().map(|block| packer.content(block)).collect();
        let Ok(mut packed) = packed else { return true };
        if then_rows {
            packed.push(packer.rows(&rows()));
        }
        packed.push(packer.end(MARKS).0);
        unpack(&packed).is_err()
    };
    assert!(!reject(&good, true));
    for (from, to) in [(0, 3), (1, 4), (0, 1)] {
        assert!(reject(&good[from..to], true) && reject(&good[from..to], false), "{from}..{to}");
    }
    let swapped = [good[1].clone(), good[0].clone(), good[2].clone(), good[3].clone()];
    let mut mixed = good.clone();
    mixed[2].piece.offset = 4096;
    let mut changed = good.clone();
    changed[3].bytes = Bytes::from(vec![9; changed[3].bytes.len()]);
    let mut longer = good.clone();
    longer[3].bytes = Bytes::from(vec![1; longer[3].bytes.len() + 1]);
    let mut empty = good.clone();
    empty.insert(1, ContentBlock { bytes: Bytes::new(), ..good[1].clone() });
    for blocks in [&swapped[..], &mixed, &changed, &longer, &empty] {
        assert!(reject(blocks, false));
    }
}
