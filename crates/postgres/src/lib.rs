//! The storage engine over PostgreSQL's protocol, for many front ends.
//!
//! Any number of processes share one database, and each may answer any request. What must stay true:
//! - a commit is one transaction; what it wrote carries one version, which no other commit ever gets ([`version`]);
//! - a call ends in one of four ways that are never confused: applied, refused, nothing applied, unknown ([`outcome`]);
//! - in the default mode no read is answered from a server that may have been deposed ([`instance`]);
//! - the SQL is the subset that PostgreSQL, YugabyteDB and CockroachDB share ([`sql`]): no procedures, no advisory locks.

mod commit;
mod content;
mod dump;
mod engine;
mod evaluate;
mod instance;
mod key;
mod outcome;
mod plan;
mod pool;
mod read;
mod room;
mod schema;
mod session;
mod sql;
mod tls;
mod turns;
mod url;
mod version;

pub use dump::Filler;
pub use engine::{OpenError, Postgres};
pub use schema::{Flavour, SCHEMA_VERSION};
pub use url::{PostgresUrl, Reads};
