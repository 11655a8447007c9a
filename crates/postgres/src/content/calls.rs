//! The statements on chunks. Each can be repeated safely, and all are in the subset that PostgreSQL, YugabyteDB and
//! CockroachDB share.

use bytes::Bytes;
use lazuli_engine::content::{ALIGN_BYTES, Piece};
use lazuli_engine::{Error, Result};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::Inner;
use super::ledger::StreamLedger;
use crate::outcome::Failure;

/// Overwrites an existing chunk, so that the standby confirms it again.
const PUT: &str = "INSERT INTO lazuli_chunk (stream, pos, val) \
     SELECT $1, r.pos, r.val FROM unnest($2, $3) AS r(pos, val) \
     ON CONFLICT (stream, pos) DO UPDATE SET val = excluded.val";

const GET: &str =
    "SELECT pos, val FROM lazuli_chunk WHERE stream = $1 AND pos >= $2 AND pos < $3 ORDER BY pos";

const DELETE: &str =
    "DELETE FROM lazuli_chunk WHERE stream = $1 AND pos >= $2 AND pos < $3 RETURNING octet_length(val)";

/// Maximum attempts of a call.
const ATTEMPTS_MAX: usize = 5;

/// A parameter with its type.
pub type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

impl StreamLedger {
    /// Makes a call that can be repeated safely. When it returns, its effect is confirmed.
    pub async fn call(&self, statement: &str, parameters: &[Parameter<'_>]) -> Result<Vec<Row>> {
        let _turn = self.connections.acquire().await.map_err(|_| closed())?;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let lease = self.core().pool.take().await?;
            match lease.wait(lease.client().query_typed(statement, parameters)).await {
                Ok(_) if lease.is_doubtful() => {
                    return Err(Error::Unavailable(
                        "the database did not confirm that content is durable".into(),
                    ));
                }
                Ok(rows) => {
                    lease.give_back();
                    return Ok(rows);
                }
                Err(failure) if failure.is_transient() && attempts < ATTEMPTS_MAX => match failure {
                    Failure::Conflict => lease.give_back(),
                    _ => lease.instance.suspect(),
                },
                Err(failure) => return Err(failure.of_read()),
            }
        }
    }
}

impl Inner {
    /// Makes a call that can be repeated safely. When it returns, its effect is confirmed.
    pub async fn call(&self, statement: &str, parameters: &[Parameter<'_>]) -> Result<Vec<Row>> {
        self.ledger.call(statement, parameters).await
    }

    /// Stores chunks of a stream by their positions.
    pub async fn put(&self, stream: u64, chunks: &[(u64, Bytes)]) -> Result<()> {
        let positions: Vec<i64> = chunks.iter().map(|(position, _)| signed(*position)).collect();
        let values: Vec<&[u8]> = chunks.iter().map(|(_, bytes)| &bytes[..]).collect();
        let parameters: [Parameter<'_>; 3] =
            [(&signed(stream), Type::INT8), (&positions, Type::INT8_ARRAY), (&values, Type::BYTEA_ARRAY)];
        self.call(PUT, &parameters).await.map(|_| ())
    }

    /// The chunks of a stream that start in a range, in order.
    pub async fn get(&self, stream: u64, start: u64, end: u64) -> Result<Vec<(u64, Vec<u8>)>> {
        let parameters: [Parameter<'_>; 3] =
            [(&signed(stream), Type::INT8), (&signed(start), Type::INT8), (&signed(end), Type::INT8)];
        let rows = self.call(GET, &parameters).await?;
        rows.iter().map(|row| Ok((unsigned(row.get(0))?, row.get(1)))).collect()
    }

    /// Deletes the chunks of a piece, and counts them as freed.
    pub async fn delete(&self, piece: &Piece) -> Result<()> {
        if !piece.is_valid() {
            return Ok(());
        }
        let freed = self.delete_range(piece.stream, piece.offset, piece.footprint()).await?;
        self.count_freed(piece.stream, freed);
        Ok(())
    }

    /// Deletes the chunks that start in a range; returns their bytes, rounded up as a footprint is.
    pub async fn delete_range(&self, stream: u64, start: u64, bytes: u64) -> Result<u64> {
        let end = signed(start.saturating_add(bytes));
        let parameters: [Parameter<'_>; 3] =
            [(&signed(stream), Type::INT8), (&signed(start), Type::INT8), (&end, Type::INT8)];
        let rows = self.call(DELETE, &parameters).await?;
        let lengths = rows.iter().map(length).collect::<Result<Vec<u64>>>()?;
        Ok(lengths.iter().sum::<u64>().next_multiple_of(ALIGN_BYTES))
    }
}

/// The length in the first column. It has 32 bits in PostgreSQL, 64 in CockroachDB.
pub fn length(row: &Row) -> Result<u64> {
    let length = row.try_get::<_, i32>(0).map(i64::from).or_else(|_| row.try_get(0));
    unsigned(length.map_err(|_| Error::Corrupt("the database returned no length".into()))?)
}

/// Numbers in a database are signed.
pub fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number from the database that cannot be negative.
pub fn unsigned(number: i64) -> Result<u64> {
    u64::try_from(number).map_err(|_| Error::Corrupt("a number in the database is negative".into()))
}

/// The engine was closed.
pub fn closed() -> Error {
    Error::Unavailable("the engine is closed".into())
}
