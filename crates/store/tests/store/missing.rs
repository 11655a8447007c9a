//! Acknowledged data that is gone after an unclean stop: a check reports it, and the store does not open without it
//! unless told to.

use std::fs;
use std::path::Path;

use lazuli_store::{ClosedStore, Inspection, OpenError, Options, Store, inspect};

use crate::damage::{Original, originals, read_all, write};
use crate::support::{directory, get, set};

/// A store with two rows, as a kill leaves it.
async fn killed() -> Vec<Original> {
    let dir = directory();
    let store = Store::open(dir.path(), Options::default()).unwrap();
    set(&store, "a", "1").await;
    set(&store, "b", "2").await;
    originals(dir.path(), dir.path())
}

/// The findings of a check of the whole store.
fn findings(dir: &Path) -> Vec<String> {
    let found: Inspection = inspect(dir, |_| {}).unwrap();
    if found.findings > 0 {
        return found.examples;
    }
    let reading = ClosedStore::open(dir).unwrap();
    let report = reading.check_each(&mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
    reading.marks().and_then(|marks| found.missing(marks.last_version)).into_iter().collect()
}

/// Damages a killed store and checks that the damage is reported and the store does not open, twice, until the loss is
/// accepted.
async fn check(damage: impl Fn(&Path), why: &str, is_left: bool) {
    let dir = directory();
    write(&killed().await, dir.path(), Path::new(""), 0);
    assert_eq!(findings(dir.path()), Vec::<String>::new(), "without damage");
    damage(dir.path());
    for _ in 0..2 {
        let found = findings(dir.path());
        assert!(found.len() == 1 && found[0].contains(why), "{found:?}");
        let opened = Store::open(dir.path(), Options::default()).map(drop);
        let Err(OpenError::Lost(found)) = &opened else { panic!("{opened:?}") };
        assert!(found.contains(why), "{found}");
    }
    let options = Options { accept_data_loss: true, ..Options::default() };
    let store = Store::open(dir.path(), options).unwrap();
    assert_eq!((get(&store, "a").await.is_some(), get(&store, "b").await), (is_left, None));
    set(&store, "c", "3").await;
    drop(store);
    assert_eq!(findings(dir.path()), Vec::<String>::new(), "accepted once");
    assert_eq!(read_all(dir.path()).await.unwrap().len(), if is_left { 2 } else { 1 });
}

/// The data directory was recreated, and the store was empty.
#[tokio::test]
async fn finding_9_a_missing_data_directory_is_reported() {
    check(|dir| fs::remove_dir_all(dir.join("data")).unwrap(), "missing", false).await;
}

/// An empty log was mistaken for the log of a new store.
#[tokio::test]
async fn finding_9_a_log_without_content_is_reported() {
    let cut = |dir: &Path| {
        let log = fs::OpenOptions::new().write(true).open(dir.join("data/0.jnl")).unwrap();
        log.set_len(0).unwrap();
    };
    check(cut, "was acknowledged", false).await;
}

/// The loss of whole batches at the end of a log went unnoticed, too.
#[tokio::test]
async fn finding_9_a_log_without_its_last_batch_is_reported() {
    let dir = directory();
    let store = Store::open(dir.path(), Options::default()).unwrap();
    set(&store, "a", "1").await;
    let first =
        originals(dir.path(), dir.path()).into_iter().find(|file| file.name == Path::new("data/0.jnl"));
    let end = first.unwrap().bytes.len() as u64;
    drop(store);
    let cut = |dir: &Path| {
        let log = fs::OpenOptions::new().write(true).open(dir.join("data/0.jnl")).unwrap();
        log.set_len(end).unwrap();
    };
    check(cut, "was acknowledged", true).await;
}

/// A store created before this file existed opens, and has the file from then on.
#[tokio::test]
async fn stores_without_the_file_are_opened() {
    let files = killed().await;
    let dir = directory();
    write(&files, dir.path(), Path::new(""), 0);
    let path = dir.path().join("acknowledged");
    fs::remove_file(&path).unwrap();
    assert_eq!(findings(dir.path()), Vec::<String>::new());
    let store = Store::open(dir.path(), Options::default()).unwrap();
    assert_eq!(get(&store, "b").await.as_deref(), Some("2"));
    drop(store);
    assert!(path.exists());
}

/// Where commits do not wait for the disk, a loss of power may lose any of them; only commits from before the start
/// must be present.
#[tokio::test]
async fn commits_that_did_not_wait_for_the_disk_may_be_lost() {
    let dir = directory();
    let relaxed = || Options { durability: lazuli_store::Durability::Relaxed, ..Options::default() };
    let store = Store::open(dir.path(), relaxed()).unwrap();
    set(&store, "a", "1").await;
    let files = originals(dir.path(), dir.path());
    drop(store);
    let lost = directory();
    write(&files, lost.path(), Path::new(""), 0);
    fs::OpenOptions::new().write(true).open(lost.path().join("data/0.jnl")).unwrap().set_len(0).unwrap();
    let store = Store::open(lost.path(), relaxed()).unwrap();
    assert_eq!(get(&store, "a").await, None);
    drop(store);
    fs::remove_file(lost.path().join("closed")).unwrap();
    fs::remove_dir_all(lost.path().join("data")).unwrap();
    assert!(matches!(Store::open(lost.path(), relaxed()).map(drop), Err(OpenError::Lost(_))));
}
