//! Random operations against a model, with clocks that jump and restarts: in memory, and on the store.

use std::sync::Arc;

use lazuli_engine::conformance::Rng;
use lazuli_model::queue::Receipt;
use lazuli_model::{ErrorCode, Guid};
use lazuli_store::{Durability, Store};

use crate::world::{JOBS, SECOND, Time, World};

/// A message of the model.
#[derive(Clone, Debug)]
struct Modelled {
    id: Guid,
    text: String,
    /// Its position in the order: the time of next visibility and the order of insertion.
    next_visible: u64,
    number: u64,
    expires: u64,
    dequeue_count: u32,
    receipt: Receipt,
}

struct Model {
    messages: Vec<Modelled>,
    /// Receipts that are no longer valid.
    stale: Vec<(Guid, Receipt)>,
    /// The time of the queue: it never goes back, and advances while the clock is behind.
    time: u64,
    passed: u64,
    number: u64,
}

impl Model {
    /// Advances the time of the queue.
    fn advance(&mut self, time: &Time) {
        use std::sync::atomic::Ordering::SeqCst;
        let passed = time.passed.load(SeqCst);
        self.time = (self.time + passed - self.passed).max(time.clock.load(SeqCst));
        self.passed = passed;
    }

    /// The service has reported a time of the queue.
    fn saw(&mut self, next_visible: u64, visibility: u32) {
        self.time = self.time.max(next_visible - u64::from(visibility) * SECOND);
    }

    fn visible(&self) -> Vec<usize> {
        let is_visible =
            |message: &Modelled| message.next_visible <= self.time && message.expires > self.time;
        let mut visible: Vec<usize> =
            (0..self.messages.len()).filter(|&at| is_visible(&self.messages[at])).collect();
        visible.sort_by_key(|&at| (self.messages[at].next_visible, self.messages[at].number));
        visible
    }
}

async fn put(world: &World, model: &mut Model, rng: &mut Rng) {
    let visibility = [0, 0, 0, 7, 60][rng.below(5)];
    let ttl = [None, None, Some(visibility + 13), Some(300)][rng.below(4)];
    let text = format!("message {}", model.number);
    let put = world.put_into(JOBS, &text, visibility, ttl).await;
    model.saw(put.receipt.next_visible.ticks(), visibility);
    model.number += 1;
    model.messages.push(Modelled {
        id: put.id,
        text,
        next_visible: put.receipt.next_visible.ticks(),
        number: model.number,
        expires: ttl.map_or(u64::MAX, |_| put.expires.ticks()),
        dequeue_count: 0,
        receipt: put.receipt,
    });
}

async fn get(world: &World, model: &mut Model, rng: &mut Rng) {
    let (count, visibility) = (1 + rng.below(6), [1, 11, 90][rng.below(3)]);
    let got = world.get(u32::try_from(count).unwrap(), visibility).await;
    let expected: Vec<usize> = model.visible().into_iter().take(count).collect();
    let texts: Vec<&str> = expected.iter().map(|&at| model.messages[at].text.as_str()).collect();
    assert_eq!(crate::world::texts(&got), texts);
    for (dequeued, at) in got.iter().zip(expected) {
        let message = &mut model.messages[at];
        assert_eq!(dequeued.message.dequeue_count, message.dequeue_count + 1);
        assert_eq!(dequeued.message.id, message.id);
        model.stale.push((message.id, message.receipt));
        message.dequeue_count += 1;
        message.next_visible = dequeued.receipt.next_visible.ticks();
        message.receipt = dequeued.receipt;
        model.saw(dequeued.receipt.next_visible.ticks(), visibility);
    }
}

async fn peek(world: &World, model: &Model, rng: &mut Rng) {
    let count = [1, 2, 5, 32][rng.below(4)];
    let visible = model.visible().into_iter().take(count);
    let expected: Vec<&str> = visible.map(|at| model.messages[at].text.as_str()).collect();
    let peeked = world.peek(count as u32).await;
    assert_eq!(peeked.iter().map(|message| &*message.text).collect::<Vec<_>>(), expected);
}

/// Deletes or updates a message, perhaps with a receipt that is no longer valid.
async fn change(world: &World, model: &mut Model, rng: &mut Rng) {
    if !model.stale.is_empty() && rng.below(3) == 0 {
        let (id, receipt) = model.stale[rng.below(model.stale.len())];
        assert_eq!(world.delete(id, receipt).await, Err(ErrorCode::MessageNotFound));
        assert_eq!(world.update(id, receipt, 5, None).await, Err(ErrorCode::MessageNotFound));
    }
    if model.messages.is_empty() {
        return;
    }
    let at = rng.below(model.messages.len());
    let Modelled { id, receipt, expires, .. } = model.messages[at].clone();
    let is_expired = expires <= model.time;
    if rng.below(2) == 0 {
        let deleted = world.delete(id, receipt).await;
        assert_eq!(deleted, if is_expired { Err(ErrorCode::MessageNotFound) } else { Ok(()) });
        if !is_expired {
            model.messages.remove(at);
            model.stale.push((id, receipt));
        }
        return;
    }
    let text = (rng.below(2) == 0).then(|| format!("changed {}", model.number));
    let visibility = [0, 5, 40][rng.below(3)];
    let updated = world.update(id, receipt, visibility, text.as_deref()).await;
    assert_eq!(updated.is_err(), is_expired);
    if let Ok(updated) = updated {
        model.saw(updated.next_visible.ticks(), visibility);
        model.stale.push((id, receipt));
        let message = &mut model.messages[at];
        message.next_visible = updated.next_visible.ticks();
        message.receipt = updated;
        message.text = text.unwrap_or_else(|| message.text.clone());
    }
}

async fn step(world: &mut World, model: &mut Model, rng: &mut Rng) {
    let kind = rng.below(20);
    // The service notices a change of the clock only when it reads the clock.
    if !(15..=17).contains(&kind) {
        world.peek(1).await;
        model.advance(&world.time);
    }
    match kind {
        0..=5 => put(world, model, rng).await,
        6..=9 => get(world, model, rng).await,
        10 => peek(world, model, rng).await,
        11..=14 => change(world, model, rng).await,
        15 | 16 => world.time.pass(SECOND / 3 + rng.below(12 * SECOND as usize) as u64),
        17 if rng.below(4) == 0 => world.time.set_back(rng.below(600 * SECOND as usize) as u64),
        17 if rng.below(4) == 0 => world.time.set_forward(rng.below(30 * SECOND as usize) as u64),
        // Across a restart the time is exact only if it is that of the clock: see `time.rs` for the rest.
        18 if model.time <= world.time.clock.load(std::sync::atomic::Ordering::SeqCst) => {
            *world = world.again();
        }
        19 if rng.below(30) == 0 => {
            world
                .run(lazuli_model::queue::Operation::ClearMessages(crate::world::queue(JOBS)))
                .await
                .unwrap();
            let gone = model.messages.drain(..).map(|message| (message.id, message.receipt));
            model.stale.extend(gone);
        }
        19 => {
            world.sweep().await;
            let left = model.messages.iter().filter(|message| message.expires > model.time).count();
            assert!(world.count(JOBS).await >= left as u64);
        }
        _ => {
            let left = model.messages.iter().filter(|message| message.expires > model.time).count();
            assert!(world.count(JOBS).await >= left as u64, "the number of messages is never too low");
        }
    }
}

async fn play(mut world: World, seed: u64, steps: usize) {
    world.create(JOBS).await;
    let mut rng = Rng::new(seed);
    let (messages, stale) = Default::default();
    let mut model = Model { messages, stale, time: 0, passed: 0, number: 0 };
    for _ in 0..steps {
        step(&mut world, &mut model, &mut rng).await;
    }
    // In the end everything that has not expired can be taken and deleted.
    world.time.pass(1000 * SECOND);
    model.advance(&world.time);
    let mut left = model.visible().len();
    loop {
        let got = world.get(32, 600).await;
        if got.is_empty() {
            break;
        }
        for dequeued in got {
            world.delete(dequeued.message.id, dequeued.receipt).await.unwrap();
            left -= 1;
        }
    }
    assert_eq!(left, 0);
    world.time.pass(1000 * SECOND);
    world.sweep().await;
    assert_eq!(world.count(JOBS).await, 0);
}

/// QU-01 to QU-05: visibility, order, receipts, expiry and counts.
#[tokio::test]
async fn random_operations_agree_with_the_model_in_memory() {
    for seed in 0..60 {
        println!("seed {seed}");
        play(World::new(), seed, 400).await;
    }
}

/// The same on files.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_operations_agree_with_the_model_on_the_store() {
    for seed in 100..103 {
        println!("seed {seed}");
        let directory = tempfile::tempdir().unwrap();
        let time = Time::new();
        let options = lazuli_store::Options {
            clock: time.clock(),
            durability: Durability::Relaxed,
            ..lazuli_store::Options::default()
        };
        let store = Arc::new(Store::open(directory.path(), options).unwrap());
        play(World::over(store.clone(), time), seed, 300).await;
        lazuli_engine::Engine::close(&*store).await.unwrap();
    }
}
