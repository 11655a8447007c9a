//! Commits: sent in one round trip where that is possible, decided on locked rows where it is not.
//!
//! Nothing is sent twice that may have been applied: when a connection is lost, the rows are read again, and the
//! commit's version, which no other commit has, tells. If it is not there the outcome stays unknown.

use std::time::Duration;

use lazuli_engine::{Applied, Condition, Error, Result, TableId, Version, Write};
use tokio_postgres::Error as PgError;
use tokio_postgres::types::ToSql;

use crate::engine::Core;
use crate::key::{self, Address};
use crate::outcome::{Failure, failure};
use crate::plan::{self, Call, Current, Step};
use crate::pool::{Lease, pause};
use crate::session::{Pending, Session, pipelined};
use crate::sql::{BEGIN, COMMIT, ROLLBACK};

/// How often a commit that others were in the way of is tried.
const ATTEMPTS_MAX: u32 = 64;
/// The pause before the second attempt is at most this; it doubles with each.
const PAUSE_FIRST: Duration = Duration::from_millis(1);
/// It grows no further than this.
const PAUSE_MAX: Duration = Duration::from_millis(20);

/// What became of one attempt.
enum Attempt {
    Over(Applied),
    /// Nothing was applied; the version must be above this one next time.
    Again(u64),
}

impl Core {
    /// See [`lazuli_engine::Engine::apply`].
    pub async fn apply(&self, table: TableId, partition: &str, writes: Vec<Write>) -> Result<Applied> {
        let is_system = table == TableId::SYSTEM;
        let (table, partition) = (key::table_number(table)?, key::encode(partition));
        let addresses: Vec<Address> =
            writes.iter().map(|write| key::address(table, &partition, &key::encode(&write.row))).collect();
        let mut floor = writes.iter().map(named_version).max().unwrap_or(0);
        if writes.is_empty() {
            return Ok(Applied::Done { version: self.versions.next(0)?, updated: Vec::new() });
        }
        if addresses.iter().any(|address| address.long.is_some()) {
            self.announce_long().await?;
        }
        // What may be in the way is seen below, with the rows locked.
        if let Some(steps) = plan::direct(&writes, &addresses)
            && let Some(version) = self.send(&steps, floor, is_system).await?
        {
            return Ok(Applied::Done { version, updated: vec![None; writes.len()] });
        }
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                pause(backoff(attempt)).await;
            }
            match self.decide_locked(&writes, &addresses, floor, is_system).await? {
                Attempt::Over(applied) => return Ok(applied),
                Attempt::Again(seen) => floor = floor.max(seen),
            }
        }
        Err(Error::Conflict)
    }

    /// Sends a planned commit; its version, or `None` if nothing was applied.
    async fn send(&self, steps: &[Step], floor: u64, is_system: bool) -> Result<Option<Version>> {
        let lease = self.pool.take().await?;
        let version = self.versions.next(floor)?;
        let number = number(version);
        let sent = if let ([step], false) = (steps, is_system) {
            run_alone(&lease, &plan::single(&lease.statements, number, step)).await
        } else {
            let calls = plan::several(&lease.statements, number, steps);
            if let ([call], false) = (&calls[..], is_system) {
                run_alone(&lease, call).await
            } else {
                let locks = locks(&lease, steps);
                run_together(&lease, &locks, &calls, is_system).await
            }
        };
        match self.settle(lease, sent, version, steps).await? {
            true => Ok(Some(version)),
            false => Ok(None),
        }
    }

    /// Was it applied?
    async fn settle(
        &self,
        lease: Lease,
        sent: std::result::Result<(), Failure>,
        version: Version,
        steps: &[Step],
    ) -> Result<bool> {
        match sent {
            Ok(()) if !lease.is_doubtful() => {
                lease.give_back();
                Ok(true)
            }
            Ok(()) => self.find_out(version, steps, "the standby did not confirm".into()).await,
            Err(Failure::Lost(why)) => {
                drop(lease);
                self.find_out(version, steps, why).await
            }
            Err(Failure::Guard | Failure::Conflict) => {
                lease.give_back();
                Ok(false)
            }
            Err(Failure::Deposed(_)) => {
                lease.instance.suspect();
                Ok(false)
            }
            Err(Failure::Denied(error)) => Err(error),
        }
    }

    /// The connection was lost: looks for what the commit would have left.
    async fn find_out(&self, version: Version, steps: &[Step], why: String) -> Result<bool> {
        let written: Vec<Address> =
            steps.iter().filter(|step| step.writes()).map(|step| step.address.clone()).collect();
        if !written.is_empty() {
            match self.rows(&written, true).await {
                Ok(rows) if rows.values().any(|(found, _)| *found == version) => return Ok(true),
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "an unknown outcome could not be looked up"),
            }
        }
        Err(Error::Unknown(why))
    }

    /// Reads and locks the rows, decides, and writes.
    async fn decide_locked(
        &self,
        writes: &[Write],
        addresses: &[Address],
        floor: u64,
        is_system: bool,
    ) -> Result<Attempt> {
        let lease = self.pool.take().await?;
        let current = match read_locked(&lease, addresses, is_system).await {
            Ok(current) => current,
            Err(Failure::Denied(error)) => return Err(error),
            // Nothing was sent that could have an effect.
            Err(Failure::Lost(_) | Failure::Deposed(_)) => {
                lease.instance.suspect();
                return Ok(Attempt::Again(floor));
            }
            Err(Failure::Guard | Failure::Conflict) => {
                lease.send_only(ROLLBACK).await;
                lease.give_back();
                return Ok(Attempt::Again(floor));
            }
        };
        let (steps, updated) = match plan::decided(writes, addresses, &current) {
            Ok(decided) => decided,
            Err((index, reason)) => {
                lease.send_only(ROLLBACK).await;
                let instance = lease.instance.clone();
                lease.give_back();
                if writes.len() > 1 {
                    return self.refuse_several(writes, addresses, floor).await;
                }
                // A refusal tells what is there, so it is a read.
                self.prove(&instance, false).await.map_err(Failure::of_read)?;
                return Ok(Attempt::Over(Applied::Refused { index, reason }));
            }
        };
        let seen = current.values().map(|(version, _)| version.0).max().unwrap_or(0).max(floor);
        let version = self.versions.next(seen)?;
        let calls = plan::several(&lease.statements, number(version), &steps);
        let sent = finish(&lease, &calls).await;
        let conflicts = matches!(sent, Err(Failure::Guard | Failure::Conflict));
        match self.settle(lease, sent, version, &steps).await? {
            true => Ok(Attempt::Over(Applied::Done { version, updated })),
            false if conflicts => Ok(Attempt::Again(seen)),
            false => Ok(Attempt::Again(floor)),
        }
    }

    /// Decides a refusal on rows of one moment. Those that were read to be locked are of the moment of each lock, and one that
    /// was not there could not be locked: a refusal by both could name a state that never was.
    async fn refuse_several(&self, writes: &[Write], addresses: &[Address], floor: u64) -> Result<Attempt> {
        let current = self.rows(addresses, false).await?;
        Ok(match plan::decided(writes, addresses, &current) {
            Err((index, reason)) => Attempt::Over(Applied::Refused { index, reason }),
            Ok(_) => Attempt::Again(floor),
        })
    }
}

/// The version that a condition names, if a commit can be above it.
fn named_version(write: &Write) -> u64 {
    match write.condition {
        Condition::Version(version) if version.0 < i64::MAX as u64 - 1 => version.0,
        _ => 0,
    }
}

fn number(version: Version) -> i64 {
    i64::try_from(version.0).unwrap_or(i64::MAX)
}

/// A random time, longer with each attempt.
fn backoff(attempt: u32) -> Duration {
    let longest = PAUSE_FIRST.saturating_mul(1 << attempt.min(10)).min(PAUSE_MAX);
    let chance = getrandom::u32().unwrap_or(u32::MAX / 2);
    longest.mul_f64(f64::from(chance) / f64::from(u32::MAX))
}

/// A commit of one statement needs no transaction around it.
async fn run_alone(session: &Session, call: &Call<'_>) -> std::result::Result<(), Failure> {
    let changed = session.wait(session.client().execute(&call.statement, &call.parameters())).await?;
    if call.rows.is_some_and(|rows| rows != changed) { Err(Failure::Guard) } else { Ok(()) }
}

/// BEGIN, statements and COMMIT in one round trip.
async fn run_together(
    session: &Session,
    locks: &[Call<'_>],
    calls: &[Call<'_>],
    is_system: bool,
) -> std::result::Result<(), Failure> {
    let client = session.client();
    let mut pending: Vec<Pending<'_>> = vec![text(session, BEGIN)];
    if is_system {
        pending.push(Box::pin(client.execute(&session.statements.count_change, &[])));
    }
    pending.extend(locks.iter().chain(calls).map(|call| run(session, call)));
    pending.push(text(session, COMMIT));
    let results = session.wait(async { Ok(pipelined(pending).await) }).await?;
    if results.first().is_some_and(std::result::Result::is_err)
        && results.iter().skip(1).any(std::result::Result::is_ok)
    {
        return Err(Failure::Lost("the server did not begin a transaction but went on".into()));
    }
    first_error(results)
}

/// The statements and COMMIT of a transaction that has begun.
async fn finish(session: &Session, calls: &[Call<'_>]) -> std::result::Result<(), Failure> {
    let mut pending: Vec<Pending<'_>> = calls.iter().map(|call| run(session, call)).collect();
    pending.push(text(session, COMMIT));
    first_error(session.wait(async { Ok(pipelined(pending).await) }).await?)
}

/// The first error says why a transaction failed: those after it are its echo.
fn first_error(results: Vec<std::result::Result<u64, PgError>>) -> std::result::Result<(), Failure> {
    results.into_iter().find_map(std::result::Result::err).map_or(Ok(()), |error| Err(failure(&error)))
}

fn text<'a>(session: &'a Session, statement: &'static str) -> Pending<'a> {
    Box::pin(async move { session.client().batch_execute(statement).await.map(|()| 0) })
}

fn run<'a>(session: &'a Session, call: &'a Call<'a>) -> Pending<'a> {
    Box::pin(async move { session.client().execute(&call.statement, &call.parameters()).await })
}

/// Takes the rows that exist in the order of their keys, before statements take them by kind: so no two commits wait for
/// each other.
fn locks<'a>(session: &Session, steps: &'a [Step]) -> Vec<Call<'a>> {
    let groups = steps.chunk_by(|a, b| a.address.table == b.address.table);
    groups
        .map(|group| Call {
            statement: session.statements.lock.clone(),
            parameters: vec![
                Box::new(group[0].address.table),
                Box::new(&group[0].address.partition),
                Box::new(group.iter().map(|step| &step.address.row[..]).collect::<Vec<_>>()),
            ],
            rows: None,
        })
        .collect()
}

async fn read_locked(
    session: &Session,
    addresses: &[Address],
    is_system: bool,
) -> std::result::Result<Current, Failure> {
    let mut sorted: Vec<&Address> = addresses.iter().collect();
    sorted.sort();
    sorted.dedup();
    let client = session.client();
    let mut head: Vec<Pending<'_>> = vec![text(session, BEGIN)];
    if is_system {
        head.push(Box::pin(client.execute(&session.statements.count_change, &[])));
    }
    let mut current = Current::new();
    let head = async { first_error(pipelined(head).await) };
    let rows = async {
        for group in sorted.chunk_by(|a, b| a.table == b.table) {
            let keys: Vec<&[u8]> = group.iter().map(|address| &address.row[..]).collect();
            let (table, partition) = (group[0].table, &group[0].partition);
            let parameters: [&(dyn ToSql + Sync); 3] = [&table, partition, &keys];
            let call = client.query(&session.statements.get_locked, &parameters);
            for row in session.wait(call).await? {
                let (key, version, value): (&[u8], i64, &[u8]) = (row.get(0), row.get(1), row.get(2));
                if let Some(address) = group.iter().find(|address| address.row == key) {
                    let version = Version(version.unsigned_abs());
                    current.insert((*address).clone(), (version, bytes::Bytes::copy_from_slice(value)));
                }
            }
        }
        Ok(())
    };
    // Polled in this order, so that BEGIN goes out first and the first read with it.
    let (head, rows) = tokio::join!(biased; async { session.wait(async { Ok(head.await) }).await? }, rows);
    head.and(rows)?;
    Ok(current)
}
