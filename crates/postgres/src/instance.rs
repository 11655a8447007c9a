//! The current primary server, and the proof that it is still the primary.
//!
//! A server that is cut off from the others may not know that another one has taken over, and would serve stale
//! reads. Its commits, however, wait for a standby that no longer follows it. So a confirmed commit that began after
//! a read proves that the read was not stale. All reads that wait at the same time share one such commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

use crate::outcome::Failure;
use crate::session::{Identity, Link, Session};
use crate::turns::Turns;
use crate::url::PostgresUrl;

/// A commit that changes nothing, and is confirmed like any other.
const BARRIER: &str = "SELECT pg_logical_emit_message(true, 'lazuli', '')";
/// The state that front ends share through the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Number of changes to the system table.
    pub changes: u64,
    /// Some rows have keys that are too long for the index.
    pub has_long: bool,
}

/// A primary server.
pub struct Instance {
    /// Sequence number of this server among those that the process has used.
    pub epoch: u64,
    /// Its index among the configured servers.
    pub server: usize,
    /// Its own description.
    pub identity: Identity,
    is_replicated: AtomicBool,
    is_suspect: AtomicBool,
    retired: watch::Sender<bool>,
    barrier: Turns<Option<Session>, Result<(), Failure>>,
    meta: Turns<Option<Session>, Result<Meta, Failure>>,
}

impl Instance {
    /// The server at the other end of a connection.
    pub fn new(link: &Link, epoch: u64) -> Self {
        Self {
            epoch,
            server: link.server,
            identity: link.identity.clone(),
            is_replicated: AtomicBool::new(link.identity.is_replicated),
            is_suspect: AtomicBool::new(false),
            retired: watch::Sender::new(false),
            barrier: Turns::new(None),
            meta: Turns::new(None),
        }
    }

    /// Do its commits wait for a standby?
    pub fn is_replicated(&self) -> bool {
        self.is_replicated.load(Ordering::SeqCst)
    }

    /// Records a failure: search for another server before the next use.
    pub fn suspect(&self) {
        self.is_suspect.store(true, Ordering::SeqCst);
    }

    /// Is a search for another server needed?
    pub fn is_suspect(&self) -> bool {
        self.is_suspect.load(Ordering::SeqCst)
    }

    /// Records that a search found this server again.
    pub fn trust(&self) {
        self.is_suspect.store(false, Ordering::SeqCst);
    }

    /// Records that another server has taken over, and stops everything that waits for this one.
    pub fn retire(&self) {
        self.retired.send_replace(true);
    }

    /// Has another server taken over?
    pub fn is_retired(&self) -> bool {
        *self.retired.borrow()
    }

    /// Waits until another server has taken over.
    pub async fn retired(&self) {
        let mut watcher = self.retired.subscribe();
        // The sender lives as long as `self`.
        let _ = watcher.wait_for(|retired| *retired).await;
    }

    /// Proves that this server was still the primary at the time of the call, if it can be replaced at all.
    pub async fn barrier(self: &Arc<Self>, url: &PostgresUrl) -> Result<(), Failure> {
        if !self.is_replicated() {
            return Ok(());
        }
        self.barrier
            .after_now(|session| async move {
                let session = match self.tool(session, url).await {
                    Ok(session) => session,
                    Err(failure) => return (None, Err(failure)),
                };
                let sent = session.wait(session.client().batch_execute(BARRIER)).await;
                match sent {
                    Ok(()) if session.is_doubtful() => {
                        (None, Err(Failure::Lost("the standby did not confirm".into())))
                    }
                    Ok(()) => (Some(session), Ok(())),
                    Err(failure) => (None, Err(failure)),
                }
            })
            .await
    }

    /// The state that front ends share, as of the start of this call or later.
    pub async fn meta(self: &Arc<Self>, url: &PostgresUrl) -> Result<Meta, Failure> {
        self.meta
            .after_now(|session| async move {
                let session = match self.tool(session, url).await {
                    Ok(session) => session,
                    Err(failure) => return (None, Err(failure)),
                };
                match session.wait(session.client().query_one(&session.statements.meta, &[])).await {
                    Ok(row) => {
                        let (changes, long, replicated): (i64, i64, bool) =
                            (row.get(0), row.get(1), row.get(2));
                        self.is_replicated.store(replicated, Ordering::SeqCst);
                        let meta = Meta { changes: changes.unsigned_abs(), has_long: long != 0 };
                        (Some(session), Ok(meta))
                    }
                    Err(failure) => (None, Err(failure)),
                }
            })
            .await
    }

    /// The connection for these tasks, replaced if it broke.
    async fn tool(self: &Arc<Self>, session: Option<Session>, url: &PostgresUrl) -> Result<Session, Failure> {
        match session {
            Some(session) if session.is_usable() => Ok(session),
            _ => self.connect(url).await,
        }
    }

    /// Opens another connection to this same server.
    pub async fn connect(self: &Arc<Self>, url: &PostgresUrl) -> Result<Session, Failure> {
        let link = Link::connect(url, self.server).await.map_err(|why| {
            self.suspect();
            Failure::Lost(why)
        })?;
        if link.identity.key != self.identity.key || !link.identity.is_writable {
            self.suspect();
            return Err(Failure::Deposed("another server responds, or this one accepts no writes".into()));
        }
        Session::new(link, self.clone()).await
    }
}
