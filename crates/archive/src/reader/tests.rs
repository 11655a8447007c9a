//! Backups in a directory: they round-trip, incomplete ones are rejected, and every flipped bit is detected.

use bytes::Bytes;
use lazuli_engine::{Marks, Row, Stored, TableId, Version};

use super::*;
use crate::{ArchiveWriter, Packer};

const MARKS: Marks = Marks { last_version: Version(50), last_table: TableId(2) };

fn row(number: u64) -> Stored {
    let row = Row {
        partition: "p".into(),
        row: format!("{number:04}").into(),
        version: Version(number),
        value: Bytes::from(vec![b'x'; 40]),
    };
    Stored { table: TableId(2), row }
}

/// Writes a backup of a few parts, without a manifest unless `finish` is set.
fn write(dir: &Path, finish: bool) -> Vec<Stored> {
    let rows: Vec<Stored> = (0..40).map(row).collect();
    let mut writer = ArchiveWriter::with_parts_of(dir, 400).unwrap();
    let mut packer = Packer::new();
    for rows in rows.chunks(5) {
        writer.push(&packer.rows(rows)).unwrap();
    }
    let (end, totals) = packer.end(MARKS);
    writer.push(&end).unwrap();
    let sealed = writer.seal().unwrap();
    if finish {
        let manifest = sealed.publish("now".into(), totals).unwrap();
        assert!(manifest.parts.len() > 2, "{manifest:?}");
    }
    rows
}

fn read(dir: &Path) -> Result<Vec<Stored>> {
    let mut reader = ArchiveReader::open(dir)?;
    let mut rows = Vec::new();
    while let Some(block) = reader.next_block()? {
        if let Block::Rows(more) = block {
            rows.extend(more);
        }
    }
    Ok(rows)
}

#[test]
fn a_backup_round_trips() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("backup");
    let rows = write(&dir, true);
    assert_eq!(read(&dir).unwrap(), rows);
    let names = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| !name.to_str().unwrap().ends_with(PARTIAL)));
    assert!(matches!(ArchiveWriter::create(&dir), Err(Error::Exists(_))));
    assert_eq!(read(&dir).unwrap(), rows, "a rejected second backup leaves the first unchanged");
}

#[test]
fn an_interrupted_backup_is_rejected() {
    let root = tempfile::tempdir().unwrap();
    let check = |dir: &Path| {
        assert!(matches!(read(dir), Err(Error::Unfinished(_))), "{:?}", read(dir).map(|rows| rows.len()));
        assert!(matches!(ArchiveWriter::create(dir), Err(Error::Exists(_))));
    };
    let dir = root.path().join("all but the manifest");
    write(&dir, false);
    check(&dir);
    fs::write(dir.join("manifest.json.partial"), "{").unwrap();
    check(&dir);
    let dir = root.path().join("just begun");
    drop(ArchiveWriter::create(&dir).unwrap());
    check(&dir);
    assert!(matches!(read(root.path()), Err(Error::NotABackup(_))));
    assert!(matches!(read(&root.path().join("nowhere")), Err(Error::NotABackup(_))));
}

#[test]
fn every_flipped_bit_and_every_missing_part_is_detected() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("backup");
    write(&dir, true);
    for entry in fs::read_dir(&dir).unwrap() {
        let path = entry.unwrap().path();
        let good = fs::read(&path).unwrap();
        for bit in (0..good.len() * 8).step_by(37) {
            let mut changed = good.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, changed).unwrap();
            assert!(read(&dir).is_err(), "{}, bit {bit}", path.display());
        }
        fs::write(&path, [&good[..], b"x"].concat()).unwrap();
        assert!(read(&dir).is_err(), "{} with an extra byte", path.display());
        fs::remove_file(&path).unwrap();
        assert!(read(&dir).is_err(), "without {}", path.display());
        fs::write(&path, good).unwrap();
    }
    assert!(read(&dir).is_ok());
}
