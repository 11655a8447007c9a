//! Tables: names, deletion, the space of deleted ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lazuli_engine::memory::Memory;
use lazuli_engine::{
    Applied, Change, Clock, Condition, Engine, EngineFuture, KeyRange, Layer, Reason, Row, Scan, TableId,
    Verdict, Write,
};
use lazuli_model::ErrorCode;
use lazuli_model::table::operation::{EntityQuery, TableQuery};
use lazuli_model::table::{Operation, Outcome};
use lazuli_service::{Grant, Options, Services};
use tokio::sync::Notify;

use crate::{World, key, properties, table};

/// DM-01: the same name in two accounts is two tables.
#[tokio::test]
async fn accounts_are_isolated() {
    let world = World::new();
    world.create("Blogs").await.unwrap();
    assert!(world.run_as("other", Operation::CreateTable(table("Blogs"))).await.is_ok());
    world.insert("Blogs", ("p", "r"), 1).await.unwrap();
    let elsewhere = Operation::QueryEntities { table: table("Blogs"), query: EntityQuery::default() };
    match world.run_as("other", elsewhere).await {
        Ok(Outcome::Page(page)) => assert!(page.rows.is_empty()),
        other => panic!("{other:?}"),
    }
}

/// DM-08: names are case-insensitive, and keep the case of their creation.
#[tokio::test]
async fn case_is_preserved_but_ignored_in_comparisons() {
    let world = World::new();
    world.create("Blogs").await.unwrap();
    assert_eq!(world.create("bLOGS").await, Err(ErrorCode::TableAlreadyExists));
    assert_eq!(world.run(Operation::GetTable(table("BLOGS"))).await, Ok(Outcome::Table("Blogs".into())));
    world.insert("BLOGS", ("p", "r"), 1).await.unwrap();
    assert_eq!(world.query("blogs", "", EntityQuery::default()).await.rows.len(), 1);
}

/// OP-05, OP-17: a table created again starts empty, however often.
#[tokio::test]
async fn a_table_created_again_is_empty() {
    let world = World::new();
    for _ in 0..3 {
        world.create("Blogs").await.unwrap();
        world.insert("Blogs", ("p", "r"), 1).await.unwrap();
        world.drop("Blogs").await.unwrap();
        assert_eq!(world.insert("Blogs", ("p", "r"), 1).await, Err(ErrorCode::TableNotFound));
        assert_eq!(world.drop("Blogs").await, Err(ErrorCode::ResourceNotFound));
    }
}

/// OP-18.
#[tokio::test]
async fn the_name_of_a_deleted_table_may_be_blocked() {
    let world = World::with_hold(Duration::from_secs(40));
    world.create("Blogs").await.unwrap();
    world.drop("Blogs").await.unwrap();
    assert_eq!(world.create("blogs").await, Err(ErrorCode::TableBeingDeleted));
    world.pass(39);
    assert_eq!(world.create("Blogs").await, Err(ErrorCode::TableBeingDeleted));
    world.pass(1);
    assert!(world.create("Blogs").await.is_ok());
}

async fn rows_in(engine: &dyn Engine, table: TableId) -> Vec<Row> {
    let judge = Box::new(|_: lazuli_engine::RowView<'_>| Ok(Verdict::Keep));
    let scan =
        Scan { table, ranges: vec![KeyRange::ALL], rows_max: usize::MAX, bytes_max: usize::MAX, judge };
    engine.scan(scan).await.unwrap().rows
}

/// OP-19: rows are removed in the background, and finally the record of the deletion, too.
#[tokio::test]
async fn the_sweep_reclaims_the_space() {
    let world = World::new();
    let mut sweep = world.service.sweep();
    world.create("Blogs").await.unwrap();
    for row in 0..10 {
        world.insert("Blogs", ("p", &row.to_string()), 1).await.unwrap();
    }
    world.drop("Blogs").await.unwrap();
    let records = rows_in(&*world.engine, TableId::SYSTEM).await;
    let id = records.iter().find_map(|row| row.row.strip_prefix("d/")).expect("the deletion leaves a record");
    let id = TableId(id.parse().unwrap());
    assert_eq!(rows_in(&*world.engine, id).await.len(), 10);
    sweep.round().await.unwrap();
    assert_eq!(rows_in(&*world.engine, id).await.len(), 0);
    assert_eq!(
        rows_in(&*world.engine, TableId::SYSTEM).await.len(),
        records.len(),
        "a late change may still arrive"
    );
    world.pass(121);
    sweep.round().await.unwrap();
    assert_eq!(rows_in(&*world.engine, TableId::SYSTEM).await.len(), records.len() - 1);
}

/// PG-13, OP-01.
#[tokio::test]
async fn listings_come_in_pages() {
    let world = World::new();
    for name in ["delta", "Alpha", "charlie", "Bravo"] {
        world.create(name).await.unwrap();
    }
    let mut from = None;
    let mut all = Vec::new();
    loop {
        let query = TableQuery { top: Some(3), from, ..TableQuery::default() };
        let Ok(Outcome::Tables { names, next }) = world.run(Operation::QueryTables(query)).await else {
            panic!()
        };
        all.extend(names);
        match next {
            Some(name) => from = Some(name),
            None => break,
        }
    }
    assert_eq!(all, ["Alpha", "Bravo", "charlie", "delta"]);
}

/// Found by a third-party test: a page that ended with the last name of a filter's range promised another, which was
/// empty.
#[tokio::test]
async fn a_listing_ends_where_its_filter_does() {
    let world = World::new();
    for name in ["aaaa", "zzza1", "ZZZA2", "zzza3", "zzzb4", "zzzz"] {
        world.create(name).await.unwrap();
    }
    for (filter, expected) in [
        ("TableName ge 'zzza' and TableName lt 'zzzb'", &["zzza1", "zzza3"][..]),
        ("TableName eq 'ZZZA2'", &["ZZZA2"]),
        ("TableName eq 'zzza2'", &[]),
        ("TableName ge 'ZZZ' and TableName lt 'aaab'", &["aaaa", "ZZZA2"]),
    ] {
        let parsed = lazuli_filter::parse(filter, lazuli_filter::Schema::Tables).unwrap();
        let query = TableQuery { filter: Some(parsed), top: Some(2), from: None };
        let Ok(Outcome::Tables { names, next }) = world.run(Operation::QueryTables(query)).await else {
            panic!()
        };
        assert_eq!(names, expected, "{filter}");
        // Between upper-case and lower-case letters there may be more.
        assert_eq!(next.is_some(), filter.contains("aaab"), "{filter}");
    }
}

/// A former bug: only 256 deleted tables were swept, and the others kept their space.
#[tokio::test]
async fn any_number_of_deleted_tables_is_swept() {
    let world = World::new();
    let mut sweep = world.service.sweep();
    for number in 0..300 {
        world.create(&format!("Table{number}")).await.unwrap();
        world.drop(&format!("Table{number}")).await.unwrap();
    }
    assert_eq!(rows_in(&*world.engine, TableId::SYSTEM).await.len(), 300);
    world.pass(121);
    sweep.round().await.unwrap();
    assert_eq!(rows_in(&*world.engine, TableId::SYSTEM).await.len(), 0);
}

/// An engine that applies a deletion and then holds its response back until it is released.
struct Held {
    inner: Memory,
    deleted: Notify,
    proceed: Notify,
}

impl Layer for Held {
    fn below(&self) -> &dyn Engine {
        &self.inner
    }

    fn apply<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        writes: Vec<Write>,
    ) -> EngineFuture<'a, Applied> {
        Box::pin(async move {
            let deletes = writes
                .iter()
                .any(|write| matches!(write.change, Change::Delete) && write.condition != Condition::Absent);
            let applied = self.inner.apply(table, partition, writes).await;
            if deletes {
                self.deleted.notify_one();
                self.proceed.notified().await;
            }
            applied
        })
    }
}

/// A former bug: between a deletion and the removal of its id from the cache, writes to a new table of the same name
/// went into the old one, so they were acknowledged and lost.
#[tokio::test]
async fn a_new_table_never_takes_the_id_of_the_old_one() {
    let engine = Arc::new(Held {
        inner: Memory::new(Clock::system()),
        deleted: Notify::new(),
        proceed: Notify::new(),
    });
    let service = Arc::new(Services::new(engine.clone(), options()));
    let grant = Grant::everything("acct");
    let insert = |row: &str| Operation::Write {
        table: table("Blogs"),
        write: lazuli_model::table::operation::EntityWrite {
            key: key(("p", row)),
            change: lazuli_model::table::operation::EntityChange::Insert(properties(&[("Age", 1)])),
        },
    };
    service.execute_table(&grant, Operation::CreateTable(table("Blogs"))).await.unwrap();
    service.execute_table(&grant, insert("old")).await.unwrap();
    let dropping = tokio::spawn({
        let (service, grant) = (service.clone(), grant.clone());
        async move { service.execute_table(&grant, Operation::DeleteTable(table("Blogs"))).await }
    });
    engine.deleted.notified().await;
    service.execute_table(&grant, Operation::CreateTable(table("Blogs"))).await.unwrap();
    service.execute_table(&grant, insert("new")).await.unwrap();
    engine.proceed.notify_one();
    dropping.await.unwrap().unwrap();
    let read = Operation::GetEntity { table: table("Blogs"), key: key(("p", "new")) };
    assert!(service.execute_table(&grant, read).await.is_ok(), "acknowledged entities are present");
}

/// An engine on which another process is always faster.
struct Outrun {
    inner: Memory,
    attempts: AtomicUsize,
}

impl Layer for Outrun {
    fn below(&self) -> &dyn Engine {
        &self.inner
    }

    fn apply<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        writes: Vec<Write>,
    ) -> EngineFuture<'a, Applied> {
        if !matches!(writes[0].condition, Condition::Version(_)) {
            return self.inner.apply(table, partition, writes);
        }
        let attempts = self.attempts.fetch_add(1, Ordering::SeqCst);
        assert!(attempts < 10_000, "it would continue forever");
        Box::pin(std::future::ready(Ok(Applied::Rejected { index: 0, reason: Reason::Mismatch })))
    }
}

/// A change that always loses against others fails in the end, with an error that says that nothing was applied.
#[tokio::test]
async fn changes_of_records_are_tried_a_bounded_number_of_times() {
    let engine = Arc::new(Outrun { inner: Memory::new(Clock::system()), attempts: AtomicUsize::new(0) });
    let service = Services::new(engine.clone(), options());
    let grant = Grant::everything("acct");
    let accounts = service.accounts();
    accounts.add("acct", [vec![1], vec![2]], false).await.unwrap();
    service.execute_table(&grant, Operation::CreateTable(table("Blogs"))).await.unwrap();
    service.execute_table(&grant, Operation::SetProperties(Box::default())).await.unwrap();
    for operation in [
        Operation::SetAcl(table("Blogs"), Vec::new()),
        Operation::DeleteTable(table("Blogs")),
        Operation::SetProperties(Box::default()),
    ] {
        engine.attempts.store(0, Ordering::SeqCst);
        let failed = service.execute_table(&grant, operation).await.unwrap_err();
        assert_eq!(failed.failure().code, ErrorCode::ServerBusy);
    }
    engine.attempts.store(0, Ordering::SeqCst);
    assert!(accounts.set_key("acct", 0, vec![3]).await.is_err());
}

pub fn options() -> Options {
    Options {
        clock: Clock::system(),
        elapsed: Arc::new(|| Duration::ZERO),
        query_time_max: Duration::from_secs(5),
        name_hold: Duration::ZERO,
        secret: [1; 16],
    }
}
