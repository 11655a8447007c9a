//! Flipped bits in every file of a store: reported or rejected, never a wrong or missing row.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use lazuli_engine::conformance::{Rng, delete, upsert};
use lazuli_engine::{Condition, Engine, KeyRange, Scan, Verdict};
use lazuli_store::{ClosedStore, Options, Store, inspect};

use crate::support::{TABLE, directory};

pub type Rows = BTreeMap<String, Vec<u8>>;

pub fn options() -> Options {
    Options { memtable_bytes: 100 * 1024, cache_bytes: 1 << 20, ..Options::default() }
}

/// The rows of a store, now and before its last commit.
pub struct Expected {
    pub rows: Rows,
    pub before: Rows,
}

/// A store with sorted files, a log with rows of its own, and deleted rows.
pub async fn make(dir: &Path) -> (Store, Expected) {
    let store = Store::open(dir, options()).unwrap();
    let mut rows = Rows::new();
    let mut before = Rows::new();
    let mut rng = Rng::new(1);
    for round in 0..60 {
        before.clone_from(&rows);
        let mut writes = vec![];
        for _ in 0..20 {
            let row = format!("{:03}", rng.below(400));
            if writes.iter().any(|write: &lazuli_engine::Write| *write.row == *row) {
                continue;
            }
            if rng.one_in(8) {
                rows.remove(&row);
                writes.push(delete(&row, Condition::Any));
            } else {
                let value = format!("{round} {}", "x".repeat(rng.below(600)));
                rows.insert(row.clone(), value.clone().into_bytes());
                writes.push(upsert(&row, &value));
            }
        }
        store.apply(TABLE, "p", writes).await.unwrap();
    }
    (store, Expected { rows, before })
}

/// A file of a store: its name, its bytes without trailing zeros, its length.
pub struct Original {
    pub name: PathBuf,
    pub bytes: Vec<u8>,
    pub length: u64,
}

pub fn originals(root: &Path, dir: &Path) -> Vec<Original> {
    let mut found = vec![];
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(originals(root, &path));
            continue;
        }
        let mut bytes = fs::read(&path).unwrap();
        let length = bytes.len() as u64;
        // In blocks first: a log has a lot of them.
        while bytes.last_chunk::<4096>() == Some(&[0; 4096]) {
            bytes.truncate(bytes.len() - 4096);
        }
        bytes.truncate(bytes.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1));
        found.push(Original { name: path.strip_prefix(root).unwrap().into(), bytes, length });
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// Writes a store of these files, one of them with a flipped bit.
pub fn write(files: &[Original], dir: &Path, damaged: &Path, bit: usize) {
    for file in files {
        let path = dir.join(&file.name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut bytes = file.bytes.clone();
        if file.name == damaged {
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        fs::write(&path, bytes).unwrap();
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(file.length).unwrap();
    }
}

pub async fn read_all(dir: &Path) -> Result<Rows, String> {
    let store = Store::open(dir, options()).map_err(|e| e.to_string())?;
    let scan = Scan {
        table: TABLE,
        ranges: vec![KeyRange::ALL],
        rows_max: usize::MAX,
        bytes_max: usize::MAX,
        judge: Box::new(|_| Ok(Verdict::Keep)),
    };
    let page = store.scan(scan).await.map_err(|e| e.to_string())?;
    let mut rows = Rows::new();
    for row in page.rows {
        rows.insert(row.row.into_string(), row.value.to_vec());
    }
    for row in 0..400 {
        let row = format!("{row:03}");
        let found = store.get(TABLE, "p", &[&row]).await.map_err(|e| e.to_string())?;
        let found = found[0].as_ref().map(|found| found.value.to_vec());
        assert_eq!(found.as_ref(), rows.get(&row), "a get and a scan differ on {row}");
    }
    Ok(rows)
}

#[tokio::test]
async fn flipped_bits_are_reported_after_a_close() {
    let original = directory();
    let (store, expected) = make(original.path()).await;
    store.close().await.unwrap();
    flip(original.path(), |_, found| *found == expected.rows).await;
}

/// After a crash a flipped bit in the last commit can, in rare cases, look like a sector lost in a loss of power. That
/// commit may then be missing, as a whole, and a check reports it; everything else is as after a clean close.
#[tokio::test]
async fn flipped_bits_are_reported_after_a_crash() {
    let original = directory();
    let (store, expected) = make(original.path()).await;
    drop(store);
    // The file that a clean close leaves behind and a crash does not.
    fs::remove_file(original.path().join("closed")).unwrap();
    flip(original.path(), |file, found| {
        let is_log = file.extension().is_some_and(|extension| extension == "jnl");
        *found == expected.rows || is_log && *found == expected.before
    })
    .await;
}

/// A store that was killed after its last commit: its files, the index of its log in them, the offset in the log at which
/// the last batch starts (it ends with the log), and the rows before and after that batch.
pub struct Killed {
    pub files: Vec<Original>,
    pub log: usize,
    pub start: usize,
    pub before: Rows,
    pub after: Rows,
}

pub async fn killed(last: &str) -> Killed {
    let original = directory();
    // All of it stays in one log.
    let store = Store::open(original.path(), Options::default()).unwrap();
    let mut before = Rows::new();
    for row in 0..20 {
        let row = format!("{row:03}");
        crate::support::set(&store, &row, &row.repeat(100)).await;
        before.insert(row.clone(), row.repeat(100).into_bytes());
    }
    let is_log = |file: &Original| file.name.extension().is_some_and(|name| name == "jnl");
    let so_far = originals(original.path(), original.path());
    let start = so_far.iter().rfind(|file| is_log(file)).unwrap();
    crate::support::set(&store, "last", last).await;
    let mut files = originals(original.path(), original.path());
    // The last commit was written, but not acknowledged.
    let is_note = |file: &&Original| file.name == Path::new("acknowledged");
    let note = so_far.iter().find(is_note).unwrap().bytes.clone();
    files.iter_mut().filter(|file| is_note(&&**file)).for_each(|file| file.bytes.clone_from(&note));
    let log = files.iter().rposition(is_log).unwrap();
    assert_eq!(files[log].name, start.name);
    let mut after = before.clone();
    after.insert("last".into(), last.into());
    Killed { log, start: start.bytes.len(), before, after, files }
}

/// Writes a log into an existing store; its length stays the same.
pub fn write_log(dir: &Path, original: &Original, bytes: &[u8]) {
    let path = dir.join(&original.name);
    fs::write(&path, bytes).unwrap();
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(original.length).unwrap();
}

/// Damage to any byte of the last, acknowledged batch: a check finds it, and a start rejects it and changes nothing.
#[tokio::test]
async fn a_damaged_last_batch_is_reported_after_a_kill() {
    let Killed { files, log, start, before, after } = killed("acknowledged").await;
    let log = &files[log];
    let (dir, number) = (directory(), start + 5..start + 13);
    write(&files, dir.path(), Path::new(""), 0);
    assert_eq!(inspect(dir.path(), |_| {}).unwrap().findings, 0);
    for at in (start..log.bytes.len()).filter(|at| !number.contains(at)) {
        let mut bytes = log.bytes.clone();
        bytes[at] ^= 0x21;
        write_log(dir.path(), log, &bytes);
        let found = inspect(dir.path(), |_| {}).unwrap();
        assert_eq!(found.findings, 1, "byte {at}: {found:?}");
        let rejected = Store::open(dir.path(), options()).err().map(|error| error.to_string());
        assert!(rejected.is_some_and(|why| why.contains("truncate --size")), "byte {at}");
        let mut left = vec![0; bytes.len()];
        fs::File::open(dir.path().join(&log.name)).unwrap().read_exact(&mut left).unwrap();
        assert_eq!(left, bytes, "byte {at}");
    }
    // Follow the advice in the message: the other rows are intact.
    fs::OpenOptions::new()
        .write(true)
        .open(dir.path().join(&log.name))
        .unwrap()
        .set_len(start as u64)
        .unwrap();
    assert_eq!(read_all(dir.path()).await.as_ref(), Ok(&before));
    // Without the damage, everything is intact.
    let whole = directory();
    write(&files, whole.path(), Path::new(""), 0);
    assert_eq!(read_all(whole.path()).await.as_ref(), Ok(&after));
}

/// A batch that a kill left unfinished is not damage, and the store opens without it.
#[tokio::test]
async fn an_unfinished_last_batch_is_not_damage() {
    let Killed { files, log, start, before, .. } = killed("on its way").await;
    let log = &files[log];
    for end in (start + 1..log.bytes.len() - 4).step_by(25) {
        let dir = directory();
        write(&files, dir.path(), Path::new(""), 0);
        write_log(dir.path(), log, &log.bytes[..end]);
        let found = inspect(dir.path(), |_| {}).unwrap();
        assert_eq!((found.findings, found.notes.len()), (0, 1), "cut at {end}: {found:?}");
        assert_eq!(read_all(dir.path()).await.as_ref(), Ok(&before), "cut at {end}");
    }
}

/// A batch with a sector that did not reach the disk before a loss of power does not prevent a start; a check cannot
/// distinguish it from a sector that was lost later, and says so.
#[tokio::test]
async fn a_last_batch_with_a_hole_is_dropped_and_reported() {
    let Killed { files, log, start, before, .. } = killed(&"on its way".repeat(200)).await;
    let log = &files[log];
    let dir = directory();
    write(&files, dir.path(), Path::new(""), 0);
    let mut bytes = log.bytes.clone();
    let sector = (start + 600).next_multiple_of(512);
    bytes[sector..sector + 512].fill(0);
    write_log(dir.path(), log, &bytes);
    let found = inspect(dir.path(), |_| {}).unwrap();
    assert!(found.findings == 1 && found.examples[0].contains("has holes"), "{found:?}");
    assert_eq!(read_all(dir.path()).await.as_ref(), Ok(&before));
    assert_eq!(fs::read(dir.path().join("cut-0")).unwrap(), bytes[start..]);
    assert_eq!(inspect(dir.path(), |_| {}).unwrap().findings, 0, "the dropped batch is gone");
}

async fn flip(original: &Path, is_harmless: impl Fn(&Path, &Rows) -> bool) {
    let mut rng = Rng::new(number_from("LAZULI_SEED").unwrap_or(1));
    let flips = number_from("LAZULI_FLIPS").unwrap_or(2);
    let files = originals(original, original);
    let mut wrong = vec![];
    for file in files.iter().filter(|file| !file.bytes.is_empty()) {
        let mut outcomes: BTreeMap<&str, usize> = BTreeMap::new();
        for _ in 0..flips {
            let bit = rng.below(file.bytes.len() * 8);
            let damaged = directory();
            write(&files, damaged.path(), &file.name, bit);
            let checked = check(damaged.path()).await;
            let outcome = match read_all(damaged.path()).await {
                Err(_) if checked == Checked::Sound => {
                    wrong.push(format!("{}, bit {bit}: not found by a check", file.name.display()));
                    "wrong"
                }
                Err(_) => "reported",
                Ok(found)
                    if is_harmless(&file.name, &found)
                        && (checked != Checked::Sound || is_irrelevant(&files, &file.name)) =>
                {
                    if checked == Checked::Sound { "irrelevant" } else { "harmless, found" }
                }
                Ok(found) => {
                    let right = is_harmless(&file.name, &found);
                    wrong.push(format!("{}, bit {bit}: right {right}, {checked:?}", file.name.display()));
                    "wrong"
                }
            };
            *outcomes.entry(outcome).or_default() += 1;
        }
        println!("{} ({} bytes): {outcomes:?}", file.name.display(), file.bytes.len());
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Including bytes that belong to no row: a check reads sorted files from end to end.
#[tokio::test]
async fn a_check_finds_any_byte_of_a_sorted_file() {
    let dir = directory();
    let (store, _) = make(dir.path()).await;
    store.close().await.unwrap();
    let files = originals(dir.path(), dir.path());
    let is_sorted = |file: &&Original| file.name.parent().is_some_and(|parent| parent.ends_with("tables"));
    for file in files.iter().filter(is_sorted) {
        let last = file.bytes.len() - 1;
        for at in (0..last).step_by(last / 20).chain([last]) {
            let mut bytes = file.bytes.clone();
            bytes[at] ^= 0x10;
            write_log(dir.path(), file, &bytes);
            let found = inspect(dir.path(), |_| {}).unwrap();
            assert_eq!(found.findings, 1, "{}, byte {at}: {found:?}", file.name.display());
        }
        write_log(dir.path(), file, &file.bytes);
    }
    assert_eq!(inspect(dir.path(), |_| {}).unwrap().findings, 0);
}

/// A log that ends with a whole batch, but an earlier one than when the store was closed, can be detected only by what
/// the close recorded.
#[tokio::test]
async fn a_log_that_was_cut_after_a_close_is_reported() {
    let dir = directory();
    let store = Store::open(dir.path(), Options::default()).unwrap();
    crate::support::set(&store, "kept", "1").await;
    let is_log = |file: &Original| file.name.extension().is_some_and(|name| name == "jnl");
    let log = originals(dir.path(), dir.path()).into_iter().rfind(is_log).unwrap();
    crate::support::set(&store, "lost", "1").await;
    store.close().await.unwrap();
    let path = dir.path().join(&log.name);
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(log.bytes.len() as u64).unwrap();
    let rejected = Store::open(dir.path(), Options::default()).err().map(|error| error.to_string());
    assert!(rejected.as_ref().is_some_and(|why| why.contains("was closed at version")), "{rejected:?}");
    assert_eq!(check(dir.path()).await, Checked::Damaged);
}

/// The result of a check of the files and rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Checked {
    Sound,
    /// Sound, except for a last batch that was never finished.
    Cut,
    Damaged,
}

async fn check(dir: &Path) -> Checked {
    let Ok(inspection) = inspect(dir, |_| {}) else { return Checked::Damaged };
    if inspection.findings > 0 {
        return Checked::Damaged;
    }
    if !inspection.notes.is_empty() {
        return Checked::Cut;
    }
    let Ok(store) = ClosedStore::open(dir) else { return Checked::Damaged };
    let Ok(report) = store.check_each(&mut |_, _| {}) else { return Checked::Damaged };
    let is_whole = inspection.closed_at.is_none_or(|closed| report.marks.unwrap().last_version == closed);
    if report.is_clean() && is_whole { Checked::Sound } else { Checked::Damaged }
}

/// The content of a lock file is never read, nor is a list of files that is not the current one. The number of a batch
/// is not covered by a checksum; a wrong number that is still greater than that of the previous batch changes nothing.
fn is_irrelevant(files: &[Original], file: &Path) -> bool {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let current = files.iter().find(|other| other.name == file.with_file_name("current"));
    let number = current.and_then(|current| current.bytes.first_chunk()).map(|n| u64::from_le_bytes(*n));
    let is_old_list = number.is_some_and(|number| name.starts_with('v') && name != format!("v{number}"));
    name == "lock" || name.ends_with(".jnl") || is_old_list
}

fn number_from(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}
