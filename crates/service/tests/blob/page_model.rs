//! Page blobs compared with a model that is an array of pages: random work shows the same contents, ranges and
//! differences.

use bytes::Bytes;
use lazuli_engine::{Change, Condition, TableId, Write};
use lazuli_model::blob::operation::{BlobAction, GetPageRanges, Revision};
use lazuli_model::blob::write::DeleteSnapshots;

use crate::pages::since;
use crate::world::{World, blob, with};

const PAGE: u64 = 512;

/// The state of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Page {
    /// 0 if it was never written, or was cleared.
    byte: u8,
    /// When it was written or cleared last.
    changed: u64,
}

/// A blob as an array of pages.
#[derive(Clone, Debug, Default)]
struct Model {
    pages: Vec<Page>,
    now: u64,
}

impl Model {
    fn set(&mut self, first: u64, count: u64, byte: u8) {
        self.now += 1;
        for page in &mut self.pages[first as usize..(first + count) as usize] {
            *page = Page { byte, changed: self.now };
        }
    }

    fn resize(&mut self, count: u64) {
        self.now += 1;
        let now = self.now;
        // Pages beyond the size are cleared, which shows when the blob grows again.
        self.pages.truncate(count as usize);
        self.pages.resize(count as usize, Page { byte: 0, changed: now });
    }

    fn content(&self) -> Vec<u8> {
        self.pages.iter().flat_map(|page| [page.byte; PAGE as usize]).collect()
    }

    /// Adjacent pages of the same kind make one range.
    fn ranges(&self, kind: impl Fn(&Page) -> Option<bool>) -> Vec<(u64, u64, bool)> {
        let mut ranges: Vec<(u64, u64, bool)> = Vec::new();
        for (n, page) in self.pages.iter().enumerate() {
            let start = n as u64 * PAGE;
            match (kind(page), ranges.last_mut()) {
                (None, _) => {}
                (Some(kind), Some((_, last, own))) if *own == kind && *last + 1 == start => *last += PAGE,
                (Some(kind), _) => ranges.push((start, start + PAGE - 1, kind)),
            }
        }
        ranges
    }

    fn written(&self) -> Vec<(u64, u64, bool)> {
        self.ranges(|page| (page.byte != 0).then_some(false))
    }

    /// Pages that were written after `now`, and those whose content was cleared.
    fn changed_since(&self, before: &Model) -> [Vec<(u64, u64)>; 2] {
        let since = before.now;
        let keep = |kind: bool| {
            let ranges =
                self.ranges(|page| (page.changed > since && (page.byte == 0) == kind).then_some(kind));
            ranges.into_iter().map(|(first, last, _)| (first, last)).collect()
        };
        [keep(false), keep(true)]
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Random writes, clears, sizes, snapshots, deletions and sweeps agree with the model: contents, ranges, differences.
#[tokio::test]
async fn page_blobs_agree_with_a_model() {
    for seed in 0..20 {
        let mut world = World::new().await;
        let mut random = Random(seed);
        // Some blobs are longer than the largest clear that touches rows at once.
        let (mut count, steps) = if seed % 10 == 0 { (9_000, 15) } else { (200, 40) };
        let mut model = Model { pages: vec![Page::default(); count as usize], now: 0 };
        let mut snapshots: Vec<(Revision, Model)> = Vec::new();
        world.create_pages("p", count * PAGE).await.unwrap();
        if seed % 2 == 1 {
            coarsen(&world, "p").await;
        }
        for step in 0..steps {
            let first = random.below(count);
            let small = 1 + random.below((count - first).min(80));
            let large = 1 + random.below(count - first);
            match random.below(12) {
                0..=4 => {
                    let byte = 1 + (step % 250) as u8;
                    world.put_page("p", first * PAGE, vec![byte; (small * PAGE) as usize]).await.unwrap();
                    model.set(first, small, byte);
                }
                5 => {
                    world.clear_page("p", first * PAGE, small * PAGE).await.unwrap();
                    model.set(first, small, 0);
                }
                6 => {
                    world.clear_page("p", first * PAGE, large * PAGE).await.unwrap();
                    model.set(first, large, 0);
                }
                7 => {
                    count = 1 + random.below(count + 50);
                    world.resize("p", count * PAGE).await.unwrap();
                    model.resize(count);
                }
                8 | 9 => {
                    world.pass(1);
                    snapshots.push((world.snapshot("p").await, model.clone()));
                }
                10 if !snapshots.is_empty() => {
                    let (revision, _) = snapshots.remove(random.below(snapshots.len() as u64) as usize);
                    let delete =
                        BlobAction::Delete { snapshots: DeleteSnapshots::Unspecified, is_permanent: false };
                    let operation = with(blob("p", delete), |request| request.revision = revision);
                    world.run(operation).await.unwrap();
                }
                _ => world.settle().await,
            }
            check(&world, &model, &snapshots, &format!("seed {seed}, step {step}")).await;
        }
        world.settle().await;
        check(&world, &model, &snapshots, &format!("seed {seed}, at the end")).await;
        let delete = BlobAction::Delete { snapshots: DeleteSnapshots::Include, is_permanent: false };
        world.on("p", delete).await.unwrap();
        world.settle().await;
        assert_eq!(world.rows().await, 0, "seed {seed}");
    }
}

/// Turns a page blob without pages into one of an earlier version: its record names no size of cells, so they have 32
/// pages.
pub async fn coarsen(world: &World, name: &str) {
    let mut dump = world.engine.dump().await.unwrap();
    let mut found = Vec::new();
    loop {
        let page = dump.next(1 << 20).await.unwrap();
        if page.is_empty() {
            break;
        }
        found.extend(page.into_iter().filter(|stored| {
            stored.table != TableId::SYSTEM && (&*stored.row.partition, &*stored.row.row) == (name, "")
        }));
    }
    let [head] = &found[..] else { panic!("{found:?}") };
    // The field of pages: its tag, its length, a generation, five numbers, the size of a cell.
    let old = &head.row.value;
    let field = old.windows(16).position(|bytes| bytes[..2] == [17, 14] && bytes[10..] == [0, 0, 0, 0, 0, 8]);
    let field = field.unwrap();
    let value: Bytes =
        [&old[..field], &[17, 13], &old[field + 2..field + 15], &old[field + 16..]].concat().into();
    let write = Write { row: "".into(), condition: Condition::Exists, change: Change::Put(value) };
    world.engine.apply(head.table, name, vec![write]).await.unwrap();
}

async fn check(world: &World, model: &Model, snapshots: &[(Revision, Model)], case: &str) {
    let mut states = snapshots.to_vec();
    states.push((Revision::Current, model.clone()));
    for (n, (revision, model)) in states.iter().enumerate() {
        assert!(
            world.read_of("p", *revision).await.unwrap() == model.content(),
            "{case}: content of {revision:?}"
        );
        let found = world.ranges("p", *revision, GetPageRanges::default()).await.unwrap();
        assert_eq!(found.ranges, model.written(), "{case}: ranges of {revision:?}");
        let Some((earlier, before)) = n.checked_sub(1).map(|n| &states[n]) else { continue };
        let found = world.ranges("p", *revision, since(*earlier)).await.unwrap().ranges;
        let pick = |kind| {
            let ranges = found.iter().filter(|range| range.2 == kind);
            ranges.map(|(first, last, _)| (*first, *last)).collect::<Vec<_>>()
        };
        let [written, cleared] = model.changed_since(before);
        assert_eq!(pick(false), written, "{case}: changes of {revision:?}");
        // Pages that were zeros before may be missing among those that were cleared: they have not changed.
        let found_cleared = pick(true);
        for (first, last) in &found_cleared {
            let within = |(a, b): &(u64, u64)| a <= first && last <= b;
            assert!(cleared.iter().any(within), "{case}: {first} to {last} was not cleared: {cleared:?}");
        }
        let must_show = model.pages.iter().enumerate().filter(|(number, page)| {
            page.byte == 0 && before.pages.get(*number).is_some_and(|page| page.byte != 0)
        });
        for (number, _) in must_show {
            let at = number as u64 * PAGE;
            let is_there = found_cleared.iter().any(|(a, b)| *a <= at && at < *b);
            assert!(is_there, "{case}: clear at {at} is missing");
        }
    }
}
