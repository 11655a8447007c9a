//! A worker of a soak that owns a container: every blob must have the content that was written last, byte by
//! byte.

mod model;
mod special;
mod website;

use std::collections::VecDeque;

use lazuli_model::Service;
use lazuli_probe::{Request, Response};

use super::{is_prepared, preparations};
use crate::random::Random;
use crate::soak::{Link, Shared};
use model::{Change, Known, SoakBlob};
use special::Special;
pub(crate) use website::WebsiteWorker;

/// Number of blobs in a container: the data is bounded, so growth is an error.
const BLOBS: usize = 40;
/// Maximum bytes of most contents.
const SMALL_BYTES_MAX: u64 = 20_000;
/// Bytes of one content in sixteen.
const LARGE_BYTES: u64 = 300_000;
/// Number of steps of a blob that are recorded.
const STEPS_MAX: usize = 12;
/// Share of the requests for append blobs, page blobs, tags, versions, deleted blobs and tiers.
const SPECIAL_PERCENT: usize = 35;
/// Bytes of a block.
const BLOCK_BYTES: usize = 64 * 1024;

/// Content that identifies its value, and of which every byte can be checked.
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
    blobs: Vec<SoakBlob>,
    special: Special,
    /// The last steps of each blob, for the report of a failure.
    steps: Vec<VecDeque<String>>,
}

impl Worker {
    pub(crate) fn new(index: usize, mut random: Random, shared: Shared) -> Self {
        let link = Link::new(Service::Blob, shared);
        let container = format!("soak{index}");
        Self {
            special: Special::new(container.clone(), random.fork()),
            container,
            random,
            link,
            written: 0,
            blobs: vec![SoakBlob::default(); BLOBS],
            steps: vec![VecDeque::new(); BLOBS],
        }
    }

    pub(crate) async fn run(mut self) -> Result<(), String> {
        while !self.create().await? {}
        while !self.link.is_over() {
            if self.random.chance(SPECIAL_PERCENT) {
                self.special.step(&mut self.link).await?;
                continue;
            }
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
        self.special.check(&mut self.link).await
    }

    async fn create(&mut self) -> Result<bool, String> {
        for request in preparations(&self.link.caller, &self.container) {
            match self.link.send(request).await? {
                None => return Ok(false),
                Some(response) if is_prepared(&response) => {}
                Some(response) => return Err(format!("the container was not created: {}", response.text())),
            }
        }
        Ok(true)
    }

    async fn put(&mut self, blob: usize) -> Result<(), String> {
        let value = self.next_value();
        let request = self.request("PUT", blob, "").with("x-ms-blob-type", "BlockBlob").body(content(value));
        self.change(blob, Change::Put(value), request).await.map(drop)
    }

    async fn put_blocks(&mut self, blob: usize) -> Result<(), String> {
        let value = self.next_value();
        let mut list = String::from("<BlockList>");
        for (number, block) in content(value).chunks(BLOCK_BYTES).enumerate() {
            let id = format!("{number:08}");
            list += &format!("<Uncommitted>{id}</Uncommitted>");
            let request = self.request("PUT", blob, &format!("?comp=block&blockid={id}")).body(block);
            if !self.change(blob, Change::Stage, request).await? {
                return Ok(());
            }
        }
        let request = self.request("PUT", blob, "?comp=blocklist").body(list + "</BlockList>");
        self.change(blob, Change::Commit(value), request).await.map(drop)
    }

    async fn delete(&mut self, blob: usize) -> Result<(), String> {
        let request = self.request("DELETE", blob, "");
        self.change(blob, Change::Delete, request).await.map(drop)
    }

    /// Sends a change. If its response is lost, a read determines its outcome; then it returns `false`.
    async fn change(&mut self, blob: usize, change: Change, request: Request) -> Result<bool, String> {
        let sent = self.link.send(request).await?;
        let status = sent.as_ref().map(|response| response.status);
        self.note(blob, format!("{:?}: {change:?} got {status:?}", self.blobs[blob]));
        match sent {
            None => {
                let found = self.read(blob).await?;
                if !self.blobs[blob].settle(change, found) {
                    return Err(self.wrong(blob, &format!("a read after a lost {change:?} found {found:?}")));
                }
                Ok(false)
            }
            Some(response) if self.blobs[blob].expects(change).contains(&response.status) => {
                self.blobs[blob].change(change, response.status);
                Ok(true)
            }
            Some(response) => {
                let what = format!("{change:?} got the response {} {}", response.status, response.text());
                Err(self.wrong(blob, &what))
            }
        }
    }

    /// Reads a blob, which has its value.
    async fn check(&mut self, blob: usize) -> Result<(), String> {
        let found = self.read(blob).await?;
        if found == self.blobs[blob].value {
            return Ok(());
        }
        Err(self.wrong(blob, &format!("a read found {found:?}")))
    }

    /// The value of a blob. Checks every byte of its content.
    async fn read(&mut self, blob: usize) -> Result<Known, String> {
        let response = loop {
            let request = self.request("GET", blob, "");
            if let Some(response) = self.link.send(request).await? {
                break response;
            }
        };
        let found = value(&response);
        self.note(blob, format!("a read got {} and shows {found:?}", response.status));
        self.link.checked(1);
        found.ok_or_else(|| {
            let bytes = response.body.len();
            self.wrong(blob, &format!("a read got {} and {bytes} bytes that nobody wrote", response.status))
        })
    }

    fn wrong(&self, blob: usize, what: &str) -> String {
        let (name, known) = (&self.container, &self.blobs[blob]);
        format!("{name}/{blob} is known as {known:?}, but {what}; the last steps: {:?}", self.steps[blob])
    }

    async fn check_list(&mut self) -> Result<(), String> {
        let path = format!("/{}?restype=container&comp=list", self.container);
        let request = self.link.caller.request("GET", &path);
        let Some(response) = self.link.send(request).await? else { return Ok(()) };
        let body = response.text();
        for (blob, known) in self.blobs.iter().enumerate() {
            if body.contains(&format!("<Name>{}</Name>", name(blob))) != known.value.is_some() {
                return Err(self.wrong(blob, &format!("the list says otherwise: {body}")));
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

/// The value in a response to a read; `None` if a worker cannot have written the content.
fn value(response: &Response) -> Option<Known> {
    match response.status {
        404 => Some(None),
        200 => {
            let text = response.body.split(|byte| *byte == b' ').next()?;
            let value: u64 = std::str::from_utf8(text).ok()?.parse().ok()?;
            (content(value) == response.body).then_some(Some(value))
        }
        _ => None,
    }
}
