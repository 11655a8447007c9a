//! Queries: how much they read, how they page.

use std::sync::atomic::Ordering;
use std::time::Duration;

use lazuli_model::Class;
use lazuli_model::table::Outcome;
use lazuli_model::table::operation::{EntityPosition, EntityQuery, TableQuery};

use crate::{World, keys};

async fn world_of(partitions: usize, rows: usize) -> World {
    let world = World::new();
    world.create("Data").await.unwrap();
    for partition in 0..partitions {
        for row in 0..rows {
            let age = i32::try_from(row).unwrap();
            world.insert("Data", (&format!("p{partition}"), &format!("r{row:03}")), age).await.unwrap();
        }
    }
    world
}

/// QY-13 to QY-18: a query reads only the rows that its key conditions allow.
#[tokio::test]
async fn rows_read() {
    let world = world_of(5, 20).await;
    for (filter, class, ranges, read, returned) in [
        ("PartitionKey eq 'p1' and RowKey eq 'r003'", Class::Point, 1, 1, 1),
        ("PartitionKey eq 'p1' and RowKey eq 'r003' and Age eq 99", Class::Point, 1, 1, 0),
        ("PartitionKey eq 'p1' and RowKey ge 'r005' and RowKey lt 'r010'", Class::RowRange, 1, 5, 5),
        ("PartitionKey eq 'p1' and Age gt 17", Class::Partition, 1, 20, 2),
        ("PartitionKey ge 'p1' and PartitionKey lt 'p3' and Age eq 0", Class::PartitionRange, 1, 40, 2),
        ("RowKey eq 'r003'", Class::Table, 1, 100, 5),
        ("Age lt 0", Class::Table, 1, 100, 0),
        ("", Class::Table, 1, 100, 100),
        ("PartitionKey eq 'p1' and (RowKey eq 'r001' or RowKey eq 'r019')", Class::MultiPoint, 2, 2, 2),
        ("PartitionKey eq 'p1' or PartitionKey eq 'p3'", Class::Partition, 2, 40, 40),
        ("PartitionKey eq 'p1' and PartitionKey eq 'p2'", Class::Nothing, 0, 0, 0),
        ("PartitionKey eq 'none'", Class::Partition, 1, 0, 0),
    ] {
        let page = world.query("Data", filter, EntityQuery::default()).await;
        let effort = page.effort;
        assert_eq!((effort.class, effort.ranges, effort.rows_read), (class, ranges, read), "{filter}");
        assert_eq!(page.rows.len(), returned, "{filter}");
        assert_eq!(page.next, None, "{filter}");
    }
}

/// The stopwatch advances by one step at each reading: planning takes one, reading another, and a deadline starts with
/// it.
#[tokio::test]
async fn time_spent() {
    let world = world_of(1, 3).await;
    world.step.store(2, Ordering::SeqCst);
    let effort = world.query("Data", "Age ne 3", EntityQuery::default()).await.effort;
    assert_eq!((effort.plan_time, effort.scan_time), (Duration::from_secs(2), Duration::from_secs(2)));
}

/// PG-01, PG-09: joined pages are the complete result, whatever their size; PG-10: a token outlives the row that it
/// names.
#[tokio::test]
async fn pages_join() {
    let world = world_of(3, 7).await;
    let whole = keys(&world.query("Data", "Age ne 3", EntityQuery::default()).await);
    for top in 1..=22 {
        let mut joined = String::new();
        let mut from = None;
        loop {
            let page = world
                .query("Data", "Age ne 3", EntityQuery { top: Some(top), from, ..Default::default() })
                .await;
            joined += &keys(&page);
            match page.next {
                Some(next) => from = Some(next),
                None => break,
            }
        }
        assert_eq!(joined, whole, "{top}");
    }
    let gone = EntityPosition { partition: "p1".into(), row: "r0025".into() };
    let page =
        world.query("Data", "", EntityQuery { top: Some(1), from: Some(gone), ..Default::default() }).await;
    assert_eq!(keys(&page), "p1/r003 ");
}

/// PG-04, ER-10: a query that has timed out returns its rows so far, perhaps none, and can be resumed.
#[tokio::test]
async fn time_ends_a_page() {
    let world = world_of(1, 1000).await;
    world.step.store(3, Ordering::SeqCst);
    let first = world.query("Data", "Age eq 900", EntityQuery::default()).await;
    assert!(first.rows.is_empty() && first.next.is_some());
    let mut from = first.next;
    let mut found = String::new();
    while from.is_some() {
        let page = world.query("Data", "Age eq 900", EntityQuery { from, ..Default::default() }).await;
        found += &keys(&page);
        from = page.next;
    }
    assert_eq!(found, "p0/r900 ");
}

/// PG-11, PG-12.
#[tokio::test]
async fn entities_inserted_after_the_token_are_seen() {
    let world = world_of(1, 10).await;
    let first = world.query("Data", "", EntityQuery { top: Some(5), ..Default::default() }).await;
    world.insert("Data", ("p0", "r0001"), 1).await.unwrap();
    world.insert("Data", ("p0", "r0075"), 1).await.unwrap();
    let rest = world.query("Data", "", EntityQuery { from: first.next, ..Default::default() }).await;
    assert_eq!(keys(&rest), "p0/r005 p0/r006 p0/r007 p0/r0075 p0/r008 p0/r009 ");
}

/// A shorter timeout ends a page sooner, of entities and of tables alike; every page makes progress.
/// The time is a setting, whatever the version (erratum E2).
#[tokio::test]
async fn less_time_ends_a_page_sooner() {
    let world = world_of(1, 1000).await;
    for number in 0..600 {
        world.create(&format!("Table{number:03}")).await.unwrap();
    }
    world.step.store(1, Ordering::SeqCst);
    let entities = |filter: &str| {
        let filter = lazuli_filter::parse_optional(filter, lazuli_filter::Schema::Entity).unwrap();
        let query = EntityQuery { filter, ..EntityQuery::default() };
        lazuli_model::table::Operation::QueryEntities { table: crate::table("Data"), query }
    };
    for (seconds, read) in [(0, 256), (1, 256), (2, 512), (3, 768), (4, 1000), (60, 1000)] {
        let time = Duration::from_secs(seconds);
        match world.run_within("acct", entities("Age lt 0"), time).await.unwrap() {
            Outcome::Page(page) => {
                assert_eq!(page.effort.rows_read, read, "{seconds} s");
                assert_eq!(page.next.is_some(), read < 1000, "{seconds} s");
            }
            other => panic!("{other:?}"),
        }
    }
    let filter = lazuli_filter::parse_optional("TableName lt 'A'", lazuli_filter::Schema::Tables).unwrap();
    let tables = TableQuery { filter, ..TableQuery::default() };
    for (seconds, more) in [(1, true), (2, true), (3, false)] {
        let operation = lazuli_model::table::Operation::QueryTables(tables.clone());
        match world.run_within("acct", operation, Duration::from_secs(seconds)).await.unwrap() {
            Outcome::Tables { names, next } => {
                assert_eq!((names.len(), next.is_some()), (0, more), "{seconds} s");
            }
            other => panic!("{other:?}"),
        }
    }
}
