//! An engine that fails, or triggers another event, at a chosen call, reads included.

use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

use lazuli_engine::memory::Memory;
use lazuli_engine::{Applied, Engine, EngineFuture, Error, Layer, Page, Row, Scan, TableId, Write};

pub type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An event at a call of the engine.
pub enum Event {
    Failure,
    /// The call is carried out, but its caller does not learn that.
    Lost,
    Work(Work),
}

/// An engine that something happens to at the n-th call.
pub struct Interrupted {
    below: Memory,
    left: AtomicI64,
    event: Mutex<Option<Event>>,
}

impl Interrupted {
    pub fn new(below: Memory) -> Self {
        Self { below, left: AtomicI64::new(-1), event: Mutex::default() }
    }

    pub fn at_call(&self, n: i64, event: Event) {
        *self.event.lock().unwrap() = Some(event);
        self.left.store(n, Ordering::SeqCst);
    }

    /// Is the event still to come?
    pub fn disarm(&self) -> bool {
        self.left.store(-1, Ordering::SeqCst);
        self.event.lock().unwrap().take().is_some()
    }

    async fn call<T>(
        &self,
        call: impl Future<Output = lazuli_engine::Result<T>>,
    ) -> lazuli_engine::Result<T> {
        if self.left.fetch_sub(1, Ordering::SeqCst) != 0 {
            return call.await;
        }
        let why = || "as the test wants it".into();
        let event = self.event.lock().unwrap().take();
        match event {
            Some(Event::Failure) => Err(Error::Unavailable(why())),
            Some(Event::Lost) => call.await.and(Err(Error::Unknown(why()))),
            Some(Event::Work(work)) => {
                work.await;
                call.await
            }
            None => call.await,
        }
    }
}

impl Layer for Interrupted {
    fn below(&self) -> &dyn Engine {
        &self.below
    }

    fn get<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        rows: &'a [&'a str],
    ) -> EngineFuture<'a, Vec<Option<Row>>> {
        Box::pin(self.call(self.below.get(table, partition, rows)))
    }

    fn scan(&self, scan: Scan) -> EngineFuture<'_, Page> {
        Box::pin(self.call(self.below.scan(scan)))
    }

    fn apply<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        writes: Vec<Write>,
    ) -> EngineFuture<'a, Applied> {
        Box::pin(self.call(self.below.apply(table, partition, writes)))
    }
}
