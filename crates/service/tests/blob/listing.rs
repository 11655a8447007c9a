//! List Blobs: every page size and delimiter gives the unpaged result, however the rows are stored.

use std::collections::BTreeSet;

use lazuli_engine::conformance::Rng;
use lazuli_model::Metadata;
use lazuli_model::blob::Outcome;
use lazuli_model::blob::container::ContainerAction;
use lazuli_model::blob::limits::LIST_PAGE_BYTES_MAX;
use lazuli_model::blob::list::{BlobEntry, BlobPage, Include, ListBlobs, ListedState};
use lazuli_model::blob::operation::{BlobAction, Revision};
use lazuli_model::blob::write::{DeleteSnapshots, WriteSettings};

use crate::world::{CONTAINER, Features, World, bytes_of};

fn list() -> ListBlobs {
    ListBlobs {
        prefix: String::new(),
        delimiter: None,
        from: None,
        start_from: None,
        end_before: None,
        max_results: 5000,
        include: Include::default(),
    }
}

async fn page(world: &World, list: &ListBlobs) -> BlobPage {
    let action = ContainerAction::ListBlobs(Box::new(list.clone()));
    match world.on_container(CONTAINER, action).await.unwrap() {
        Outcome::Blobs(page) => page,
        other => panic!("{other:?}"),
    }
}

/// An entry as a string: a prefix, a blob, or a blob with the time of its snapshot.
fn text(entry: &BlobEntry) -> String {
    match entry {
        BlobEntry::Prefix(prefix) => format!("{prefix}…"),
        BlobEntry::Blob(item) => match (&item.revision, &item.state) {
            (Revision::Snapshot(time), _) => format!("{}@{}", item.name, time.ticks()),
            (_, ListedState::Uncommitted(_)) => format!("{}?", item.name),
            _ => item.name.clone(),
        },
    }
}

/// All pages together. Every page but the last is full unless the time was up.
async fn all(world: &World, list: &ListBlobs, is_slow: bool) -> Vec<String> {
    let mut list = list.clone();
    let mut found = Vec::new();
    loop {
        let page = page(world, &list).await;
        let count = page.entries.len();
        found.extend(page.entries.iter().map(text));
        let Some(next) = page.next else { return found };
        assert!(is_slow || count == list.max_results as usize, "a page that is not full has a marker");
        assert!(list.from.as_ref() != Some(&next), "the listing does not continue: {next:?}");
        list.from = Some(next);
    }
}

/// The expected result by definition.
fn expected(names: &BTreeSet<String>, list: &ListBlobs) -> Vec<String> {
    let mut names: Vec<&String> = names.iter().collect();
    names.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
    let mut found: Vec<String> = Vec::new();
    for name in names.into_iter().filter(|name| name.starts_with(&list.prefix)) {
        let is_early = list.start_from.as_ref().is_some_and(|from| name < from);
        if is_early || list.end_before.as_ref().is_some_and(|end| name >= end) {
            continue;
        }
        let rest = &name[list.prefix.len()..];
        let group = list.delimiter.as_ref().and_then(|delimiter| {
            let end = list.prefix.len() + rest.find(delimiter.as_str())? + delimiter.len();
            Some(format!("{}…", &name[..end]))
        });
        let entry = group.unwrap_or_else(|| name.clone());
        if found.last() != Some(&entry) {
            found.push(entry);
        }
    }
    found
}

const PARTS: [&str; 12] = ["a", "b", "/", "//", "-", "--", "Z", "é", "\u{ffff}", "\u{e000}", "😀", " "];

fn random_name(rng: &mut Rng) -> String {
    (0..rng.below(6) + 1).map(|_| *rng.pick(&PARTS)).collect()
}

/// BL-09.
#[tokio::test]
async fn pages_of_any_size_and_delimiter_give_the_whole_listing() {
    let mut rng = Rng::new(7);
    let world = World::with_inline(16).await;
    let mut names = BTreeSet::new();
    for n in 0..120 {
        let name = random_name(&mut rng);
        // Some have content in rows of their own, some none; some are gone and not swept yet.
        world.put(&name, bytes_of(n, if n % 3 == 0 { 3 } else { 100 })).await.unwrap();
        if n % 7 == 0 {
            world
                .on(&name, BlobAction::Delete { snapshots: Default::default(), is_permanent: false })
                .await
                .unwrap();
            names.remove(&name);
        } else {
            names.insert(name);
        }
        if n % 11 == 0 {
            world.stage(&format!("uncommitted/{n}"), "id", "x").await.unwrap();
        }
    }
    for delimiter in [None, Some("/"), Some("--"), Some("a"), Some("😀")] {
        for prefix in ["", "a", "a/", "/", "//", "é", "none", "\u{ffff}", "😀"] {
            for (start_from, end_before) in [
                (None, None),
                (Some("a"), None),
                (Some("b/"), Some("é")),
                (Some("\u{e000}"), None),
                (Some("😀"), Some("😀b")),
                (None, Some("a/b")),
                (None, Some("\u{e000}")),
                (None, Some("😀")),
            ] {
                let wanted = ListBlobs {
                    end_before: end_before.map(str::to_owned),
                    prefix: prefix.into(),
                    delimiter: delimiter.map(str::to_owned),
                    start_from: start_from.map(str::to_owned),
                    ..list()
                };
                let expected = expected(&names, &wanted);
                for max_results in [1, 2, 3, 7, 5000] {
                    let wanted = ListBlobs { max_results, ..wanted.clone() };
                    assert_eq!(all(&world, &wanted, false).await, expected, "{wanted:?}");
                }
            }
        }
    }
}

/// A listing that reaches its time limit returns the entries found so far, and the next page resumes there.
#[tokio::test]
async fn slow_listings_lose_nothing() {
    let world = World::with_inline(16).await;
    let mut rng = Rng::new(8);
    let names: BTreeSet<String> = (0..60).map(|_| random_name(&mut rng)).collect();
    for name in &names {
        world.put(name, bytes_of(1, 100)).await.unwrap();
        world.on(name, BlobAction::Snapshot(None)).await.unwrap();
    }
    world.step.store(10, std::sync::atomic::Ordering::SeqCst);
    for delimiter in [None, Some("/".to_owned())] {
        let wanted = ListBlobs { delimiter, ..list() };
        assert_eq!(all(&world, &wanted, true).await, expected(&names, &wanted));
    }
    let include = Include { snapshots: true, ..Include::default() };
    let wanted = ListBlobs { include, ..list() };
    assert_eq!(all(&world, &wanted, true).await.len(), names.len() * 2);
}

/// A scan can end by bytes right before the head of a blob. The previous blob is listed even though the time is up
/// then.
#[tokio::test]
async fn slow_listings_of_large_rows_lose_nothing() {
    let world = World::with_inline(64 * 1024).await;
    for n in 0..60 {
        let name = format!("{n:02}");
        world.put(&name, bytes_of(1, 50_000)).await.unwrap();
        // Most rows are heads, so most scans end before one.
        if n % 10 == 9 {
            world.on(&name, BlobAction::Snapshot(None)).await.unwrap();
        }
    }
    world.step.store(10, std::sync::atomic::Ordering::SeqCst);
    let include = Include { snapshots: true, ..Include::default() };
    assert_eq!(all(&world, &ListBlobs { include, ..list() }, true).await.len(), 60 + 6);
}

/// A scan may end at an event of a blob whose snapshots come after it: they are listed nevertheless.
#[tokio::test]
async fn snapshots_after_an_event_are_listed() {
    let world = World::with_features(Features { events: true, ..Features::default() }).await;
    // Blobs with nothing but uncommitted blocks fill the scan, but not the page.
    for name in ["a", "b"] {
        world.stage(name, "id", "x").await.unwrap();
    }
    world.put("c", "x").await.unwrap();
    world.on("c", BlobAction::Snapshot(None)).await.unwrap();
    let include = Include { snapshots: true, deleted: true, ..Include::default() };
    for max_results in [1, 2, 3] {
        let wanted = ListBlobs { include, max_results, ..list() };
        assert_eq!(all(&world, &wanted, true).await.len(), 2, "{max_results}");
    }
}

#[tokio::test]
async fn snapshots_are_listed_before_their_blob() {
    let world = World::with_inline(16).await;
    let mut expected = Vec::new();
    for name in ["a", "b", "b/c", "c"] {
        world.put(name, bytes_of(1, 100)).await.unwrap();
        for _ in 0..3 {
            let Ok(Outcome::SnapshotMade { snapshot, .. }) = world.on(name, BlobAction::Snapshot(None)).await
            else {
                panic!()
            };
            expected.push(format!("{name}@{}", snapshot.ticks()));
            world.pass(1);
            world.put(name, bytes_of(2, 100)).await.unwrap();
        }
        expected.push(name.to_owned());
    }
    let include = Include { snapshots: true, ..Include::default() };
    for max_results in 1..20 {
        let wanted = ListBlobs { include, max_results, ..list() };
        assert_eq!(all(&world, &wanted, false).await, expected, "{max_results}");
    }
    // Deleted snapshots are gone immediately, before any sweep.
    let only = BlobAction::Delete { snapshots: DeleteSnapshots::Only, is_permanent: false };
    world.on("b", only).await.unwrap();
    expected.retain(|entry| !entry.starts_with("b@"));
    for max_results in 1..20 {
        let wanted = ListBlobs { include, max_results, ..list() };
        assert_eq!(all(&world, &wanted, false).await, expected, "{max_results}");
    }
}

#[tokio::test]
async fn uncommitted_blobs_are_listed_on_request() {
    let world = World::new().await;
    world.stage("a", "id", "x").await.unwrap();
    world.put("b", "x").await.unwrap();
    world.stage("b", "id", "x").await.unwrap();
    assert_eq!(all(&world, &list(), false).await, ["b"]);
    let include = Include { uncommitted: true, ..Include::default() };
    let wanted = ListBlobs { include, ..list() };
    assert_eq!(all(&world, &wanted, false).await, ["a?", "b"]);
    let delete = || BlobAction::Delete { snapshots: DeleteSnapshots::Unspecified, is_permanent: false };
    world.on("a", delete()).await.unwrap();
    assert_eq!(all(&world, &wanted, false).await, ["b"]);
    assert_eq!(world.on("a", delete()).await, Err(lazuli_model::ErrorCode::BlobNotFound));
}

/// The cost of a page is proportional to its results: blobs below a prefix and content are skipped.
#[tokio::test]
async fn listings_step_over_prefixes_and_content() {
    let world = World::with_inline(16).await;
    for directory in 0..5 {
        for n in 0..2000 {
            world.put(&format!("{directory}/{n:04}"), "x").await.unwrap();
        }
    }
    let wanted = ListBlobs { delimiter: Some("/".into()), ..list() };
    let (found, rows) = world.counting(all(&world, &wanted, false)).await;
    assert_eq!(found, ["0/…", "1/…", "2/…", "3/…", "4/…"]);
    assert!(rows < 200, "{rows} rows were read");
    for n in 0..20 {
        for id in 0..20 {
            world.stage(&format!("long/{n:02}"), &format!("{id:02}"), bytes_of(id, 100)).await.unwrap();
        }
        let ids: Vec<String> = (0..20).map(|id| format!("{id:02}")).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        world.commit(&format!("long/{n:02}"), &ids).await.unwrap();
    }
    let wanted = ListBlobs { prefix: "long/".into(), ..list() };
    let (found, rows) = world.counting(all(&world, &wanted, false)).await;
    assert_eq!(found.len(), 20);
    assert!(rows < 500, "{rows} rows were read");
}

/// A page was bounded by the number of its entries only, so metadata could make it take hundreds of megabytes.
#[tokio::test]
async fn a_page_of_large_entries_ends_early_and_loses_nothing() {
    let world = World::with_inline(16).await;
    let mut metadata = Metadata::default();
    metadata.insert("large", &"m".repeat(8000)).unwrap();
    let names: BTreeSet<String> = (0..2000).map(|number| format!("{number:04}")).collect();
    for name in &names {
        let settings = WriteSettings { metadata: metadata.clone(), ..WriteSettings::default() };
        world.put_with(name, "", settings).await.unwrap();
    }
    let first = page(&world, &list()).await;
    let bytes: usize = first.entries.iter().map(|entry| text(entry).len() + 8000).sum();
    assert!(bytes <= LIST_PAGE_BYTES_MAX && bytes > LIST_PAGE_BYTES_MAX / 2, "{bytes}");
    assert!(first.next.is_some());
    assert_eq!(all(&world, &list(), true).await, expected(&names, &list()));
}
