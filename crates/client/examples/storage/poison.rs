//! QU-07: a message that fails again and again. After three attempts it goes to a second queue, where a person can
//! inspect it, and the worker continues with the others.

use lazuli_client::{Dynamic, Result};

use super::archive::{HIDDEN, Office};
use super::queue::Queue;
use super::services::Storage;
use super::steps::{Steps, Stop, Work, complete, survive};

const ATTEMPTS_MAX: u32 = 3;

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

    // Two queues have no common transaction: a crash between them leaves a copy in each, and never none.
    office.queue.put("Sales 998").await?;
    for _ in 0..ATTEMPTS_MAX {
        assert!(complete(work(&office, &poison, Steps::all()).await)?);
        storage.wait(HIDDEN).await;
    }
    assert!(survive(work(&office, &poison, Steps::crash_after(1)).await)?.is_none());
    assert_eq!((office.queue.depth().await?, poison.depth().await?), (1, 2));
    storage.wait(HIDDEN).await;
    assert!(complete(work(&office, &poison, Steps::all()).await)?);
    assert_eq!((office.queue.depth().await?, poison.depth().await?), (0, 3));
    poison.drop().await?;
    office.close().await
}

/// Handles one message, and gives it up if it has failed too often. `false` if there is none.
async fn work(office: &Office, poison: &Queue, steps: Steps) -> Work<bool> {
    let Some(message) = office.queue.get(HIDDEN).await? else { return Ok(false) };
    if message.dequeues > ATTEMPTS_MAX {
        poison.put(&message.text).await?;
        steps.done(1)?;
        office.queue.delete(&message).await?;
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
