//! CC-10: a lock for a table. Every program that works on the table first leases the table's blob. The service does
//! not enforce the lock, so all programs must use it. The shortest lease is 15 s: the others wait that long after a
//! crash.

use std::time::Duration;

use lazuli_client::{Dynamic, Result, Table};

use super::blob::Container;
use super::services::Storage;
use super::shared::fresh;

const LEASE_TIME: Duration = Duration::from_secs(15);

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
    count(&table).await?;
    first.release().await?;

    // The next holder crashes. The lock frees itself when the lease ends.
    let lost = Lock::acquire(&locks).await?.unwrap_or_else(|_| panic!("the lock is free"));
    assert!(Lock::acquire(&locks).await?.is_err());
    storage.wait(LEASE_TIME).await;
    let third = Lock::acquire(&locks).await?.unwrap_or_else(|_| panic!("the lease has ended"));

    // It was not dead, only slow. A holder renews its lease just before it writes; this one learns that it is too late.
    assert_eq!(lost.renew().await?, (409, "LeaseIdMismatchWithLeaseOperation".to_owned()));
    assert_eq!(third.renew().await?.0, 200);
    count(&table).await?;
    third.release().await?;
    assert_eq!(table.get::<Dynamic>("Stock", "chairs").await?.value.get::<i32>("Count")?, Some(2));
    locks.drop().await?;
    table.delete().await
}

/// Work that needs the lock: it reads, and writes whatever the version is.
async fn count(table: &Table) -> Result<()> {
    let mut stock = table.get::<Dynamic>("Stock", "chairs").await?.value;
    let before = stock.get::<i32>("Count")?.unwrap_or(0);
    stock.set("Count", before + 1)?;
    table.update(&stock).await.map(drop)
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
