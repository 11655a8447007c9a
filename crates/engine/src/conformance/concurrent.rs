//! Concurrent callers: isolation, lost updates, conflicts.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::JoinSet;

use super::EngineFactory;
use super::support::{Add, TABLE, done, everything, get, insert, page, put, scan_of, update, upsert, value};
use crate::Clock;
use crate::types::{Applied, Condition, KeyRange, Reason, Version};

const ROUNDS: usize = 150;

async fn join(mut tasks: JoinSet<()>) {
    while let Some(ended) = tasks.join_next().await {
        if let Err(e) = ended {
            std::panic::resume_unwind(e.into_panic());
        }
    }
}

/// CS-03, TX-11: no reader sees some rows of a commit before it and some after it, neither by `get` nor by a scan.
pub async fn readers_see_whole_commits(factory: &impl EngineFactory) {
    let engine = factory.open(Clock::system()).await;
    let rows: Vec<String> = (0..20).map(|n| n.to_string()).collect();
    done(&*engine, TABLE, "p", rows.iter().map(|row| upsert(row, "start")).collect()).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let mut tasks = JoinSet::new();
    for reader in 0..3 {
        let (engine, rows, is_over) = (Arc::clone(&engine), rows.clone(), Arc::clone(&is_over));
        tasks.spawn(async move {
            let names: Vec<&str> = rows.iter().map(String::as_str).collect();
            let mut last = Version(0);
            while !is_over.load(Ordering::SeqCst) {
                let found = if reader == 0 {
                    page(&*engine, scan_of(TABLE, vec![KeyRange::partition("p")])).await.rows
                } else {
                    let found = engine.get(TABLE, "p", &names).await.expect("the engine reads");
                    found.into_iter().flatten().collect()
                };
                assert_eq!(found.len(), names.len());
                let (version, value) = (found[0].version, &found[0].value);
                assert!(
                    found.iter().all(|row| (row.version, &row.value) == (version, value)),
                    "part of a commit"
                );
                assert!(version >= last, "a later read saw an earlier state");
                last = version;
                tokio::task::yield_now().await;
            }
        });
    }
    for round in 0..ROUNDS {
        done(&*engine, TABLE, "p", rows.iter().map(|row| upsert(row, &round.to_string())).collect()).await;
    }
    is_over.store(true, Ordering::SeqCst);
    join(tasks).await;
}

/// CS-02: a commit that was acknowledged is visible to every later read.
pub async fn an_acknowledged_commit_is_visible_immediately(factory: &impl EngineFactory) {
    let engine = factory.open(Clock::system()).await;
    let mut tasks = JoinSet::new();
    for writer in 0..8 {
        let engine = Arc::clone(&engine);
        tasks.spawn(async move {
            let partition = writer.to_string();
            for round in 0..ROUNDS / 3 {
                let version = done(&*engine, TABLE, &partition, vec![upsert("r", &round.to_string())]).await;
                let row = get(&*engine, TABLE, &partition, "r").await.expect("the row was written");
                assert_eq!((row.version, row.value), (version, round.to_string().into()));
                let rows = page(&*engine, scan_of(TABLE, vec![KeyRange::partition(&partition)])).await.rows;
                assert_eq!(rows[0].version, version);
            }
        });
    }
    join(tasks).await;
}

/// TX-27: many callers increment a few rows: no increment is lost.
pub async fn concurrent_updates_lose_nothing(factory: &impl EngineFactory) {
    let engine = factory.open(Clock::system()).await;
    done(&*engine, TABLE, "p", vec![upsert("a", "0"), upsert("b", "0")]).await;
    let mut tasks = JoinSet::new();
    for _ in 0..16 {
        let engine = Arc::clone(&engine);
        tasks.spawn(async move {
            for round in 0..20 {
                let writes = vec![
                    update("a", Condition::Any, Add(1)),
                    update("b", Condition::Exists, Add(10)),
                    upsert("noise", &round.to_string()),
                ];
                done(&*engine, TABLE, "p", writes).await;
            }
        });
    }
    join(tasks).await;
    assert_eq!(value(&*engine, "p", "a").await.as_deref(), Some("320"));
    assert_eq!(value(&*engine, "p", "b").await.as_deref(), Some("3200"));
}

/// Many callers insert the same row: one succeeds, the others fail because the row exists.
pub async fn concurrent_inserts_have_one_winner(factory: &impl EngineFactory) {
    let engine = factory.open(Clock::system()).await;
    for round in 0..20 {
        let row = round.to_string();
        let mut tasks = JoinSet::new();
        for caller in 0..8 {
            let (engine, row) = (Arc::clone(&engine), row.clone());
            tasks.spawn(async move {
                let value = caller.to_string();
                (value.clone(), engine.apply(TABLE, "p", vec![insert(&row, &value)]).await)
            });
        }
        let mut winners = vec![];
        while let Some(ended) = tasks.join_next().await {
            match ended.expect("the task ends") {
                (caller, Ok(Applied::Done { .. })) => winners.push(caller),
                (_, Ok(Applied::Rejected { index: 0, reason: Reason::Exists })) => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(winners.len(), 1, "{winners:?}");
        assert_eq!(value(&*engine, "p", &row).await.as_ref(), winners.first());
    }
}

/// Many callers read a row and replace it if its version is unchanged, and retry until they succeed: each replacement
/// builds on the last.
pub async fn concurrent_compare_and_swap_lets_one_through(factory: &impl EngineFactory) {
    let engine = factory.open(Clock::system()).await;
    done(&*engine, TABLE, "p", vec![upsert("n", "0")]).await;
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let engine = Arc::clone(&engine);
        tasks.spawn(async move {
            for _ in 0..15 {
                loop {
                    let row = get(&*engine, TABLE, "p", "n").await.expect("the row exists");
                    let number: u64 = String::from_utf8_lossy(&row.value).parse().expect("it holds a number");
                    let write = put("n", Condition::Version(row.version), &(number + 1).to_string());
                    match engine.apply(TABLE, "p", vec![write]).await {
                        Ok(Applied::Done { .. }) => break,
                        Ok(Applied::Rejected { index: 0, reason: Reason::Mismatch }) => {}
                        other => panic!("{other:?}"),
                    }
                }
            }
        });
    }
    join(tasks).await;
    assert_eq!(value(&*engine, "p", "n").await.as_deref(), Some("120"));
}

/// No two commits have the same version, even while the clock is stopped.
pub async fn concurrent_commits_have_different_versions(factory: &impl EngineFactory) {
    let engine = factory.open(Clock::new(|| 5)).await;
    let mut tasks = JoinSet::new();
    for writer in 0..16 {
        let engine = Arc::clone(&engine);
        tasks.spawn(async move {
            let mut versions = vec![];
            for round in 0..20 {
                let partition = (round % 3).to_string();
                versions
                    .push(done(&*engine, TABLE, &partition, vec![upsert(&writer.to_string(), "x")]).await);
            }
            assert!(versions.is_sorted(), "one caller's commits, one after the other");
            versions
        });
    }
    let mut versions = HashSet::new();
    while let Some(ended) = tasks.join_next().await {
        versions.extend(ended.expect("the task ends"));
    }
    assert_eq!(versions.len(), 320);
}

/// A scan over changing rows sees a snapshot: it never shows half of a transfer.
pub async fn scans_see_one_state(factory: &impl EngineFactory) {
    let engine = factory.open(Clock::system()).await;
    let accounts: Vec<String> = (0..100).map(|n| format!("{n:03}")).collect();
    done(&*engine, TABLE, "bank", accounts.iter().map(|row| upsert(row, "100")).collect()).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let mut tasks = JoinSet::new();
    for _ in 0..2 {
        let (engine, is_over) = (Arc::clone(&engine), Arc::clone(&is_over));
        tasks.spawn(async move {
            while !is_over.load(Ordering::SeqCst) {
                let sum: u64 = everything(&*engine, TABLE)
                    .await
                    .iter()
                    .map(|row| String::from_utf8_lossy(&row.value).parse::<u64>().expect("it holds a number"))
                    .sum();
                assert_eq!(sum, 100 * 100);
            }
        });
    }
    let mut balances = vec![100_u64; 100];
    for round in 0..ROUNDS {
        let (from, to) = (round * 37 % 100, (round * 53 + 1) % 100);
        if from == to || balances[from] == 0 {
            continue;
        }
        balances[from] -= 1;
        balances[to] += 1;
        let writes = [from, to].map(|n| put(&accounts[n], Condition::Exists, &balances[n].to_string()));
        done(&*engine, TABLE, "bank", writes.into()).await;
    }
    is_over.store(true, Ordering::SeqCst);
    join(tasks).await;
}
