//! The trials' requests to the Queue service.

use lazuli_probe::{Request, Response};
use lazuli_protocol::http::percent;

use crate::caller::TrialCaller;

/// A message as returned by a get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The id that the server assigned.
    pub id: String,
    /// The receipt of this get.
    pub receipt: String,
    /// Number of times that it has been received.
    pub dequeue_count: u64,
    /// Its text.
    pub text: String,
}

/// Creates a queue.
pub async fn create(caller: &mut TrialCaller, queue: &str) -> Result<(), String> {
    let response = caller.send(caller.request("PUT", &format!("/{queue}"))).await?;
    match response.status {
        201 | 204 => Ok(()),
        other => Err(format!("the queue was not created: {other} {}", response.text())),
    }
}

/// Puts a message.
pub fn put(caller: &TrialCaller, queue: &str, text: &str) -> Request {
    with_text(caller.request("POST", &format!("/{queue}/messages")), text)
}

/// Puts a message that expires after a number of seconds.
pub fn put_expiring(caller: &TrialCaller, queue: &str, text: &str, seconds: u64) -> Request {
    with_text(caller.request("POST", &format!("/{queue}/messages?messagettl={seconds}")), text)
}

/// Deletes all messages.
pub fn clear(caller: &TrialCaller, queue: &str) -> Request {
    caller.request("DELETE", &format!("/{queue}/messages"))
}

/// Moves up to `count` visible messages to the back of another queue.
pub fn move_some(caller: &TrialCaller, queue: &str, to: &str, count: usize) -> Request {
    caller.request("PUT", &format!("/{queue}/messages?comp=move&to={to}&numofmessages={count}"))
}

/// Gets up to `count` messages and hides them for a number of seconds.
pub fn get(caller: &TrialCaller, queue: &str, count: usize, seconds: u64) -> Request {
    let path = format!("/{queue}/messages?numofmessages={count}&visibilitytimeout={seconds}");
    caller.request("GET", &path)
}

/// Replaces the text of a message and hides it for a number of seconds from now.
pub fn update(
    caller: &TrialCaller,
    queue: &str,
    id: &str,
    receipt: &str,
    text: &str,
    seconds: u64,
) -> Request {
    let receipt = escaped(receipt);
    let path = format!("/{queue}/messages/{id}?popreceipt={receipt}&visibilitytimeout={seconds}");
    with_text(caller.request("PUT", &path), text)
}

/// Deletes a message.
pub fn delete(caller: &TrialCaller, queue: &str, id: &str, receipt: &str) -> Request {
    caller.request("DELETE", &format!("/{queue}/messages/{id}?popreceipt={}", escaped(receipt)))
}

/// Deletes a message of a queue of another account.
pub fn delete_in(caller: &TrialCaller, account: &str, queue: &str, message: &Message) -> Request {
    let path = format!("/{queue}/messages/{}?popreceipt={}", message.id, escaped(&message.receipt));
    caller.request_in(account, "DELETE", &path)
}

/// The messages in the response to a get.
pub fn messages(response: &Response) -> Result<Vec<Message>, String> {
    let body = response.text();
    let parsed = body.split("<QueueMessage>").skip(1).map(message).collect::<Option<Vec<_>>>();
    parsed.ok_or_else(|| format!("not a list of messages: {body}"))
}

fn message(part: &str) -> Option<Message> {
    Some(Message {
        id: element(part, "MessageId")?.to_owned(),
        receipt: element(part, "PopReceipt")?.to_owned(),
        dequeue_count: element(part, "DequeueCount")?.parse().ok()?,
        text: element(part, "MessageText")?.to_owned(),
    })
}

fn element<'b>(body: &'b str, name: &str) -> Option<&'b str> {
    let (_, rest) = body.split_once(&format!("<{name}>"))?;
    rest.split_once("</").map(|(text, _)| text)
}

fn with_text(request: Request, text: &str) -> Request {
    request
        .with("Content-Type", "application/xml")
        .body(format!("<QueueMessage><MessageText>{text}</MessageText></QueueMessage>"))
}

fn escaped(text: &str) -> String {
    let mut bytes = Vec::new();
    percent::encode_into(&mut bytes, text);
    String::from_utf8_lossy(&bytes).into_owned()
}
