//! Databases for the tests: each gets a schema of its own on the server that `LAZULI_TEST_POSTGRES` names.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use lazuli_engine::{Clock, Engine};
use lazuli_postgres::{Postgres, PostgresUrl};
use tokio_postgres::NoTls;

static COUNT: AtomicU32 = AtomicU32::new(0);

/// The server.
pub fn server() -> String {
    std::env::var("LAZULI_TEST_POSTGRES")
        .expect("LAZULI_TEST_POSTGRES names a server: use tests/run postgres")
}

/// Connections of each engine: many tests share the server.
const POOL: &str = "pool=6";

/// A URL with parameters added.
pub fn with(url: &str, parameters: &str) -> String {
    format!("{url}{}{parameters}", if url.contains('?') { '&' } else { '?' })
}

/// A plain connection, to inspect the database without the engine.
pub async fn client(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("the server responds");
    tokio::spawn(connection);
    client
}

/// The name of an empty schema.
pub async fn schema() -> String {
    let name = format!("t{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::SeqCst));
    let sql = format!("CREATE SCHEMA {name}");
    client(&server()).await.batch_execute(&sql).await.expect("a schema can be made");
    name
}

/// The URL of a server, for a schema.
pub fn url_of(server: &str, schema: &str) -> PostgresUrl {
    let url: PostgresUrl = with(server, POOL).parse().expect("the URL is valid");
    url.with_option(&format!("search_path={schema}"))
}

/// An engine on a schema.
pub async fn open(url: PostgresUrl, clock: Clock) -> Arc<dyn Engine> {
    Arc::new(Postgres::open(url, clock).await.expect("the database can be used"))
}
