//! The work of the Blob workloads on one server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{
    BLOCK_BYTES, BLOCKS, LARGE_BYTES, MIB, PAGE_NAMES, PREFIXES, RANGE_BYTES, SMALL_BYTES, TAGGED, Work,
    request,
};
use crate::contestant::Step;
use crate::process::{Process, Server};
use crate::session::Session;
use crate::{Options, file};

/// The name of the container.
pub(super) const CONTAINER: &str = "bench";
/// The name of the blob that is read in ranges, or written in pages.
pub(super) const RANGE_BLOB: &str = "large";
/// Number of large blobs to read.
pub(super) const LARGE_BLOBS: u64 = 4;
/// Number of connections that transfer large blobs.
const LARGE_CONNECTIONS: usize = 8;
/// Keeps the blobs of different runs apart.
static NEXT_NAME: AtomicU64 = AtomicU64::new(1_000_000_000);

/// A workload with its size.
#[derive(Clone)]
pub struct Job {
    pub(super) work: Work,
    pub(super) variant: u64,
    /// Number of small blobs to read or list.
    pub(super) blobs: u64,
    /// Size of the blob that is read in ranges, or written in pages.
    pub(super) range_blob_bytes: u64,
    /// The start of the last page of a listing.
    pub(super) marker: Arc<std::sync::OnceLock<String>>,
    /// The number of the blob to which all connections append. When it is full, the next one is used.
    pub(super) log: Arc<AtomicU64>,
}

impl Job {
    pub(crate) fn new(work: Work, variant: u64, options: &Options) -> Self {
        let blobs = match work {
            Work::List => options.deep,
            Work::Delimiter => PREFIXES * variant,
            Work::Deep | Work::Tags => variant,
            _ => options.entities as u64,
        };
        let range_blob_bytes = options.blob_mib * MIB as u64;
        Self { work, variant, blobs, range_blob_bytes, marker: Arc::default(), log: Arc::default() }
    }

    /// Creates the container and the blobs that the workload reads.
    pub(crate) async fn prepare(&self, process: &Process) -> Result<(), String> {
        super::load::prepare(self, process).await
    }

    /// Large transfers need few connections.
    pub(crate) fn connections(&self, options: &Options, _: Server) -> usize {
        match self.work {
            Work::PutLarge | Work::GetLarge | Work::Blocks => options.connections.min(LARGE_CONNECTIONS),
            Work::List | Work::Delimiter => options.connections.min(LARGE_CONNECTIONS),
            _ => options.connections,
        }
    }

    /// Does the next operation.
    pub(crate) async fn step(&self, session: &mut Session) -> Result<Step, String> {
        if let Server::Files { bytes } = session.server {
            let units = if self.work == Work::Blocks { bytes / MIB } else { 1 };
            return file::write(session, bytes, units as u64).await;
        }
        match self.work {
            Work::PutSmall => self.put(session, fresh(), SMALL_BYTES).await,
            Work::PutLarge => self.put(session, session.number as u64, LARGE_BYTES).await,
            Work::GetSmall => {
                let name = name(session.below(self.blobs));
                self.get(session, &name).await
            }
            Work::GetLarge => {
                let name = name(session.below(LARGE_BLOBS));
                self.get(session, &name).await
            }
            Work::Range => self.range(session).await,
            Work::Blocks => self.blocks(session).await,
            Work::List => self.list(session).await,
            Work::Delimiter => {
                let request = request::list(&session.account, CONTAINER, "&delimiter=/");
                session.send(request, &[200]).await?;
                Ok(Step::Done(PREFIXES))
            }
            Work::Deep => self.cycle(session).await,
            Work::Append => self.append(session).await,
            Work::Page => self.write_page(session).await,
            Work::Tags => {
                let tag = tag(session.below(self.blobs));
                session.send(request::find(&session.account, &tag), &[200]).await?;
                Ok(Step::Done(1))
            }
        }
    }

    async fn put(&self, session: &mut Session, number: u64, bytes: usize) -> Result<Step, String> {
        let request = request::put(&session.account, CONTAINER, &name(number), vec![b'x'; bytes]);
        session.send(request, &[201]).await?;
        Ok(Step::Done(1))
    }

    async fn get(&self, session: &mut Session, name: &str) -> Result<Step, String> {
        session.send(request::get(&session.account, CONTAINER, name), &[200]).await?;
        Ok(Step::Done(1))
    }

    async fn range(&self, session: &mut Session) -> Result<Step, String> {
        let from = session.below(self.range_blob_bytes / RANGE_BYTES as u64) * RANGE_BYTES as u64;
        let request = request::range(&session.account, CONTAINER, RANGE_BLOB, from, RANGE_BYTES as u64);
        session.send(request, &[206]).await?;
        Ok(Step::Done(1))
    }

    async fn blocks(&self, session: &mut Session) -> Result<Step, String> {
        let name = name(session.number as u64);
        let ids: Vec<String> = (0..BLOCKS).map(block_id).collect();
        for id in &ids {
            let content = vec![b'x'; BLOCK_BYTES];
            let request = request::put_block(&session.account, CONTAINER, &name, id, content);
            session.send(request, &[201]).await?;
        }
        session.send(request::put_block_list(&session.account, CONTAINER, &name, &ids), &[201]).await?;
        Ok(Step::Done((BLOCKS * BLOCK_BYTES / MIB) as u64))
    }

    async fn list(&self, session: &mut Session) -> Result<Step, String> {
        let rest = match (self.variant, self.marker.get()) {
            (1, Some(marker)) => format!("&marker={marker}"),
            _ => String::new(),
        };
        session.send(request::list(&session.account, CONTAINER, &rest), &[200]).await?;
        Ok(Step::Done(self.blobs.min(PAGE_NAMES)))
    }

    /// Writes a small blob among the others, reads it and deletes it.
    async fn cycle(&self, session: &mut Session) -> Result<Step, String> {
        let name = format!("{}-{}", name(session.below(self.blobs)), fresh());
        let content = vec![b'x'; SMALL_BYTES];
        session.send(request::put(&session.account, CONTAINER, &name, content), &[201]).await?;
        session.send(request::get(&session.account, CONTAINER, &name), &[200]).await?;
        session.send(request::delete(&session.account, CONTAINER, &name), &[202]).await?;
        Ok(Step::Done(1))
    }

    /// Appends to a blob that all connections share. Azure allows 50,000 appends to a blob; the first
    /// connection that exceeds the limit creates the next blob for all of them.
    async fn append(&self, session: &mut Session) -> Result<Step, String> {
        loop {
            let number = self.log.load(Ordering::Relaxed);
            let content = vec![b'x'; SMALL_BYTES];
            let request = request::append(&session.account, CONTAINER, &name(number), content);
            if session.send(request, &[201, 409]).await?.status != 409 {
                return Ok(Step::Done(1));
            }
            let request = request::create_append_blob(&session.account, CONTAINER, &name(number + 1));
            session.send(request.with("If-None-Match", "*"), &[201, 409]).await?;
            self.log.fetch_max(number + 1, Ordering::Relaxed);
        }
    }

    async fn write_page(&self, session: &mut Session) -> Result<Step, String> {
        let bytes = SMALL_BYTES as u64;
        let from = session.below(self.range_blob_bytes / bytes) * bytes;
        let content = vec![b'x'; SMALL_BYTES];
        let request = request::put_pages(&session.account, CONTAINER, RANGE_BLOB, from, content);
        session.send(request, &[201]).await?;
        Ok(Step::Done(1))
    }
}

/// The name of the blob with this number.
pub(super) fn name(number: u64) -> String {
    format!("b{number:012}")
}

/// The tag of the blob with this number: [`TAGGED`] blobs have the same tag.
pub(super) fn tag(number: u64) -> String {
    format!("g{:012}", number / TAGGED)
}

/// The id of a block: Base64 of five digits and padding.
pub(super) fn block_id(number: usize) -> String {
    format!("{number:08}")
}

fn fresh() -> u64 {
    NEXT_NAME.fetch_add(1, Ordering::Relaxed)
}
