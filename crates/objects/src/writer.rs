//! An upload: bytes are gathered into objects of up to 8 MiB, two of which are in flight at a time.
//!
//! An upload that gets no memory for gathering stores the gathered bytes, and then each write as a separate
//! object, one at a time. So no upload waits for memory that another one holds.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::{Bytes, BytesMut};
use lazuli_engine::content::checksum::Summing;
use lazuli_engine::content::{ContentWriter, Fold, Piece, Spot, footprint};
use lazuli_engine::{EngineFuture, Error, Result};
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::{JoinSet, spawn_blocking};

use crate::content::{GATHERED_UNIT_BYTES, Inner, OBJECT_BYTES_MAX, UPLOAD_OBJECTS_MAX, payload, signed};

/// An upload to an object store.
pub struct ObjectWriter {
    inner: Arc<Inner>,
    fold: Option<Fold>,
    gathered: BytesMut,
    permit: Option<OwnedSemaphorePermit>,
    done: Vec<Piece>,
    flights: JoinSet<Result<()>>,
    /// Reserved positions, with their lengths.
    places: Vec<(Spot, u64)>,
    failed: Option<Error>,
}

impl ObjectWriter {
    /// Begins an upload.
    pub fn new(inner: &Arc<Inner>, fold: Option<Fold>) -> Self {
        Self {
            inner: Arc::clone(inner),
            fold,
            gathered: BytesMut::new(),
            permit: None,
            done: Vec::new(),
            flights: JoinSet::new(),
            places: Vec::new(),
            failed: None,
        }
    }

    async fn take(&mut self, bytes: Bytes) -> Result<()> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let taken = self.take_all(bytes).await;
        taken.inspect_err(|error| self.failed = Some(error.clone()))
    }

    async fn take_all(&mut self, bytes: Bytes) -> Result<()> {
        let mut rest = self.see(bytes).await?;
        while !rest.is_empty() {
            let room = OBJECT_BYTES_MAX as usize - self.gathered.len();
            let now = rest.split_to(rest.len().min(room));
            if self.reserve(now.len()) {
                self.gathered.extend_from_slice(&now);
                if self.gathered.len() == OBJECT_BYTES_MAX as usize {
                    self.flush().await?;
                }
                continue;
            }
            self.flush().await?;
            self.store(now, None).await?;
            while !self.flights.is_empty() {
                self.arrive().await?;
            }
        }
        Ok(())
    }

    /// Reserves memory for more bytes; `false` if there is none.
    fn reserve(&mut self, bytes: usize) -> bool {
        let units = u32::try_from(bytes.div_ceil(GATHERED_UNIT_BYTES)).unwrap_or(u32::MAX);
        let Ok(more) = Arc::clone(&self.inner.gathered).try_acquire_many_owned(units) else { return false };
        match &mut self.permit {
            Some(held) => held.merge(more),
            none => *none = Some(more),
        }
        true
    }

    /// Passes bytes to the fold, on a thread where long computations are allowed.
    async fn see(&mut self, bytes: Bytes) -> Result<Bytes> {
        let Some(mut fold) = self.fold.take() else { return Ok(bytes) };
        let seen = spawn_blocking(move || {
            fold(std::slice::from_ref(&bytes));
            (fold, bytes)
        });
        let (fold, bytes) = seen.await.map_err(|e| Error::Unavailable(format!("a fold panicked: {e}")))?;
        self.fold = Some(fold);
        Ok(bytes)
    }

    /// Sends the gathered bytes.
    async fn flush(&mut self) -> Result<()> {
        let bytes = std::mem::take(&mut self.gathered).freeze();
        let permit = self.permit.take();
        if bytes.is_empty() { Ok(()) } else { self.store(bytes, permit).await }
    }

    /// Sends an object. If too many are in flight, waits for one of them first.
    async fn store(&mut self, bytes: Bytes, permit: Option<OwnedSemaphorePermit>) -> Result<()> {
        while self.flights.len() >= UPLOAD_OBJECTS_MAX {
            self.arrive().await?;
        }
        // It is at most the size of an object.
        let length = u32::try_from(bytes.len()).unwrap_or(OBJECT_BYTES_MAX);
        let spot = self.inner.ledger.place(length).await?;
        self.inner.writing.fetch_add(footprint(length), Ordering::Relaxed);
        self.places.push((spot, footprint(length)));
        let mut summing = Summing::default();
        summing.add(&bytes);
        let (crc, table) = summing.finish();
        self.done.push(Piece { stream: spot.stream, offset: spot.offset, length, crc });
        let inner = Arc::clone(&self.inner);
        self.flights.spawn(async move {
            let stored = inner.put(spot, payload(table, bytes)).await;
            drop(permit);
            stored
        });
        Ok(())
    }

    async fn arrive(&mut self) -> Result<()> {
        match self.flights.join_next().await {
            Some(Ok(arrived)) => arrived,
            Some(Err(e)) => Err(Error::Unavailable(format!("a write of content failed: {e}"))),
            None => Ok(()),
        }
    }

    async fn finish(&mut self) -> Result<Vec<Piece>> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        self.flush().await?;
        while !self.flights.is_empty() {
            self.arrive().await?;
        }
        self.inner.ledger.check(&self.done).await?;
        for (_, bytes) in self.places.drain(..) {
            self.inner.writing.fetch_sub(bytes, Ordering::Relaxed);
        }
        for piece in &self.done {
            self.inner.ledger.count(piece.stream, signed(piece.footprint()));
        }
        Ok(std::mem::take(&mut self.done))
    }
}

impl ContentWriter for ObjectWriter {
    fn write(&mut self, bytes: Bytes) -> EngineFuture<'_, ()> {
        Box::pin(self.take(bytes))
    }

    fn seal(mut self: Box<Self>) -> EngineFuture<'static, Vec<Piece>> {
        Box::pin(async move { self.finish().await })
    }
}

impl Drop for ObjectWriter {
    /// Deletes the stored objects after those in flight have arrived. Without a runtime, a sweep does this later.
    fn drop(&mut self) {
        let (places, inner) = (std::mem::take(&mut self.places), Arc::clone(&self.inner));
        let mut flights = std::mem::take(&mut self.flights);
        let Some(runtime) = Handle::try_current().ok().filter(|_| !places.is_empty()) else { return };
        runtime.spawn(async move {
            while flights.join_next().await.is_some() {}
            for (spot, bytes) in places {
                if let Err(error) = inner.delete(spot).await {
                    tracing::warn!(%error, "an abandoned upload is left to the next sweep");
                }
                inner.writing.fetch_sub(bytes, Ordering::Relaxed);
            }
        });
    }
}
