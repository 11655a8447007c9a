//! PT-04, PT-05, QU-09: archive employee 456, although no transaction spans two tables. A queue holds the work until it
//! is done, and every step can be repeated. There is no isolation: a reader between steps 4 and 5 sees the employee in
//! both tables.

use std::time::Duration;

use lazuli_client::{Dynamic, Error, Result, Table};

use super::queue::Queue;
use super::services::Storage;
use super::shared::fresh;
use super::steps::{Steps, Work, complete, survive};

/// How long a worker may take for a message before another one receives it.
pub const HIDDEN: Duration = Duration::from_secs(30);
/// Number of steps. The client puts the message in the first step; a worker does the others.
pub const STEPS: u32 = 6;

/// Current employees, archived ones, and the messages that say who is to be archived.
#[derive(Clone)]
pub struct Office {
    pub current: Table,
    pub archive: Table,
    pub queue: Queue,
}

pub async fn run(storage: &Storage) -> Result<()> {
    for crash_after in 1..=STEPS {
        survives_a_crash(storage, crash_after).await?;
    }
    a_slow_worker(storage).await
}

async fn survives_a_crash(storage: &Storage, crash_after: u32) -> Result<()> {
    let office = Office::open(storage, "archive").await?;
    office.current.insert(&Dynamic::new("Sales", "456").with("LastName", "Jones")?).await?;
    office.queue.put("Sales 456").await?; // Step 1.
    if crash_after > 1 {
        assert!(survive(office.work(Steps::crash_after(crash_after)).await)?.is_none());
    }
    let held = office.holders("Sales", "456").await?;
    let expected = match crash_after {
        1..=3 => (true, false),
        // PT-05: no isolation, so a reader sees both copies.
        4 => (true, true),
        _ => (false, true),
    };
    assert_eq!(held, expected, "in Current, in Archive after step {crash_after}");

    // The message is hidden while the worker that has it could still be at work …
    if (2..STEPS).contains(&crash_after) {
        assert!(office.queue.get(HIDDEN).await?.is_none());
        storage.wait(HIDDEN).await;
    }
    // … and the next worker completes the work of the first one.
    let is_left = crash_after < STEPS;
    assert_eq!(complete(office.work(Steps::all()).await)?, is_left);
    assert_eq!(office.holders("Sales", "456").await?, (false, true));
    assert_eq!(office.queue.depth().await?, 0);
    println!("archive: consistent if the worker crashes after step {crash_after}");
    office.close().await
}

/// QU-09: a message is delivered at least once. A worker that is only slow works beside the one that replaces it.
async fn a_slow_worker(storage: &Storage) -> Result<()> {
    let office = Office::open(storage, "archive").await?;
    let employee = Dynamic::new("Sales", "456").with("LastName", "Jones")?;
    office.current.insert(&employee).await?;
    office.queue.put("Sales 456").await?;
    let slow = office.queue.get(HIDDEN).await?.ok_or_else(|| Error::input("no message"))?;
    storage.wait(HIDDEN).await;
    let second = office.queue.get(HIDDEN).await?.ok_or_else(|| Error::input("no message"))?;
    assert_eq!((&second.id, slow.dequeues, second.dequeues), (&slow.id, 1, 2), "the same message, twice");
    assert!(!office.queue.delete(&slow).await?, "the first worker has it no longer");
    // Both do all steps, in any order; the result is that of one.
    for _ in 0..2 {
        office.archive.upsert(&employee).await?;
        office.current.delete_entity_if_exists("Sales", "456").await?;
    }
    assert!(office.queue.delete(&second).await?);
    assert_eq!(office.holders("Sales", "456").await?, (false, true));
    office.close().await
}

impl Office {
    pub async fn open(storage: &Storage, queue: &str) -> Result<Self> {
        Ok(Self {
            current: fresh(&storage.tables, "Current").await?,
            archive: fresh(&storage.tables, "Archive").await?,
            queue: storage.fresh_queue(queue).await?,
        })
    }

    pub async fn close(&self) -> Result<()> {
        self.current.delete().await?;
        self.archive.delete().await?;
        self.queue.drop().await
    }

    /// Receives a message and processes it. `false` if there is none.
    pub async fn work(&self, steps: Steps) -> Work<bool> {
        let Some(message) = self.queue.get(HIDDEN).await? else { return Ok(false) };
        steps.done(2)?;
        self.archive_one(&message.text, steps).await?;
        self.queue.delete(&message).await?;
        steps.done(6)?;
        Ok(true)
    }

    /// Steps 3 to 5. Each can be repeated: insert or replace, delete if it exists.
    pub async fn archive_one(&self, employee: &str, steps: Steps) -> Work<()> {
        let (department, id) = employee.split_once(' ').ok_or_else(|| Error::input("not an employee"))?;
        let found = self.current.try_get::<Dynamic>(department, id).await?;
        steps.done(3)?;
        let Some(found) = found else {
            // Step 5 was done before a crash, or there never was such an employee.
            self.archive.get::<Dynamic>(department, id).await?;
            return Ok(());
        };
        self.archive.upsert(&found.value).await?;
        steps.done(4)?;
        self.current.delete_entity_if_exists(department, id).await?;
        steps.done(5)
    }

    /// Is the employee in Current, and in Archive?
    pub async fn holders(&self, department: &str, id: &str) -> Result<(bool, bool)> {
        let current = self.current.try_get::<Dynamic>(department, id).await?;
        let archive = self.archive.try_get::<Dynamic>(department, id).await?;
        Ok((current.is_some(), archive.is_some()))
    }
}
