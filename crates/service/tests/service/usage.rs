//! Counters of tables and partitions.

use lazuli_model::table::Operation;
use lazuli_model::table::operation::{EntityChange, EntityQuery, EntityWrite, Match};
use lazuli_service::usage::TableCounts;

use crate::{World, key, properties, table};

fn counted(world: &World) -> Vec<(String, TableCounts)> {
    let tables = world.service.usage().tables();
    tables.into_iter().map(|found| (format!("{}/{}", found.account, found.table), found.counts)).collect()
}

fn hottest(world: &World) -> String {
    let (hottest, other) = world.service.usage().hottest();
    let told: Vec<_> =
        hottest.iter().map(|hot| format!("{}/{}={}", hot.table, hot.partition, hot.entities)).collect();
    format!("{} other={other}", told.join(" "))
}

async fn world() -> World {
    let world = World::new();
    world.create("Data").await.unwrap();
    for row in ["1", "2", "3"] {
        world.insert("Data", ("a", row), 1).await.unwrap();
    }
    world.insert("Data", ("b", "1"), 1).await.unwrap();
    world
}

#[tokio::test]
async fn tables() {
    let world = world().await;
    world.run(Operation::GetEntity { table: table("data"), key: key(("a", "1")) }).await.unwrap();
    world.run(Operation::GetEntity { table: table("Data"), key: key(("a", "none")) }).await.unwrap_err();
    world.query("Data", "Age eq 2", EntityQuery::default()).await;
    world.query("Data", "PartitionKey eq 'a' and RowKey gt '1'", EntityQuery::default()).await;
    world.query("Data", "", EntityQuery { top: Some(0), ..Default::default() }).await;
    world.insert("Data", ("a", "1"), 1).await.unwrap_err();
    world.write("Data", ("a", "1"), EntityChange::Delete(Match::Any)).await.unwrap();
    world.insert("None", ("a", "1"), 1).await.unwrap_err();
    let expected = TableCounts { requests: 11, rows_read: 1 + 4 + 2, rows_returned: 3, rows_written: 5 };
    assert_eq!(
        counted(&world),
        [("acct/Data".to_owned(), expected), ("/".to_owned(), TableCounts::default())]
    );
}

#[tokio::test]
async fn a_deleted_table_is_no_longer_counted() {
    let world = world().await;
    world.drop("DATA").await.unwrap();
    assert_eq!(counted(&world), [("/".to_owned(), TableCounts::default())]);
    world.create("data").await.unwrap();
    world.insert("data", ("a", "1"), 1).await.unwrap();
    let expected = TableCounts { requests: 1, rows_written: 1, ..TableCounts::default() };
    assert_eq!(counted(&world)[0], ("acct/data".to_owned(), expected));
}

/// A batch counts its entities. A query counts the rows that it read, if they are in one partition.
#[tokio::test]
async fn partitions() {
    let world = world().await;
    assert_eq!(hottest(&world), "Data/a=3 Data/b=1 other=0");
    let write = |row: &str| EntityWrite {
        key: key(("b", row)),
        change: EntityChange::InsertOrReplace(properties(&[("Age", 1)])),
    };
    let writes = ["1", "2", "3", "4"].map(write).to_vec();
    world.run(Operation::Batch { table: table("Data"), writes }).await.unwrap();
    assert_eq!(hottest(&world), "Data/b=5 Data/a=3 other=0");
    world.query("Data", "PartitionKey eq 'a' and Age eq 2", EntityQuery::default()).await;
    world.query("Data", "PartitionKey eq 'c'", EntityQuery::default()).await;
    world.query("Data", "PartitionKey ge 'a'", EntityQuery::default()).await;
    world.query("Data", "Age eq 2", EntityQuery::default()).await;
    assert_eq!(hottest(&world), "Data/a=6 Data/b=5 Data/c=1 other=0");
    world.service.usage().turn();
    world.service.usage().turn();
    assert_eq!(hottest(&world), " other=0");
}
