//! Unfinished batches at the end of a log after a crash: copied when they are dropped, left alone by a check.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use lazuli_engine::Engine as _;
use lazuli_store::{ClosedStore, Store, inspect};

use crate::damage::{Killed, options, originals, read_all, write, write_log};
use crate::support::{TABLE, directory};

/// The second crash in the same log replaced the copy made after the first, and everybody could read both.
#[tokio::test]
async fn a_second_cut_does_not_replace_the_copy_of_the_first() {
    let Killed { files, log, start, before, .. } = crate::damage::killed("on its way").await;
    let log = &files[log];
    let dir = directory();
    write(&files, dir.path(), Path::new(""), 0);
    // Copies may be removed, and others may have files here: neither leads to a name that is taken.
    fs::write(dir.path().join("cut-x"), "").unwrap();
    for (name, others, length) in
        [("cut-0", vec![], 27), ("cut-1", vec!["cut-0"], 35), ("cut-2", vec!["cut-1"], 44)]
    {
        let kept: Vec<_> = others.iter().map(|other| fs::read(dir.path().join(other)).unwrap()).collect();
        write_log(dir.path(), log, &log.bytes[..start + length]);
        drop(Store::open(dir.path(), options()).unwrap());
        let path = dir.path().join(name);
        assert_eq!(fs::read(&path).unwrap(), log.bytes[start..start + length], "{name}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{name}");
        for (other, kept) in others.iter().zip(kept) {
            assert_eq!(fs::read(dir.path().join(other)).unwrap(), kept, "{name} replaced {other}");
        }
        fs::remove_file(dir.path().join("closed")).unwrap();
        if name == "cut-1" {
            fs::remove_file(dir.path().join("cut-0")).unwrap();
        }
    }
    assert_eq!(read_all(dir.path()).await.as_ref(), Ok(&before));
}

/// Regression: a check used to truncate the log and mark the store as cleanly closed, so the next check reported nothing.
#[tokio::test]
async fn a_check_leaves_a_torn_store_as_it_is() {
    let Killed { files, log, start, before, .. } = crate::damage::killed("on its way").await;
    let log = &files[log];
    let dir = directory();
    write(&files, dir.path(), Path::new(""), 0);
    write_log(dir.path(), log, &log.bytes[..start + 40]);
    let content = || -> Vec<(PathBuf, Vec<u8>, u64)> {
        let files = originals(dir.path(), dir.path()).into_iter();
        files
            .map(|file| (file.name, file.bytes, file.length))
            .filter(|(name, ..)| !name.ends_with("lock"))
            .collect()
    };
    let as_it_was = content();
    for _ in 0..2 {
        let found = inspect(dir.path(), |_| {}).unwrap();
        assert_eq!((found.findings, found.notes.len()), (0, 1), "{found:?}");
        let mut rows = 0;
        let reading = ClosedStore::open(dir.path()).unwrap();
        let report = reading.check_each(&mut |table, _| rows += usize::from(table == TABLE)).unwrap();
        drop(reading);
        assert!(report.is_clean() && rows == before.len(), "{rows} {report:?}");
        assert!(content() == as_it_was, "a check has changed something");
    }
    assert_eq!(read_all(dir.path()).await.as_ref(), Ok(&before));
}

/// Rows in sorted files, too, are read without a change, and the lists of files stay.
#[tokio::test]
async fn a_check_reads_sorted_files_in_place() {
    let dir = directory();
    let (store, _) = crate::damage::make(dir.path()).await;
    store.close().await.unwrap();
    let names = || originals(dir.path(), dir.path()).into_iter().map(|file| (file.name, file.bytes));
    let as_it_was: Vec<_> = names().collect();
    assert!(as_it_was.iter().any(|(name, _)| name.parent().is_some_and(|parent| parent.ends_with("tables"))));
    let reading = ClosedStore::open(dir.path()).unwrap();
    assert!(ClosedStore::open(dir.path()).is_err(), "it is in use");
    assert!(reading.check_each(&mut |_, _| {}).unwrap().is_clean());
    assert!(reading.marks().is_some());
    drop(reading);
    assert!(names().collect::<Vec<_>>() == as_it_was, "a check has changed something");
}
