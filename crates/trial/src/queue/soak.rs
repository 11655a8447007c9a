//! A worker of a soak that owns a queue: every acknowledged message is received exactly once, until it is deleted.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use lazuli_model::Service;

use super::wire::{self, Message};
use crate::random::Random;
use crate::soak::{Link, Shared};

/// Number of messages in a queue: the data is bounded, so growth is an error.
const MESSAGES: usize = 200;
/// Messages of a get.
const BATCH: usize = 32;
/// The time for which received messages are hidden.
const HIDDEN_SECONDS: u64 = 2;
/// After a lost response, messages may be hidden for this long, because times are rounded.
const HIDDEN_TIME_MAX: Duration = Duration::from_secs(HIDDEN_SECONDS + 1);
/// Maximum time until hidden messages become visible again on a slow machine.
const RETURN_TIME_MAX: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A worker.
pub(crate) struct Worker {
    queue: String,
    random: Random,
    link: Link,
    put: u64,
    /// The messages of the queue. The value is true if a message certainly exists.
    messages: BTreeMap<u64, bool>,
}

impl Worker {
    pub(crate) fn new(index: usize, random: Random, shared: Shared) -> Self {
        let link = Link::new(Service::Queue, shared);
        Self { queue: format!("soak{index}"), random, link, put: 0, messages: BTreeMap::new() }
    }

    pub(crate) async fn run(mut self) -> Result<(), String> {
        while !self.create().await? {}
        while !self.link.is_over() {
            let is_known = if self.messages.len() < MESSAGES && self.random.chance(60) {
                self.put().await?
            } else {
                self.take().await?
            };
            if !is_known {
                self.settle().await?;
            }
        }
        self.settle().await
    }

    /// `false` if the outcome is unknown.
    async fn create(&mut self) -> Result<bool, String> {
        let request = self.link.caller.request("PUT", &format!("/{}", self.queue));
        match self.link.send(request).await? {
            None => Ok(false),
            Some(response) if matches!(response.status, 201 | 204) => Ok(true),
            Some(response) => Err(format!("the queue was not created: {}", response.text())),
        }
    }

    async fn put(&mut self) -> Result<bool, String> {
        self.put += 1;
        let request = wire::put(&self.link.caller, &self.queue, &self.put.to_string());
        let response = self.link.send(request).await?;
        self.messages.insert(self.put, response.is_some());
        match response {
            Some(response) if response.status != 201 => Err(format!("a put failed: {}", response.text())),
            response => Ok(response.is_some()),
        }
    }

    /// Receives messages and deletes them. Nothing is hidden here, so all of them must be visible.
    async fn take(&mut self) -> Result<bool, String> {
        let expected = self.messages.len().min(BATCH);
        let Some(found) = self.receive().await? else { return Ok(false) };
        if found.len() != expected {
            return Err(format!("{}: {} messages were visible, not {expected}", self.queue, found.len()));
        }
        self.delete_all(&found).await
    }

    async fn receive(&mut self) -> Result<Option<Vec<Message>>, String> {
        let request = wire::get(&self.link.caller, &self.queue, BATCH, HIDDEN_SECONDS);
        let Some(response) = self.link.send(request).await? else { return Ok(None) };
        if response.status != 200 {
            return Err(format!("a get failed: {}", response.text()));
        }
        let found = wire::messages(&response)?;
        for message in &found {
            let number = message.text.parse::<u64>().ok();
            if number.is_none_or(|number| !self.messages.contains_key(&number)) {
                return Err(format!("{}: message {} is back, or was never put", self.queue, message.text));
            }
        }
        self.link.checked(found.len());
        Ok(Some(found))
    }

    async fn delete_all(&mut self, found: &[Message]) -> Result<bool, String> {
        for message in found {
            let number: u64 = message.text.parse().map_err(|_| "a message without a number")?;
            let request = wire::delete(&self.link.caller, &self.queue, &message.id, &message.receipt);
            match self.link.send(request).await? {
                None => {
                    self.messages.insert(number, false);
                    return Ok(false);
                }
                Some(response) if response.status == 204 => {
                    self.messages.remove(&number);
                }
                Some(response) => return Err(format!("a delete failed: {}", response.text())),
            }
        }
        Ok(true)
    }

    /// Empties the queue after a lost response: everything that certainly exists must become visible again.
    async fn settle(&mut self) -> Result<(), String> {
        let mut began = Instant::now();
        loop {
            let outcome = match self.receive().await? {
                Some(found) if found.is_empty() => None,
                Some(found) => Some(self.delete_all(&found).await?),
                None => Some(false),
            };
            match outcome {
                Some(true) => continue,
                // Another response was lost: wait for its messages too.
                Some(false) => began = Instant::now(),
                None if began.elapsed() > HIDDEN_TIME_MAX => {
                    let left: Vec<u64> = self
                        .messages
                        .iter()
                        .filter(|(_, certain)| **certain)
                        .map(|(number, _)| *number)
                        .collect();
                    if left.is_empty() {
                        self.messages.clear();
                        return Ok(());
                    }
                    if began.elapsed() > RETURN_TIME_MAX {
                        return Err(format!("{}: acknowledged messages are gone: {left:?}", self.queue));
                    }
                }
                None => {}
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}
