//! An object store in memory that fails on demand.

use std::collections::BTreeMap;
use std::ops::{Bound, Range};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http_body::Frame;
use http_body_util::{BodyExt, Full};
use lazuli_objects::store::{ObjectBody, ObjectFailure, ObjectPage, Objects, StoreFuture};

/// Objects on one page of a listing: few, so that tests see several pages.
const PAGE: usize = 100;

/// Objects in memory.
#[derive(Debug, Default)]
pub struct InMemory(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    objects: BTreeMap<String, Bytes>,
    /// Downloads that break after this number of bytes.
    cuts: Vec<usize>,
    gets: usize,
}

impl InMemory {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes of an object.
    pub fn object(&self, name: &str) -> Option<Bytes> {
        self.lock().objects.get(name).cloned()
    }

    /// Changes an object, or removes it.
    pub fn replace(&self, name: &str, bytes: Option<Bytes>) {
        let mut state = self.lock();
        match bytes {
            Some(bytes) => drop(state.objects.insert(name.to_owned(), bytes)),
            None => drop(state.objects.remove(name)),
        }
    }

    /// The next downloads break after these numbers of bytes.
    pub fn cut(&self, after: &[usize]) {
        self.lock().cuts = after.iter().rev().copied().collect();
    }

    /// Downloads so far.
    pub fn gets(&self) -> usize {
        self.lock().gets
    }

    fn read(&self, name: &str, range: Range<u64>) -> Result<ObjectBody, ObjectFailure> {
        let mut state = self.lock();
        state.gets += 1;
        let object = state.objects.get(name).ok_or(ObjectFailure::Missing)?.clone();
        let range = range.start as usize..range.end as usize;
        if range.end > object.len() {
            return Err(ObjectFailure::Missing);
        }
        let body = object.slice(range);
        Ok(match state.cuts.pop() {
            Some(after) if after < body.len() => Cut(Some(body.slice(..after))).boxed_unsync(),
            _ => Full::new(body).map_err(|never| match never {}).boxed_unsync(),
        })
    }
}

/// A body that breaks.
struct Cut(Option<Bytes>);

impl http_body::Body for Cut {
    type Data = Bytes;
    type Error = ObjectFailure;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, ObjectFailure>>> {
        let frame =
            self.0.take().filter(|bytes| !bytes.is_empty()).map(Frame::data).ok_or(ObjectFailure::Broken);
        std::task::Poll::Ready(Some(frame))
    }
}

impl Objects for InMemory {
    fn put<'a>(&'a self, name: &'a str, parts: Vec<Bytes>, is_new: bool) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            // As slow as a network: other tasks run meanwhile.
            tokio::task::yield_now().await;
            let mut state = self.lock();
            if is_new && state.objects.contains_key(name) {
                return Err(ObjectFailure::Exists);
            }
            state.objects.insert(name.to_owned(), parts.concat().into());
            Ok(())
        })
    }

    fn get<'a>(&'a self, name: &'a str, range: Range<u64>) -> StoreFuture<'a, ObjectBody> {
        Box::pin(async move { self.read(name, range) })
    }

    fn head<'a>(&'a self, name: &'a str) -> StoreFuture<'a, u64> {
        Box::pin(
            async move { self.object(name).map(|bytes| bytes.len() as u64).ok_or(ObjectFailure::Missing) },
        )
    }

    fn delete<'a>(&'a self, name: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.replace(name, None);
            Ok(())
        })
    }

    fn list<'a>(&'a self, prefix: &'a str, after: &'a str) -> StoreFuture<'a, ObjectPage> {
        Box::pin(async move {
            let state = self.lock();
            let range = state.objects.range::<str, _>((Bound::Excluded(after), Bound::Unbounded));
            let mut found = range.filter(|(name, _)| name.starts_with(prefix));
            let objects = found.by_ref().take(PAGE).map(|(name, bytes)| (name.clone(), bytes.len() as u64));
            let objects = objects.collect();
            Ok(ObjectPage { objects, is_truncated: found.next().is_some() })
        })
    }
}
