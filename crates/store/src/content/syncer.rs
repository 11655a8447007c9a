//! Makes pieces durable: one thread for each lane syncs once for all uploads that wait.
//!
//! Invariant: only this thread syncs the packs of its lane. The system reports a failed write-back once, to
//! the first caller that syncs; with a single thread all waiting uploads get the error, and so do all later ones, since
//! the pack is abandoned.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use lazuli_engine::{Error, Result};
use tokio::sync::oneshot;

use super::limits::SYNC_QUEUE_MAX;
use super::pack::{Pack, io_error};
use super::packs::{Lane, Packs};
use crate::crash_point::{self, Point};
use crate::error::closed;

/// A pack, and the uploads that wait for its sync.
type Group = (Arc<Pack>, Vec<oneshot::Sender<Result<()>>>);

/// Notifies an upload whether its pack is durable.
pub type Synced = oneshot::Receiver<Result<()>>;

/// The threads that sync packs.
pub struct Syncers {
    small: SyncSender<Request>,
    large: SyncSender<Request>,
}

enum Request {
    Sync { pack: Arc<Pack>, reply: oneshot::Sender<Result<()>> },
    Stop,
}

impl Syncers {
    /// Starts the threads; they end after [`Syncers::stop`], or when this value is dropped.
    pub fn start(packs: &Arc<Packs>) -> io::Result<(Self, [JoinHandle<()>; 2])> {
        let (small, small_thread) = start(packs, "lazuli-content-sync-small")?;
        let (large, large_thread) = start(packs, "lazuli-content-sync-large")?;
        Ok((Self { small, large }, [small_thread, large_thread]))
    }

    /// Requests the sync of a pack. May block.
    pub fn ask(&self, lane: Lane, pack: &Arc<Pack>) -> Result<Synced> {
        let (reply, synced) = oneshot::channel();
        let request = Request::Sync { pack: Arc::clone(pack), reply };
        self.queue(lane).send(request).map_err(|_| closed())?;
        Ok(synced)
    }

    /// Ends the threads after all waiting requests. May block.
    pub fn stop(&self) {
        for queue in [&self.small, &self.large] {
            // If this fails, the thread has ended already.
            let _ = queue.send(Request::Stop);
        }
    }

    fn queue(&self, lane: Lane) -> &SyncSender<Request> {
        match lane {
            Lane::Small => &self.small,
            Lane::Large => &self.large,
        }
    }
}

/// Waits until a pack is durable.
pub async fn wait(synced: Synced) -> Result<()> {
    synced.await.unwrap_or_else(|_| Err(closed()))
}

fn start(packs: &Arc<Packs>, name: &str) -> io::Result<(SyncSender<Request>, JoinHandle<()>)> {
    let (sender, queue) = sync_channel(SYNC_QUEUE_MAX);
    let packs = Arc::clone(packs);
    let run = move || while serve_group(&packs, &queue) {};
    Ok((sender, Builder::new().name(name.into()).spawn(run)?))
}

/// Syncs for all waiting uploads; `false` if no more requests can come.
fn serve_group(packs: &Packs, queue: &Receiver<Request>) -> bool {
    let Ok(first) = queue.recv() else { return false };
    let mut is_going_on = true;
    let mut groups: HashMap<u64, Group> = HashMap::new();
    let mut next = Some(first);
    while let Some(request) = next {
        match request {
            Request::Sync { pack, reply } => {
                groups.entry(pack.number).or_insert_with(|| (pack, Vec::new())).1.push(reply);
            }
            Request::Stop => is_going_on = false,
        }
        next = queue.try_recv().ok();
    }
    for (pack, replies) in groups.into_values() {
        let outcome = sync(packs, &pack);
        for reply in replies {
            // A cancelled upload needs no result.
            let _ = reply.send(outcome.clone());
        }
    }
    is_going_on
}

/// Makes everything durable that was written to a pack so far. After a failure the pack takes no more pieces.
fn sync(packs: &Packs, pack: &Pack) -> Result<()> {
    if let Some(why) = pack.state().failed.clone() {
        return Err(Error::Unavailable(why));
    }
    crash_point::pass(Point::BeforeContentSync);
    let outcome = pack
        .file()
        .and_then(|file| packs.disk.sync(&file))
        .map_err(|e| io_error("sync", &pack.path, &e))
        .and_then(|()| packs.make_entry_durable(pack));
    crash_point::pass(Point::AfterContentSync);
    if let Err(error) = &outcome {
        tracing::error!(pack = %pack.path.display(), %error, "a sync failed; no more content is written to this pack");
        pack.state().failed = Some(error.to_string());
    }
    outcome
}
