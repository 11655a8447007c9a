//! Log files made by hand and by the sorted store.

use std::fs;

use super::*;

/// A batch of items with these values.
fn batch(number: u64, values: &[&[u8]]) -> Vec<u8> {
    let mut items = vec![];
    for value in values {
        items.extend([ITEM, 0, 0]);
        items.extend(1_u64.to_le_bytes());
        items.extend(3_u16.to_le_bytes());
        items.extend(u32::try_from(value.len()).unwrap().to_le_bytes());
        items.extend(u32::try_from(value.len()).unwrap().to_le_bytes());
        items.extend(b"key");
        items.extend(*value);
    }
    let mut bytes = vec![START];
    bytes.extend(u32::try_from(values.len()).unwrap().to_le_bytes());
    bytes.extend(number.to_le_bytes());
    bytes.extend(&items);
    bytes.push(END);
    bytes.extend(xxhash_rust::xxh3::xxh3_64(&items).to_le_bytes());
    bytes.extend(MAGIC);
    bytes
}

fn summary(bytes: &[u8]) -> Summary {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), bytes).unwrap();
    read(file.path()).unwrap()
}

#[track_caller]
fn check(bytes: &[u8], end: usize, sequence: Option<(u64, u64)>, tail: Tail) {
    assert_eq!(summary(bytes), Summary { end: end as u64, sequence, tail });
}

#[test]
fn whole_logs() {
    check(b"", 0, None, Tail::Clean);
    check(&[0; 1000], 0, None, Tail::Clean);
    let one = batch(5, &[b"value"]);
    check(&one, one.len(), Some((5, 5)), Tail::Clean);
    let two = [one.clone(), batch(9, &[b"", b"other", &[7; 100_000]])].concat();
    check(&two, two.len(), Some((5, 9)), Tail::Clean);
    check(&[two.clone(), vec![0; 300_000]].concat(), two.len(), Some((5, 9)), Tail::Clean);
}

#[test]
fn unfinished_batches() {
    let one = batch(5, &[b"value"]);
    let next = batch(6, &[b"first", b"second"]);
    for length in 1..next.len() {
        let torn = [&one[..], &next[..length]].concat();
        check(&torn, one.len(), Some((5, 5)), Tail::Torn);
        check(&[torn, vec![0; 5000]].concat(), one.len(), Some((5, 5)), Tail::Torn);
        // Blocks reach the disk in any order: the end of a batch may be there without its beginning.
        let mut holed = [&one[..], &next[..]].concat();
        holed[one.len()..one.len() + length].fill(0);
        check(&holed, one.len(), Some((5, 5)), Tail::Torn);
    }
    check(&next[..20], 0, None, Tail::Torn);
}

/// Every flipped bit of a batch is noticed if another batch follows; only its number can change unnoticed, as long as
/// it is between those of its neighbours.
#[test]
fn damage_in_the_middle() {
    let (one, two, three) = (batch(5, &[b"value"]), batch(6, &[b"a", b"b"]), batch(7, &[b"c"]));
    let log = [one.clone(), two.clone(), three.clone()].concat();
    for bit in 0..(one.len() + two.len()) * 8 {
        let mut damaged = log.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let found = summary(&damaged);
        let is_number_of_first = (5 * 8..START_BYTES * 8).contains(&bit);
        let is_harmless = is_number_of_first && found.tail == Tail::Clean && found.sequence < Some((6, 0));
        assert!(found.tail == Tail::Damaged || is_harmless, "bit {bit}: {found:?}");
    }
    let in_wrong_order = [batch(6, &[b"a"]), batch(5, &[b"b"])].concat();
    assert_eq!(summary(&in_wrong_order).tail, Tail::Damaged);
}

/// What the sorted store writes is read to its end.
#[test]
fn the_real_thing() {
    let dir = tempfile::tempdir().unwrap();
    let db = fjall::Database::builder(dir.path())
        .journal_compression(fjall::CompressionType::None)
        .open()
        .unwrap();
    let rows = db.keyspace("rows", fjall::KeyspaceCreateOptions::default).unwrap();
    for n in 0..50_u32 {
        let mut batch = db.batch();
        batch.insert(&rows, n.to_be_bytes(), vec![7; n as usize * 400]);
        batch.insert(&rows, "x", "y");
        batch.remove(&rows, "z");
        batch.commit().unwrap();
    }
    let log = dir.path().join("0.jnl");
    let found = read(&log).unwrap();
    let bytes = fs::read(&log).unwrap();
    let used = bytes.iter().rposition(|&b| b != 0).unwrap() + 1;
    assert_eq!((found.end, found.tail), (used as u64, Tail::Clean));
    let (first, last) = found.sequence.unwrap();
    assert!(last - first >= 49);
}
