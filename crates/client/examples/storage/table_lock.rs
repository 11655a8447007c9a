//! CC-10: a lock for a table. Every program that works on the table first leases the table's blob. The service does
//! not enforce the lock, so all programs must use it. The shortest lease is 15 s: the others wait that long after a
//! crash.

use std::time::Duration;

use lazuli_client::{Dynamic, Error, Result, Table};

use super::blob::Container;
use super::services::Storage;
use super::shared::fresh;

const LEASE_TIME: Duration = Duration::from_secs(15);
/// How long a program waits before it tries to take the lock again.
const BACK_OFF: Duration = Duration::from_secs(5);
const TRIES_MAX: usize = 10;

pub async fn run(storage: &Storage) -> Result<()> {
    let table = fresh(&storage.tables, "Locked").await?;
    table.insert(&Dynamic::new("Stock", "chairs").with("Count", 0)?).await?;
    let locks = storage.fresh_container("locks").await?;
    // The first program creates the blob; for the others it exists.
    for status in [201, 409] {
        assert_eq!(locks.put("Locked", "", &[("If-None-Match", "*")]).await?.status(), status);
    }
    let first = Lock::acquire(&locks).await?.map_err(drop);
    let first = first.unwrap_or_else(|()| panic!("nobody has the lock"));
    let rejected = Lock::acquire(&locks).await?.err();
    assert_eq!(rejected, Some((409, "LeaseAlreadyPresent".to_owned())));
    assert!(count(&table, &first).await?);
    first.release().await?;

    // The next holder crashes. The lock frees itself when the lease ends; until then the others wait.
    let lost = Lock::acquire(&locks).await?.unwrap_or_else(|_| panic!("the lock is free"));
    let (third, waits) = Lock::wait_for(storage, &locks).await?;
    assert!((1..TRIES_MAX).contains(&waits), "it was rejected until the lease ended: {waits}");

    // It was not dead, only slow. It learns that it is too late, and writes nothing.
    assert_eq!(lost.renew().await?, (409, "LeaseIdMismatchWithLeaseOperation".to_owned()));
    assert!(!count(&table, &lost).await?);
    assert!(count(&table, &third).await?);
    third.release().await?;
    // Not even when the lock is free again.
    assert!(!count(&table, &lost).await?);

    // A lock that was released is free at once.
    let (last, waits) = Lock::wait_for(storage, &locks).await?;
    assert_eq!(waits, 0);
    last.release().await?;
    assert_eq!(table.get::<Dynamic>("Stock", "chairs").await?.value.get::<i32>("Count")?, Some(2));
    locks.drop().await?;
    table.delete().await
}

/// Work that needs the lock: it reads, and writes whatever the version is. A holder renews its lease just before it
/// writes; one that cannot has lost the lock, and gets `false`.
async fn count(table: &Table, lock: &Lock<'_>) -> Result<bool> {
    let mut stock = table.get::<Dynamic>("Stock", "chairs").await?.value;
    let before = stock.get::<i32>("Count")?.unwrap_or(0);
    stock.set("Count", before + 1)?;
    let (status, code) = lock.renew().await?;
    match status {
        200 => table.update(&stock).await.map(|_| true),
        409 | 412 => Ok(false),
        _ => Err(Error::input(format!("the lease was not renewed: status {status} {code}"))),
    }
}

struct Lock<'c> {
    locks: &'c Container,
    lease: String,
}

impl<'c> Lock<'c> {
    /// Takes the lock, or says why not.
    async fn acquire(locks: &'c Container) -> Result<std::result::Result<Self, (u16, String)>> {
        let seconds = LEASE_TIME.as_secs().to_string();
        let reply = locks.lease("Locked", "acquire", &[("x-ms-lease-duration", &seconds)]).await?;
        if reply.status() != 201 {
            let (status, code) = reply.rejection();
            return Ok(Err((status, code.to_owned())));
        }
        let lock = Self { locks, lease: reply.header("x-ms-lease-id").to_owned() };
        // Each holder writes the blob. So the lease of the one before it cannot be renewed, even if this one ends.
        lock.locks
            .put("Locked", lock.lease.as_str(), &[("x-ms-lease-id", &lock.lease)])
            .await?
            .expect(201)?;
        Ok(Ok(lock))
    }

    /// Takes the lock, and waits while others have it. Returns how often it waited.
    async fn wait_for(storage: &Storage, locks: &'c Container) -> Result<(Self, usize)> {
        for waits in 0..TRIES_MAX {
            match Self::acquire(locks).await? {
                Ok(lock) => return Ok((lock, waits)),
                Err((409, _)) => storage.wait(BACK_OFF).await,
                Err((status, code)) => return Err(Error::input(format!("status {status} {code}"))),
            }
        }
        Err(Error::input("too much contention"))
    }

    async fn renew(&self) -> Result<(u16, String)> {
        let reply = self.locks.lease("Locked", "renew", &[("x-ms-lease-id", &self.lease)]).await?;
        let (status, code) = reply.rejection();
        Ok((status, code.to_owned()))
    }

    async fn release(self) -> Result<()> {
        let reply = self.locks.lease("Locked", "release", &[("x-ms-lease-id", &self.lease)]).await?;
        reply.expect(200).map(drop)
    }
}
