//! A worker of a soak that owns a container: every blob has the content that was written last, byte by byte.

use std::collections::VecDeque;

use lazuli_model::Service;
use lazuli_probe::Request;

use crate::random::Random;
use crate::soak::{Link, Shared};

/// Blobs of a container: the data is bounded, so nothing has a reason to grow.
const BLOBS: usize = 40;
/// Bytes of most contents, at most.
const SMALL_BYTES_MAX: u64 = 20_000;
/// Bytes of one content in sixteen.
const LARGE_BYTES: u64 = 300_000;
/// Steps of a blob that are remembered.
const STEPS_MAX: usize = 6;
/// Bytes of a block.
const BLOCK_BYTES: usize = 64 * 1024;

/// The value of a blob: the number that its content was made from, or nothing.
type Known = Option<u64>;

/// Content that identifies its value, and in which every byte can be checked.
pub(crate) fn content(value: u64) -> Vec<u8> {
    let length =
        if value.is_multiple_of(16) { LARGE_BYTES } else { value.wrapping_mul(7919) % SMALL_BYTES_MAX };
    let mut bytes = format!("{value} ").into_bytes();
    bytes.extend((0..length).map(|at| b'a' + ((at + value) % 26) as u8));
    bytes
}

/// A worker.
pub(crate) struct Worker {
    container: String,
    random: Random,
    link: Link,
    written: u64,
    blobs: Vec<Known>,
    /// The value of a change whose response was lost: it may still appear.
    pending: Vec<Option<Known>>,
    /// The last steps of each blob, for the report of a failure.
    steps: Vec<VecDeque<String>>,
}

impl Worker {
    pub(crate) fn new(index: usize, random: Random, shared: Shared) -> Self {
        let link = Link::new(Service::Blob, shared);
        Self {
            container: format!("soak{index}"),
            random,
            link,
            written: 0,
            blobs: vec![None; BLOBS],
            pending: vec![None; BLOBS],
            steps: vec![VecDeque::new(); BLOBS],
        }
    }

    pub(crate) async fn run(mut self) -> Result<(), String> {
        while !self.create().await? {}
        while !self.link.is_over() {
            let blob = self.random.below(BLOBS);
            match self.random.below(20) {
                0..8 => self.put(blob).await?,
                8..10 => self.put_blocks(blob).await?,
                10..12 => self.delete(blob).await?,
                12..19 => self.check(blob).await?,
                _ => self.check_list().await?,
            }
        }
        for blob in 0..BLOBS {
            self.check(blob).await?;
        }
        Ok(())
    }

    async fn create(&mut self) -> Result<bool, String> {
        let request = self.link.caller.request("PUT", &format!("/{}?restype=container", self.container));
        match self.link.send(request).await? {
            None => Ok(false),
            Some(response) if matches!(response.status, 201 | 409) => Ok(true),
            Some(response) => Err(format!("the container was not created: {}", response.text())),
        }
    }

    async fn put(&mut self, blob: usize) -> Result<(), String> {
        let value = self.next_value();
        let request = self.request("PUT", blob, "").with("x-ms-blob-type", "BlockBlob").body(content(value));
        self.change(blob, Some(value), request, &[201]).await
    }

    async fn put_blocks(&mut self, blob: usize) -> Result<(), String> {
        let value = self.next_value();
        let mut list = String::from("<BlockList>");
        for (number, block) in content(value).chunks(BLOCK_BYTES).enumerate() {
            let id = format!("{number:08}");
            list += &format!("<Uncommitted>{id}</Uncommitted>");
            let request = self.request("PUT", blob, &format!("?comp=block&blockid={id}")).body(block);
            match self.link.send(request).await? {
                // Blocks that are not committed change nothing.
                None => return Ok(()),
                Some(response) if response.status == 201 => {}
                Some(response) => return Err(format!("a block was rejected: {}", response.text())),
            }
        }
        let request = self.request("PUT", blob, "?comp=blocklist").body(list + "</BlockList>");
        self.change(blob, Some(value), request, &[201]).await
    }

    async fn delete(&mut self, blob: usize) -> Result<(), String> {
        let request = self.request("DELETE", blob, "");
        let expected: &[u16] = match (self.blobs[blob], self.pending[blob]) {
            (_, Some(_)) => &[202, 404],
            (Some(_), None) => &[202],
            (None, None) => &[404],
        };
        self.change(blob, None, request, expected).await
    }

    /// Sends a change. If its response is lost, the blob has its old value until the new one appears, if ever.
    async fn change(
        &mut self,
        blob: usize,
        next: Known,
        request: Request,
        success: &[u16],
    ) -> Result<(), String> {
        let sent = self.link.send(request).await?;
        let status = sent.as_ref().map(|response| response.status);
        self.note(blob, format!("{:?} to {next:?} got {status:?}", self.blobs[blob]));
        match sent {
            None => {
                self.pending[blob] = Some(next);
                self.check(blob).await
            }
            Some(response) if success.contains(&response.status) => {
                self.blobs[blob] = next;
                self.pending[blob] = None;
                Ok(())
            }
            Some(response) => {
                let name = &self.container;
                Err(format!(
                    "{name}/{blob}: a change got the response {} {}; the last steps: {:?}",
                    response.status,
                    response.text(),
                    self.steps[blob]
                ))
            }
        }
    }

    /// Reads a blob, which has its value or that of a change whose response was lost. Such a change may appear later, too.
    async fn check(&mut self, blob: usize) -> Result<(), String> {
        let possible: Vec<Known> = self.pending[blob].into_iter().chain([self.blobs[blob]]).collect();
        let response = loop {
            let request = self.request("GET", blob, "");
            if let Some(response) = self.link.send(request).await? {
                break response;
            }
        };
        let found = possible.iter().find(|value| match value {
            Some(value) => response.status == 200 && response.body == content(*value),
            None => response.status == 404,
        });
        self.link.checked(1);
        if possible.len() > 1 {
            self.note(blob, format!("a read got {} and shows {found:?}", response.status));
        }
        match found {
            Some(value) => {
                if *value != self.blobs[blob] {
                    self.pending[blob] = None;
                }
                self.blobs[blob] = *value;
                Ok(())
            }
            None => Err(format!(
                "{}/{blob} must be one of {possible:?}, but a read got {} and {} bytes",
                self.container,
                response.status,
                response.body.len()
            )),
        }
    }

    async fn check_list(&mut self) -> Result<(), String> {
        let path = format!("/{}?restype=container&comp=list", self.container);
        let request = self.link.caller.request("GET", &path);
        let Some(response) = self.link.send(request).await? else { return Ok(()) };
        let body = response.text();
        for (blob, value) in self.blobs.iter().enumerate() {
            if self.pending[blob].is_none()
                && body.contains(&format!("<Name>{}</Name>", name(blob))) != value.is_some()
            {
                return Err(format!("{}: the list is wrong about blob {blob}: {body}", self.container));
            }
        }
        self.link.checked(BLOBS);
        Ok(())
    }

    fn note(&mut self, blob: usize, step: String) {
        let steps = &mut self.steps[blob];
        if steps.len() == STEPS_MAX {
            steps.pop_front();
        }
        steps.push_back(step);
    }

    fn next_value(&mut self) -> u64 {
        self.written += 1;
        self.written
    }

    fn request(&self, method: &'static str, blob: usize, query: &str) -> Request {
        self.link.caller.request(method, &format!("/{}/{}{query}", self.container, name(blob)))
    }
}

fn name(blob: usize) -> String {
    format!("b{blob:03}")
}
