//! Requests of the Blob service.

use lazuli_probe::Request;

use crate::session::BenchAccount;

/// Creates a container.
pub fn create(account: &BenchAccount, container: &str) -> Request {
    account.request("PUT", &format!("/{container}?restype=container"))
}

/// Writes a block blob.
pub fn put(account: &BenchAccount, container: &str, name: &str, content: Vec<u8>) -> Request {
    account
        .request("PUT", &format!("/{container}/{name}"))
        .with("x-ms-blob-type", "BlockBlob")
        .with("Content-Type", "application/octet-stream")
        .body(content)
}

/// Reads a blob.
pub fn get(account: &BenchAccount, container: &str, name: &str) -> Request {
    account.request("GET", &format!("/{container}/{name}"))
}

/// Reads a range of a blob.
pub fn range(account: &BenchAccount, container: &str, name: &str, from: u64, bytes: u64) -> Request {
    get(account, container, name).with("Range", format!("bytes={from}-{}", from + bytes - 1))
}

/// Deletes a blob.
pub fn delete(account: &BenchAccount, container: &str, name: &str) -> Request {
    account.request("DELETE", &format!("/{container}/{name}"))
}

/// Stages a block. `id` is Base64.
pub fn put_block(account: &BenchAccount, container: &str, name: &str, id: &str, content: Vec<u8>) -> Request {
    let path = format!("/{container}/{name}?comp=block&blockid={}", id.replace('=', "%3D"));
    account.request("PUT", &path).with("Content-Type", "application/octet-stream").body(content)
}

/// Commits blocks.
pub fn put_block_list(account: &BenchAccount, container: &str, name: &str, ids: &[String]) -> Request {
    let mut body = String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>");
    for id in ids {
        body += &format!("<Latest>{id}</Latest>");
    }
    body += "</BlockList>";
    account
        .request("PUT", &format!("/{container}/{name}?comp=blocklist"))
        .with("Content-Type", "application/xml")
        .body(body)
}

/// Lists a page of blobs. `rest` contains further query parameters.
pub fn list(account: &BenchAccount, container: &str, rest: &str) -> Request {
    account.request("GET", &format!("/{container}?restype=container&comp=list&maxresults=5000{rest}"))
}

/// Creates an append blob.
pub fn create_append_blob(account: &BenchAccount, container: &str, name: &str) -> Request {
    account.request("PUT", &format!("/{container}/{name}")).with("x-ms-blob-type", "AppendBlob")
}

/// Appends a block.
pub fn append(account: &BenchAccount, container: &str, name: &str, content: Vec<u8>) -> Request {
    account
        .request("PUT", &format!("/{container}/{name}?comp=appendblock"))
        .with("Content-Type", "application/octet-stream")
        .body(content)
}

/// Creates a page blob of this many bytes.
pub fn create_page_blob(account: &BenchAccount, container: &str, name: &str, bytes: u64) -> Request {
    account
        .request("PUT", &format!("/{container}/{name}"))
        .with("x-ms-blob-type", "PageBlob")
        .with("x-ms-blob-content-length", bytes.to_string())
}

/// Writes pages.
pub fn put_pages(
    account: &BenchAccount,
    container: &str,
    name: &str,
    from: u64,
    content: Vec<u8>,
) -> Request {
    account
        .request("PUT", &format!("/{container}/{name}?comp=page"))
        .with("x-ms-page-write", "update")
        .with("x-ms-range", format!("bytes={from}-{}", from + content.len() as u64 - 1))
        .with("Content-Type", "application/octet-stream")
        .body(content)
}

/// Finds the blobs whose tag `group` has this value.
pub fn find(account: &BenchAccount, value: &str) -> Request {
    account.request("GET", &format!("/?comp=blobs&where=%22group%22%3D%27{value}%27"))
}
