//! Every statement, in the subset that PostgreSQL 15, YugabyteDB and CockroachDB share.
//!
//! The rules of the subset: a statement modifies one table, once (CockroachDB rejects several modifications); every
//! parameter has its type (CockroachDB's integer literals and divisions differ); keys are bytea, which sorts byte by byte
//! everywhere.
//!
//! If a condition of a commit is not met, a division by zero aborts its transaction, so that the COMMIT that
//! was sent along does nothing.
//!
//! Statements find rows by their whole keys, with and without statistics of the table. Without statistics, or
//! with those of many small partitions, PostgreSQL expects a partition to have one row: a statement for some
//! rows of a partition then reads the whole partition and filters it. The subqueries `q` prevent this. OFFSET 0
//! hides from the planner that the keys share their table and partition, so it chooses between the whole key
//! and the whole table. The condition on `r.rk`, which is always true, makes the planner expect one key instead
//! of a hundred, so the whole table seems cheaper only while it has a few pages.

use tokio_postgres::{Client, Error, Statement};

/// Begins a scan: every page of it from one snapshot.
pub const BEGIN_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
/// Begins a commit, at the database's default isolation level: its conditions are checked correctly at any
/// level.
pub const BEGIN: &str = "BEGIN";
/// Ends a commit.
pub const COMMIT: &str = "COMMIT";
/// Rolls a transaction back.
pub const ROLLBACK: &str = "ROLLBACK";

const GET: &str =
    "SELECT rk, ver, val FROM lazuli_row WHERE tbl = $1::int8 AND pk = $2::bytea AND rk = $3::bytea";

const GET_SOME: &str = "SELECT e.rk, e.ver, e.val FROM \
     (SELECT $1::int8 AS tbl, $2::bytea AS pk, r.rk FROM unnest($3::bytea[]) AS r(rk) \
     WHERE r.rk || ''::bytea = r.rk OFFSET 0) AS q \
     JOIN lazuli_row AS e ON e.tbl = q.tbl AND e.pk = q.pk AND e.rk = q.rk";

/// Rows of any tables and partitions, each with its number; without values of more than $5 bytes.
const GET_SHARED: &str = "SELECT q.pos, e.ver, CASE WHEN octet_length(e.val) <= $5::int8 THEN e.val END FROM \
     (SELECT r.pos, r.tbl, r.pk, r.rk FROM unnest($1::int8[], $2::int8[], $3::bytea[], $4::bytea[]) \
     AS r(pos, tbl, pk, rk) WHERE r.rk || ''::bytea = r.rk OFFSET 0) AS q \
     JOIN lazuli_row AS e ON e.tbl = q.tbl AND e.pk = q.pk AND e.rk = q.rk";

/// Versions and sizes, and the values of the rows $5 that have at most $4 bytes. The lengths of large values are
/// known without reading them.
const HEADS: &str = "SELECT e.rk, e.ver, octet_length(e.val)::int8, \
     CASE WHEN octet_length(e.val) <= $4::int8 AND e.rk = ANY($5::bytea[]) THEN e.val END FROM \
     (SELECT $1::int8 AS tbl, $2::bytea AS pk, r.rk FROM unnest($3::bytea[]) AS r(rk) \
     WHERE r.rk || ''::bytea = r.rk OFFSET 0) AS q \
     JOIN lazuli_row AS e ON e.tbl = q.tbl AND e.pk = q.pk AND e.rk = q.rk ORDER BY e.rk";

/// The same rows, with locks. Locks the rows in the order of their keys, so that commits do not deadlock.
const HEADS_LOCKED: &str = "SELECT e.rk, e.ver, octet_length(e.val)::int8, \
     CASE WHEN octet_length(e.val) <= $4::int8 AND e.rk = ANY($5::bytea[]) THEN e.val END FROM \
     (SELECT $1::int8 AS tbl, $2::bytea AS pk, r.rk FROM unnest($3::bytea[]) AS r(rk) \
     WHERE r.rk || ''::bytea = r.rk OFFSET 0) AS q \
     JOIN lazuli_row AS e ON e.tbl = q.tbl AND e.pk = q.pk AND e.rk = q.rk ORDER BY e.rk FOR UPDATE OF e";

/// Does one of the rows have this version?
const FIND_VERSION: &str = "SELECT 1 FROM \
     (SELECT $1::int8 AS tbl, $2::bytea AS pk, r.rk FROM unnest($3::bytea[]) AS r(rk) \
     WHERE r.rk || ''::bytea = r.rk OFFSET 0) AS q \
     JOIN lazuli_row AS e ON e.tbl = q.tbl AND e.pk = q.pk AND e.rk = q.rk WHERE e.ver = $4::int8 LIMIT 1";

const LOCK: &str = "SELECT e.ver FROM \
     (SELECT $1::int8 AS tbl, $2::bytea AS pk, r.rk FROM unnest($3::bytea[]) AS r(rk) \
     WHERE r.rk || ''::bytea = r.rk OFFSET 0) AS q \
     JOIN lazuli_row AS e ON e.tbl = q.tbl AND e.pk = q.pk AND e.rk = q.rk ORDER BY e.rk FOR UPDATE OF e";

/// Rows in order: at most $6, and none after the first whose values reach $7 bytes. The lengths of large values are known
/// without reading them.
const SCAN: &str = "SELECT pk, rk, ver, val FROM (\
     SELECT pk, rk, ver, val, sum(octet_length(val)) OVER (ORDER BY pk, rk ROWS UNBOUNDED PRECEDING) \
     - octet_length(val) AS before FROM (\
     SELECT pk, rk, ver, val FROM lazuli_row WHERE tbl = $1::int8 AND pk >= $2::bytea AND pk <= $4::bytea \
     AND (pk, rk) >= ($2::bytea, $3::bytea) AND (pk, rk) < ($4::bytea, $5::bytea) \
     ORDER BY pk, rk LIMIT $6::int8) AS wanted) AS counted WHERE before < $7::int8 ORDER BY pk, rk";

/// The same query for rows whose keys are too long for the index.
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
     SELECT e.pk, e.rk, e.ver, e.val FROM (SELECT $1::int8 AS tbl, r.pk, r.rk \
     FROM unnest($2::bytea[], $3::bytea[]) AS r(pk, rk) WHERE r.rk || ''::bytea = r.rk OFFSET 0) AS q \
     JOIN lazuli_row AS e ON e.tbl = q.tbl AND e.pk = q.pk AND e.rk = q.rk) AS wanted) AS counted \
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
const REPLACE: &str = "WITH changed AS (UPDATE lazuli_row AS e SET ver = $3::int8, val = q.val \
     FROM (SELECT $1::int8 AS tbl, $2::bytea AS pk, r.rk, r.low, r.high, r.val \
     FROM unnest($4::bytea[], $5::int8[], $6::int8[], $7::bytea[]) AS r(rk, low, high, val) \
     WHERE r.rk || ''::bytea = r.rk OFFSET 0) AS q \
     WHERE e.tbl = q.tbl AND e.pk = q.pk AND e.rk = q.rk AND e.ver >= q.low AND e.ver <= q.high \
     RETURNING 1) SELECT 1 / (CASE WHEN (SELECT count(*) FROM changed) = $8::int8 THEN 1 ELSE 0 END)";

const REPLACE_ONE: &str = "UPDATE lazuli_row SET ver = $4::int8, val = $5::bytea \
     WHERE tbl = $1::int8 AND pk = $2::bytea AND rk = $3::bytea AND ver >= $6::int8 AND ver <= $7::int8";

const DELETE: &str = "WITH changed AS (DELETE FROM lazuli_row AS e \
     USING (SELECT $1::int8 AS tbl, $2::bytea AS pk, r.rk, r.low, r.high \
     FROM unnest($3::bytea[], $4::int8[], $5::int8[]) AS r(rk, low, high) \
     WHERE r.rk || ''::bytea = r.rk OFFSET 0) AS q \
     WHERE e.tbl = q.tbl AND e.pk = q.pk AND e.rk = q.rk AND e.ver >= q.low AND e.ver <= q.high \
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
    get_shared = GET_SHARED,
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
