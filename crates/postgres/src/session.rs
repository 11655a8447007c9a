//! One connection to one server, and that server's description.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_postgres::{AsyncMessage, Client};

use crate::instance::Instance;
use crate::outcome::{Failure, describe, failure, is_doubtful};
use crate::plan::BoundStatement;
use crate::schema::Flavour;
use crate::sql::Statements;
use crate::url::{CONNECT_TIME_MAX, PostgresUrl};

/// Timeout of one call. A commit that waits for a standby which never responds ends with an unknown outcome.
pub const CALL_TIME_MAX: Duration = Duration::from_secs(15);
/// Timeout for connecting, authenticating and reading the server's description.
const GREETING_TIME_MAX: Duration = Duration::from_secs(2 * CONNECT_TIME_MAX.as_secs());

/// A server's description of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Equal only for connections to the same running server.
    pub key: String,
    /// Whether it accepts writes.
    pub is_writable: bool,
    /// Its timeline: the number of failovers so far.
    pub timeline: i64,
    /// Do its commits wait for a standby?
    pub is_replicated: bool,
    /// The kind of database.
    pub flavour: Flavour,
    /// Its version string.
    pub version: String,
}

impl Identity {
    /// Has there been a failover since, according to the other description?
    pub fn is_older(&self, other: &Self) -> bool {
        self.timeline < other.timeline
    }
}

const WHO: &str = "SELECT NOT (pg_is_in_recovery() OR current_setting('transaction_read_only')::bool), \
     coalesce(host(inet_server_addr()), 'local') || ':' || coalesce(inet_server_port(), 0)::text || '/' \
     || extract(epoch FROM pg_postmaster_start_time())::text, \
     CASE WHEN pg_is_in_recovery() THEN 0::int8 \
     ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int8 END, \
     current_setting('synchronous_standby_names') <> '', \
     current_setting('synchronous_commit') IN ('off', 'local'), current_setting('fsync') = 'off'";

/// A connection whose server is known.
pub struct Link {
    /// The connection.
    pub client: Client,
    /// The server's description.
    pub identity: Identity,
    /// Its index among the configured servers.
    pub server: usize,
    doubt: Arc<AtomicBool>,
    task: AbortHandle,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Link {
    /// Connects to one of the configured servers.
    pub async fn connect(url: &PostgresUrl, server: usize) -> Result<Self, String> {
        match timeout(GREETING_TIME_MAX, Self::greet(url, server)).await {
            Ok(linked) => linked.map_err(|error| describe(&error)),
            Err(_) => Err("it does not respond".into()),
        }
    }

    async fn greet(url: &PostgresUrl, server: usize) -> Result<Self, tokio_postgres::Error> {
        let (client, mut connection) = url.servers[server].connect(url.tls.clone()).await?;
        let doubt = Arc::new(AtomicBool::new(false));
        let doubted = doubt.clone();
        let task = tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
                if let AsyncMessage::Notice(notice) = message
                    && is_doubtful(&notice)
                {
                    tracing::warn!(notice = notice.message(), "the database sent a warning");
                    doubted.store(true, Ordering::SeqCst);
                }
            }
        });
        let mut link = Self {
            client,
            identity: Identity {
                key: String::new(),
                is_writable: true,
                timeline: 0,
                is_replicated: false,
                flavour: Flavour::Postgres,
                version: String::new(),
            },
            server,
            doubt,
            task: task.abort_handle(),
        };
        link.identify().await?;
        Ok(link)
    }

    async fn identify(&mut self) -> Result<(), tokio_postgres::Error> {
        let version: String = self.client.query_one("SELECT version()", &[]).await?.get(0);
        let flavour = Flavour::of(&version);
        self.client.batch_execute(flavour.session_settings()).await?;
        self.identity.flavour = flavour;
        self.identity.version = version.split(" on ").next().unwrap_or_default().to_owned();
        if flavour != Flavour::Postgres {
            // All nodes are equivalent.
            self.identity.key = "any node".into();
            return Ok(());
        }
        let row = self.client.query_one(WHO, &[]).await?;
        self.identity.is_writable = row.get(0);
        self.identity.key = row.get(1);
        self.identity.timeline = row.get(2);
        self.identity.is_replicated = row.get(3);
        if row.get(4) {
            // Nothing is acknowledged before it is durable, regardless of the settings of the database.
            self.client.batch_execute("SET synchronous_commit = on").await?;
        }
        if row.get(5) {
            tracing::warn!("the database runs with fsync off: a crash of its machine may lose everything");
        }
        Ok(())
    }
}

/// A connection that is ready for work.
pub struct Session {
    link: Link,
    /// The statements.
    pub statements: Statements,
    /// The server at the other end.
    pub instance: Arc<Instance>,
}

/// A call in progress.
pub type Pending<'a> = Pin<Box<dyn Future<Output = Result<u64, tokio_postgres::Error>> + Send + 'a>>;

impl Session {
    /// Makes a connection ready for work.
    pub async fn new(link: Link, instance: Arc<Instance>) -> Result<Self, Failure> {
        let statements = match timeout(CALL_TIME_MAX, Statements::prepare(&link.client)).await {
            Ok(prepared) => prepared.map_err(|error| failure(&error))?,
            Err(_) => return Err(Failure::Lost("the server does not respond".into())),
        };
        Ok(Self { link, statements, instance })
    }

    /// The connection.
    pub fn client(&self) -> &Client {
        &self.link.client
    }

    /// Can it be used again?
    pub fn is_usable(&self) -> bool {
        !self.link.client.is_closed() && !self.is_doubtful() && !self.instance.is_retired()
    }

    /// Has the server warned that a commit may not have been confirmed?
    pub fn is_doubtful(&self) -> bool {
        self.link.doubt.load(Ordering::SeqCst)
    }

    /// Waits for a call, with a timeout, and stops if the server has been replaced.
    pub async fn wait<T>(
        &self,
        call: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Failure> {
        tokio::select! {
            done = timeout(CALL_TIME_MAX, call) => match done {
                Ok(done) => done.map_err(|error| failure(&error)),
                Err(_) => {
                    self.instance.suspect();
                    Err(Failure::Lost("the server did not respond in time".into()))
                }
            },
            () = self.instance.retired() => Err(Failure::Lost("another server has taken over".into())),
        }
    }

    /// Sends a statement without waiting for the response, which the connection receives in the background.
    pub async fn send_only(&self, statement: &str) {
        let mut call = std::pin::pin!(self.link.client.batch_execute(statement));
        poll_fn(|cx| {
            let _ = call.as_mut().poll(cx);
            Poll::Ready(())
        })
        .await;
    }
}

/// Sends calls one after the other without waiting, then waits for all responses: in one round trip.
pub async fn pipelined(mut calls: Vec<Pending<'_>>) -> Vec<Result<u64, tokio_postgres::Error>> {
    let mut results: Vec<Option<Result<u64, tokio_postgres::Error>>> = calls.iter().map(|_| None).collect();
    poll_fn(|cx| {
        // In order: a call is sent when it is first polled.
        for (call, result) in calls.iter_mut().zip(&mut results) {
            if result.is_none()
                && let Poll::Ready(done) = call.as_mut().poll(cx)
            {
                *result = Some(done);
            }
        }
        if results.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    results.into_iter().flatten().collect()
}

/// The first error is the reason why a transaction failed; the following ones are its consequences.
pub fn first_error(results: Vec<Result<u64, tokio_postgres::Error>>) -> Result<(), Failure> {
    results.into_iter().find_map(Result::err).map_or(Ok(()), |error| Err(failure(&error)))
}

/// A call of a statement without parameters.
pub fn text<'a>(session: &'a Session, statement: &'static str) -> Pending<'a> {
    Box::pin(async move { session.client().batch_execute(statement).await.map(|()| 0) })
}

/// A call of a statement.
pub fn run<'a>(session: &'a Session, call: &'a BoundStatement<'a>) -> Pending<'a> {
    Box::pin(async move { session.client().execute(&call.statement, &call.parameters()).await })
}
