//! Reads of one row each, and of the state that front ends share: several callers share a statement.
//!
//! A statement for several callers returns no large values, so that it needs little memory; their callers read
//! them separately. So do all callers if the statement fails permanently: one damaged row must not fail the
//! reads of others.

use std::sync::Arc;

use bytes::Bytes;
use lazuli_engine::{Result, Version};
use tokio_postgres::types::ToSql;

use crate::instance::{Instance, Meta};
use crate::key::Address;
use crate::outcome::Failure;
use crate::plan::Current;
use crate::pool::{Lease, Pool};
use crate::read::fetch;
use crate::together::{BATCH_MAX, Fetch, Together};

/// Maximum size of a value that a statement for several callers returns.
const SHARED_BYTES_MAX: usize = 16 * 1024;
/// Copies of the rows while they are received: the connection's buffer, which doubles as it grows, and the values.
const SHARED_COPIES: usize = 4;

const _: () = assert!(SHARED_COPIES * BATCH_MAX * SHARED_BYTES_MAX <= crate::room::CONNECTION_BYTES);

/// An attempt to read: the server, and its result.
pub type Attempt = (Arc<Instance>, std::result::Result<Current, Failure>);

/// The outcome of a statement that callers may share, for one of them.
pub enum SharedRead {
    /// The result.
    Done(Result<Attempt>),
    /// The caller must read the row separately.
    NotShared,
}

/// Reads of single rows that share statements.
pub type Points = Together<PointFetch>;

/// Maximum statements in flight for reads of single rows.
pub const LANES_MAX: usize = 2;

/// Fetches single rows from the primary.
pub struct PointFetch(pub Arc<Pool>);

impl Fetch for PointFetch {
    type Key = Address;
    type Found = SharedRead;

    async fn fetch(&self, keys: Vec<Address>) -> Vec<SharedRead> {
        if let [_] = keys[..] {
            return vec![SharedRead::Done(alone(&self.0, &keys).await)];
        }
        let lease = match self.0.take().await {
            Ok(lease) => lease,
            Err(error) => return keys.iter().map(|_| SharedRead::Done(Err(error.clone()))).collect(),
        };
        let instance = lease.instance.clone();
        let mut sorted: Vec<&Address> = keys.iter().collect();
        sorted.sort();
        sorted.dedup();
        let shared = shared(lease, &sorted).await;
        keys.iter().map(|key| for_caller(&instance, &sorted, &shared, key)).collect()
    }
}

/// Reads rows for a single caller.
pub async fn alone(pool: &Arc<Pool>, addresses: &[Address]) -> Result<Attempt> {
    let lease = pool.take().await?;
    let instance = lease.instance.clone();
    Ok((instance, fetch(lease, addresses).await))
}

/// A row that was read for several callers; the value is missing if it is large.
type SharedRow = (Version, Option<Bytes>);

/// Reads rows at distinct addresses, which are in order. The results are in the same order.
async fn shared(lease: Lease, sorted: &[&Address]) -> std::result::Result<Vec<Option<SharedRow>>, Failure> {
    let numbers: Vec<i64> = (0_i64..).take(sorted.len()).collect();
    let tables: Vec<i64> = sorted.iter().map(|address| address.table).collect();
    let partitions: Vec<&[u8]> = sorted.iter().map(|address| &address.partition[..]).collect();
    let rows: Vec<&[u8]> = sorted.iter().map(|address| &address.row[..]).collect();
    let bytes_max = SHARED_BYTES_MAX as i64;
    let parameters: [&(dyn ToSql + Sync); 5] = [&numbers, &tables, &partitions, &rows, &bytes_max];
    let found = lease.wait(lease.client().query(&lease.statements.get_shared, &parameters)).await?;
    lease.give_back();
    let mut read = vec![None; sorted.len()];
    for row in found {
        let (number, version, value): (i64, i64, Option<&[u8]>) = (row.get(0), row.get(1), row.get(2));
        if let Some(slot) = usize::try_from(number).ok().and_then(|number| read.get_mut(number)) {
            *slot = Some((Version(version.unsigned_abs()), value.map(Bytes::copy_from_slice)));
        }
    }
    Ok(read)
}

/// The part of a shared result for one caller.
fn for_caller(
    instance: &Arc<Instance>,
    sorted: &[&Address],
    shared: &std::result::Result<Vec<Option<SharedRow>>, Failure>,
    key: &Address,
) -> SharedRead {
    let result = match shared {
        Err(failure) if failure.is_transient() => Err(failure.clone()),
        Err(_) => return SharedRead::NotShared,
        Ok(rows) => match sorted.binary_search(&key).ok().and_then(|at| rows[at].clone()) {
            None => Ok(Current::new()),
            Some((version, Some(value))) => Ok(Current::from([(key.clone(), (version, value))])),
            Some((_, None)) => return SharedRead::NotShared,
        },
    };
    SharedRead::Done(Ok((instance.clone(), result)))
}

/// The state that front ends share, and the server that reported it.
pub type MetaAttempt = Result<(Arc<Instance>, std::result::Result<Meta, Failure>)>;

/// Queries the primary for the state that front ends share.
pub struct MetaFetch(pub Arc<Pool>);

impl Fetch for MetaFetch {
    type Key = ();
    type Found = MetaAttempt;

    async fn fetch(&self, callers: Vec<()>) -> Vec<MetaAttempt> {
        let attempt = match self.0.instance_soon().await {
            Ok(instance) => {
                let meta = instance.meta(&self.0.url).await;
                Ok((instance, meta))
            }
            Err(error) => Err(error),
        };
        vec![attempt; callers.len()]
    }
}
