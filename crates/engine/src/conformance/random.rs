//! Random operations on an engine and on the memory engine side by side: every response and the final state
//! must agree.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;

use super::EngineFactory;
use super::rng::Rng;
use super::support::{Add, Become, append, delete, everything, put, range, scan_of, update};
use crate::adopt::{Adopted, Unfit};
use crate::memory::Memory;
use crate::types::{
    Applied, Bound, Condition, KeyPosition, KeyRange, Next, Row, Scan, TableId, Verdict, Version, Write,
};
use crate::{Clock, Engine, Error};

/// Names the one seed to run, to repeat a failure.
const SEED_VARIABLE: &str = "LAZULI_SEED";
const SEEDS: std::ops::Range<u64> = 1..13;
const STEPS: usize = 250;

const TABLES: [TableId; 3] = [TableId(1), TableId(2), TableId(3)];
const TEXTS: [&str; 8] = ["", "a", "a\0", "aa", "b", "\u{e000}", "\u{10000}", "é"];
const VALUES: [&str; 4] = ["", "1", "17", "text"];

/// Every response and the final content equal those of the memory engine. A failure contains its seed; set
/// `LAZULI_SEED` to repeat it.
pub async fn random_operations_match_memory(factory: &impl EngineFactory) {
    let seeds = match std::env::var(SEED_VARIABLE).ok().and_then(|text| text.parse().ok()) {
        Some(seed) => seed..seed + 1,
        None => SEEDS,
    };
    for seed in seeds {
        let engine = factory.open(Clock::system()).await;
        let mut pair = Pair::new(engine, seed);
        for step in 0..STEPS {
            if let Err(why) = pair.step().await {
                panic!("{SEED_VARIABLE}={seed}, step {step}: {why}");
            }
        }
        if let Err(why) = pair.compare_all().await {
            panic!("{SEED_VARIABLE}={seed}, at the end: {why}");
        }
    }
}

/// The engine under test and the oracle.
struct Pair {
    engine: Arc<dyn Engine>,
    oracle: Memory,
    rng: Rng,
    /// The versions of the same commits in the engine and in the oracle.
    versions: Vec<(Version, Version)>,
    by_engine: HashMap<Version, Version>,
}

impl Pair {
    fn new(engine: Arc<dyn Engine>, seed: u64) -> Self {
        let oracle = Memory::new(Clock::system());
        Self { engine, oracle, rng: Rng::new(seed), versions: vec![], by_engine: HashMap::new() }
    }

    async fn step(&mut self) -> Result<(), String> {
        match self.rng.below(22) {
            0..12 => self.apply().await,
            12..15 => self.get().await,
            15..19 => self.scan().await,
            19..21 => self.adopt().await,
            _ => self.erase().await,
        }
    }

    fn text(&mut self) -> &'static str {
        TEXTS[self.rng.below(TEXTS.len())]
    }

    async fn apply(&mut self) -> Result<(), String> {
        let (table, partition) = (*self.rng.pick(&TABLES), self.text());
        let count = if self.rng.one_in(8) { self.rng.below(12) } else { 1 };
        let (ours, theirs): (Vec<Write>, Vec<Write>) = (0..count).map(|_| self.write()).unzip();
        let context = format!("{table:?} {partition:?} {ours:?}");
        let found = self.engine.apply(table, partition, ours).await;
        let expected = self.oracle.apply(table, partition, theirs).await;
        match (found, expected) {
            (
                Ok(Applied::Done { version, updated }),
                Ok(Applied::Done { version: oracle_version, updated: oracle_updated }),
            ) if updated == oracle_updated => {
                self.versions.push((version, oracle_version));
                self.by_engine.insert(version, oracle_version);
                Ok(())
            }
            (found @ Ok(Applied::Rejected { .. }), expected) if found == expected => Ok(()),
            (found, expected) => Err(format!("{context}: {found:?}, expected {expected:?}")),
        }
    }

    /// The same write for the engine and for the oracle; they differ in the expected version, if it has one.
    fn write(&mut self) -> (Write, Write) {
        let row = self.text();
        let (ours, theirs) = match self.rng.below(8) {
            0..3 => (Condition::Any, Condition::Any),
            3 => (Condition::Absent, Condition::Absent),
            4 => (Condition::Exists, Condition::Exists),
            5 if self.rng.one_in(4) => (Condition::Never, Condition::Never),
            _ => match self.versions.len() {
                0 => (Condition::Any, Condition::Any),
                count => {
                    // Recent commits are more likely to concern rows that still exist.
                    let back = self.rng.below(count.min(6));
                    let (ours, theirs) = self.versions[count - 1 - back];
                    (Condition::Version(ours), Condition::Version(theirs))
                }
            },
        };
        match self.rng.below(10) {
            0..4 => {
                let value = *self.rng.pick(&VALUES);
                (put(row, ours, value), put(row, theirs, value))
            }
            4 => (append(row, "+"), append(row, "+")),
            5 => (update(row, ours, Add(1)), update(row, theirs, Add(1))),
            6 => (update(row, ours, Become(Next::Keep)), update(row, theirs, Become(Next::Keep))),
            7 => (update(row, ours, Become(Next::Delete)), update(row, theirs, Become(Next::Delete))),
            _ => (delete(row, ours), delete(row, theirs)),
        }
    }

    /// Rows with old versions, or with versions of commits that both engines have made.
    async fn adopt(&mut self) -> Result<(), String> {
        let (table, partition) = (*self.rng.pick(&TABLES), self.text());
        let (mut ours, mut theirs) = (vec![], vec![]);
        for _ in 0..=self.rng.below(4) {
            let versions = match self.versions.len() {
                count if count > 0 && self.rng.one_in(2) => {
                    self.versions[count - 1 - self.rng.below(count.min(6))]
                }
                _ => {
                    let old = Version(1 + self.rng.below(5) as u64);
                    self.by_engine.insert(old, old);
                    (old, old)
                }
            };
            let (row, value) = (self.text().into(), Bytes::from_static(self.rng.pick(&VALUES).as_bytes()));
            let offered = Row { partition: partition.into(), row, version: versions.0, value };
            theirs.push(Row { version: versions.1, ..offered.clone() });
            ours.push(offered);
        }
        let context = format!("adopt {table:?} {ours:?}");
        let found = match self.engine.adopt(table, ours).await {
            Ok(Adopted::Rejected { index, reason: Unfit::Older(version) }) => {
                Adopted::Rejected { index, reason: Unfit::Older(self.version(version)) }
            }
            Ok(adopted) => adopted,
            // It takes none.
            Err(Error::Unavailable(_)) => return Ok(()),
            Err(error) => return Err(format!("{context}: {error}")),
        };
        let expected = self.oracle.adopt(table, theirs).await.map_err(|e| e.to_string())?;
        agree(&context, &found, &expected)
    }

    async fn get(&mut self) -> Result<(), String> {
        let (table, partition) = (*self.rng.pick(&TABLES), self.text());
        let rows: Vec<&str> = (0..self.rng.below(5)).map(|_| self.text()).collect();
        let found = self.engine.get(table, partition, &rows).await.map_err(|e| e.to_string())?;
        let expected = self.oracle.get(table, partition, &rows).await.map_err(|e| e.to_string())?;
        let found: Vec<_> = found.into_iter().map(|row| row.map(|row| self.translate(row))).collect();
        agree(&format!("get {table:?} {partition:?} {rows:?}"), &found, &expected)
    }

    async fn scan(&mut self) -> Result<(), String> {
        let table = *self.rng.pick(&TABLES);
        let ranges = self.ranges();
        let rows_max = if self.rng.one_in(2) { self.rng.below(20) } else { usize::MAX };
        let bytes_max = if self.rng.one_in(4) { self.rng.below(20) } else { usize::MAX };
        let verdicts = self.rng.clone();
        let skips = self.rng.one_in(2);
        let scan = || {
            let mut verdicts = verdicts.clone();
            let judge = Box::new(move |_: crate::RowView<'_>| {
                Ok(match verdicts.below(40) {
                    0 if skips => Verdict::Stop,
                    1..20 if skips => Verdict::Skip,
                    _ => Verdict::Keep,
                })
            });
            Scan { table, ranges: ranges.clone(), rows_max, bytes_max, judge }
        };
        let mut found = self.engine.scan(scan()).await.map_err(|e| e.to_string())?;
        let expected = self.oracle.scan(scan()).await.map_err(|e| e.to_string())?;
        found.rows = found.rows.into_iter().map(|row| self.translate(row)).collect();
        agree(&format!("scan {:?}", scan()), &found, &expected)
    }

    /// One or two ranges; two do not overlap.
    fn ranges(&mut self) -> Vec<KeyRange> {
        let (start, end) = (self.bound(), self.bound());
        match self.rng.below(4) {
            0 => vec![KeyRange::ALL],
            1 => {
                let middle = self.text();
                let after = Bound::AfterPartition(middle.into());
                vec![range(start, after.clone()), range(after, end)]
            }
            2 => vec![range(start.clone(), start)],
            _ => vec![range(start, end)],
        }
    }

    fn bound(&mut self) -> Bound {
        let place = KeyPosition { partition: self.text().into(), row: self.text().into() };
        match self.rng.below(5) {
            0 => Bound::Open,
            1 => Bound::AfterPartition(place.partition),
            2 => Bound::Excluded(place),
            _ => Bound::Included(place),
        }
    }

    async fn erase(&mut self) -> Result<(), String> {
        let table = *self.rng.pick(&TABLES);
        for engine in [&*self.engine, &self.oracle as &dyn Engine] {
            while !engine.erase(table).await.map_err(|e| e.to_string())? {}
        }
        Ok(())
    }

    async fn compare_all(&self) -> Result<(), String> {
        for table in TABLES {
            let found = everything(&*self.engine, table).await;
            let found: Vec<Row> = found.into_iter().map(|row| self.translate(row)).collect();
            let expected =
                self.oracle.scan(scan_of(table, vec![KeyRange::ALL])).await.map_err(|e| e.to_string())?;
            agree(&format!("{table:?}"), &found, &expected.rows)?;
        }
        Ok(())
    }

    /// A row of the engine as the oracle would have it.
    fn translate(&self, row: Row) -> Row {
        Row { version: self.version(row.version), value: Bytes::copy_from_slice(&row.value), ..row }
    }

    /// The oracle's version of the same change.
    fn version(&self, version: Version) -> Version {
        self.by_engine.get(&version).copied().unwrap_or(Version(u64::MAX))
    }
}

fn agree<T: std::fmt::Debug + PartialEq>(context: &str, found: &T, expected: &T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{context}: {found:?}, expected {expected:?}")) }
}
