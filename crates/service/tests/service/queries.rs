//! Queries: how much they read, how they page.

use lazuli_model::operation::{EntityQuery, Position};
use std::sync::atomic::Ordering;

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

/// QY-13 to QY-18: a query reads what its keys leave open, and no more.
#[tokio::test]
async fn rows_read() {
    let world = world_of(5, 20).await;
    for (filter, read, returned) in [
        ("PartitionKey eq 'p1' and RowKey eq 'r003'", 1, 1),
        ("PartitionKey eq 'p1' and RowKey eq 'r003' and Age eq 99", 1, 0),
        ("PartitionKey eq 'p1' and RowKey ge 'r005' and RowKey lt 'r010'", 5, 5),
        ("PartitionKey eq 'p1' and Age gt 17", 20, 2),
        ("PartitionKey ge 'p1' and PartitionKey lt 'p3' and Age eq 0", 40, 2),
        ("RowKey eq 'r003'", 100, 5),
        ("Age lt 0", 100, 0),
        ("PartitionKey eq 'p1' and (RowKey eq 'r001' or RowKey eq 'r019')", 2, 2),
        ("PartitionKey eq 'p1' and PartitionKey eq 'p2'", 0, 0),
        ("PartitionKey eq 'none'", 0, 0),
    ] {
        let page = world.query("Data", filter, EntityQuery::default()).await;
        assert_eq!((page.rows_read, page.rows.len()), (read, returned), "{filter}");
        assert_eq!(page.next, None, "{filter}");
    }
}

/// PG-01, PG-09: pages joined are the whole, whatever their size; PG-10: a token outlives the row that it names.
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
    let gone = Position { partition: "p1".into(), row: "r0025".into() };
    let page =
        world.query("Data", "", EntityQuery { top: Some(1), from: Some(gone), ..Default::default() }).await;
    assert_eq!(keys(&page), "p1/r003 ");
}

/// PG-04, ER-10: a query that has run out of time returns what it has, perhaps nothing, and can be resumed.
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
async fn what_is_inserted_behind_the_token_is_seen() {
    let world = world_of(1, 10).await;
    let first = world.query("Data", "", EntityQuery { top: Some(5), ..Default::default() }).await;
    world.insert("Data", ("p0", "r0001"), 1).await.unwrap();
    world.insert("Data", ("p0", "r0075"), 1).await.unwrap();
    let rest = world.query("Data", "", EntityQuery { from: first.next, ..Default::default() }).await;
    assert_eq!(keys(&rest), "p0/r005 p0/r006 p0/r007 p0/r0075 p0/r008 p0/r009 ");
}
