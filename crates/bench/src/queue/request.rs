//! Requests of the Queue service, and the parts of responses that the workloads need.

use lazuli_probe::{Request, Response};
use lazuli_protocol::http::percent;
use memchr::{memchr, memmem};

use crate::session::BenchAccount;

/// Characters of a message.
const MESSAGE_CHARS: usize = 1000;

/// The parts of a received message that a delete needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedMessage {
    id: String,
    pop_receipt: String,
}

/// Creates a queue.
pub fn create(account: &BenchAccount, queue: &str) -> Request {
    account.request("PUT", &format!("/{queue}"))
}

/// Puts a message of one kilobyte with a time to live in seconds; -1 means forever.
pub fn put(account: &BenchAccount, queue: &str, seconds_to_live: i64) -> Request {
    let text = "x".repeat(MESSAGE_CHARS);
    account
        .request("POST", &format!("/{queue}/messages?messagettl={seconds_to_live}"))
        .with("Content-Type", "application/xml")
        .body(format!("<QueueMessage><MessageText>{text}</MessageText></QueueMessage>"))
}

/// Gets messages and hides them for a number of seconds.
pub fn get(account: &BenchAccount, queue: &str, count: u64, hidden_seconds: u64) -> Request {
    let path = format!("/{queue}/messages?numofmessages={count}&visibilitytimeout={hidden_seconds}");
    account.request("GET", &path)
}

/// Peeks at the first message.
pub fn peek(account: &BenchAccount, queue: &str) -> Request {
    account.request("GET", &format!("/{queue}/messages?peekonly=true"))
}

/// Deletes a received message.
pub fn delete(account: &BenchAccount, queue: &str, receipt: &ReceivedMessage) -> Request {
    let ReceivedMessage { id, pop_receipt } = receipt;
    account.request("DELETE", &format!("/{queue}/messages/{id}?popreceipt={pop_receipt}"))
}

/// Deletes all messages.
pub fn clear(account: &BenchAccount, queue: &str) -> Request {
    account.request("DELETE", &format!("/{queue}/messages"))
}

/// The receipts in the response to a get, ready for a URL. The load generator shares the processors with the server, so it reads
/// no more than it must.
pub fn receipts(response: &Response) -> Vec<ReceivedMessage> {
    let mut found = Vec::new();
    let mut rest = &response.body[..];
    while let Some((id, after)) = element(rest, b"<MessageId>") {
        let Some((receipt, after)) = element(after, b"<PopReceipt>") else { break };
        let mut escaped = Vec::with_capacity(receipt.len());
        percent::encode_into(&mut escaped, &String::from_utf8_lossy(receipt));
        found.push(ReceivedMessage { id: text(id.to_vec()), pop_receipt: text(escaped) });
        rest = after;
    }
    found
}

/// The content of the next element with this start tag, and what follows.
fn element<'b>(body: &'b [u8], tag: &[u8]) -> Option<(&'b [u8], &'b [u8])> {
    let content = &body[memmem::find(body, tag)? + tag.len()..];
    Some(content.split_at(memchr(b'<', content)?))
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receipts_are_read_and_escaped() {
        let message = |id: &str| {
            format!(
                "<QueueMessage><MessageId>{id}</MessageId><PopReceipt>a+/=</PopReceipt><MessageText>x</MessageText></QueueMessage>"
            )
        };
        let body = format!("<QueueMessagesList>{}{}</QueueMessagesList>", message("1"), message("2"));
        let response = Response { body: body.into_bytes(), ..Response::default() };
        let found = receipts(&response);
        assert_eq!(found.iter().map(|receipt| receipt.id.as_str()).collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(found[0].pop_receipt, "a%2B%2F%3D");
        assert!(receipts(&Response::default()).is_empty());
    }
}
