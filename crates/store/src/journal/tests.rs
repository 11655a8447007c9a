//! Log files, some hand-made, some written by the sorted store.

use std::fs;
use std::io::Write as _;

use super::*;

/// A batch of items with these values.
pub fn batch(number: u64, values: &[&[u8]]) -> Vec<u8> {
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
    let found = read(file.path()).unwrap();
    assert_eq!(read_bytes(bytes), found);
    found
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

/// A killed writer leaves the beginning of a batch, in a file that ends there or is longer.
#[test]
fn unfinished_batches() {
    let one = batch(5, &[b"value"]);
    for (next, step) in
        [(batch(6, &[b"first", b"second"]), 1), (batch(6, &[&[7; 3000], &[0; 3000], b"x"]), 19)]
    {
        for length in (1..next.len()).step_by(step) {
            let torn = [&one[..], &next[..length]].concat();
            // The checksum is present and matches, so a byte of the end was zeroed; it is unlikely that the
            // writer was killed exactly there.
            let tail = if length >= next.len() - MAGIC.len() { Tail::Holed } else { Tail::Torn };
            check(&torn, one.len(), Some((5, 5)), tail);
            check(&[torn, vec![0; 5000]].concat(), one.len(), Some((5, 5)), tail);
        }
    }
    check(&batch(6, &[b"first"])[..20], 0, None, Tail::Torn);
}

/// After a loss of power: any sectors may be missing, wherever the batch starts.
#[test]
fn lost_sectors() {
    for length in [1, 100, 430, 431, 432, 440, 446, 447, 448, 500] {
        let one = batch(5, &[&vec![7; length]]);
        let whole = [&one[..], &batch(6, &[&[7; 700], &[9; 1000]])].concat();
        let sectors: Vec<_> = (one.len() / 512..whole.len().div_ceil(512)).collect();
        for lost in 1_u32..1 << sectors.len() {
            let mut left = whole.clone();
            for (_, sector) in sectors.iter().enumerate().filter(|(index, _)| lost & 1 << index != 0) {
                left[(sector * 512).max(one.len())..((sector + 1) * 512).min(whole.len())].fill(0);
            }
            let found = summary(&left);
            let context = format!("{length}: {lost:b} {found:?}");
            assert_eq!((found.end, found.sequence), (one.len() as u64, Some((5, 5))), "{context}");
            assert!(matches!(found.tail, Tail::Clean | Tail::Torn | Tail::Holed), "{context}");
            assert_eq!(
                found.tail == Tail::Clean,
                left[one.len()..].iter().all(|&byte| byte == 0),
                "{context}"
            );
        }
    }
}

/// A batch is written in parts: after a loss of power, the first part can be on disk up to the middle of a sector, the
/// second can be missing, and the third present. That was reported as damage.
#[test]
fn a_sector_that_was_written_in_part_is_a_hole() {
    let one = batch(5, &[b"value"]);
    let whole = [&one[..], &batch(6, &[&[7; 3000], b"last"])].concat();
    for from in [1024 + 1, 1024 + 300, 1024 + 512 - 16] {
        let mut left = whole.clone();
        left[from..1024 + 512].fill(0);
        check(&left, one.len(), Some((5, 5)), Tail::Holed);
        left[1024 + 511] = 1;
        check(&left, one.len(), Some((5, 5)), Tail::Altered);
    }
}

/// Any client can store a copy of a batch, with a plausible number: when a kill left the row unfinished, the log was
/// reported as damaged, and the server did not start.
#[test]
fn a_batch_inside_a_row_is_not_a_batch_of_the_log() {
    let one = batch(5, &[b"value"]);
    let inner = [batch(1000, &[b"x"]), batch(1001, &[b"y", &[8; 100]])].concat();
    let value = [b"text".to_vec(), inner.clone(), vec![7; 2000]].concat();
    let sealed = crate::cell::seal(b"key", &value, lazuli_engine::Version(7));
    for values in
        [vec![&value[..]], vec![b"first", &value, b"last"], vec![&sealed[..], &value], vec![&sealed, b"last"]]
    {
        let next = batch(6, &values);
        for length in (1..next.len() - MAGIC.len()).step_by(7) {
            // If the log ends exactly with the copied batch, the row's length could be what is damaged: a complete
            // batch does not occur by chance.
            if next[..length].ends_with(&MAGIC) {
                continue;
            }
            check(&[&one[..], &next[..length]].concat(), one.len(), Some((5, 5)), Tail::Torn);
        }
        // A lost sector in the row, after the copy.
        let mut holed = [&one[..], &next[..]].concat();
        holed[1024..1536].fill(0);
        check(&holed, one.len(), Some((5, 5)), Tail::Holed);
        // The same row, followed by other batches.
        let behind = [&holed[..], &batch(7, &[b"a"])].concat();
        check(&behind, one.len(), Some((5, 5)), Tail::Damaged);
    }
}

/// Any changed byte of the last batch is distinguished from the effects of a crash; only its number can change
/// unnoticed, if it is still greater than that of the previous batch.
#[test]
fn damage_at_the_end() {
    // It begins in one sector and ends in the next.
    let (one, next) = (batch(5, &[&[7; 350]]), batch(6, &[b"first", &[7; 100]]));
    let log = [&one[..], &next[..]].concat();
    for at in one.len()..log.len() {
        for change in [1, 2, 0x80, 0xff, log[at]].into_iter().filter(|&change| change != 0) {
            let mut damaged = log.clone();
            damaged[at] ^= change;
            for zeros in [0, 5000] {
                damaged.resize(log.len() + zeros, 0);
                let found = summary(&damaged);
                let context = format!("byte {at} ^ {change}: {found:?}");
                let is_number = (5..START_BYTES).contains(&(at - one.len()));
                let is_last_byte_gone = at + 1 == log.len() && damaged[at] == 0;
                match found.tail {
                    Tail::Altered => assert!(!is_number, "{context}"),
                    Tail::Clean | Tail::Damaged => assert!(is_number, "{context}"),
                    Tail::Holed => assert!(is_last_byte_gone, "{context}"),
                    Tail::Torn => panic!("{context}"),
                }
            }
        }
    }
}

/// Zeros in a row that matches its own checksum do not count as a lost sector: damage next to it is reported as such.
/// Zeros in other rows do.
#[test]
fn rows_of_zeros() {
    let zeros = crate::cell::seal(b"key", &[0; 3000], lazuli_engine::Version(7));
    let one = batch(5, &[b"value"]);
    let whole = [&one[..], &batch(6, &[b"first", &zeros, b"last"])].concat();
    for (at, tail) in [
        (one.len() + START_BYTES + ITEM_HEAD_BYTES + 3, Tail::Altered),
        (whole.len() - END_BYTES - 1, Tail::Altered),
        (whole.len() - 10, Tail::Altered),
        (whole.len() - 1500, Tail::Holed),
        (one.len(), Tail::Holed),
    ] {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x21;
        check(&damaged, one.len(), Some((5, 5)), tail);
    }
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

/// A store that has made many commits begins its logs with large numbers. Batches after a damaged first batch were not
/// found then, because their numbers were compared with zero, and the whole log was mistaken for one unfinished batch.
#[test]
fn damage_in_the_first_batch_of_a_log_with_large_numbers() {
    for first in [5, 1 << 24, 1 << 40, u64::MAX - 2] {
        let one = batch(first, &[b"value"]);
        let log = [one.clone(), batch(first + 1, &[b"a"]), batch(first + 2, &[&[0; 2000], b"c"])].concat();
        check(&log, log.len(), Some((first, first + 2)), Tail::Clean);
        for at in (0..one.len()).filter(|at| !(5..START_BYTES).contains(at)) {
            let mut damaged = log.clone();
            damaged[at] ^= 0x21;
            check(&damaged, 0, None, Tail::Damaged);
        }
    }
}

/// A sparse file can have a huge length: the server ran out of memory when it read one.
#[test]
fn a_log_with_a_hole_beyond_all_memory_is_rejected() {
    let one = batch(5, &[b"value"]);
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), &one).unwrap();
    let far = 1 << 42;
    file.as_file().set_len(far).unwrap();
    assert_eq!(read(file.path()).unwrap().tail, Tail::Clean);
    let mut end = file.as_file();
    end.seek(SeekFrom::Start(far)).unwrap();
    end.write_all(&MAGIC).unwrap();
    let rejected = read(file.path()).unwrap_err();
    assert!(matches!(&rejected, OpenError::Corrupt(why) if why.contains("too long")), "{rejected}");
}

/// Batches that the sorted store writes are read completely.
#[test]
fn batches_of_the_sorted_store_are_read() {
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
