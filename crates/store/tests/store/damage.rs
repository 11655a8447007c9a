//! Flipped bits in every file of a store: reported or refused, never a wrong or missing row.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use lazuli_engine::conformance::{Rng, delete, insert, upsert};
use lazuli_engine::{Bound, Condition, Engine, Error, KeyRange, Place, RowView, Scan, Verdict};
use lazuli_store::{Options, Reading, Store, inspect};

use crate::support::{TABLE, directory};

pub type Rows = BTreeMap<String, Vec<u8>>;

pub fn options() -> Options {
    Options { memtable_bytes: 100 * 1024, cache_bytes: 1 << 20, ..Options::default() }
}

/// What a store holds, and what it held before its last commit.
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

/// A file of a store: its name, its bytes without the zeros at the end, its length.
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

/// After a crash a flipped bit in the last commit can, in rare cases, look like a sector that a loss of power left out. That
/// commit may then be missing, as a whole, and a check tells; everything else is as after a clean close.
#[tokio::test]
async fn flipped_bits_are_reported_after_a_crash() {
    let original = directory();
    let (store, expected) = make(original.path()).await;
    drop(store);
    // All that a clean close leaves behind and a crash does not.
    fs::remove_file(original.path().join("closed")).unwrap();
    flip(original.path(), |file, found| {
        let is_log = file.extension().is_some_and(|extension| extension == "jnl");
        *found == expected.rows || is_log && *found == expected.before
    })
    .await;
}

/// A store with a last commit, as a kill leaves it: its files, its log, where the last batch starts and ends in it, and its rows
/// before and after.
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
    let start = originals(original.path(), original.path()).into_iter().rfind(is_log).unwrap();
    crate::support::set(&store, "last", last).await;
    let files = originals(original.path(), original.path());
    let log = files.iter().rposition(is_log).unwrap();
    assert_eq!(files[log].name, start.name);
    let mut after = before.clone();
    after.insert("last".into(), last.into());
    Killed { log, start: start.bytes.len(), before, after, files }
}

/// Writes a log into a store that is there; it is as long as it was.
pub fn write_log(dir: &Path, original: &Original, bytes: &[u8]) {
    let path = dir.join(&original.name);
    fs::write(&path, bytes).unwrap();
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(original.length).unwrap();
}

/// Every byte of the last batch, which was acknowledged, whatever becomes of it: a check finds it and a start refuses it, and
/// leaves everything as it is.
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
        let refused = Store::open(dir.path(), options()).err().map(|error| error.to_string());
        assert!(refused.is_some_and(|why| why.contains("truncate --size")), "byte {at}");
        let mut left = vec![0; bytes.len()];
        fs::File::open(dir.path().join(&log.name)).unwrap().read_exact(&mut left).unwrap();
        assert_eq!(left, bytes, "byte {at}");
    }
    // What the messages say to do: the rest is as it was.
    fs::OpenOptions::new()
        .write(true)
        .open(dir.path().join(&log.name))
        .unwrap()
        .set_len(start as u64)
        .unwrap();
    assert_eq!(read_all(dir.path()).await.as_ref(), Ok(&before));
    // And without the damage, as if nothing had been.
    let whole = directory();
    write(&files, whole.path(), Path::new(""), 0);
    assert_eq!(read_all(whole.path()).await.as_ref(), Ok(&after));
}

/// What a kill leaves of a batch that was being written is no damage, and the store opens without it.
#[tokio::test]
async fn an_unfinished_last_batch_is_no_damage() {
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

/// What a loss of power leaves of a batch that was being written, a sector of which did not reach the disk, keeps nobody from
/// starting; a check cannot tell it from a sector that was lost later, and says so.
#[tokio::test]
async fn a_last_batch_with_a_hole_is_left_out_and_told() {
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
    assert_eq!(inspect(dir.path(), |_| {}).unwrap().findings, 0, "what was left out is no longer there");
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

/// Also those that no row is in: a check reads sorted files from end to end.
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

/// A log that ends with a whole batch, but an earlier one than when the store was closed, can only be told by what was written
/// down then.
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
    let refused = Store::open(dir.path(), Options::default()).err().map(|error| error.to_string());
    assert!(refused.as_ref().is_some_and(|why| why.contains("was closed at version")), "{refused:?}");
    assert_eq!(check(dir.path()).await, Checked::Damaged);
}

/// What a check of the files and rows says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Checked {
    Sound,
    /// Sound, but for a last batch that was never finished.
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
    let Ok(store) = Reading::open(dir) else { return Checked::Damaged };
    let Ok(report) = store.check_each(&mut |_, _| {}) else { return Checked::Damaged };
    let is_whole = inspection.closed_at.is_none_or(|closed| report.marks.unwrap().last_version == closed);
    if report.is_clean() && is_whole { Checked::Sound } else { Checked::Damaged }
}

/// Nobody reads what a lock file says, nor a list of files that is not the current one. The number of a log's batch is
/// under no checksum; one that is wrong and still greater than that of the batch before changes nothing.
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

/// Missing files are noticed before the sorted store takes them for a store that was never finished, and removes the
/// rest.
#[tokio::test]
async fn missing_files_are_reported() {
    let original = directory();
    let (store, expected) = make(original.path()).await;
    store.close().await.unwrap();
    let files = originals(original.path(), original.path());
    for was_closed in [true, false] {
        for missing in [
            "data/version",
            "data/0.jnl",
            "data/keyspaces",
            "data/keyspaces/0",
            "data/keyspaces/0/current",
            "data/keyspaces/0/tables",
            "data/keyspaces/1",
            "data/keyspaces/1/current",
            "data/keyspaces/1/tables",
            "data",
            "format",
        ] {
            // Nothing is left then that could tell.
            if missing == "data" && !was_closed {
                continue;
            }
            let damaged = directory();
            write(&files, damaged.path(), Path::new(""), 0);
            if !was_closed {
                fs::remove_file(damaged.path().join("closed")).unwrap();
            }
            let path = damaged.path().join(missing);
            if path.is_dir() {
                fs::remove_dir_all(&path).unwrap()
            } else {
                fs::remove_file(&path).unwrap()
            }
            // Older lists of files are removed at any opening.
            let count = || {
                let files = originals(damaged.path(), damaged.path());
                files.iter().filter(|file| file.name.parent() != Some(Path::new("data/keyspaces/0"))).count()
            };
            let before = count();
            let found = read_all(damaged.path()).await;
            assert!(found.is_err(), "{missing}, closed: {was_closed}: {} rows", found.unwrap().len());
            assert!(count() >= before, "{missing}: files were removed");
        }
    }
    assert_eq!(read_all(original.path()).await.as_ref(), Ok(&expected.rows));
}

/// A store whose making was ended by a crash is made anew.
#[tokio::test]
async fn an_unfinished_store_is_made_anew() {
    let dir = directory();
    drop(Store::open(dir.path(), options()).unwrap());
    fs::remove_file(dir.path().join("closed")).unwrap();
    // What the sorted store makes, from last to first.
    for made_after in
        ["data/keyspaces/1", "data/keyspaces/0", "data/version", "data/keyspaces", "data/0.jnl", "data/lock"]
    {
        let path = dir.path().join(made_after);
        if path.is_dir() {
            fs::remove_dir_all(&path).unwrap()
        } else {
            fs::remove_file(&path).unwrap()
        }
        let copy = directory();
        write(&originals(dir.path(), dir.path()), copy.path(), Path::new(""), 0);
        if dir.path().join("data/keyspaces").exists() {
            fs::create_dir_all(copy.path().join("data/keyspaces")).unwrap();
        }
        let store =
            Store::open(copy.path(), options()).unwrap_or_else(|e| panic!("without {made_after}: {e}"));
        crate::support::set(&store, "a", "1").await;
        assert_eq!(crate::support::get(&store, "a").await.as_deref(), Some("1"));
    }
}

/// Bytes that reach the store's own checksum are checked by it: never served, found by a check, and replaceable.
#[tokio::test]
async fn a_row_with_a_wrong_checksum_is_never_served() {
    let dir = directory();
    let store = Store::open(dir.path(), options()).unwrap();
    crate::support::set(&store, "good", "1").await;
    crate::support::set(&store, "bad", "1").await;
    drop(store);
    let key = b"\x02\0\0\0\0\0\0\0\x07p\0bad";
    {
        let db = fjall::Database::builder(dir.path().join("data")).open().unwrap();
        let rows = db.keyspace("rows", fjall::KeyspaceCreateOptions::default).unwrap();
        let mut stored = rows.get(key).unwrap().unwrap().to_vec();
        stored[0] ^= 1;
        rows.insert(key, stored).unwrap();
        db.persist(fjall::PersistMode::SyncAll).unwrap();
    }
    let store = Store::open(dir.path(), options()).unwrap();
    let is_corrupt = |result: Result<_, Error>| matches!(result, Err(Error::Corrupt(_)));
    assert!(is_corrupt(store.get(TABLE, "p", &["bad"]).await.map(drop)));
    assert!(is_corrupt(store.get(TABLE, "p", &["good", "bad"]).await.map(drop)));
    assert_eq!(crate::support::get(&store, "good").await.as_deref(), Some("1"));
    let place = || Bound::Included(Place { partition: "p".into(), row: "bad".into() });
    for range in [KeyRange::ALL, KeyRange { start: place(), end: place() }] {
        let judge = Box::new(|_: RowView<'_>| Ok(Verdict::Skip));
        let scan = Scan { table: TABLE, ranges: vec![range], rows_max: 9, bytes_max: 9, judge };
        assert!(is_corrupt(store.scan(scan).await.map(drop)));
    }
    assert!(is_corrupt(store.apply(TABLE, "p", vec![insert("bad", "2")]).await.map(drop)));
    let report = store.check().await.unwrap();
    assert_eq!(report.findings, 1, "{report:?}");
    crate::support::set(&store, "bad", "3").await;
    assert_eq!(crate::support::get(&store, "bad").await.as_deref(), Some("3"));
    assert!(store.check().await.unwrap().is_clean());
}

/// A log that was damaged under a store whose commits waited for the disk is refused, also by an opening that asks for
/// less: it would cut off everything behind the damage.
#[tokio::test]
async fn a_relaxed_opening_does_not_cut_what_was_synced() {
    let temporary = directory();
    let (crashed, copy) = (temporary.path().join("crashed"), temporary.path().join("copy"));
    let (store, _) = make(&crashed).await;
    let files = originals(&crashed, &crashed);
    let log = files.iter().rfind(|file| file.name.extension().is_some_and(|name| name == "jnl")).unwrap();
    // In the first batch of the last log, far from its end.
    write(&files, &copy, &log.name, 8 * 60);
    drop(store);
    let relaxed = Options { durability: lazuli_store::Durability::Relaxed, ..options() };
    for _ in 0..2 {
        let error = Store::open(&copy, relaxed.clone()).err().expect("a damaged log is refused").to_string();
        assert!(error.contains("not readable"), "{error}");
    }
    assert!(!copy.join("relaxed").exists(), "a refused opening changes nothing");
}

/// Account keys lie in the data: whoever may look into the directory around it may not look there.
#[tokio::test]
async fn data_in_an_open_directory_is_for_its_owner() {
    use std::os::unix::fs::PermissionsExt as _;
    let temporary = directory();
    fs::set_permissions(temporary.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for _ in 0..2 {
        let store = Store::open(temporary.path(), options()).unwrap();
        store.close().await.unwrap();
        let data = temporary.path().join("data");
        assert_eq!(fs::metadata(&data).unwrap().permissions().mode() & 0o777, 0o700);
        fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).unwrap();
    }
}
