//! The tables in the database: creation, checks and migration.
//!
//! A database stores the version of its schema. A server starts only on its own version; the first start sets up an
//! empty database, and `lazuli engine migrate` migrates an older one.

use tokio_postgres::{Client, Error};

use crate::outcome::describe;
use crate::version::SLOTS;

/// The version of the schema that this program works with.
pub const SCHEMA_VERSION: i64 = 2;

/// Maximum attempts to set up a database: if several front ends start on an empty one concurrently, all but one
/// fail.
const ATTEMPTS_MAX: usize = 20;

/// The kind of database, detected from its version string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// PostgreSQL and its derivatives.
    Postgres,
    /// YugabyteDB.
    Yugabyte,
    /// CockroachDB.
    Cockroach,
}

impl Flavour {
    /// The kind of database with this version string.
    pub fn of(version: &str) -> Self {
        if version.contains("CockroachDB") {
            Flavour::Cockroach
        } else if version.contains("-YB-") || version.contains("Yugabyte") {
            Flavour::Yugabyte
        } else {
            Flavour::Postgres
        }
    }

    /// The order of a key column: YugabyteDB would hash the first one by default; PostgreSQL does not have the
    /// keyword.
    fn ascending(self) -> &'static str {
        match self {
            Flavour::Postgres | Flavour::Cockroach => "",
            Flavour::Yugabyte => " ASC",
        }
    }

    /// Settings of every session. Plans use only keys, regardless of the statistics.
    pub fn session_settings(self) -> &'static str {
        match self {
            Flavour::Postgres => {
                "SET idle_in_transaction_session_timeout = '20s'; SET enable_seqscan = off; \
                 SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; \
                 SET plan_cache_mode = force_generic_plan; SET jit = off; \
                 SET max_parallel_workers_per_gather = 0; SET client_min_messages = warning"
            }
            Flavour::Yugabyte => "SET idle_in_transaction_session_timeout = '20s'; SET jit = off",
            Flavour::Cockroach => "SET idle_in_transaction_session_timeout = '20s'",
        }
    }

    /// From nothing to version 1: rows.
    fn version_1(self) -> Vec<String> {
        let asc = self.ascending();
        let mut statements = vec![
            format!(
                "CREATE TABLE lazuli_row (tbl int8 NOT NULL, pk bytea NOT NULL, rk bytea NOT NULL, ver int8 NOT NULL, \
                 val bytea NOT NULL, lpk bytea, lrk bytea, PRIMARY KEY (tbl{asc}, pk{asc}, rk{asc}))"
            ),
            format!(
                "CREATE TABLE lazuli_meta (name text NOT NULL, value int8 NOT NULL, PRIMARY KEY (name{asc}))"
            ),
            format!(
                "CREATE TABLE lazuli_writer (slot int8 NOT NULL, holder text NOT NULL, seen timestamptz NOT NULL, \
                 high int8 NOT NULL, PRIMARY KEY (slot{asc}))"
            ),
            format!(
                "INSERT INTO lazuli_writer (slot, holder, seen, high) \
                 SELECT g, '', '2000-01-01 00:00:00+00'::timestamptz, 0 FROM generate_series(0, {}) AS g",
                SLOTS - 1
            ),
            "INSERT INTO lazuli_meta (name, value) VALUES ('tables', 0), ('changes', 0), ('long', 0)".into(),
        ];
        if self == Flavour::Postgres {
            // Values are not compressed: their lengths are then known without reading them. Index entries are
            // not compressed either, so a key fits or not depending only on its length.
            statements.push("ALTER TABLE lazuli_row ALTER COLUMN val SET STORAGE EXTERNAL".into());
            statements.push("ALTER TABLE lazuli_row SET (autovacuum_vacuum_scale_factor = 0.05)".into());
        }
        statements
    }

    /// From version 1 to version 2: large content; see [`crate::content`].
    fn version_2(self) -> Vec<String> {
        let asc = self.ascending();
        let mut statements = vec![
            format!(
                "CREATE TABLE IF NOT EXISTS lazuli_chunk (stream int8 NOT NULL, pos int8 NOT NULL, val bytea NOT NULL, \
                 PRIMARY KEY (stream{asc}, pos{asc}))"
            ),
            format!(
                "CREATE TABLE IF NOT EXISTS lazuli_stream (stream int8 NOT NULL, holder text NOT NULL, seen timestamptz NOT NULL, \
                 live int8 NOT NULL, swept bool NOT NULL, PRIMARY KEY (stream{asc}))"
            ),
            "INSERT INTO lazuli_meta (name, value) VALUES ('streams', 0) ON CONFLICT (name) DO NOTHING"
                .into(),
        ];
        if self == Flavour::Postgres {
            // Content does not compress, and parts of it are read without the rest.
            statements.push("ALTER TABLE lazuli_chunk ALTER COLUMN val SET STORAGE EXTERNAL".into());
            statements.push("ALTER TABLE lazuli_chunk SET (autovacuum_vacuum_scale_factor = 0.05)".into());
        }
        statements
    }

    /// The statements that migrate a database to the latest version. The version is written last, so it proves that
    /// all of them ran.
    fn steps(self, before: Option<i64>) -> Vec<String> {
        let mut statements = if before.is_none() { self.version_1() } else { vec![] };
        statements.extend(self.version_2());
        statements.push(format!(
            "INSERT INTO lazuli_meta (name, value) VALUES ('schema', {SCHEMA_VERSION}) \
             ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        ));
        statements
    }
}

/// The version of the schema in a database; `None` if there is none.
pub async fn found(client: &Client) -> Result<Option<i64>, String> {
    let read = "SELECT value FROM lazuli_meta WHERE name = 'schema'";
    match client.query_opt(read, &[]).await {
        Ok(row) => Ok(row.map(|row| row.get(0))),
        // undefined_table
        Err(error) if error.code().is_some_and(|code| code.code() == "42P01") => Ok(None),
        Err(error) => Err(describe(&error)),
    }
}

/// Migrates a database to the version of this program; returns the previous version.
pub async fn migrate(client: &Client, flavour: Flavour) -> Result<Option<i64>, String> {
    let mut last = String::new();
    for _ in 0..ATTEMPTS_MAX {
        let before = found(client).await?;
        match before {
            Some(version) if version > SCHEMA_VERSION => return Err(too_new(version)),
            Some(SCHEMA_VERSION) => return Ok(before),
            _ => match bring_up(client, flavour, before).await {
                Ok(()) => return Ok(before),
                // Another process has created the tables, which become visible when its transaction ends.
                Err(error) => last = describe(&error),
            },
        }
        let _ = client.batch_execute("ROLLBACK").await;
    }
    Err(format!("failed to create the tables: {last}"))
}

/// Rejects a database of another version; sets up an empty one.
pub async fn check(client: &Client, flavour: Flavour) -> Result<(), String> {
    match found(client).await? {
        Some(SCHEMA_VERSION) => Ok(()),
        Some(version) if version > SCHEMA_VERSION => Err(too_new(version)),
        Some(version) => Err(format!(
            "the database has version {version} of the schema, but this program needs {SCHEMA_VERSION}: run lazuli engine migrate"
        )),
        None => migrate(client, flavour).await.map(|_| ()),
    }
}

fn too_new(version: i64) -> String {
    format!(
        "the database has version {version} of the schema, but this program supports only {SCHEMA_VERSION}: use a newer lazuli"
    )
}

async fn bring_up(client: &Client, flavour: Flavour, before: Option<i64>) -> Result<(), Error> {
    let statements = flavour.steps(before);
    // CockroachDB and YugabyteDB create tables one by one.
    if flavour == Flavour::Postgres {
        return client.batch_execute(&format!("BEGIN; {}; COMMIT", statements.join("; "))).await;
    }
    for statement in statements {
        client.batch_execute(&statement).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flavours() {
        for (version, flavour) in [
            ("PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu", Flavour::Postgres),
            ("PostgreSQL 15.2-YB-2.25.1.0-b0 on x86_64-pc-linux-gnu", Flavour::Yugabyte),
            ("CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu)", Flavour::Cockroach),
        ] {
            assert_eq!(Flavour::of(version), flavour, "{version}");
        }
        assert!(Flavour::Yugabyte.version_1()[0].contains("PRIMARY KEY (tbl ASC, pk ASC, rk ASC)"));
        assert!(Flavour::Cockroach.version_1()[0].contains("PRIMARY KEY (tbl, pk, rk)"));
    }
}
