//! Queues and messages: visibility, receipts, order, counts.

use lazuli_model::queue::operation::{MessageTarget, QueueQuery};
use lazuli_model::queue::{Dequeued, Enqueued, Message, Operation, Outcome, QueueName, Receipt};
use lazuli_model::{ErrorCode, Guid, Metadata};
use lazuli_service::access::Authorized;
use lazuli_service::{Error, Grant};

use crate::World;

fn queue(name: &str) -> QueueName {
    name.parse().unwrap()
}

fn metadata(pairs: &[(&str, &str)]) -> Metadata {
    let mut metadata = Metadata::default();
    for (name, value) in pairs {
        metadata.insert(name, value).unwrap();
    }
    metadata
}

impl World {
    async fn on_queue(&self, operation: Operation) -> Result<Outcome, ErrorCode> {
        let grant = Grant::everything("acct");
        let done = self.service.execute_queue(Authorized::new(&grant, operation).unwrap()).await;
        done.map_err(|error| match error {
            Error::Rejected(failure) => failure.code,
            Error::Engine(error) => panic!("{error}"),
        })
    }

    async fn with_queue() -> Self {
        let world = Self::new();
        world.on_queue(Operation::CreateQueue(queue("jobs"), Metadata::default())).await.unwrap();
        world
    }

    async fn put(&self, text: &str, visibility: u32, ttl: Option<u32>) -> Enqueued {
        let operation = Operation::PutMessage { queue: queue("jobs"), text: text.into(), visibility, ttl };
        match self.on_queue(operation).await.unwrap() {
            Outcome::MessagePut(enqueued) => enqueued,
            other => panic!("{other:?}"),
        }
    }

    async fn get(&self, count: u32, visibility: u32) -> Vec<Dequeued> {
        let operation = Operation::GetMessages { queue: queue("jobs"), count, visibility };
        match self.on_queue(operation).await.unwrap() {
            Outcome::Messages(messages) => messages,
            other => panic!("{other:?}"),
        }
    }

    async fn peek(&self, count: u32) -> Vec<Message> {
        match self.on_queue(Operation::PeekMessages { queue: queue("jobs"), count }).await.unwrap() {
            Outcome::Peeked(messages) => messages,
            other => panic!("{other:?}"),
        }
    }

    async fn delete(&self, id: Guid, receipt: Receipt) -> Result<Outcome, ErrorCode> {
        self.on_queue(Operation::DeleteMessage(MessageTarget { queue: queue("jobs"), id, receipt })).await
    }

    async fn update(
        &self,
        id: Guid,
        receipt: Receipt,
        visibility: u32,
        text: Option<&str>,
    ) -> Result<Receipt, ErrorCode> {
        let target = MessageTarget { queue: queue("jobs"), id, receipt };
        let text = text.map(Into::into);
        match self.on_queue(Operation::UpdateMessage { target, visibility, text }).await? {
            Outcome::MessageUpdated { receipt } => Ok(receipt),
            other => panic!("{other:?}"),
        }
    }

    async fn messages(&self) -> u64 {
        match self.on_queue(Operation::GetMetadata(queue("jobs"))).await.unwrap() {
            Outcome::Metadata { messages, .. } => messages,
            other => panic!("{other:?}"),
        }
    }
}

fn texts(messages: &[Dequeued]) -> Vec<&str> {
    messages.iter().map(|dequeued| &*dequeued.message.text).collect()
}

/// Creating a queue again succeeds with the same metadata only.
#[tokio::test]
async fn a_queue_is_created_once() {
    let world = World::new();
    let create = |pairs| Operation::CreateQueue(queue("jobs"), metadata(pairs));
    assert_eq!(world.on_queue(create(&[("Owner", "Ada")])).await, Ok(Outcome::QueueCreated));
    assert_eq!(world.on_queue(create(&[("owner", "Ada")])).await, Ok(Outcome::QueueUnchanged));
    assert_eq!(world.on_queue(create(&[])).await, Err(ErrorCode::QueueAlreadyExists));
    let set = Operation::SetMetadata(queue("jobs"), metadata(&[("a", "1"), ("b", "2")]));
    assert_eq!(world.on_queue(set).await, Ok(Outcome::MetadataSet));
    let expected = Outcome::Metadata { metadata: metadata(&[("a", "1"), ("b", "2")]), messages: 0 };
    assert_eq!(world.on_queue(Operation::GetMetadata(queue("jobs"))).await, Ok(expected));
    assert_eq!(world.on_queue(Operation::DeleteQueue(queue("jobs"))).await, Ok(Outcome::QueueDeleted));
    for operation in [
        Operation::DeleteQueue(queue("jobs")),
        Operation::GetMetadata(queue("jobs")),
        Operation::ClearMessages(queue("jobs")),
        Operation::GetMessages { queue: queue("jobs"), count: 1, visibility: 1 },
    ] {
        assert_eq!(world.on_queue(operation).await, Err(ErrorCode::QueueNotFound));
    }
}

#[tokio::test]
async fn queues_are_listed_in_pages() {
    let world = World::new();
    for name in ["aaa", "job-1", "job-2", "job-3", "zzz"] {
        world.on_queue(Operation::CreateQueue(queue(name), Metadata::default())).await.unwrap();
    }
    let page = async |prefix: &str, from: Option<&str>, limit| {
        let query = QueueQuery { prefix: prefix.into(), from: from.map(Into::into), limit, metadata: false };
        match world.on_queue(Operation::ListQueues(query)).await.unwrap() {
            Outcome::Queues { queues, next } => {
                (queues.into_iter().map(|queue| queue.name).collect::<Vec<_>>().join(" "), next)
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(page("", None, 5000).await, ("aaa job-1 job-2 job-3 zzz".into(), None));
    assert_eq!(page("job-", None, 2).await, ("job-1 job-2".into(), Some("job-3".into())));
    assert_eq!(page("job-", Some("job-3"), 2).await, ("job-3".into(), None));
    assert_eq!(page("nothing", None, 2).await, (String::new(), None));
}

/// QU-01, QU-03 to QU-05: a message that was dequeued is hidden until its visibility timeout ends.
#[tokio::test]
async fn a_dequeued_message_is_hidden_and_comes_back() {
    let world = World::with_queue().await;
    world.put("one", 0, None).await;
    world.put("later", 60, None).await;
    let first = world.get(32, 30).await;
    assert_eq!(texts(&first), ["one"]);
    assert_eq!(first[0].message.dequeue_count, 1);
    assert!(world.get(32, 30).await.is_empty() && world.peek(32).await.is_empty());
    assert_eq!(world.messages().await, 2, "invisible messages count");
    world.pass(31);
    let again = world.get(32, 120).await;
    assert_eq!((texts(&again), again[0].message.dequeue_count), (vec!["one"], 2));
    // The first holder has lost it.
    assert_eq!(world.delete(first[0].message.id, first[0].receipt).await, Err(ErrorCode::MessageNotFound));
    assert_eq!(world.delete(again[0].message.id, again[0].receipt).await, Ok(Outcome::MessageDeleted));
    assert_eq!(world.delete(again[0].message.id, again[0].receipt).await, Err(ErrorCode::MessageNotFound));
    assert_eq!(world.messages().await, 1);
    world.pass(60);
    assert_eq!(texts(&world.get(1, 1).await), ["later"]);
}

/// QU-03: a receipt is valid until the message is dequeued again, updated, deleted or has expired.
#[tokio::test]
async fn receipts() {
    let world = World::with_queue().await;
    let put = world.put("draft", 0, None).await;
    let updated = world.update(put.id, put.receipt, 10, Some("final")).await.unwrap();
    assert_eq!(world.delete(put.id, put.receipt).await, Err(ErrorCode::MessageNotFound));
    assert!(world.get(1, 30).await.is_empty(), "the update hides it");
    world.pass(11);
    // The timeout has passed, but no other client received the message: the receipt is still valid.
    let updated = world.update(put.id, updated, 0, None).await.unwrap();
    let peeked = world.peek(1).await;
    assert_eq!((&*peeked[0].text, peeked[0].dequeue_count), ("final", 0));
    let guessed = Receipt { nonce: updated.nonce ^ 1, ..updated };
    assert_eq!(world.delete(put.id, guessed).await, Err(ErrorCode::MessageNotFound));
    assert_eq!(world.delete(Guid([0; 16]), updated).await, Err(ErrorCode::MessageNotFound));
    assert_eq!(world.delete(put.id, updated).await, Ok(Outcome::MessageDeleted));
}

/// Messages expire, whether they were dequeued or not.
#[tokio::test]
async fn messages_expire() {
    let world = World::with_queue().await;
    let short = world.put("short", 0, Some(10)).await;
    world.put("long", 0, Some(1000)).await;
    world.put("for ever", 0, None).await;
    world.pass(11);
    assert_eq!(world.delete(short.id, short.receipt).await, Err(ErrorCode::MessageNotFound));
    assert_eq!(world.update(short.id, short.receipt, 1, None).await, Err(ErrorCode::MessageNotFound));
    assert_eq!(world.peek(32).await.len(), 2);
    assert_eq!(texts(&world.get(32, 1).await), ["long", "for ever"]);
    world.pass(10_000);
    assert_eq!(texts(&world.get(32, 1).await), ["for ever"]);
}

/// The order is by time of next visibility, then by insertion, even when the clock is set back.
#[tokio::test]
async fn order_survives_a_clock_that_goes_back() {
    let world = World::with_queue().await;
    for number in 0..40 {
        world.put(&number.to_string(), 0, None).await;
    }
    world.ticks.fetch_sub(3600 * 10_000_000, std::sync::atomic::Ordering::SeqCst);
    world.put("40", 0, None).await;
    let mut seen = Vec::new();
    loop {
        let got = world.get(7, 600).await;
        if got.is_empty() {
            break;
        }
        seen.extend(texts(&got).iter().map(|text| text.parse::<u32>().unwrap()));
    }
    assert_eq!(seen, (0..=40).collect::<Vec<_>>());
}

#[tokio::test]
async fn clearing_removes_every_message() {
    let world = World::with_queue().await;
    let put = world.put("one", 0, None).await;
    world.put("two", 60, None).await;
    assert_eq!(world.on_queue(Operation::ClearMessages(queue("jobs"))).await, Ok(Outcome::MessagesCleared));
    assert_eq!((world.messages().await, world.peek(32).await.len()), (0, 0));
    assert_eq!(world.delete(put.id, put.receipt).await, Err(ErrorCode::MessageNotFound));
    world.put("three", 0, None).await;
    assert_eq!(texts(&world.get(32, 1).await), ["three"]);
}

/// QU-01: many consumers never hold the same message at the same time.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn consumers_never_share_a_message() {
    let world = std::sync::Arc::new(World::with_queue().await);
    for number in 0..1000 {
        world.put(&number.to_string(), 0, None).await;
    }
    let consumers = (0..16).map(|_| {
        let world = world.clone();
        tokio::spawn(async move {
            let mut seen = Vec::new();
            loop {
                let got = world.get(8, 600).await;
                if got.is_empty() {
                    return seen;
                }
                for dequeued in got {
                    seen.push(dequeued.message.text.parse::<u32>().unwrap());
                    world.delete(dequeued.message.id, dequeued.receipt).await.unwrap();
                }
            }
        })
    });
    let mut all = Vec::new();
    for consumer in consumers.collect::<Vec<_>>() {
        all.extend(consumer.await.unwrap());
    }
    all.sort_unstable();
    assert_eq!(all, (0..1000).collect::<Vec<_>>());
    assert_eq!(world.messages().await, 0);
}

/// The web console shows the rates of a queue: messages are counted, not requests, and only those that were changed.
#[tokio::test]
async fn messages_are_counted_by_queue() {
    let world = World::with_queue().await;
    world.on_queue(Operation::CreateQueue(queue("other"), Metadata::default())).await.unwrap();
    for text in ["one", "two", "three"] {
        world.put(text, 0, None).await;
    }
    world.peek(32).await;
    let got = world.get(2, 60).await;
    world.delete(got[0].message.id, got[0].receipt).await.unwrap();
    world.delete(got[0].message.id, got[0].receipt).await.unwrap_err();
    let (from, to) = (queue("jobs"), queue("other"));
    let moved = world.on_queue(Operation::MoveMessages { from, to, max: 32 }).await;
    assert_eq!(moved, Ok(Outcome::MessagesMoved(1)));
    let counted = || -> Vec<(String, [u64; 3])> {
        let queues = world.service.usage().queues().into_iter();
        queues
            .map(|found| (found.queue, [found.counts.put, found.counts.dequeued, found.counts.deleted]))
            .collect()
    };
    let named = |name: &str, counts| (name.to_owned(), counts);
    assert_eq!(counted(), [named("jobs", [3, 2, 2]), named("other", [1, 0, 0]), named("", [0, 0, 0])]);
    world.on_queue(Operation::DeleteQueue(queue("jobs"))).await.unwrap();
    assert_eq!(
        counted(),
        [named("other", [1, 0, 0]), named("", [0, 0, 0])],
        "a deleted queue frees its slot"
    );
}
