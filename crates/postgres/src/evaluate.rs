//! Evaluates the writes of a commit inside a transaction: reads the values that updates need, computes, and sends the
//! changes.
//!
//! Invariant: except for the values that are returned to the caller, a commit of any size holds only one chunk
//! of its rows at a time.

use std::ops::Range;

use bytes::Bytes;
use lazuli_engine::limits::{COMMIT_INPUT_BYTES_MAX, ResultBytes};
use lazuli_engine::{Change, Error, Reason, Version, Write};
use tokio_postgres::types::ToSql;

use crate::key::Address;
use crate::outcome::Failure;
use crate::plan::{self, Head, Heads, Step};
use crate::room::{CHUNK_BYTES, FREE_BYTES};
use crate::session::{Pending, Session, first_error, pipelined, run};

/// A commit with the addresses of its rows.
pub struct Commit<'a> {
    /// Its writes.
    pub writes: &'a [Write],
    /// The address of each write's row.
    pub addresses: Vec<Address>,
    /// Bytes of its input.
    pub input: usize,
    /// Does it change the system table?
    pub is_system: bool,
    /// Does it contain a row more than once?
    has_repeats: bool,
}

/// The changes of a commit that have not been sent yet.
pub struct Evaluated {
    /// Steps to send.
    pub steps: Vec<Step>,
    /// Rows that have the commit's version afterwards.
    pub written: Vec<Address>,
    /// Values that updates have put, by the position of their writes.
    pub updated: Vec<Option<Bytes>>,
}

/// The reason why an evaluation ended early.
pub enum Stop {
    /// A condition is not met.
    Rejected(usize, Reason),
    /// The commit needs memory for rows of this size.
    Needs(usize),
    /// The database failed, or the commit is too large.
    Failed(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Stop::Failed(failure)
    }
}

impl<'a> Commit<'a> {
    /// A commit of one partition.
    pub fn new(writes: &'a [Write], addresses: Vec<Address>, input: usize, is_system: bool) -> Self {
        let mut sorted: Vec<&Address> = addresses.iter().collect();
        sorted.sort();
        let has_repeats = sorted.windows(2).any(|pair| pair[0] == pair[1]);
        Self { writes, addresses, input, is_system, has_repeats }
    }

    /// The rows whose values are needed.
    fn updated(&self) -> impl Iterator<Item = &Address> {
        let pairs = self.writes.iter().zip(&self.addresses);
        pairs.filter(|(write, _)| matches!(write.change, Change::Update(_))).map(|(_, address)| address)
    }

    /// Chunks that are evaluated one after the other, by the sizes of the rows that updates read. A commit that
    /// contains a row twice has only one chunk, because the second write depends on the first.
    fn parts(&self, heads: &Heads) -> Vec<Range<usize>> {
        let mut parts = vec![];
        let (mut start, mut bytes) = (0, 0);
        for (index, (write, address)) in self.writes.iter().zip(&self.addresses).enumerate() {
            let size = match write.change {
                Change::Update(_) => heads.get(address).map_or(0, |head| head.bytes),
                Change::Put(_) | Change::Delete => 0,
            };
            if bytes > 0 && bytes + size > CHUNK_BYTES && !self.has_repeats {
                parts.push(start..index);
                (start, bytes) = (index, 0);
            }
            bytes += size;
        }
        parts.push(start..self.writes.len());
        parts
    }
}

/// Reads the versions and sizes of a commit's rows, and the small values that updates need. With `locks`, no other
/// commit changes the rows before the transaction ends.
pub async fn heads(session: &Session, commit: &Commit<'_>, locks: bool) -> Result<Heads, Failure> {
    let mut sorted: Vec<&Address> = commit.addresses.iter().collect();
    sorted.sort();
    sorted.dedup();
    let wanted: Vec<&[u8]> = commit.updated().map(|address| &address.row[..]).collect();
    let inline = i64::try_from(FREE_BYTES / wanted.len().max(1)).unwrap_or(0);
    let statement = if locks { &session.statements.heads_locked } else { &session.statements.heads };
    let mut heads = Heads::new();
    for group in sorted.chunk_by(|a, b| a.table == b.table) {
        let keys: Vec<&[u8]> = group.iter().map(|address| &address.row[..]).collect();
        let (table, partition) = (group[0].table, &group[0].partition);
        let parameters: [&(dyn ToSql + Sync); 5] = [&table, partition, &keys, &inline, &wanted];
        for row in session.wait(session.client().query(statement, &parameters)).await? {
            let (key, version, bytes): (&[u8], i64, i64) = (row.get(0), row.get(1), row.get(2));
            let value = row.get::<_, Option<&[u8]>>(3).map(Bytes::copy_from_slice);
            if let Ok(at) = group.binary_search_by(|address| address.row[..].cmp(key)) {
                let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
                let head = Head { version: Version(version.unsigned_abs()), bytes, value };
                heads.insert(group[at].clone(), head);
            }
        }
    }
    Ok(heads)
}

/// Evaluates all writes. With `sends`, sends the statements of every chunk except the last one.
pub async fn evaluate(
    session: &Session,
    commit: &Commit<'_>,
    mut heads: Heads,
    version: Version,
    rows_bytes: usize,
    sends: bool,
) -> Result<Evaluated, Stop> {
    let read: usize = commit.updated().filter_map(|address| heads.get(address)).map(|head| head.bytes).sum();
    if read > rows_bytes {
        // Rows usually grow a little with an update.
        return Err(Stop::Needs(read + read / 8 + commit.input));
    }
    let mut done =
        Evaluated { steps: vec![], written: vec![], updated: Vec::with_capacity(commit.writes.len()) };
    let (mut total, mut pending) = (ResultBytes::default(), 0);
    for part in commit.parts(&heads) {
        if pending > CHUNK_BYTES && !commit.has_repeats {
            done.flush(session, version, sends).await?;
            pending = 0;
        }
        let (writes, addresses) = (&commit.writes[part.clone()], &commit.addresses[part.clone()]);
        let read = fetch_values(session, &mut heads, writes, addresses).await?;
        let (steps, updated) = plan::decided(writes, addresses, &heads, version)
            .map_err(|(index, reason)| Stop::Rejected(part.start + index, reason))?;
        for address in read {
            heads.entry(address).and_modify(|head| head.value = None);
        }
        for step in &steps {
            total.add(step.address.row.len(), step.value_bytes()).map_err(Failure::Denied)?;
            pending += step.value_bytes();
        }
        let computed: usize = updated.iter().flatten().map(Bytes::len).sum();
        done.updated.extend(updated);
        done.steps.extend(steps);
        if computed > 0 && total.total() > rows_bytes.max(FREE_BYTES) + commit.input {
            return Err(Stop::Needs(2 * total.total()));
        }
        if commit.has_repeats && total.total() > COMMIT_INPUT_BYTES_MAX {
            let why =
                format!("a commit of more than {COMMIT_INPUT_BYTES_MAX} bytes that contains a row twice");
            return Err(Failure::Denied(Error::TooLarge(why)).into());
        }
    }
    Ok(done)
}

impl Evaluated {
    /// Sends the pending changes.
    async fn flush(&mut self, session: &Session, version: Version, sends: bool) -> Result<(), Failure> {
        let steps = std::mem::take(&mut self.steps);
        if sends {
            let calls = plan::several(&session.statements, plan::number(version), &steps);
            let pending: Vec<Pending<'_>> = calls.iter().map(|call| run(session, call)).collect();
            first_error(session.wait(async { Ok(pipelined(pending).await) }).await?)?;
        }
        self.written.extend(steps.into_iter().filter(Step::writes).map(|step| step.address));
        Ok(())
    }
}

/// Reads the values that updates need and that were not read yet; returns the addresses of their rows.
async fn fetch_values(
    session: &Session,
    heads: &mut Heads,
    writes: &[Write],
    addresses: &[Address],
) -> Result<Vec<Address>, Failure> {
    let mut missing: Vec<&Address> = vec![];
    for (write, address) in writes.iter().zip(addresses) {
        let is_missing = heads.get(address).is_some_and(|head| head.value.is_none());
        if is_missing && matches!(write.change, Change::Update(_)) {
            missing.push(address);
        }
    }
    missing.sort();
    missing.dedup();
    for group in missing.chunk_by(|a, b| a.table == b.table) {
        let keys: Vec<&[u8]> = group.iter().map(|address| &address.row[..]).collect();
        let (table, partition) = (group[0].table, &group[0].partition);
        let parameters: [&(dyn ToSql + Sync); 3] = [&table, partition, &keys];
        let call = session.client().query(&session.statements.get_some, &parameters);
        for row in session.wait(call).await? {
            let (key, value): (&[u8], &[u8]) = (row.get(0), row.get(2));
            if let Ok(at) = group.binary_search_by(|address| address.row[..].cmp(key)) {
                let value = Bytes::copy_from_slice(value);
                heads.entry(group[at].clone()).and_modify(|head| head.value = Some(value));
            }
        }
    }
    Ok(missing.into_iter().cloned().collect())
}
