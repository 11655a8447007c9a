//! Every statement, in the subset that PostgreSQL 15, YugabyteDB and CockroachDB share.
//!
//! One modification of one table per statement (CockroachDB rejects several), every parameter with its type (its
//! integer literals and divisions differ), keys as bytea, which sorts byte by byte everywhere.
//! A division by zero ends a transaction whose conditions do not hold, so that its COMMIT, sent along, does nothing.

use tokio_postgres::{Client, Error, Statement};

/// Begins a scan: every page of it from one snapshot.
pub const BEGIN_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
/// Begins a commit, at the database's default isolation level: its conditions hold at any level.
pub const BEGIN: &str = "BEGIN";
/// Ends a commit.
pub const COMMIT: &str = "COMMIT";
/// Rolls a transaction back.
pub const ROLLBACK: &str = "ROLLBACK";

const GET: &str =
    "SELECT rk, ver, val FROM lazuli_row WHERE tbl = $1::int8 AND pk = $2::bytea AND rk = $3::bytea";

const GET_SOME: &str =
    "SELECT rk, ver, val FROM lazuli_row WHERE tbl = $1::int8 AND pk = $2::bytea AND rk = ANY($3::bytea[])";

/// Versions and sizes, and the values of the rows $5 that have at most $4 bytes. The lengths of large values are
/// known without reading them.
const HEADS: &str = "SELECT rk, ver, octet_length(val)::int8, \
     CASE WHEN octet_length(val) <= $4::int8 AND rk = ANY($5::bytea[]) THEN val END FROM lazuli_row \
     WHERE tbl = $1::int8 AND pk = $2::bytea AND rk = ANY($3::bytea[]) ORDER BY rk";

/// The same, with locks. Locks the rows in the order of their keys, so that commits do not deadlock.
const HEADS_LOCKED: &str = "SELECT rk, ver, octet_length(val)::int8, \
     CASE WHEN octet_length(val) <= $4::int8 AND rk = ANY($5::bytea[]) THEN val END FROM lazuli_row \
     WHERE tbl = $1::int8 AND pk = $2::bytea AND rk = ANY($3::bytea[]) ORDER BY rk FOR UPDATE";

/// Does one of the rows have this version?
const FIND_VERSION: &str = "SELECT 1 FROM lazuli_row \
     WHERE tbl = $1::int8 AND pk = $2::bytea AND rk = ANY($3::bytea[]) AND ver = $4::int8 LIMIT 1";

const LOCK: &str = "SELECT ver FROM lazuli_row \
     WHERE tbl = $1::int8 AND pk = $2::bytea AND rk = ANY($3::bytea[]) ORDER BY rk FOR UPDATE";

/// Rows in order: at most $6, and none after the first whose values reach $7 bytes. The lengths of large values are known
/// without reading them.
const SCAN: &str = "SELECT pk, rk, ver, val FROM (\
     SELECT pk, rk, ver, val, sum(octet_length(val)) OVER (ORDER BY pk, rk ROWS UNBOUNDED PRECEDING) \
     - octet_length(val) AS before FROM (\
     SELECT pk, rk, ver, val FROM lazuli_row WHERE tbl = $1::int8 AND pk >= $2::bytea AND pk <= $4::bytea \
     AND (pk, rk) >= ($2::bytea, $3::bytea) AND (pk, rk) < ($4::bytea, $5::bytea) \
     ORDER BY pk, rk LIMIT $6::int8) AS wanted) AS counted WHERE before < $7::int8 ORDER BY pk, rk";

/// The same for rows whose keys are too long for the index.
const SCAN_LONG: &str = "SELECT pk, rk, ver, val FROM (\
     SELECT pk, rk, ver, val, sum(octet_length(val)) OVER (ORDER BY pk, rk ROWS UNBOUNDED PRECEDING) \
     - octet_length(val) AS before FROM (\
     SELECT lpk AS pk, lrk AS rk, ver, val FROM lazuli_row WHERE tbl = $1::int8 \
     AND (lpk, lrk) >= ($2::bytea, $3::bytea) AND (lpk, lrk) < ($4::bytea, $5::bytea) \
     ORDER BY lpk, lrk LIMIT $6::int8) AS wanted) AS counted WHERE before < $7::int8 ORDER BY pk, rk";

/// Rows by their keys, with the same limit on bytes.
const POINTS: &str = "SELECT pk, rk, ver, val FROM (\
     SELECT pk, rk, ver, val, sum(octet_length(val)) OVER (ORDER BY pk, rk ROWS UNBOUNDED PRECEDING) \
     - octet_length(val) AS before FROM (\
     SELECT r.pk, r.rk, r.ver, r.val FROM unnest($2::bytea[], $3::bytea[]) AS q(pk, rk) \
     JOIN lazuli_row AS r ON r.tbl = $1::int8 AND r.pk = q.pk AND r.rk = q.rk) AS wanted) AS counted \
     WHERE before < $4::int8 ORDER BY pk, rk";

const INSERT: &str = "INSERT INTO lazuli_row (tbl, pk, rk, ver, val, lpk, lrk) \
     SELECT $1::int8, $2::bytea, r.rk, $3::int8, r.val, $4::bytea, r.lrk \
     FROM unnest($5::bytea[], $6::bytea[], $7::bytea[]) AS r(rk, val, lrk)";

const INSERT_ONE: &str = "INSERT INTO lazuli_row (tbl, pk, rk, ver, val, lpk, lrk) \
     VALUES ($1::int8, $2::bytea, $3::bytea, $4::int8, $5::bytea, $6::bytea, $7::bytea)";

const UPSERT: &str = "WITH changed AS (INSERT INTO lazuli_row (tbl, pk, rk, ver, val, lpk, lrk) \
     SELECT $1::int8, $2::bytea, r.rk, $3::int8, r.val, $4::bytea, r.lrk \
     FROM unnest($5::bytea[], $6::bytea[], $7::bytea[]) AS r(rk, val, lrk) \
     ON CONFLICT (tbl, pk, rk) DO UPDATE SET ver = excluded.ver, val = excluded.val \
     WHERE lazuli_row.ver < excluded.ver RETURNING 1) \
     SELECT 1 / (CASE WHEN (SELECT count(*) FROM changed) = $8::int8 THEN 1 ELSE 0 END)";

const UPSERT_ONE: &str = "INSERT INTO lazuli_row (tbl, pk, rk, ver, val, lpk, lrk) \
     VALUES ($1::int8, $2::bytea, $3::bytea, $4::int8, $5::bytea, $6::bytea, $7::bytea) \
     ON CONFLICT (tbl, pk, rk) DO UPDATE SET ver = excluded.ver, val = excluded.val \
     WHERE lazuli_row.ver < excluded.ver";

/// Replaces rows whose version is within the given bounds, inclusive.
const REPLACE: &str = "WITH changed AS (UPDATE lazuli_row AS e SET ver = $3::int8, val = r.val \
     FROM unnest($4::bytea[], $5::int8[], $6::int8[], $7::bytea[]) AS r(rk, low, high, val) \
     WHERE e.tbl = $1::int8 AND e.pk = $2::bytea AND e.rk = r.rk AND e.ver >= r.low AND e.ver <= r.high \
     RETURNING 1) SELECT 1 / (CASE WHEN (SELECT count(*) FROM changed) = $8::int8 THEN 1 ELSE 0 END)";

const REPLACE_ONE: &str = "UPDATE lazuli_row SET ver = $4::int8, val = $5::bytea \
     WHERE tbl = $1::int8 AND pk = $2::bytea AND rk = $3::bytea AND ver >= $6::int8 AND ver <= $7::int8";

const DELETE: &str = "WITH changed AS (DELETE FROM lazuli_row AS e \
     USING unnest($3::bytea[], $4::int8[], $5::int8[]) AS r(rk, low, high) \
     WHERE e.tbl = $1::int8 AND e.pk = $2::bytea AND e.rk = r.rk AND e.ver >= r.low AND e.ver <= r.high \
     RETURNING 1) SELECT 1 / (CASE WHEN $6::int8 < 0 OR (SELECT count(*) FROM changed) = $6::int8 THEN 1 ELSE 0 END)";

const DELETE_ONE: &str = "DELETE FROM lazuli_row \
     WHERE tbl = $1::int8 AND pk = $2::bytea AND rk = $3::bytea AND ver >= $4::int8 AND ver <= $5::int8";

/// Increments the counter of changes to the system table, in the same transaction.
const COUNT_CHANGE: &str = "UPDATE lazuli_meta SET value = value + 1 WHERE name = 'changes'";

/// The state that front ends share, and whether commits wait for a standby (a setting that only PostgreSQL has).
const META: &str = "SELECT (SELECT value FROM lazuli_meta WHERE name = 'changes'), \
     (SELECT value FROM lazuli_meta WHERE name = 'long'), \
     coalesce(current_setting('synchronous_standby_names', true), '') <> ''";

macro_rules! statements {
    ($($name:ident = $text:expr,)*) => {
        /// The statements, prepared on one connection.
        #[derive(Clone)]
        #[allow(missing_docs, reason = "the texts above say what they are")]
        pub struct Statements {
            $(pub $name: Statement,)*
        }

        impl Statements {
            /// Prepares all statements in one round trip.
            pub async fn prepare(client: &Client) -> Result<Self, Error> {
                let ($($name,)*) = tokio::try_join!($(client.prepare($text),)*)?;
                Ok(Self { $($name,)* })
            }
        }
    };
}

statements! {
    get = GET,
    get_some = GET_SOME,
    heads = HEADS,
    heads_locked = HEADS_LOCKED,
    find_version = FIND_VERSION,
    lock = LOCK,
    scan = SCAN,
    scan_long = SCAN_LONG,
    points = POINTS,
    insert = INSERT,
    insert_one = INSERT_ONE,
    upsert = UPSERT,
    upsert_one = UPSERT_ONE,
    replace = REPLACE,
    replace_one = REPLACE_ONE,
    delete = DELETE,
    delete_one = DELETE_ONE,
    count_change = COUNT_CHANGE,
    meta = META,
}
