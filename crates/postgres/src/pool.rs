//! Connections to the primary, the server that accepts writes, and the search for it.
//!
//! Of several servers that accept writes, the one with the latest timeline is the primary: a server that was
//! replaced without noticing still claims to accept them. The pool is our own, since its connections belong to
//! a server that can be replaced at any time: then all of them are closed.

use std::ops::Deref;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use lazuli_engine::{Error, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::instance::Instance;
use crate::outcome::Failure;
use crate::session::{Identity, Link, Session};
use crate::url::PostgresUrl;

/// Maximum wait for a connection, including the search for the primary.
const ACQUIRE_TIME_MAX: Duration = Duration::from_secs(10);
/// Maximum wait for the other servers to respond once a primary has been found.
const GRACE: Duration = Duration::from_millis(500);
/// Pause between two searches for the primary.
const SEARCH_EVERY: Duration = Duration::from_millis(200);

/// Connections to the primary.
pub struct Pool {
    /// Where the database is.
    pub url: PostgresUrl,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Session>>,
    current: Mutex<Option<Arc<Instance>>>,
    search: tokio::sync::Mutex<()>,
    epochs: AtomicU64,
    /// The latest timeline that was used.
    timeline: AtomicI64,
}

/// A connection that returns to the pool if its user releases it; otherwise it is closed when dropped.
pub struct Lease {
    session: Session,
    pool: Arc<Pool>,
    permit: OwnedSemaphorePermit,
}

impl Deref for Lease {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

impl Lease {
    /// Returns the connection to the pool. It must be idle.
    pub fn give_back(self) {
        let Self { session, pool, permit } = self;
        if session.is_usable() {
            locked(&pool.idle).push(session);
        }
        drop(permit);
    }
}

impl Pool {
    /// A pool without connections.
    pub fn new(url: PostgresUrl) -> Arc<Self> {
        Arc::new(Self {
            permits: Arc::new(Semaphore::new(url.pool)),
            idle: Mutex::default(),
            current: Mutex::default(),
            search: tokio::sync::Mutex::default(),
            epochs: AtomicU64::new(0),
            timeline: AtomicI64::new(0),
            url,
        })
    }

    /// A connection to the primary; waits for one to appear, for a limited time.
    pub async fn take(self: &Arc<Self>) -> Result<Lease> {
        self.take_within(ACQUIRE_TIME_MAX).await
    }

    async fn take_within(self: &Arc<Self>, time: Duration) -> Result<Lease> {
        match timeout(time, self.permits.clone().acquire_owned()).await {
            Ok(Ok(permit)) => self.take_with(permit).await,
            Ok(Err(_)) => Err(Error::Unavailable("the engine is closed".into())),
            Err(_) => Err(Error::Busy("all connections to the database are in use".into())),
        }
    }

    async fn take_with(self: &Arc<Self>, permit: OwnedSemaphorePermit) -> Result<Lease> {
        let deadline = Instant::now() + ACQUIRE_TIME_MAX;
        loop {
            let why = match self.ready().await {
                Ok(session) => return Ok(Lease { session, pool: self.clone(), permit }),
                Err(Failure::Denied(error)) => return Err(error),
                Err(failure) => failure.of_read(),
            };
            if Instant::now() >= deadline {
                return Err(why);
            }
            pause(SEARCH_EVERY).await;
        }
    }

    /// The primary; waits for one to appear, for a limited time.
    pub async fn instance_soon(&self) -> Result<Arc<Instance>> {
        let deadline = Instant::now() + ACQUIRE_TIME_MAX;
        loop {
            match self.instance().await {
                Ok(instance) => return Ok(instance),
                Err(failure) if Instant::now() >= deadline => return Err(failure.of_read()),
                Err(_) => pause(SEARCH_EVERY).await,
            }
        }
    }

    /// An idle connection, or a new one.
    async fn ready(&self) -> std::result::Result<Session, Failure> {
        let instance = self.instance().await?;
        loop {
            let idle = locked(&self.idle).pop();
            match idle {
                Some(session) if session.is_usable() && session.instance.epoch == instance.epoch => {
                    return Ok(session);
                }
                Some(_) => {}
                None => return instance.connect(&self.url).await,
            }
        }
    }

    /// The current primary.
    pub async fn instance(&self) -> std::result::Result<Arc<Instance>, Failure> {
        if let Some(instance) = self.trusted() {
            return Ok(instance);
        }
        let _searching = self.search.lock().await;
        if let Some(instance) = self.trusted() {
            return Ok(instance);
        }
        let link = self.find().await.map_err(Failure::Deposed)?;
        Ok(self.adopt(&link))
    }

    /// The number of servers used so far. If it is unchanged, so is the server.
    pub fn epoch(&self) -> u64 {
        self.epochs.load(Ordering::SeqCst)
    }

    fn trusted(&self) -> Option<Arc<Instance>> {
        locked(&self.current).clone().filter(|instance| !instance.is_suspect())
    }

    /// Makes the server at the other end the current one.
    fn adopt(&self, link: &Link) -> Arc<Instance> {
        let mut current = locked(&self.current);
        if let Some(known) = &*current {
            if known.identity.key == link.identity.key {
                known.trust();
                return known.clone();
            }
            known.retire();
        }
        self.timeline.fetch_max(link.identity.timeline, Ordering::SeqCst);
        let epoch = self.epochs.fetch_add(1, Ordering::SeqCst) + 1;
        let instance = Arc::new(Instance::new(link, epoch));
        if let Some(before) = current.replace(instance.clone()) {
            tracing::warn!(
                from = before.identity.key,
                to = instance.identity.key,
                "another database server has taken over"
            );
        }
        drop(current);
        locked(&self.idle).clear();
        instance
    }

    /// Queries all servers, and picks the primary with the latest timeline.
    pub async fn find(&self) -> std::result::Result<Link, String> {
        let mut asked = JoinSet::new();
        for server in 0..self.url.servers.len() {
            let url = self.url.clone();
            asked.spawn(async move { Link::connect(&url, server).await });
        }
        let mut best: Option<Link> = None;
        let mut whys = Vec::new();
        loop {
            let next = match &best {
                None => asked.join_next().await,
                Some(_) => timeout(GRACE, asked.join_next()).await.unwrap_or(None),
            };
            match next {
                None => break,
                Some(Ok(Ok(link))) => match unfit(&link.identity, self.timeline.load(Ordering::SeqCst)) {
                    Some(why) => whys.push(why.to_owned()),
                    None if best.as_ref().is_none_or(|best| best.identity.is_older(&link.identity)) => {
                        best = Some(link);
                    }
                    None => {}
                },
                Some(Ok(Err(why))) => whys.push(why),
                Some(Err(error)) => whys.push(error.to_string()),
            }
        }
        best.ok_or_else(|| format!("no database server accepts writes: {}", whys.join("; ")))
    }

    /// Closes all idle connections, and the pool.
    pub fn close(&self) {
        self.permits.close();
        locked(&self.idle).clear();
        if let Some(instance) = locked(&self.current).take() {
            instance.retire();
        }
    }
}

/// The reason not to use a server, if there is one. `seen` is the latest timeline that was in use.
fn unfit(server: &Identity, seen: i64) -> Option<&'static str> {
    if !server.is_writable {
        return Some("it accepts no writes");
    }
    // A replaced server has become the leader again, but lacks changes that were acknowledged since.
    (server.timeline < seen)
        .then_some("its timeline is older than one that was used before: acknowledged data may be missing")
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Waits before a retry.
#[allow(
    clippy::disallowed_methods,
    reason = "no event reports that another server or another commit is done"
)]
pub async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Flavour;

    fn server(is_writable: bool, timeline: i64) -> Identity {
        Identity {
            key: String::new(),
            is_writable,
            timeline,
            is_replicated: true,
            flavour: Flavour::Postgres,
            version: String::new(),
        }
    }

    /// Callers that wait too long for a connection get a transient error: the database itself may be healthy.
    #[tokio::test]
    async fn using_all_connections_is_overload_and_not_a_failure() {
        let pool = Pool::new("postgres://lazuli@127.0.0.1:1/lazuli?pool=1".parse().unwrap());
        let permit = pool.permits.clone().acquire_owned().await.unwrap();
        let rejected = pool.take_within(Duration::ZERO).await.err();
        assert!(matches!(rejected, Some(Error::Busy(_))), "{rejected:?}");
        drop(permit);
        pool.permits.close();
        let rejected = pool.take_within(Duration::ZERO).await.err();
        assert!(matches!(rejected, Some(Error::Unavailable(_))), "{rejected:?}");
    }

    /// CS-06: an older timeline lacks changes that were acknowledged on a newer one, so it is not used, even if
    /// its server is the leader now.
    #[test]
    fn a_history_older_than_the_one_in_use_is_rejected() {
        #[track_caller]
        fn check(server: &Identity, seen: i64, why: Option<&str>) {
            let found = unfit(server, seen);
            assert_eq!(found.is_some(), why.is_some(), "{found:?}");
            assert!(why.is_none_or(|why| found.is_some_and(|found| found.contains(why))), "{found:?}");
        }
        check(&server(true, 1), 0, None);
        check(&server(true, 2), 2, None);
        check(&server(true, 3), 2, None);
        check(&server(true, 1), 2, Some("older"));
        check(&server(false, 3), 2, Some("no writes"));
        check(&server(false, 0), 2, Some("no writes"));
        assert!(server(true, 1).is_older(&server(true, 2)) && !server(true, 2).is_older(&server(true, 2)));
    }
}
