//! QU-07: a message that fails again and again. After three attempts it goes to a second queue, where a person can
//! inspect it, and the worker continues with the others.

use lazuli_client::{Dynamic, Result};

use super::archive::{HIDDEN, Office};
use super::queue::Queue;
use super::services::Storage;
use super::steps::{Steps, Stop, Work, complete, survive};

const ATTEMPTS_MAX: u32 = 3;
/// Steps of a worker that gives up a message: get it, put it into the second queue, delete it from the first.
const STEPS: u32 = 3;

pub async fn run(storage: &Storage) -> Result<()> {
    let office = Office::open(storage, "careful").await?;
    let poison = storage.fresh_queue("careful-poison").await?;
    office.current.insert(&Dynamic::new("Sales", "456").with("LastName", "Jones")?).await?;
    office.queue.put("Sales 999").await?; // Nobody has this number.
    office.queue.put("Sales 456").await?;
    let mut attempts = 0;
    while office.queue.depth().await? > 0 {
        while complete(work(&office, &poison, Steps::all()).await)? {
            attempts += 1;
        }
        storage.wait(HIDDEN).await;
    }
    assert_eq!(attempts, 1 + ATTEMPTS_MAX + 1, "one for 456, three for 999, and one that gave it up");
    assert_eq!(office.holders("Sales", "456").await?, (false, true));
    let found = poison.get(HIDDEN).await?.map(|message| message.text);
    assert_eq!((found.as_deref(), poison.depth().await?), (Some("Sales 999"), 1));

    for crash_after in 1..=STEPS {
        survives_a_crash(storage, &office, &poison, crash_after).await?;
    }
    poison.drop().await?;
    office.close().await
}

/// Two queues have no common transaction: a crash between them leaves a copy in each, and never none.
async fn survives_a_crash(
    storage: &Storage,
    office: &Office,
    poison: &Queue,
    crash_after: u32,
) -> Result<()> {
    let before = poison.depth().await?;
    office.queue.put("Sales 998").await?;
    for _ in 0..ATTEMPTS_MAX {
        assert!(complete(work(office, poison, Steps::all()).await)?);
        storage.wait(HIDDEN).await;
    }
    assert!(survive(work(office, poison, Steps::crash_after(crash_after)).await)?.is_none());
    let expected = match crash_after {
        1 => (1, before),
        2 => (1, before + 1),
        _ => (0, before + 1),
    };
    assert_eq!((office.queue.depth().await?, poison.depth().await?), expected, "after step {crash_after}");
    storage.wait(HIDDEN).await;
    assert_eq!(complete(work(office, poison, Steps::all()).await)?, crash_after < STEPS);
    let copies = if crash_after == 2 { 2 } else { 1 };
    assert_eq!((office.queue.depth().await?, poison.depth().await?), (0, before + copies));
    println!("poison: nothing is lost if the worker crashes after step {crash_after}");
    Ok(())
}

/// Handles one message, or moves it to the poison queue if it has failed too often. `false` if there is none.
async fn work(office: &Office, poison: &Queue, steps: Steps) -> Work<bool> {
    let Some(message) = office.queue.get(HIDDEN).await? else { return Ok(false) };
    steps.done(1)?;
    if message.dequeues > ATTEMPTS_MAX {
        poison.put(&message.text).await?;
        steps.done(2)?;
        office.queue.delete(&message).await?;
        steps.done(3)?;
        return Ok(true);
    }
    match office.archive_one(&message.text, Steps::all()).await {
        Ok(()) => drop(office.queue.delete(&message).await?),
        // The message stays, and reappears later.
        Err(Stop::Error(error)) => println!("poison: attempt {} failed: {error}", message.dequeues),
        Err(Stop::Crash) => {}
    }
    Ok(true)
}
