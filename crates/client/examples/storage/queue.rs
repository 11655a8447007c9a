//! The requests to a queue that the patterns need.

use std::time::Duration;

use lazuli_client::{Error, Result};
use lazuli_probe::Request;

use super::services::{Link, elements};

/// A queue.
#[derive(Clone)]
pub struct Queue {
    link: Link,
    name: String,
}

/// A message in the hands of a worker, hidden from all others for a while.
#[derive(Clone, Debug)]
pub struct Message {
    pub id: String,
    /// The proof that this worker has it: a new one with every get and update.
    pub receipt: String,
    pub text: String,
    /// How often it has been received.
    pub dequeues: u32,
}

impl Queue {
    /// Creates the queue.
    pub async fn fresh(link: Link, name: &str) -> Result<Self> {
        let queue = Self { link, name: name.to_owned() };
        queue.link.send(Request::new("PUT", queue.target(""))).await?.expect(201)?;
        Ok(queue)
    }

    /// Deletes the queue.
    pub async fn drop(&self) -> Result<()> {
        self.link.send(Request::new("DELETE", self.target(""))).await?.expect(204).map(drop)
    }

    /// Adds a message. The text must not need XML escapes.
    pub async fn put(&self, text: &str) -> Result<()> {
        self.put_hidden(text, Duration::ZERO).await
    }

    /// Adds a message that becomes visible after `hidden`.
    pub async fn put_hidden(&self, text: &str, hidden: Duration) -> Result<()> {
        assert!(!text.contains(['<', '&']), "{text}");
        let target = self.target(&format!("/messages?visibilitytimeout={}", hidden.as_secs()));
        let body = format!("<QueueMessage><MessageText>{text}</MessageText></QueueMessage>");
        self.link.send(Request::new("POST", target).body(body)).await?.expect(201).map(drop)
    }

    /// Receives a message, which is hidden from others until `hidden` has passed.
    pub async fn get(&self, hidden: Duration) -> Result<Option<Message>> {
        let target = self.target(&format!("/messages?visibilitytimeout={}", hidden.as_secs()));
        let found = self.link.send(Request::new("GET", target)).await?.expect(200)?.text();
        let Some(message) = elements(&found, "QueueMessage").first().copied() else { return Ok(None) };
        let element = |name| elements(message, name).first().map(|text| (*text).to_owned());
        let parts = (element("MessageId"), element("PopReceipt"), element("MessageText"));
        let dequeues = element("DequeueCount").and_then(|count| count.parse().ok());
        let (Some(id), Some(receipt), Some(text)) = parts else {
            return Err(Error::input(format!("not a message: {message}")));
        };
        Ok(Some(Message { id, receipt, text, dequeues: dequeues.unwrap_or(0) }))
    }

    /// Hides a message for longer. Its receipt changes.
    pub async fn extend(&self, message: &mut Message, hidden: Duration) -> Result<()> {
        let (id, receipt) = (&message.id, escape(&message.receipt));
        let target = format!("/messages/{id}?popreceipt={receipt}&visibilitytimeout={}", hidden.as_secs());
        let body = format!("<QueueMessage><MessageText>{}</MessageText></QueueMessage>", message.text);
        let reply =
            self.link.send(Request::new("PUT", self.target(&target)).body(body)).await?.expect(204)?;
        message.receipt = reply.header("x-ms-popreceipt").to_owned();
        Ok(())
    }

    /// Deletes a message. `false`: the message was received again or deleted, so this worker was too slow.
    pub async fn delete(&self, message: &Message) -> Result<bool> {
        let target = format!("/messages/{}?popreceipt={}", message.id, escape(&message.receipt));
        let reply = self.link.send(Request::new("DELETE", self.target(&target))).await?;
        match reply.rejection() {
            (204, _) => Ok(true),
            (404, "MessageNotFound") | (400, "PopReceiptMismatch") => Ok(false),
            _ => reply.expect(204).map(|_| true),
        }
    }

    /// The number of messages, hidden ones included.
    pub async fn depth(&self) -> Result<u32> {
        let reply = self.link.send(Request::new("GET", self.target("?comp=metadata"))).await?.expect(200)?;
        let count = reply.header("x-ms-approximate-messages-count").parse();
        count.map_err(|_| Error::input("the queue does not report its depth"))
    }

    fn target(&self, rest: &str) -> String {
        format!("/{}{rest}", self.name)
    }
}

/// The characters of Base64 that mean something else in a query.
fn escape(receipt: &str) -> String {
    receipt.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D")
}
