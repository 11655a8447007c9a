//! LS-11: three strategies with leases. The service enforces exclusive writes of a leased blob; the other two rest on the
//! agreement that every program sends its lease id.

use lazuli_client::Result;

use super::blob::Container;
use super::services::{Reply, Storage};

const OTHER: &str = "00000000-1111-2222-3333-444444444444";

pub async fn run(storage: &Storage) -> Result<()> {
    let container = storage.fresh_container("leases").await?;
    exclusive_write_shared_read(&container).await?;
    exclusive_write_exclusive_read(&container).await?;
    shared_write_exclusive_read(&container).await?;
    container.drop().await
}

/// One writer; anybody reads, without a lease id.
async fn exclusive_write_shared_read(container: &Container) -> Result<()> {
    let lease = leased_blob(container, "shared-read").await?;
    let own = [("x-ms-lease-id", lease.as_str())];
    container.put("shared-read", "2", &own).await?.expect(201)?;
    let foreign = container.put("shared-read", "3", &[]).await?;
    assert_eq!(foreign.rejection(), (412, "LeaseIdMissing"));
    let foreign = container.delete("shared-read", &[("x-ms-lease-id", OTHER)]).await?;
    assert_eq!(foreign.rejection(), (412, "LeaseIdMismatchWithBlobOperation"));
    assert_eq!(container.get("shared-read", &[]).await?.expect(200)?.text(), "2");
    release(container, "shared-read", &lease).await
}

/// One program at a time reads and writes: all of them send their lease id with reads, too, and only the holder's is valid.
async fn exclusive_write_exclusive_read(container: &Container) -> Result<()> {
    let lease = leased_blob(container, "exclusive").await?;
    let own = [("x-ms-lease-id", lease.as_str())];
    assert_eq!(container.get("exclusive", &own).await?.expect(200)?.text(), "1");
    let foreign = container.get("exclusive", &[("x-ms-lease-id", OTHER)]).await?;
    assert_eq!(foreign.rejection(), (412, "LeaseIdMismatchWithBlobOperation"));
    release(container, "exclusive", &lease).await?;
    // Without a lease no id is valid, so a program that reads has to acquire one.
    let late = container.get("exclusive", &own).await?;
    assert_eq!(late.rejection(), (412, "LeaseNotPresentWithBlobOperation"));
    Ok(())
}

/// Anybody adds blobs; one program at a time works on the container as a whole. A container lease does not keep anybody from
/// writing blobs: it protects the container from deletion, and its holder is known by its lease id.
async fn shared_write_exclusive_read(container: &Container) -> Result<()> {
    let acquired = container.lease("", "acquire", &[("x-ms-lease-duration", "60")]).await?.expect(201)?;
    let lease = acquired.header("x-ms-lease-id").to_owned();
    for writer in ["a", "b"] {
        container.put(&format!("inbox/{writer}"), writer, &[]).await?.expect(201)?;
    }
    let read = |lease: String| async move { properties(container, &lease).await };
    assert_eq!(read(lease.clone()).await?.status(), 200);
    assert_eq!(container.list("inbox/").await?, ["inbox/a", "inbox/b"]);
    assert_eq!(read(OTHER.to_owned()).await?.rejection(), (412, "LeaseIdMismatchWithContainerOperation"));
    release(container, "", &lease).await
}

async fn properties(container: &Container, lease: &str) -> Result<Reply> {
    container.call("GET", "", "restype=container", &[("x-ms-lease-id", lease)], Vec::new()).await
}

async fn leased_blob(container: &Container, blob: &str) -> Result<String> {
    container.put(blob, "1", &[]).await?.expect(201)?;
    let acquired = container.lease(blob, "acquire", &[("x-ms-lease-duration", "60")]).await?.expect(201)?;
    Ok(acquired.header("x-ms-lease-id").to_owned())
}

async fn release(container: &Container, blob: &str, lease: &str) -> Result<()> {
    container.lease(blob, "release", &[("x-ms-lease-id", lease)]).await?.expect(200).map(drop)
}
