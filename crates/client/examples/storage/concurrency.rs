//! The two demonstrations of the article "Managing Concurrency in Azure Storage": optimistic with an ETag (BL-02, BL-10), and
//! pessimistic with a lease of 15 seconds (LS-01, LS-02, LS-04 to LS-06).

use std::time::Duration;

use lazuli_client::Result;

use super::services::Storage;

const LEASE_TIME: Duration = Duration::from_secs(15);

pub async fn run(storage: &Storage) -> Result<()> {
    optimistic(storage).await?;
    pessimistic(storage).await
}

async fn optimistic(storage: &Storage) -> Result<()> {
    let container = storage.fresh_container("optimistic").await?;
    let first = container.put("hello", "Hello World!", &[]).await?.expect(201)?;
    println!("blob added, its ETag is {}", first.etag());

    // Somebody else updates the blob, unconditionally: the last writer wins.
    let second = container.put("hello", "Blob updated by a third party.", &[]).await?.expect(201)?;
    assert_ne!(first.etag(), second.etag());

    // The update with the first ETag is rejected, and changes nothing.
    let late = container.put("hello", "new content", &[("If-Match", first.etag())]).await?;
    assert_eq!(late.rejection(), (412, "ConditionNotMet"));
    assert_eq!(container.get("hello", &[]).await?.expect(200)?.text(), "Blob updated by a third party.");
    println!("precondition failure as expected: the ETag does not match");

    // Read again, decide again, and write a value that belongs to the version that was read.
    let read = container.get("hello", &[]).await?.expect(200)?;
    let third = container.put("hello", "new content", &[("If-Match", read.etag())]).await?.expect(201)?;
    assert_ne!(third.etag(), second.etag());
    container.drop().await
}

async fn pessimistic(storage: &Storage) -> Result<()> {
    let container = storage.fresh_container("pessimistic").await?;
    container.put("hello", "Hello World!", &[]).await?.expect(201)?;
    let seconds = LEASE_TIME.as_secs().to_string();
    let acquire = [("x-ms-lease-duration", seconds.as_str())];
    let lease = container.lease("hello", "acquire", &acquire).await?.expect(201)?;
    let lease = lease.header("x-ms-lease-id").to_owned();
    let own = [("x-ms-lease-id", lease.as_str())];
    println!("lease acquired: {lease}");
    container.put("hello", "updated with the lease", &own).await?.expect(201)?;

    // Nobody else gets a lease, and nobody writes without one.
    let second = container.lease("hello", "acquire", &acquire).await?;
    assert_eq!(second.rejection(), (409, "LeaseAlreadyPresent"));
    let foreign = container.put("hello", "Update without lease, will fail", &[]).await?;
    assert_eq!(foreign.rejection(), (412, "LeaseIdMissing"));
    println!("precondition failure as expected: the blob is leased");

    // After 15 seconds the lease has expired. Its id is invalid, and a write without one succeeds.
    storage.wait(LEASE_TIME).await;
    let late = container.put("hello", "too late", &own).await?;
    assert_eq!(late.rejection(), (412, "LeaseLost"));
    container.put("hello", "updated by somebody else", &[]).await?.expect(201)?;
    container.drop().await
}
