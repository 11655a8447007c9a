//! Commits: sent in one round trip where possible; otherwise the rows are locked first.
//!
//! Nothing that may have been applied is sent twice. When a connection is lost, the rows are read again: if one
//! of them has the version of the commit, which is unique, the commit was applied. Otherwise the outcome is
//! unknown.

use std::time::Duration;

use lazuli_engine::{Applied, Condition, Error, Result, TableId, Version, Write, limits};

use crate::engine::Core;
use crate::evaluate::{self, Commit, Evaluated, Stop, evaluate};
use crate::key::{self, Address};
use crate::outcome::Failure;
use crate::plan::{self, BoundStatement, Heads, Step, number};
use crate::pool::{Lease, pause};
use crate::room::Claim;
use crate::session::{Pending, Session, first_error, pipelined, run, text};
use crate::sql::{BEGIN, BEGIN_SNAPSHOT, COMMIT, ROLLBACK};

/// Maximum attempts of a commit that conflicts with others.
const ATTEMPTS_MAX: u32 = 64;
/// Base of the back-off: before locked attempt n, counted from 0, the pause is at most this times 2^n.
const PAUSE_FIRST: Duration = Duration::from_millis(1);
/// Maximum pause before any attempt.
const PAUSE_MAX: Duration = Duration::from_millis(20);

/// The result of one attempt.
enum Attempt {
    Over(Applied),
    /// Nothing was applied; the next attempt needs a version above this one.
    Again(u64),
    /// Nothing was applied; the next attempt needs memory for rows of this size.
    Needs(usize),
}

impl Core {
    /// See [`lazuli_engine::Engine::apply`].
    pub async fn apply(&self, table: TableId, partition: &str, writes: Vec<Write>) -> Result<Applied> {
        let is_system = table == TableId::SYSTEM;
        let input = limits::input_bytes(partition, &writes)?;
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
        let commit = Commit::new(&writes, addresses, input, is_system);
        let mut claim = self.room.take(input, 0).await?;
        // Conflicts are found below, with the rows locked.
        if let Some(steps) = plan::direct(&writes, &commit.addresses)
            && let Some(version) = self.send(&steps, floor, is_system).await?
        {
            return Ok(Applied::Done { version, updated: vec![None; writes.len()] });
        }
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                pause(backoff(attempt)).await;
            }
            match self.decide_locked(&commit, floor, &claim).await? {
                Attempt::Over(applied) => return Ok(applied),
                Attempt::Again(seen) => floor = floor.max(seen),
                Attempt::Needs(rows) => {
                    // A commit that waits for room must not hold any.
                    drop(claim);
                    claim = self.room.take(input, rows).await?;
                }
            }
        }
        Err(Error::Conflict)
    }

    /// Sends a planned commit. Returns its version, or `None` if nothing was applied.
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
        let written: Vec<&Address> = written(steps).collect();
        match self.settle(lease, sent, version, &written).await? {
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
        written: &[&Address],
    ) -> Result<bool> {
        match sent {
            Ok(()) if !lease.is_doubtful() => {
                lease.give_back();
                Ok(true)
            }
            Ok(()) => self.find_out(version, written, "the standby did not confirm".into()).await,
            Err(Failure::Lost(why)) => {
                drop(lease);
                self.find_out(version, written, why).await
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

    /// The connection was lost: looks for the effects of the commit.
    async fn find_out(&self, version: Version, written: &[&Address], why: String) -> Result<bool> {
        if !written.is_empty() {
            match self.has_version(written, version).await {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(error) => tracing::warn!(%error, "failed to look up an unknown outcome"),
            }
        }
        Err(Error::Unknown(why))
    }

    /// Reads and locks the rows, evaluates the writes, and sends them.
    async fn decide_locked(&self, commit: &Commit<'_>, floor: u64, claim: &Claim) -> Result<Attempt> {
        let lease = self.pool.take().await?;
        let heads = match read_locked(&lease, commit).await {
            Ok(heads) => heads,
            Err(failure) => return give_up(lease, failure, floor).await,
        };
        // Updates see the version, so it is fixed before they are evaluated. A commit that is rejected leaves it unused.
        let seen = heads.values().map(|head| head.version.0).max().unwrap_or(0).max(floor);
        let version = self.versions.next(seen)?;
        let evaluated = evaluate(&lease, commit, heads, version, claim.rows_bytes, true).await;
        let Evaluated { steps, written: sent_before, updated } = match evaluated {
            Ok(evaluated) => evaluated,
            Err(Stop::Failed(failure)) => return give_up(lease, failure, seen).await,
            Err(Stop::Needs(rows)) => {
                roll_back(lease).await;
                return Ok(Attempt::Needs(rows));
            }
            Err(Stop::Rejected(index, reason)) => {
                let instance = lease.instance.clone();
                roll_back(lease).await;
                if commit.writes.len() > 1 {
                    return self.reject_several(commit, floor, version, claim).await;
                }
                // A rejection reports the current state, so it is a read.
                self.prove(&instance, false).await.map_err(Failure::of_read)?;
                return Ok(Attempt::Over(Applied::Rejected { index, reason }));
            }
        };
        let calls = plan::several(&lease.statements, number(version), &steps);
        let sent = finish(&lease, &calls).await;
        let conflicts = matches!(sent, Err(Failure::Guard | Failure::Conflict));
        let written: Vec<&Address> = sent_before.iter().chain(written(&steps)).collect();
        match self.settle(lease, sent, version, &written).await? {
            true => Ok(Attempt::Over(Applied::Done { version, updated })),
            false if conflicts => Ok(Attempt::Again(seen)),
            false => Ok(Attempt::Again(floor)),
        }
    }

    /// Evaluates a rejection on rows from one snapshot. Rows that were read with a lock have the state at the time of
    /// each lock, and a missing row cannot be locked, so a rejection based on them could report a state that never
    /// existed.
    async fn reject_several(
        &self,
        commit: &Commit<'_>,
        floor: u64,
        version: Version,
        claim: &Claim,
    ) -> Result<Attempt> {
        let lease = self.pool.take().await?;
        let evaluated = async {
            let begun = async { lease.wait(lease.client().batch_execute(BEGIN_SNAPSHOT)).await };
            let (begun, heads) = tokio::join!(biased; begun, evaluate::heads(&lease, commit, false));
            begun?;
            evaluate(&lease, commit, heads?, version, claim.rows_bytes, false).await
        };
        let attempt = match evaluated.await {
            Err(Stop::Failed(failure)) => return give_up(lease, failure, floor).await,
            Err(Stop::Needs(rows)) => Attempt::Needs(rows),
            Err(Stop::Rejected(index, reason)) => Attempt::Over(Applied::Rejected { index, reason }),
            Ok(_) => Attempt::Again(floor),
        };
        let instance = lease.instance.clone();
        roll_back(lease).await;
        if matches!(attempt, Attempt::Over(_)) {
            self.prove(&instance, false).await.map_err(Failure::of_read)?;
        }
        Ok(attempt)
    }
}

/// Ends a transaction that failed, so nothing of it was committed.
async fn give_up(lease: Lease, failure: Failure, seen: u64) -> Result<Attempt> {
    match failure {
        Failure::Denied(error) => {
            roll_back(lease).await;
            Err(error)
        }
        // Nothing was sent that could have an effect.
        Failure::Lost(_) | Failure::Deposed(_) => {
            lease.instance.suspect();
            Ok(Attempt::Again(seen))
        }
        Failure::Guard | Failure::Conflict => {
            roll_back(lease).await;
            Ok(Attempt::Again(seen))
        }
    }
}

async fn roll_back(lease: Lease) {
    lease.send_only(ROLLBACK).await;
    lease.give_back();
}

/// The rows that have the commit's version afterwards.
fn written(steps: &[Step]) -> impl Iterator<Item = &Address> {
    steps.iter().filter(|step| step.writes()).map(|step| &step.address)
}

/// The version that a condition names, if a commit can have a greater one.
fn named_version(write: &Write) -> u64 {
    match write.condition {
        Condition::Version(version) if version.0 < i64::MAX as u64 - 1 => version.0,
        _ => 0,
    }
}

/// A random pause, longer with each attempt.
fn backoff(attempt: u32) -> Duration {
    let longest = PAUSE_FIRST.saturating_mul(1 << attempt.min(10)).min(PAUSE_MAX);
    let chance = getrandom::u32().unwrap_or(u32::MAX / 2);
    longest.mul_f64(f64::from(chance) / f64::from(u32::MAX))
}

/// A commit of one statement needs no transaction around it.
async fn run_alone(session: &Session, call: &BoundStatement<'_>) -> std::result::Result<(), Failure> {
    let changed = session.wait(session.client().execute(&call.statement, &call.parameters())).await?;
    if call.rows.is_some_and(|rows| rows != changed) { Err(Failure::Guard) } else { Ok(()) }
}

/// BEGIN, statements and COMMIT in one round trip.
async fn run_together(
    session: &Session,
    locks: &[BoundStatement<'_>],
    calls: &[BoundStatement<'_>],
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
        return Err(Failure::Lost("the server did not begin the transaction but continued".into()));
    }
    first_error(results)
}

/// The statements and COMMIT of a transaction that has begun.
async fn finish(session: &Session, calls: &[BoundStatement<'_>]) -> std::result::Result<(), Failure> {
    let mut pending: Vec<Pending<'_>> = calls.iter().map(|call| run(session, call)).collect();
    pending.push(text(session, COMMIT));
    first_error(session.wait(async { Ok(pipelined(pending).await) }).await?)
}

/// Locks the existing rows in the order of their keys, before the statements lock them by kind. This prevents
/// deadlocks between commits.
fn locks<'a>(session: &Session, steps: &'a [Step]) -> Vec<BoundStatement<'a>> {
    let groups = steps.chunk_by(|a, b| a.address.table == b.address.table);
    groups
        .map(|group| BoundStatement {
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

/// Begins a transaction and locks the rows of a commit.
async fn read_locked(session: &Session, commit: &Commit<'_>) -> std::result::Result<Heads, Failure> {
    let mut head: Vec<Pending<'_>> = vec![text(session, BEGIN)];
    if commit.is_system {
        head.push(Box::pin(session.client().execute(&session.statements.count_change, &[])));
    }
    let head = async { session.wait(async { Ok(first_error(pipelined(head).await)) }).await? };
    // Polled in this order, so that BEGIN is sent first, together with the first read.
    let (head, heads) = tokio::join!(biased; head, evaluate::heads(session, commit, true));
    head.and(heads)
}
