//! The storage engine over PostgreSQL's protocol, for many front ends.
//!
//! Any number of processes share one database, and each may serve any request. Invariants:
//! - a commit is one transaction; all its rows have the same version, which is unique to the commit
//!   ([`version`]);
//! - a call has one of four distinct outcomes: applied, rejected, nothing applied, unknown ([`outcome`]);
//! - in the default mode no read is served from a server that may have been replaced ([`instance`]);
//! - the SQL is the subset that PostgreSQL, YugabyteDB and CockroachDB share ([`sql`]): no procedures, no advisory locks.

mod caretaker;
mod commit;
mod content;
mod dump;
mod engine;
mod error;
mod evaluate;
mod instance;
mod key;
mod outcome;
mod plan;
mod point;
mod pool;
mod read;
mod room;
mod schema;
mod session;
mod sql;
mod tls;
mod together;
mod turns;
mod url;
mod version;

pub use dump::{Filler, OpenFuture};
pub use engine::Postgres;
pub use error::DatabaseError;
pub use schema::{Flavour, SCHEMA_VERSION};
pub use url::{PostgresUrl, Reads};
