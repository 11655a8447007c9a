//! Content in an object store: the parts that uploads, downloads and sweeps share.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use lazuli_engine::content::checksum::{Summing, table_bytes, verify_piece};
use lazuli_engine::content::{
    ALIGN_BYTES, Content, ContentHold, ContentLedger, ContentReader, ContentStatus, ContentSweep,
    ContentWriter, Extent, ExtentPage, Fold, Piece, Pinned, Pins, Spot, Units, units_of,
};
use lazuli_engine::{EngineFuture, Error, Result};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::bucket::Bucket;
use crate::name::Names;
use crate::reader::ObjectReader;
use crate::store::{ObjectFailure, Objects};
use crate::sweep::ObjectSweep;
use crate::writer::ObjectWriter;

/// Content of at most this many bytes belongs in a row.
const INLINE_BYTES_MAX: usize = 64 * 1024;
/// Largest object of an upload. Each is held in memory until the store has acknowledged it.
pub const OBJECT_BYTES_MAX: u32 = 8 * 1024 * 1024;
/// Maximum objects of one upload in flight.
pub const UPLOAD_OBJECTS_MAX: usize = 2;
/// Maximum bytes that all uploads together buffer. Beyond it, each upload stores its bytes immediately, in small objects.
const GATHERED_BYTES_MAX: usize = 128 * 1024 * 1024;
/// Bytes per permit of that limit.
pub const GATHERED_UNIT_BYTES: usize = 1024;
/// Memory of everything else: responses in transit, and objects of uploads that found no memory to buffer.
const OTHER_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Maximum concurrent requests, not counting downloads, whose number is bounded by that of client connections.
const REQUESTS_MAX: usize = 64;
/// Maximum time for a request with all its retries, including the wait for a permit.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(45);
/// Locks that serialise adoptions of the same piece. Pieces of a usual size spread evenly over a prime.
const ADOPTIONS_MAX: usize = 61;
/// Number of adopted streams whose positions are cached; each takes up to 128 KiB of memory.
const ADOPTED_STREAMS_MAX: usize = 64;

/// Content in an object store.
#[derive(Clone)]
pub struct ObjectContent {
    inner: Arc<Inner>,
}

/// State that uploads, downloads and the content store itself share.
pub struct Inner {
    pub(crate) store: Arc<dyn Objects>,
    pub(crate) names: Names,
    pub(crate) ledger: Arc<dyn ContentLedger>,
    pub(crate) pins: Pins,
    /// Permits for bytes that uploads gather, in units of [`GATHERED_UNIT_BYTES`].
    pub(crate) gathered: Arc<Semaphore>,
    requests: Semaphore,
    /// Pieces that are being deleted.
    leaving: Mutex<HashSet<Spot>>,
    /// Held while a piece is adopted, so that the same piece is not adopted concurrently.
    adoptions: [tokio::sync::Mutex<()>; ADOPTIONS_MAX],
    /// The positions of recently adopted streams.
    adopted: tokio::sync::Mutex<HashMap<u64, Units>>,
    pub(crate) writing: AtomicU64,
    pub(crate) freed: AtomicU64,
}

impl ObjectContent {
    /// Content in a bucket, in streams of this ledger.
    pub fn new(bucket: Bucket, ledger: Arc<dyn ContentLedger>) -> Self {
        let Bucket { store, names } = bucket;
        Self {
            inner: Arc::new(Inner {
                store,
                names,
                ledger,
                pins: Pins::default(),
                gathered: Arc::new(Semaphore::new(GATHERED_BYTES_MAX / GATHERED_UNIT_BYTES)),
                requests: Semaphore::new(REQUESTS_MAX),
                leaving: Mutex::default(),
                adoptions: std::array::from_fn(|_| tokio::sync::Mutex::default()),
                adopted: tokio::sync::Mutex::default(),
                writing: AtomicU64::new(0),
                freed: AtomicU64::new(0),
            }),
        }
    }

    /// Upper bound of its memory.
    pub fn memory_bytes_max() -> u64 {
        GATHERED_BYTES_MAX as u64 + OTHER_BYTES_MAX
    }
}

/// The object of a piece: the table of its checksums, then its bytes.
pub fn payload(table: Vec<u8>, bytes: Bytes) -> Vec<Bytes> {
    [Bytes::from(table), bytes].into_iter().filter(|part| !part.is_empty()).collect()
}

impl Inner {
    pub(crate) fn leaving(&self) -> MutexGuard<'_, HashSet<Spot>> {
        self.leaving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a request, once there is a permit for it, in bounded time.
    pub(crate) async fn request<T>(
        &self,
        request: impl Future<Output = std::result::Result<T, ObjectFailure>>,
    ) -> std::result::Result<T, ObjectFailure> {
        let permitted = async {
            // It is never closed.
            let _permit = self.requests.acquire().await.ok();
            request.await
        };
        timeout(REQUEST_TIME_MAX, permitted).await.unwrap_or(Err(ObjectFailure::Late))
    }

    /// Stores an object. Its name is new, so that it can be sent again if a response is lost.
    pub(crate) async fn put(&self, spot: Spot, parts: Vec<Bytes>) -> Result<()> {
        let name = self.names.object(spot);
        let stored = self.request(self.store.put(&name, parts, false)).await;
        stored.map_err(|failure| failure.during("storing content"))
    }

    /// Is there an object at a position?
    async fn has(&self, spot: Spot) -> Result<bool> {
        let name = self.names.object(spot);
        match self.request(self.store.head(&name)).await {
            Ok(_) => Ok(true),
            Err(ObjectFailure::Missing) => Ok(false),
            Err(failure) => Err(failure.during("searching for content")),
        }
    }

    /// Deletes the object at a position. It may already be missing.
    pub(crate) async fn delete(&self, spot: Spot) -> Result<()> {
        let name = self.names.object(spot);
        let deleted = self.request(self.store.delete(&name)).await;
        deleted.map_err(|failure| failure.during("deleting content"))
    }

    /// Deletes the object of a piece, and counts it as freed if it was there.
    async fn delete_piece(&self, piece: &Piece) -> Result<()> {
        if !piece.is_valid() || !self.has(piece.spot()).await? {
            return Ok(());
        }
        self.delete(piece.spot()).await?;
        self.ledger.count(piece.stream, -signed(piece.footprint()));
        self.freed.fetch_add(piece.footprint(), Ordering::Relaxed);
        Ok(())
    }

    /// Deletes the pieces that are not pinned or held; returns the others.
    async fn release(&self, pieces: Vec<Piece>) -> Result<Vec<Piece>> {
        if self.ledger.is_held().await? {
            return Ok(pieces);
        }
        let mut leaving = Leaving { inner: self, pieces: Vec::new() };
        // A later pin of one of them finds that it is being deleted.
        let pinned = self.pins.free(pieces, |piece| {
            self.leaving().insert(piece.spot());
            leaving.pieces.push(piece);
        });
        for piece in &leaving.pieces {
            self.delete_piece(piece).await?;
        }
        Ok(pinned)
    }

    async fn adopt(&self, piece: Piece, bytes: Bytes) -> Result<()> {
        if !piece.is_valid() {
            return Err(Error::Corrupt(format!("{piece} is not a valid piece")));
        }
        verify_piece(piece, &bytes)?;
        // A copy sends a piece again if several rows refer to it, possibly while the first one is in flight.
        let stripe = (piece.stream + piece.offset / ALIGN_BYTES) % ADOPTIONS_MAX as u64;
        let _alone = self.adoptions[stripe as usize].lock().await;
        if self.has(piece.spot()).await? {
            let mut stored = ObjectReader::new(self, piece, 0..u64::MAX);
            return if stored.has(&bytes).await? { Ok(()) } else { Err(in_use(&piece)) };
        }
        if !self.ledger.claim(piece.stream).await? {
            return Err(in_use(&piece));
        }
        let mut adopted = self.adopted.lock().await;
        if !adopted.contains_key(&piece.stream) {
            let taken = self.taken(piece.stream).await?;
            if adopted.len() >= ADOPTED_STREAMS_MAX {
                adopted.clear();
            }
            adopted.insert(piece.stream, taken);
        }
        let taken = adopted.entry(piece.stream).or_default();
        let units = units_of(piece.offset, piece.footprint());
        if taken.has_any(units.clone()) {
            return Err(in_use(&piece));
        }
        taken.add(units);
        drop(adopted);
        let mut summing = Summing::default();
        summing.add(&bytes);
        self.put(piece.spot(), payload(summing.finish().1, bytes)).await?;
        self.ledger.count(piece.stream, signed(piece.footprint()));
        Ok(())
    }

    /// The positions of a stream at which something is stored.
    async fn taken(&self, stream: u64) -> Result<Units> {
        let mut taken = Units::default();
        let mut from = Some(Spot { stream, offset: 0 });
        while let Some(start) = from {
            let (extents, next) = self.page(start).await?;
            for extent in extents.iter().filter(|extent| extent.start.stream == stream) {
                taken.add(units_of(extent.start.offset, extent.bytes));
            }
            from = next.filter(|next| next.stream == stream);
        }
        Ok(taken)
    }

    /// A page of objects from a position on, and the start of the next one.
    pub(crate) async fn page(&self, from: Spot) -> Result<(Vec<Extent>, Option<Spot>)> {
        let mut after = self.names.before(from);
        let page = loop {
            let listed = self.request(self.store.list(self.names.prefix(), &after)).await;
            let page = listed.map_err(|failure| failure.during("listing content"))?;
            // After a page of foreign objects, the next page may have our own.
            match page.objects.last().filter(|_| page.is_truncated) {
                Some((last, _)) if !page.objects.iter().any(|(name, _)| self.names.spot(name).is_some()) => {
                    after.clone_from(last);
                }
                _ => break page,
            }
        };
        let extents = page.objects.iter().filter_map(|(name, size)| {
            let start = self.names.spot(name).filter(|spot| *spot >= from)?;
            Some(Extent { start, bytes: footprint_of(*size) })
        });
        let mut extents: Vec<Extent> = extents.collect();
        // Stores list in this order, but nothing relies on it.
        extents.sort_unstable();
        let last = extents.last().filter(|_| page.is_truncated);
        let next = last.map(|last| Spot { offset: last.start.offset + 1, ..last.start });
        Ok((extents, next))
    }
}

/// Number of bytes of its stream that an object of this size takes up.
fn footprint_of(size: u64) -> u64 {
    size.next_multiple_of(ALIGN_BYTES)
}

/// Bytes of an object before those of the piece.
pub fn table_of(piece: &Piece) -> u64 {
    table_bytes(piece.blocks()) as u64
}

/// Counts in a ledger are signed.
pub fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

fn in_use(piece: &Piece) -> Error {
    Error::Unavailable(format!("cannot copy {piece}: other content is stored under its name"))
}

/// Pieces that are being deleted. They count as such until this value is dropped, whether or not the deletion
/// succeeded.
struct Leaving<'a> {
    inner: &'a Inner,
    pieces: Vec<Piece>,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        let mut leaving = self.inner.leaving();
        for piece in &self.pieces {
            leaving.remove(&piece.spot());
        }
    }
}

impl Content for ObjectContent {
    fn inline_max(&self) -> usize {
        INLINE_BYTES_MAX
    }

    fn begin(&self, _: Option<u64>, fold: Option<Fold>) -> Box<dyn ContentWriter> {
        Box::new(ObjectWriter::new(&self.inner, fold))
    }

    fn read(&self, piece: &Piece, range: Range<u64>) -> Box<dyn ContentReader> {
        Box::new(ObjectReader::new(&self.inner, *piece, range))
    }

    fn pin(&self, pieces: &[Piece]) -> Pinned {
        self.inner.pins.pin(pieces)
    }

    fn pin_all(&self) -> Pinned {
        self.inner.pins.pin_all()
    }

    fn hold_all(&self) -> EngineFuture<'_, Box<dyn ContentHold>> {
        Arc::clone(&self.inner.ledger).hold_with(self.pin_all())
    }

    fn is_held(&self) -> EngineFuture<'_, bool> {
        self.inner.ledger.is_held()
    }

    fn release(&self, pieces: Vec<Piece>) -> EngineFuture<'_, Vec<Piece>> {
        Box::pin(self.inner.release(pieces))
    }

    fn adopt(&self, piece: Piece, bytes: Bytes) -> EngineFuture<'_, ()> {
        Box::pin(self.inner.adopt(piece, bytes))
    }

    fn list(&self, from: Spot) -> EngineFuture<'_, ExtentPage> {
        Box::pin(async move {
            let (extents, next) = self.inner.page(from).await?;
            Ok(ExtentPage { extents, next })
        })
    }

    fn sweep(&self) -> EngineFuture<'_, Box<dyn ContentSweep>> {
        Box::pin(async {
            let sweep = ObjectSweep::begin(&self.inner).await?;
            Ok(Box::new(sweep) as Box<dyn ContentSweep>)
        })
    }

    fn status(&self) -> EngineFuture<'_, ContentStatus> {
        Box::pin(async {
            Ok(ContentStatus {
                live: self.inner.ledger.live().await?,
                writing: self.inner.writing.load(Ordering::Relaxed),
                freed: self.inner.freed.load(Ordering::Relaxed),
                ..ContentStatus::default()
            })
        })
    }
}
