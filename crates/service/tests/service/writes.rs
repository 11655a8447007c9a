//! Changes: conditions, versions, batches.

use lazuli_model::table::operation::{EntityChange, EntityWrite, Match, Written};
use lazuli_model::table::{Operation, Outcome};
use lazuli_model::{DateTime, ErrorCode};
use lazuli_service::Grant;

use crate::{World, key, properties, table};

fn timestamp(outcome: Result<Outcome, ErrorCode>) -> DateTime {
    match outcome {
        Ok(Outcome::Written(Written::Inserted(row))) => row.timestamp,
        Ok(Outcome::Written(Written::Updated(timestamp))) => timestamp,
        other => panic!("{other:?}"),
    }
}

async fn world() -> World {
    let world = World::new();
    world.create("Data").await.unwrap();
    world
}

/// CC-03 to CC-05, CC-07; CC-11: the last writer wins where the condition is `*` or there is none.
#[tokio::test]
async fn conditions() {
    let world = world().await;
    let at = ("p", "r");
    let one = || properties(&[("A", 1)]);
    assert_eq!(
        world.write("Data", at, EntityChange::Replace(one(), Match::Any)).await,
        Err(ErrorCode::ResourceNotFound)
    );
    assert_eq!(
        world.write("Data", at, EntityChange::Merge(one(), Match::Nothing)).await,
        Err(ErrorCode::ResourceNotFound)
    );
    assert_eq!(
        world.write("Data", at, EntityChange::Delete(Match::Any)).await,
        Err(ErrorCode::ResourceNotFound)
    );
    let first = timestamp(world.insert("Data", at, 1).await);
    assert_eq!(world.insert("Data", at, 1).await, Err(ErrorCode::EntityAlreadyExists));
    let second =
        timestamp(world.write("Data", at, EntityChange::Replace(one(), Match::Version(first))).await);
    assert!(second > first, "WR-12: a version changes although the clock stands still");
    for stale in [Match::Version(first), Match::Nothing] {
        for change in [
            EntityChange::Replace(one(), stale),
            EntityChange::Merge(one(), stale),
            EntityChange::Delete(stale),
        ] {
            assert_eq!(world.write("Data", at, change).await, Err(ErrorCode::UpdateConditionNotSatisfied));
        }
    }
    let third = timestamp(world.write("Data", at, EntityChange::InsertOrMerge(one())).await);
    assert!(world.write("Data", at, EntityChange::Delete(Match::Version(third))).await.is_ok());
}

/// TX-09, TX-15: a batch that fails changes nothing, and says where.
#[tokio::test]
async fn a_batch_is_all_or_nothing() {
    let world = world().await;
    world.insert("Data", ("p", "2"), 2).await.unwrap();
    let insert = |row: &str| EntityWrite {
        key: key(("p", row)),
        change: EntityChange::Insert(properties(&[("Age", 1)])),
    };
    let batch =
        Operation::Batch { table: table("Data"), writes: vec![insert("1"), insert("2"), insert("3")] };
    let grant = Grant::everything("acct");
    let failure = world.service.execute_table(&grant, batch).await.unwrap_err().failure();
    assert_eq!((failure.code, failure.index), (ErrorCode::EntityAlreadyExists, Some(1)));
    assert_eq!(world.query("Data", "", Default::default()).await.rows.len(), 1);
    let batch = Operation::Batch { table: table("Data"), writes: vec![insert("1"), insert("3")] };
    let Ok(Outcome::Batch(written)) = world.run(batch).await else { panic!() };
    let stamps: Vec<_> = written.into_iter().map(|w| timestamp(Ok(Outcome::Written(w)))).collect();
    assert_eq!(stamps[0], stamps[1], "the operations of one transaction share one Timestamp");
}

/// The secondary endpoint only reads.
#[tokio::test]
async fn a_read_only_grant_changes_nothing() {
    let world = world().await;
    let grant = Grant { read_only: true, ..Grant::everything("acct") };
    for operation in [
        Operation::CreateTable(table("Other")),
        Operation::DeleteTable(table("Data")),
        Operation::Write {
            table: table("Data"),
            write: EntityWrite { key: key(("p", "r")), change: EntityChange::Delete(Match::Any) },
        },
        Operation::Batch { table: table("Data"), writes: Vec::new() },
    ] {
        let failure = world.service.execute_table(&grant, operation).await.unwrap_err().failure();
        assert_eq!(failure.code, ErrorCode::InsufficientAccountPermissions);
    }
    assert!(world.service.execute_table(&grant, Operation::GetTable(table("Data"))).await.is_ok());
}

/// CS-01: concurrent merges of one entity lose nothing.
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_merges_all_count() {
    let world = std::sync::Arc::new(world().await);
    let tasks: Vec<_> = (0..32)
        .map(|n| {
            let world = world.clone();
            tokio::spawn(async move {
                world
                    .write(
                        "Data",
                        ("p", "r"),
                        EntityChange::InsertOrMerge(properties(&[(&format!("P{n}"), n)])),
                    )
                    .await
                    .unwrap();
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let page = world.query("Data", "", Default::default()).await;
    assert_eq!(page.rows[0].properties.count(), 32);
}
