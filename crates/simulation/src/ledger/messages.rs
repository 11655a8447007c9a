//! Messages of a queue: each has one holder at a time, and does not exist after its deletion.

use std::collections::BTreeMap;

use super::Checked;
use crate::network::Fate;

/// A time during which a consumer holds a message, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The time at which the request that got the message was sent.
    pub from: u64,
    /// When its response arrived.
    pub got: u64,
    /// The time for which the message is invisible to others.
    pub time: u64,
}

impl Hold {
    /// The time until which the hold certainly lasts.
    pub fn until(&self) -> u64 {
        self.from + self.time
    }
}

#[derive(Debug, Default)]
struct Message {
    put: Option<Fate>,
    holds: Vec<Hold>,
    is_deleting: bool,
    /// The time of the response to its deletion.
    deleted: Option<u64>,
}

/// All messages by their text.
#[derive(Default)]
pub struct Messages(BTreeMap<String, Message>);

impl Messages {
    /// Records that a message is about to be put.
    pub fn putting(&mut self) -> String {
        let text = format!("m{:05}", self.0.len());
        self.0.insert(text.clone(), Message::default());
        text
    }

    /// Records the outcome of a put.
    pub fn put(&mut self, text: &str, fate: Fate) {
        if let Some(message) = self.0.get_mut(text) {
            message.put = Some(fate);
        }
    }

    /// Records that a consumer got a message.
    pub fn received(&mut self, text: &str, hold: Hold) -> Checked {
        let Some(message) = self.0.get_mut(text) else {
            return Err(format!("message {text} was never put"));
        };
        if message.put == Some(Fate::Rejected) {
            return Err(format!("message {text} was rejected, but exists"));
        }
        if message.deleted.is_some_and(|deleted| deleted < hold.from) {
            return Err(format!("message {text} was deleted, but exists"));
        }
        // Each hold was granted at some time between request and response: can the grants be far enough apart?
        let other = message.holds.iter().find(|other| hold.got < other.until() && other.got < hold.until());
        let checked = match other {
            Some(other) => Err(format!("message {text} has two holders: {other:?} and {hold:?}")),
            None => Ok(()),
        };
        message.holds.push(hold);
        checked
    }

    /// Records that a message is about to be deleted by its holder.
    pub fn deleting(&mut self, text: &str) {
        if let Some(message) = self.0.get_mut(text) {
            message.is_deleting = true;
        }
    }

    /// Records the outcome of a deletion, whose response arrived `now`.
    pub fn deleted(&mut self, text: &str, hold: Hold, fate: Fate, now: u64) -> Checked {
        let Some(message) = self.0.get_mut(text) else { return Ok(()) };
        match fate {
            Fate::Applied => message.deleted = Some(now),
            Fate::Rejected if now < hold.until() => {
                return Err(format!("message {text} was not deleted, although it was held: {hold:?}"));
            }
            Fate::Rejected | Fate::Unknown => {}
        }
        Ok(())
    }

    /// The messages that must still exist.
    pub fn remaining(&self) -> Vec<String> {
        let is_there = |message: &Message| message.put == Some(Fate::Applied) && !message.is_deleting;
        self.0.iter().filter(|(_, message)| is_there(message)).map(|(text, _)| text.clone()).collect()
    }
}
