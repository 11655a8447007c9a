//! QU-08: several queues and several workers share the load. An employee's messages all go to one queue; any worker
//! reads any queue, and one of them crashes during the run, after each of its steps in turn.

use lazuli_client::{Dynamic, Error, Result, keys};
use tokio::task::JoinSet;

use super::archive::{HIDDEN, Office, STEPS};
use super::services::Storage;
use super::steps::{Steps, Work, complete, survive};

const QUEUES: usize = 3;
const WORKERS: usize = 4;
const EMPLOYEES: u64 = 24;

pub async fn run(storage: &Storage) -> Result<()> {
    for crash_after in 2..=STEPS {
        survives_a_crash(storage, crash_after).await?;
    }
    Ok(())
}

async fn survives_a_crash(storage: &Storage, crash_after: u32) -> Result<()> {
    let first = Office::open(storage, "work-0").await?;
    let mut offices = vec![first.clone()];
    for n in 1..QUEUES {
        offices.push(Office { queue: storage.fresh_queue(&format!("work-{n}")).await?, ..first.clone() });
    }
    for n in 0..EMPLOYEES {
        let id = keys::padded(n, 6)?;
        first.current.insert(&Dynamic::new("Sales", id.as_str())).await?;
        let queue = usize::try_from(n).unwrap_or(0) % QUEUES;
        offices[queue].queue.put(&format!("Sales {id}")).await?;
    }
    // One more worker crashes in the middle of its first message.
    assert!(survive(work(0, offices.clone(), Steps::crash_after(crash_after)).await)?.is_none());
    let mut crew = JoinSet::new();
    for worker in 0..WORKERS {
        crew.spawn(work(worker, offices.clone(), Steps::all()));
    }
    let mut done = 0;
    while let Some(ended) = crew.join_next().await {
        done += complete(ended.map_err(|error| Error::input(error.to_string()))?)?;
    }
    assert_eq!(done, EMPLOYEES - 1);
    // The message of the worker that crashed reappears.
    storage.wait(HIDDEN).await;
    for office in &offices {
        while complete(office.work(Steps::all()).await)? {}
        assert_eq!(office.queue.depth().await?, 0);
    }
    assert_eq!(first.current.query::<Dynamic>().count().await?, 0);
    assert_eq!(first.archive.query::<Dynamic>().count().await?, EMPLOYEES);
    for office in &offices[1..] {
        office.queue.drop().await?;
    }
    first.close().await
}

/// Handles messages of all queues until they are empty, beginning with its own. Returns their number.
async fn work(worker: usize, offices: Vec<Office>, steps: Steps) -> Work<u64> {
    let mut done = 0;
    for n in 0..QUEUES {
        while offices[(worker + n) % QUEUES].work(steps).await? {
            done += 1;
        }
    }
    Ok(done)
}
