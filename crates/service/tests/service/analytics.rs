//! The tables of the service's own metrics: hidden, readable, prunable, not writable.

use lazuli_model::table::name::METRICS_TABLES;
use lazuli_model::table::operation::{EntityChange, EntityQuery, EntityWrite, Match, TableQuery};
use lazuli_model::table::{Operation, Outcome};
use lazuli_model::{DateTime, ErrorCode, TableName};
use lazuli_service::MetricsRow;

use crate::{World, key, keys, properties};

fn metrics_table() -> TableName {
    TableName::of_metrics(METRICS_TABLES[0]).unwrap()
}

fn row(name: &str, count: i32, replaces: Option<DateTime>) -> MetricsRow {
    MetricsRow { row: name.into(), properties: properties(&[("Total", count)]), replaces }
}

async fn world() -> World {
    let world = World::new();
    world.create("Data").await.unwrap();
    for (period, count) in [("20260101T0000", 1), ("20260101T0100", 2), ("20260102T0000", 3)] {
        let rows = ["user;All", "system;All"].map(|name| row(name, count, None));
        assert!(world.service.put_metrics("acct", &metrics_table(), period, rows.to_vec()).await.unwrap());
    }
    world
}

async fn periods(world: &World) -> String {
    let query = Operation::QueryEntities { table: metrics_table(), query: EntityQuery::default() };
    match world.run(query).await.unwrap() {
        Outcome::Page(page) => keys(&page),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn metrics_tables_can_be_read_but_are_not_listed() {
    let world = world().await;
    let list = Operation::QueryTables(TableQuery::default());
    let expected = Outcome::Tables { names: vec!["Data".into()], next: None };
    assert_eq!(world.run(list).await, Ok(expected));
    assert!(
        periods(&world).await.starts_with("20260101T0000/system;All 20260101T0000/user;All 20260101T0100/")
    );
    let found = world.service.metrics_of("acct", &metrics_table(), "20260101T0100").await.unwrap();
    assert_eq!(found.len(), 2);
    let none = world.run_as("other", Operation::GetTable(metrics_table())).await;
    assert_eq!(none, Err(ErrorCode::ResourceNotFound));
}

/// Two front ends that have read the same rows do not overwrite each other: the second one gets an error and must read
/// again, and none of its rows is written.
#[tokio::test]
async fn rows_changed_in_the_meantime_are_not_overwritten() {
    let world = world().await;
    let (period, table) = ("20260101T0000", metrics_table());
    let put = async |rows: &[MetricsRow]| {
        world.service.put_metrics("acct", &table, period, rows.to_vec()).await.unwrap()
    };
    let read = async || world.service.metrics_of("acct", &table, period).await.unwrap();
    let before = read().await.iter().find(|found| &*found.row == "user;All").unwrap().timestamp;
    assert!(put(&[row("user;All", 10, Some(before))]).await);
    assert!(!put(&[row("user;QueryEntity", 1, None), row("user;All", 20, Some(before))]).await);
    assert_eq!(read().await.len(), 2, "all or nothing");
    assert!(put(&[row("user;QueryEntity", 1, None)]).await);
    assert!(!put(&[row("user;QueryEntity", 2, None)]).await);
    assert!(!put(&[row("user;Gone", 2, Some(before))]).await);
}

#[tokio::test]
async fn clients_cannot_write_metrics_tables() {
    let world = world().await;
    let write = |change: EntityChange| EntityWrite { key: key(("20260101T0000", "user;All")), change };
    let put = || write(EntityChange::InsertOrReplace(properties(&[("Total", 0)])));
    let delete = || write(EntityChange::Delete(Match::Any));
    let table = metrics_table;
    for operation in [
        Operation::Write { table: table(), write: put() },
        Operation::Batch { table: table(), writes: vec![put()] },
        Operation::DeleteTable(table()),
        Operation::CreateTable(table()),
        Operation::SetAcl(table(), Vec::new()),
    ] {
        let found = world.run(operation.clone()).await;
        assert_eq!(found, Err(ErrorCode::InsufficientAccountPermissions), "{operation:?}");
    }
    assert!(world.run(Operation::Write { table: table(), write: delete() }).await.is_ok());
    assert!(!periods(&world).await.contains("20260101T0000/user;All"));
}

#[tokio::test]
async fn old_periods_and_tables_of_removed_accounts_are_deleted() {
    let world = world().await;
    world.service.trim_metrics("acct", &metrics_table(), "20260102T0000").await.unwrap();
    assert_eq!(periods(&world).await, "20260102T0000/system;All 20260102T0000/user;All ");
    let minutes = TableName::of_metrics(METRICS_TABLES[2]).unwrap();
    world.service.trim_metrics("acct", &minutes, "20260102T0000").await.unwrap();
    // It has the home of the static account, because that one has a table.
    let accounts = world.service.accounts();
    accounts.add("acct", [vec![1; 64], vec![2; 64]], false).await.unwrap();
    world.drop("Data").await.unwrap();
    assert_eq!(accounts.remove("acct").await, Ok(lazuli_service::AccountRemoval::Done));
    assert_eq!(world.run(Operation::GetTable(metrics_table())).await, Err(ErrorCode::ResourceNotFound));
}
