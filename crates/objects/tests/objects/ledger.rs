//! Streams of several processes, in memory.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lazuli_engine::EngineFuture;
use lazuli_engine::content::{ContentHold, ContentLedger, Left, Spot, Streams};

/// State that all processes share.
#[derive(Clone, Default)]
pub struct Book(Arc<Mutex<Entries>>);

#[derive(Default)]
struct Entries {
    last_process: u64,
    last_stream: u64,
    streams: BTreeMap<u64, Entry>,
    holds: usize,
}

/// A hold of some process.
struct BookHold(Book);

impl ContentHold for BookHold {
    fn check(&self) -> EngineFuture<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Drop for BookHold {
    fn drop(&mut self) {
        self.0.lock().holds -= 1;
    }
}

/// The holder of a stream that is being swept.
const SWEEP: u64 = u64::MAX;

#[derive(Default)]
struct Entry {
    /// 0 for no owner.
    holder: u64,
    live: i64,
    is_swept: bool,
}

/// The streams of one process.
pub struct Own {
    book: Book,
    process: u64,
    current: Mutex<(Streams, Vec<u64>)>,
}

impl Book {
    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new process.
    pub fn join(&self) -> Arc<Own> {
        let mut entries = self.lock();
        entries.last_process += 1;
        Arc::new(Own { book: self.clone(), process: entries.last_process, current: Mutex::default() })
    }
}

impl Own {
    fn current(&self) -> MutexGuard<'_, (Streams, Vec<u64>)> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The process gives up its streams.
    pub fn leave(&self) {
        for entry in self.book.lock().streams.values_mut().filter(|entry| entry.holder == self.process) {
            entry.holder = 0;
        }
    }
}

impl ContentLedger for Own {
    fn place(&self, length: u32) -> EngineFuture<'_, Spot> {
        let (streams, own) = &mut *self.current();
        let spot = streams.place(length).unwrap_or_else(|| {
            let mut entries = self.book.lock();
            entries.last_stream += 1;
            let stream = entries.last_stream;
            entries.streams.insert(stream, Entry { holder: self.process, ..Entry::default() });
            own.push(stream);
            streams.enter(stream);
            streams.place(length).expect("a new stream has room")
        });
        Box::pin(std::future::ready(Ok(spot)))
    }

    fn owns<'a>(&'a self, streams: &'a HashSet<u64>) -> EngineFuture<'a, bool> {
        let entries = self.book.lock();
        let is_own = |stream| entries.streams.get(stream).is_some_and(|entry| entry.holder == self.process);
        Box::pin(std::future::ready(Ok(streams.iter().all(is_own))))
    }

    fn claim(&self, stream: u64) -> EngineFuture<'_, bool> {
        let mut entries = self.book.lock();
        entries.last_stream = entries.last_stream.max(stream);
        let is_own = self.current().1.contains(&stream);
        let entry = entries.streams.entry(stream).or_default();
        let is_free = !is_own && [0, self.process].contains(&entry.holder);
        if is_free {
            (entry.holder, entry.is_swept) = (self.process, false);
        }
        Box::pin(std::future::ready(Ok(is_free)))
    }

    fn count(&self, stream: u64, bytes: i64) {
        if let Some(entry) = self.book.lock().streams.get_mut(&stream) {
            entry.live += bytes;
        }
    }

    fn left(&self, max: usize) -> EngineFuture<'_, Left> {
        let entries = self.book.lock();
        let free = entries.streams.iter().filter(|(_, entry)| entry.holder == 0);
        let mut free: Vec<(bool, u64)> = free.map(|(stream, entry)| (entry.is_swept, *stream)).collect();
        free.sort_unstable();
        let is_partial = free.get(max).is_some_and(|(is_swept, _)| !is_swept);
        let streams = free.into_iter().take(max).map(|(_, stream)| stream).collect();
        Box::pin(std::future::ready(Ok(Left { streams, is_partial })))
    }

    fn unowned(&self) -> EngineFuture<'_, Vec<u64>> {
        let entries = self.book.lock();
        let unowned = entries.streams.iter().filter(|(_, entry)| entry.holder == 0);
        Box::pin(std::future::ready(Ok(unowned.map(|(stream, _)| *stream).collect())))
    }

    fn begin_sweep(&self, stream: u64) -> EngineFuture<'_, bool> {
        let mut entries = self.book.lock();
        let entry = entries.streams.get_mut(&stream).filter(|entry| entry.holder == 0);
        let is_free = entry.map(|entry| entry.holder = SWEEP).is_some();
        Box::pin(std::future::ready(Ok(is_free)))
    }

    fn end_sweep(&self, stream: u64, live: Option<u64>) -> EngineFuture<'_, ()> {
        let mut entries = self.book.lock();
        if live == Some(0) {
            entries.streams.remove(&stream);
        } else if let Some(entry) = entries.streams.get_mut(&stream) {
            entry.holder = 0;
            if let Some(live) = live {
                (entry.live, entry.is_swept) = (live as i64, true);
            }
        }
        Box::pin(std::future::ready(Ok(())))
    }

    fn live(&self) -> EngineFuture<'_, u64> {
        let live: i64 = self.book.lock().streams.values().map(|entry| entry.live).sum();
        Box::pin(std::future::ready(Ok(live.max(0) as u64)))
    }

    fn hold(self: Arc<Self>) -> EngineFuture<'static, Box<dyn ContentHold>> {
        self.book.lock().holds += 1;
        let hold: Box<dyn ContentHold> = Box::new(BookHold(self.book.clone()));
        Box::pin(std::future::ready(Ok(hold)))
    }

    fn is_held(&self) -> EngineFuture<'_, bool> {
        Box::pin(std::future::ready(Ok(self.book.lock().holds > 0)))
    }
}
