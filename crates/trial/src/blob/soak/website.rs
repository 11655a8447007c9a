//! A worker of a soak that changes a page of a website and visits it: the page is the one that was written last.

use std::time::Duration;

use lazuli_model::Service;
use lazuli_probe::Request;

use super::{content, value};
use crate::caller::VERSIONS_ACCOUNT;
use crate::random::Random;
use crate::soak::{Link, Shared};

const PAGE: &str = "page.html";
/// A page of a website changes rarely.
const PAUSE: Duration = Duration::from_millis(20);

/// A worker.
pub(crate) struct WebsiteWorker {
    random: Random,
    link: Link,
    /// The values that the page may have: two while an outcome is unknown.
    values: Vec<Option<u64>>,
    written: u64,
}

impl WebsiteWorker {
    pub(crate) fn new(random: Random, shared: Shared) -> Self {
        Self { random, link: Link::new(Service::Blob, shared), values: vec![None], written: 0 }
    }

    pub(crate) async fn run(mut self) -> Result<(), String> {
        while !self.create().await? {}
        while !self.link.is_over() {
            match self.random.below(10) {
                0..3 => self.put().await?,
                3 => self.delete().await?,
                _ => self.visit().await?,
            }
            tokio::time::sleep(PAUSE).await;
        }
        self.visit().await
    }

    async fn create(&mut self) -> Result<bool, String> {
        let request = self.link.caller.request_in(VERSIONS_ACCOUNT, "PUT", "/$web?restype=container");
        match self.link.send(request).await? {
            Some(response) if matches!(response.status, 201 | 409) => Ok(true),
            Some(response) => Err(format!("the container of a website: {}", response.text())),
            None => Ok(false),
        }
    }

    async fn put(&mut self) -> Result<(), String> {
        self.written += 1;
        let value = self.written;
        let request = self.request("PUT").with("x-ms-blob-type", "BlockBlob").body(content(value));
        self.change(Some(value), request, &[201]).await
    }

    async fn delete(&mut self) -> Result<(), String> {
        let request = self.request("DELETE");
        self.change(None, request, &[202, 404]).await
    }

    async fn change(&mut self, next: Option<u64>, request: Request, wanted: &[u16]) -> Result<(), String> {
        match self.link.send(request).await? {
            Some(response) if wanted.contains(&response.status) => self.values = vec![next],
            Some(response) => return Err(format!("a page of a website: {}", response.text())),
            None => self.values.push(next),
        }
        Ok(())
    }

    async fn visit(&mut self) -> Result<(), String> {
        let Some(response) = self.link.visit(VERSIONS_ACCOUNT, PAGE).await? else { return Ok(()) };
        match value(&response) {
            Some(found) if self.values.contains(&found) => self.values = vec![found],
            found => {
                let (status, known) = (response.status, &self.values);
                return Err(format!("a page of a website is {status} {found:?}, wanted {known:?}"));
            }
        }
        self.link.checked(1);
        Ok(())
    }

    fn request(&self, method: &'static str) -> Request {
        self.link.caller.request_in(VERSIONS_ACCOUNT, method, &format!("/$web/{PAGE}"))
    }
}
