//! A worker of a soak that receives the events of the account with versions: those of one blob arrive in order.
//!
//! Invariant: an event may arrive again, with the same id, and then it may be behind later ones. Its message is deleted
//! like any other, so the queue does not grow.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::Service;
use serde_json::Value;

use super::{Link, Shared};
use crate::caller::VERSIONS_ACCOUNT;
use crate::queue::wire::{self, Message};
use crate::subject::EVENTS_QUEUE;

/// Messages of a get.
const BATCH: usize = 32;
/// How long received messages are hidden.
const HIDDEN_SECONDS: u64 = 30;
/// Ids of events that are remembered.
const IDS_MAX: usize = 50_000;
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A worker.
pub(crate) struct EventsWorker {
    link: Link,
    seen: SeenEvents,
}

/// The events that have arrived.
#[derive(Default)]
struct SeenEvents {
    /// By subject, the sequencer of the last event.
    last: HashMap<String, String>,
    ids: HashSet<String>,
    /// The oldest first.
    order: VecDeque<String>,
}

impl EventsWorker {
    pub(crate) fn new(shared: Shared) -> Self {
        Self { link: Link::new(Service::Queue, shared), seen: SeenEvents::default() }
    }

    pub(crate) async fn run(mut self) -> Result<(), String> {
        while !self.link.is_over() {
            if !self.take().await? {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
        if self.seen.ids.is_empty() { Err("no event ever arrived".into()) } else { Ok(()) }
    }

    /// Receives and deletes some events; `false` if there was none.
    async fn take(&mut self) -> Result<bool, String> {
        let path =
            format!("/{EVENTS_QUEUE}/messages?numofmessages={BATCH}&visibilitytimeout={HIDDEN_SECONDS}");
        let request = self.link.caller.request_in(VERSIONS_ACCOUNT, "GET", &path);
        let Some(response) = self.link.send(request).await? else { return Ok(false) };
        if response.status == 404 {
            return Ok(false);
        }
        let found = wire::messages(&response)?;
        for message in &found {
            self.seen.check(message)?;
            let request = wire::delete_in(&self.link.caller, VERSIONS_ACCOUNT, EVENTS_QUEUE, message);
            // The message comes back if the response is lost.
            if let Some(response) = self.link.send(request).await?
                && response.status != 204
            {
                return Err(format!("the message of an event was not deleted: {}", response.text()));
            }
        }
        self.link.checked(found.len());
        Ok(!found.is_empty())
    }
}

impl SeenEvents {
    fn check(&mut self, message: &Message) -> Result<(), String> {
        let bytes = STANDARD.decode(&message.text).map_err(|error| format!("an event: {error}"))?;
        let event: Value = serde_json::from_slice(&bytes).map_err(|error| format!("an event: {error}"))?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let fields = (text(&event["id"]), text(&event["subject"]), text(&event["data"]["sequencer"]));
        let (Some(id), Some(subject), Some(sequencer)) = fields else {
            return Err(format!("an event without its fields: {event}"));
        };
        if !self.ids.insert(id.clone()) {
            return Ok(());
        }
        self.order.push_back(id);
        if self.order.len() > IDS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
        match self.last.insert(subject.clone(), sequencer.clone()) {
            Some(last) if last >= sequencer => {
                Err(format!("the event {sequencer} of {subject} arrived behind {last}"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: &str, sequencer: u32) -> Message {
        let event = serde_json::json!({
            "id": id, "subject": "/blobs/b", "data": { "sequencer": format!("{sequencer:032X}") }
        });
        let text = STANDARD.encode(event.to_string());
        Message { id: String::new(), receipt: String::new(), dequeue_count: 1, text }
    }

    fn checked(messages: &[(&str, u32)]) -> Result<(), String> {
        let mut seen = SeenEvents::default();
        messages.iter().try_for_each(|(id, sequencer)| seen.check(&message(id, *sequencer)))
    }

    #[test]
    fn events_of_a_blob_must_be_in_order() {
        assert_eq!(checked(&[("a", 1), ("b", 2), ("a", 1), ("c", 3)]), Ok(()), "one of them arrived again");
        assert!(checked(&[("a", 2), ("b", 1)]).is_err());
        assert!(checked(&[("a", 2), ("b", 2)]).is_err());
    }
}
