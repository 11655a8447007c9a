//! Tags and searches: a search returns exactly the blobs whose tags match, whatever happened before it.

use std::collections::BTreeMap;

use lazuli_engine::conformance::Rng;
use lazuli_model::ErrorCode;
use lazuli_model::blob::list::FindBlobs;
use lazuli_model::blob::operation::{BlobAction, Operation};
use lazuli_model::blob::tag::TagQuery;
use lazuli_model::blob::write::{DeleteSnapshots, WriteSettings};
use lazuli_model::blob::{Conditions, ContainerName, Outcome, TagExpression, Tags};

use crate::world::{CONTAINER, World, blob, bytes_of, if_none_match_any, tagged, tags_of, with};

const DELETE: BlobAction = BlobAction::Delete { snapshots: DeleteSnapshots::Include, is_permanent: false };

async fn find_in(world: &World, container: &str, text: &str) -> Result<Vec<String>, ErrorCode> {
    let find = FindBlobs { query: TagQuery::parse(text).unwrap(), from: None, max_results: 5000 };
    let operation = Operation::FindBlobs(Some(ContainerName::new(container).unwrap()), Box::new(find));
    let Outcome::Found(page) = world.run(operation).await? else { panic!() };
    Ok(page.items.into_iter().map(|found| found.blob).collect())
}

async fn in_container(world: &World, container: &str, name: &str, settings: WriteSettings) {
    let operation =
        with(blob(name, BlobAction::PutBlob(Default::default(), Box::new(settings))), |request| {
            request.container = ContainerName::new(container).unwrap();
        });
    let mut nothing = lazuli_service::stream::Whole::from(bytes::Bytes::new());
    world.run_with(operation, lazuli_service::blob::Supply::Body(&mut nothing)).await.unwrap();
}

/// Operators, conjunction, the container, and the order of results.
#[tokio::test]
async fn a_search_returns_the_blobs_that_match_by_container_and_name() {
    let world = World::new().await;
    world.create_container("other").await.unwrap();
    for (name, stage) in [("c", "1"), ("a", "2"), ("b", "3")] {
        world
            .put_with(name, "x", tagged(&[("project", "p"), ("stage", stage), ("extra", "e")]))
            .await
            .unwrap();
    }
    in_container(&world, "other", "a", tagged(&[("project", "p"), ("stage", "2")])).await;
    world.put("untagged", "x").await.unwrap();
    let all = world.find_paged("project='p'", 5000).await;
    let places: Vec<_> = all.iter().map(|found| (found.container.as_str(), found.blob.as_str())).collect();
    assert_eq!(places, [("other", "a"), ("things", "a"), ("things", "b"), ("things", "c")]);
    assert_eq!(all[0].tags, tags_of(&[("project", "p")]), "only tags of the expression are shown");
    for (text, expected) in [
        ("@container='things' AND stage>'1'", &["a", "b"][..]),
        ("@container='things' AND stage>='1' AND stage<'3'", &["c", "a"]),
        ("stage<='1'", &["c"]),
        ("@container='things' AND project='p' AND stage='2'", &["a"]),
        ("@container='missing' AND project='p'", &[]),
        ("project='q'", &[]),
        ("project='P'", &[]),
    ] {
        assert_eq!(world.find(text).await, expected, "{text}");
    }
    assert_eq!(find_in(&world, "other", "project='p'").await, Ok(vec!["a".into()]));
    assert_eq!(find_in(&world, "other", "@container='things' AND project='p'").await, Ok(vec![]));
    assert_eq!(find_in(&world, "missing", "project='p'").await, Err(ErrorCode::ContainerNotFound));
}

#[tokio::test]
async fn every_page_size_gives_the_whole_result() {
    let world = World::new().await;
    world.create_container("other").await.unwrap();
    for number in 0..7 {
        let (name, value) = (format!("b{number}"), format!("v{}", number % 3));
        world.put_with(&name, "x", tagged(&[("k", &value)])).await.unwrap();
        in_container(&world, "other", &name, tagged(&[("k", &value)])).await;
    }
    for text in ["k>='v0'", "k='v1'"] {
        let whole = world.find_paged(text, 5000).await;
        assert_eq!(whole.len(), if text.contains('>') { 14 } else { 4 });
        for size in 1..16 {
            assert_eq!(world.find_paged(text, size).await, whole, "{text} in pages of {size}");
        }
    }
}

/// A page that takes too long ends early, even without results.
#[tokio::test]
async fn a_slow_search_continues_on_the_next_page() {
    let world = World::new().await;
    for number in 0..600 {
        let value = if number == 599 { "yes" } else { "no" };
        world.put_with(&format!("{number:04}"), "", tagged(&[("k", "v"), ("wanted", value)])).await.unwrap();
    }
    world.step.store(10, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(world.find("k='v' AND wanted='yes'").await, ["0599"]);
    assert_eq!(world.find("k>'a' AND k<'z'").await.len(), 600);
}

#[tokio::test]
async fn the_cost_of_a_search_is_proportional_to_its_results() {
    let world = World::new().await;
    for number in 0..1000 {
        let value = if number % 250 == 0 { "rare" } else { "common" };
        world.put_with(&format!("{number:04}"), "", tagged(&[("k", value), ("all", "x")])).await.unwrap();
    }
    let (found, rows) = world.counting(world.find("k='rare' AND all>='a'")).await;
    assert_eq!((found.len(), rows <= 10), (4, true), "{rows} rows were read");
}

/// Nobody counts the rows of a tag, so the search has to find out which one is rare.
#[tokio::test]
async fn a_search_with_several_values_costs_as_much_as_for_the_rarest_one() {
    let world = World::new().await;
    for number in 0..1000 {
        let value = if number % 250 == 0 { "yes" } else { "no" };
        // Each of these two is rare in one half of the blobs.
        let (one, two) = if number < 500 { ("x", "y") } else { ("y", "x") };
        let pairs = [("k", "v"), ("wanted", value), ("one", one), ("two", two)];
        world.put_with(&format!("{number:04}"), "", tagged(&pairs)).await.unwrap();
    }
    for (text, results, rows_max) in [
        ("k='v' AND wanted='yes'", 4, 30),
        ("wanted='yes' AND k='v'", 4, 30),
        ("k='v' AND wanted='never' AND one='x'", 0, 50),
        ("k='v' AND wanted='yes' AND one='x'", 2, 50),
        ("one='x' AND two='x'", 0, 100),
        ("two='x' AND one='x'", 0, 100),
    ] {
        let (found, rows) = world.counting(world.find(text)).await;
        assert_eq!((found.len(), rows <= rows_max), (results, true), "{text}: {rows} rows were read");
    }
    let whole = world.find_paged("k='v' AND two='x'", 5000).await;
    assert_eq!(whole.len(), 500);
    for size in [7, 100] {
        assert_eq!(world.find_paged("two='x' AND k='v'", size).await, whole, "pages of {size}");
    }
}

/// The index follows every operation that sets, replaces or removes tags.
#[tokio::test]
async fn old_tags_are_not_found_and_leave_the_index() {
    let mut world = World::new().await;
    world.put_with("a", "x", tagged(&[("k", "1")])).await.unwrap();
    world.on("a", BlobAction::SetTags(tags_of(&[("k", "2"), ("l", "1")]))).await.unwrap();
    assert_eq!((world.find("k='1'").await.len(), world.find("k='2'").await.len()), (0, 1));
    world.put("a", "without").await.unwrap();
    assert!(world.find("k='2'").await.is_empty() && world.tags("a").await.unwrap().is_empty());
    world.stage("a", "1", "x").await.unwrap();
    let list = vec![crate::world::block_ref("1")];
    world.on("a", BlobAction::PutBlockList(list, Box::new(tagged(&[("k", "3")])))).await.unwrap();
    assert_eq!(world.find("k='3'").await, ["a"]);
    world.on("a", DELETE).await.unwrap();
    assert!(world.find("k='3'").await.is_empty());
    world.pass(1000);
    world.settle().await;
    assert_eq!(world.rows().await, 0);
}

/// A rejected write has announced its tags; no search finds them, and the sweep removes them.
#[tokio::test]
async fn tags_of_a_rejected_write_are_not_found() {
    let mut world = World::new().await;
    world.put("a", "x").await.unwrap();
    let rows = world.rows().await;
    world.stage("a", "1", "x").await.unwrap();
    let list = vec![crate::world::block_ref("1")];
    let commit = blob("a", BlobAction::PutBlockList(list, Box::new(tagged(&[("k", "1")]))));
    let commit = with(commit, |request| request.conditions = if_none_match_any());
    assert_eq!(world.run(commit).await, Err(ErrorCode::BlobAlreadyExists));
    assert!(world.find("k='1'").await.is_empty());
    world.put("a", "x").await.unwrap();
    world.pass(1000);
    world.settle().await;
    assert_eq!(world.rows().await, rows);
}

/// A row that is announced again while the sweep checks it stays.
#[tokio::test]
async fn a_tag_that_is_set_again_stays_in_the_index() {
    let mut world = World::new().await;
    for value in ["1", "2", "1"] {
        world.put_with("a", "x", tagged(&[("k", value)])).await.unwrap();
        world.settle().await;
    }
    world.pass(1000);
    world.settle().await;
    assert_eq!((world.find("k='1'").await, world.find("k='2'").await.len()), (vec!["a".into()], 0));
}

#[tokio::test]
async fn outdated_rows_are_found_after_a_restart() {
    let world = World::new().await;
    world.put_with("a", "x", tagged(&[("k", "1")])).await.unwrap();
    world.on("a", DELETE).await.unwrap();
    let mut world = world.restarted();
    world.settle().await;
    world.pass(1000);
    world.settle().await;
    assert_eq!(world.rows().await, 0);
}

/// Conditions on tags, on every kind of operation.
#[tokio::test]
async fn conditions_on_tags_guard_every_operation() {
    let world = World::new().await;
    world.put_with("a", "x", tagged(&[("k", "1")])).await.unwrap();
    let unmet =
        || Conditions { if_tags: Some(TagExpression::parse("k='2'").unwrap()), ..Conditions::default() };
    for action in [
        BlobAction::GetProperties,
        BlobAction::GetMetadata,
        BlobAction::GetTags,
        BlobAction::SetTags(Tags::default()),
        BlobAction::SetMetadata(Default::default()),
        BlobAction::Snapshot(None),
        BlobAction::SetTier(lazuli_model::blob::AccessTier::Cool, Default::default()),
        DELETE,
    ] {
        let operation = with(blob("a", action.clone()), |request| request.conditions = unmet());
        assert_eq!(world.run(operation).await, Err(ErrorCode::ConditionNotMet), "{action:?}");
    }
    assert_eq!(world.put_if("a", "y", None, unmet()).await, Err(ErrorCode::ConditionNotMet));
    assert_eq!(world.read("a").await.unwrap(), b"x");
}

/// Random changes, compared with a model: every search returns the same blobs, with sweeps and restarts in between.
#[tokio::test]
async fn random_changes_never_confuse_a_search() {
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let mut world = World::new().await;
        let mut model: BTreeMap<String, Tags> = BTreeMap::new();
        for _ in 0..60 {
            change(&mut rng, &mut world, &mut model).await;
            let text = query(&mut rng);
            let query = TagQuery::parse(&text).unwrap();
            let mut found = world.find(&text).await;
            found.sort();
            let expected: Vec<_> =
                model.iter().filter(|(_, tags)| query.matches(tags)).map(|(name, _)| name.clone()).collect();
            assert_eq!(found, expected, "seed {seed}, {text}");
        }
    }
}

async fn change(rng: &mut Rng, world: &mut World, model: &mut BTreeMap<String, Tags>) {
    let name = format!("b{}", rng.below(6));
    let pairs: Vec<(String, String)> =
        (0..rng.below(3)).map(|at| (format!("k{at}"), format!("v{}", rng.below(4)))).collect();
    let pairs: Vec<(&str, &str)> =
        pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    match rng.below(8) {
        0..=2 => {
            world.put_with(&name, bytes_of(1, 5), tagged(&pairs)).await.unwrap();
            model.insert(name, tags_of(&pairs));
        }
        3 | 4 => {
            let set = world.on(&name, BlobAction::SetTags(tags_of(&pairs))).await;
            assert_eq!(set.is_ok(), model.contains_key(&name));
            model.entry(name).and_modify(|tags| *tags = tags_of(&pairs));
        }
        5 => {
            let deleted = world.on(&name, DELETE).await;
            assert_eq!(deleted.is_ok(), model.remove(&name).is_some());
        }
        6 => {
            world.pass(300);
            world.settle().await;
        }
        _ => *world = world.restarted(),
    }
}

fn query(rng: &mut Rng) -> String {
    let operators = ["=", ">", ">=", "<", "<="];
    let one = |rng: &mut Rng| {
        let operator = operators[rng.below(5)];
        format!("k{} {operator} 'v{}'", rng.below(3), rng.below(4))
    };
    let mut text = one(rng);
    for _ in 0..rng.below(3) {
        text = format!("{text} AND {}", one(rng));
    }
    if rng.below(4) == 0 { format!("@container='{CONTAINER}' AND {text}") } else { text }
}
