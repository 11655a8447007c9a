//! The requests to a container that the patterns need.

use lazuli_client::Result;
use lazuli_probe::Request;

use super::services::{Link, Reply, elements};

/// Headers of a request: conditions, a lease id, a kind of blob.
pub type Headers<'h> = &'h [(&'static str, &'h str)];

/// A container.
#[derive(Clone)]
pub struct Container {
    link: Link,
    name: String,
}

impl Container {
    /// Creates the container. Its name must not have been used before.
    pub async fn fresh(link: Link, name: &str) -> Result<Self> {
        let container = Self { link, name: name.to_owned() };
        container.call("PUT", "", "restype=container", &[], Vec::new()).await?.expect(201)?;
        Ok(container)
    }

    /// Deletes the container with its blobs.
    pub async fn drop(&self) -> Result<()> {
        self.call("DELETE", "", "restype=container", &[], Vec::new()).await?.expect(202).map(drop)
    }

    /// The address of a blob, for other programs.
    pub fn url(&self, blob: &str) -> String {
        self.link.url(&format!("/{}/{blob}", self.name))
    }

    /// Uploads a block blob.
    pub async fn put(&self, blob: &str, content: impl Into<Vec<u8>>, headers: Headers<'_>) -> Result<Reply> {
        let mut all = vec![("x-ms-blob-type", "BlockBlob")];
        all.extend_from_slice(headers);
        self.call("PUT", blob, "", &all, content.into()).await
    }

    pub async fn get(&self, blob: &str, headers: Headers<'_>) -> Result<Reply> {
        self.call("GET", blob, "", headers, Vec::new()).await
    }

    pub async fn delete(&self, blob: &str, headers: Headers<'_>) -> Result<Reply> {
        self.call("DELETE", blob, "", headers, Vec::new()).await
    }

    /// A lease operation: `acquire`, `renew`, `release` or `break`.
    pub async fn lease(&self, blob: &str, action: &str, headers: Headers<'_>) -> Result<Reply> {
        let mut all = vec![("x-ms-lease-action", action)];
        all.extend_from_slice(headers);
        let query = if blob.is_empty() { "restype=container&comp=lease" } else { "comp=lease" };
        self.call("PUT", blob, query, &all, Vec::new()).await
    }

    /// The names of the blobs that start with `prefix`.
    pub async fn list(&self, prefix: &str) -> Result<Vec<String>> {
        let query = format!("restype=container&comp=list&prefix={prefix}");
        let found = self.call("GET", "", &query, &[], Vec::new()).await?.expect(200)?.text();
        Ok(elements(&found, "Name").into_iter().map(str::to_owned).collect())
    }

    /// Any request to a blob, or to the container if the name is empty.
    pub async fn call(
        &self,
        method: &'static str,
        blob: &str,
        query: &str,
        headers: Headers<'_>,
        body: Vec<u8>,
    ) -> Result<Reply> {
        let (slash, mark) = (if blob.is_empty() { "" } else { "/" }, if query.is_empty() { "" } else { "?" });
        let target = format!("/{}{slash}{blob}{mark}{query}", self.name);
        let mut request = Request::new(method, target).body(body);
        for (name, value) in headers {
            request = request.with(*name, (*value).to_owned());
        }
        self.link.send(request).await
    }
}
