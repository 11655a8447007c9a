//! The cost of the number of messages: Get Queue Metadata reads the same rows, however many messages there are.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lazuli_engine::{Engine, EngineFuture, Layer, Memory, Page, Row, Scan, TableId};

use crate::world::{JOBS, Time, World};

/// An engine that counts the rows that are read, including those that a scan only passes over.
struct Counting {
    inner: Memory,
    rows: Arc<AtomicUsize>,
}

impl Layer for Counting {
    fn below(&self) -> &dyn Engine {
        &self.inner
    }

    fn get<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        rows: &'a [&'a str],
    ) -> EngineFuture<'a, Vec<Option<Row>>> {
        self.rows.fetch_add(rows.len(), Ordering::SeqCst);
        self.inner.get(table, partition, rows)
    }

    fn scan(&self, scan: Scan) -> EngineFuture<'_, Page> {
        let (rows, mut judge) = (self.rows.clone(), scan.judge);
        let counted = move |row: lazuli_engine::RowView<'_>| {
            rows.fetch_add(1, Ordering::SeqCst);
            judge(row)
        };
        self.inner.scan(Scan { judge: Box::new(counted), ..scan })
    }
}

/// Number of rows read to report the number of messages of a queue with this many.
async fn rows_read(messages: u64) -> usize {
    let (time, rows) = (Time::new(), Arc::<AtomicUsize>::default());
    let engine = Counting { inner: Memory::new(time.clock()), rows: rows.clone() };
    let world = World::over(Arc::new(engine), time);
    world.create(JOBS).await;
    for number in 0..messages {
        world.put(&number.to_string()).await;
    }
    let world = world.again();
    // The first request reads the record of the queue, too.
    for _ in 0..2 {
        rows.store(0, Ordering::SeqCst);
        assert_eq!(world.count(JOBS).await, messages);
    }
    rows.load(Ordering::SeqCst)
}

/// The number of messages is the sum of a few rows.
#[tokio::test]
async fn counting_messages_costs_the_same_for_any_number() {
    let few = rows_read(10).await;
    assert!((1..=32).contains(&few), "{few} rows");
    assert_eq!(rows_read(1000).await, few);
}
