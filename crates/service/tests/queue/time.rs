//! Clocks that jump, and restarts.

use crate::world::{JOBS, SECOND, World, texts};

const HOUR: u64 = 3600 * SECOND;

/// QU-04: a message that was visible stays visible when the clock is set back and the server restarts.
#[tokio::test]
async fn a_visible_message_stays_visible_after_a_restart_with_an_earlier_clock() {
    let world = World::with_queue().await;
    world.put("one").await;
    world.time.set_back(HOUR);
    let world = world.again();
    assert_eq!(world.peek(1).await.len(), 1);
    assert_eq!(texts(&world.get(1, 30).await), ["one"]);
}

/// QU-01, QU-04: a visibility timeout ends when its time has passed, although the clock was set back.
#[tokio::test]
async fn timeouts_end_while_the_clock_is_behind() {
    let world = World::with_queue().await;
    world.put("one").await;
    assert_eq!(world.get(1, 30).await.len(), 1);
    world.time.set_back(HOUR);
    assert!(world.get(1, 30).await.is_empty(), "it is still hidden");
    world.time.pass(29 * SECOND);
    assert!(world.get(1, 30).await.is_empty(), "it is still hidden");
    world.time.pass(2 * SECOND);
    assert_eq!(texts(&world.get(1, 30).await), ["one"]);
}

/// QU-04: the same across a restart, long after the clock was set back.
#[tokio::test]
async fn messages_of_a_queue_that_is_ahead_of_the_clock_survive_a_restart() {
    let world = World::with_queue().await;
    world.put("before").await;
    world.time.set_back(HOUR);
    world.time.pass(HOUR / 2);
    world.put("after").await;
    let held = world.get(1, 30).await;
    assert_eq!(texts(&held), ["before"]);
    let world = world.again();
    assert_eq!(texts(&world.get(2, 30).await), ["after"], "it is visible, and the other is hidden");
    world.time.pass(31 * SECOND);
    let mut again: Vec<String> = texts(&world.get(2, 30).await).iter().map(ToString::to_string).collect();
    again.sort();
    assert_eq!(again, ["after", "before"]);
}

/// A jump forward ends timeouts early, but a message still has one holder: the receipt of the first is no longer valid.
#[tokio::test]
async fn a_jump_forward_leaves_one_holder() {
    let world = World::with_queue().await;
    world.put("one").await;
    let first = world.get(1, 600).await;
    world.time.set_forward(HOUR);
    let second = world.get(1, 600).await;
    assert_eq!(second[0].message.dequeue_count, 2);
    assert!(world.delete(first[0].message.id, first[0].receipt).await.is_err());
    assert!(world.update(first[0].message.id, first[0].receipt, 1, None).await.is_err());
    world.delete(second[0].message.id, second[0].receipt).await.unwrap();
    assert_eq!(world.count("jobs").await, 0);
}

/// The clock is set forward to make up for time in which the machine was suspended. The monotonic clock does not count that
/// time, but a message that was due in it must not be late.
#[tokio::test]
async fn time_in_which_the_machine_was_suspended_counts() {
    let world = World::with_queue().await;
    world.put_into(JOBS, "due", 600, None).await;
    world.put_into(JOBS, "brief", 0, Some(600)).await;
    world.time.set_forward(HOUR);
    assert_eq!(texts(&world.get(2, 30).await), ["due"], "the other has expired");
}

/// QU-02: the time of next visibility is the time of the dequeue and the timeout.
#[tokio::test]
async fn the_time_of_next_visibility() {
    let world = World::with_queue().await;
    let put = world.put("one").await;
    let got = world.get(1, 90).await;
    let passed = got[0].receipt.next_visible.ticks() - put.inserted.ticks();
    assert!((90 * SECOND..90 * SECOND + 1000).contains(&passed), "{passed}");
}
