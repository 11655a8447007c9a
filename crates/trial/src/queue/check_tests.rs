//! Each rule rejects a history that breaks it, and accepts a similar one that does not.

use super::*;

const M: u64 = 7;

fn event(start: u64, end: u64, act: Act) -> QueueEvent {
    let at = Duration::from_millis;
    QueueEvent { client: 0, start: at(start), end: at(end), act, outcome: CallOutcome::Done }
}

fn put() -> QueueEvent {
    event(0, 1, Act::Put { message: M, ttl: None })
}

fn get(start: u64, end: u64, receipt: &str, dequeue_count: u64) -> QueueEvent {
    let received =
        Received { message: M, version: 0, receipt: receipt.to_owned(), dequeue_count, is_moved: false };
    event(start, end, Act::Get { seconds: 3, received: vec![received] })
}

fn update(start: u64, end: u64, receipt: &str, seconds: u64) -> QueueEvent {
    let given = Some(format!("{receipt}+"));
    event(start, end, Act::Update { message: M, receipt: receipt.to_owned(), version: 1, seconds, given })
}

fn delete(start: u64, end: u64, receipt: &str) -> QueueEvent {
    event(start, end, Act::Delete { message: M, receipt: receipt.to_owned() })
}

fn rejected(event: QueueEvent) -> QueueEvent {
    QueueEvent { outcome: CallOutcome::Rejected, ..event }
}

fn unknown(event: QueueEvent) -> QueueEvent {
    QueueEvent { outcome: CallOutcome::Unknown, ..event }
}

#[track_caller]
fn breaks(rule: &str, events: &[QueueEvent]) {
    let error = check(events).expect_err("the history breaks a rule");
    assert!(error.contains(rule), "{error}");
}

/// QU-01: a message that was received is invisible to everyone else until its visibility timeout ends.
#[test]
fn two_holders_are_found() {
    breaks("two holders", &[put(), get(2, 3, "a", 1), get(4, 5, "b", 2)]);
    breaks("two holders", &[put(), get(2, 6, "a", 1), get(3, 5, "b", 2)]);
    assert_eq!(check(&[put(), get(2, 3, "a", 1), get(3100, 3101, "b", 2)]), Ok(()));
}

#[test]
fn a_holder_may_release_a_message() {
    let mut again = get(6, 7, "c", 2);
    if let Act::Get { received, .. } = &mut again.act {
        received[0].version = 1;
    }
    assert_eq!(check(&[put(), get(2, 3, "a", 1), update(4, 5, "a", 0), again.clone()]), Ok(()));
    assert_eq!(check(&[put(), get(2, 3, "a", 1), unknown(update(4, 5, "a", 0)), again.clone()]), Ok(()));
    breaks("two holders", &[put(), get(2, 3, "a", 1), update(4, 5, "a", 5), again]);
}

#[test]
fn deleted_messages_stay_deleted() {
    breaks("after it was deleted", &[put(), get(2, 3, "a", 1), delete(4, 5, "a"), get(9000, 9001, "b", 2)]);
    let maybe = unknown(delete(4, 5, "a"));
    assert_eq!(check(&[put(), get(2, 3, "a", 1), maybe, get(9000, 9001, "b", 2)]), Ok(()));
}

#[test]
fn messages_come_from_nowhere_only_by_mistake() {
    breaks("never put", &[get(2, 3, "a", 1)]);
    breaks("before it was put", &[get(2, 3, "a", 1), event(4, 5, Act::Put { message: M, ttl: None })]);
}

#[test]
fn updates_are_never_lost() {
    let events = [put(), get(2, 3, "a", 1), update(4, 5, "a", 0), get(6, 7, "b", 2)];
    breaks("lost its update", &events);
}

#[test]
fn dequeue_counts_grow() {
    breaks("dequeue count", &[put(), get(2, 3, "a", 1), get(9000, 9001, "b", 1)]);
}

#[test]
fn replaced_receipts_are_rejected() {
    let gets = [put(), get(2, 3, "a", 1), get(9000, 9001, "b", 2)];
    let late = delete(9002, 9003, "a");
    breaks("later get had replaced", &[&gets[..], std::slice::from_ref(&late)].concat());
    assert_eq!(check(&[&gets[..], &[rejected(late)]].concat()), Ok(()));
    breaks("later update had replaced", &[put(), get(2, 3, "a", 1), update(4, 5, "a", 3), delete(6, 7, "a")]);
    assert_eq!(check(&[put(), get(2, 3, "a", 1), update(4, 5, "a", 3), delete(6, 7, "a+")]), Ok(()));
}

/// A server that rejected every receipt broke no rule.
#[test]
fn the_newest_receipt_is_not_rejected() {
    let first = [put(), get(2, 3, "a", 1)];
    let then = |more: &[QueueEvent]| check(&[&first[..], more].concat());
    breaks("nothing can have replaced it", &[&first[..], &[rejected(delete(4, 5, "a"))]].concat());
    breaks("nothing can have replaced it", &[&first[..], &[rejected(update(4, 5, "a", 3))]].concat());
    let updated = [&first[..], &[update(4, 5, "a", 3), rejected(delete(6, 7, "a+"))]].concat();
    breaks("nothing can have replaced it", &updated);
    // Two operations that are rejected do not explain each other.
    let both = [rejected(delete(4, 9, "a")), rejected(update(5, 8, "a", 3))];
    breaks("nothing can have replaced it", &[&first[..], &both[..]].concat());
    // A change that had ended before the receipt was issued does not explain it.
    let before = [put(), get(2, 3, "a", 1), update(4, 5, "a", 0)];
    let mut again = get(6, 7, "b", 2);
    if let Act::Get { received, .. } = &mut again.act {
        received[0].version = 1;
    }
    breaks("nothing can have replaced it", &[&before[..], &[again, rejected(delete(8, 9, "b"))]].concat());

    assert_eq!(then(&[rejected(delete(4, 9, "a")), update(5, 8, "a", 3)]), Ok(()));
    assert_eq!(then(&[rejected(delete(4, 9, "a")), delete(5, 8, "a")]), Ok(()));
    assert_eq!(then(&[unknown(delete(4, 5, "a")), rejected(update(6, 7, "a", 3))]), Ok(()));
    let lost = unknown(event(4, 5, Act::Get { seconds: 3, received: Vec::new() }));
    assert_eq!(then(&[lost, rejected(delete(6, 7, "a"))]), Ok(()));
}

/// Messages that were never hidden are received in the order of their puts, if these did not overlap.
#[test]
fn messages_are_received_in_the_order_of_their_puts() {
    let put = |message, start, end| event(start, end, Act::Put { message, ttl: None });
    let get = |counts: [u64; 2]| {
        let received = [2, 1].into_iter().zip(counts).map(|(message, dequeue_count)| Received {
            message,
            version: 0,
            receipt: format!("{message}"),
            dequeue_count,
            is_moved: false,
        });
        event(10, 11, Act::Get { seconds: 3, received: received.collect() })
    };
    breaks("which was put earlier", &[put(1, 0, 1), put(2, 2, 3), get([1, 1])]);
    assert_eq!(check(&[put(1, 0, 3), put(2, 2, 4), get([1, 1])]), Ok(()), "the puts overlap");
    assert_eq!(check(&[put(2, 0, 1), put(1, 2, 3), get([1, 1])]), Ok(()));
    assert_eq!(check(&[put(1, 0, 1), put(2, 2, 3), get([1, 2])]), Ok(()), "one was hidden");
}

#[test]
fn only_acknowledged_messages_that_were_never_deleted_must_exist() {
    assert!(must_exist(&[put(), get(2, 3, "a", 1)]).contains(&M));
    assert!(must_exist(&[unknown(put())]).is_empty());
    for end in [delete(4, 5, "a"), unknown(delete(4, 5, "a"))] {
        assert!(must_exist(&[put(), get(2, 3, "a", 1), end]).is_empty());
    }
}

/// A delete that was in progress when its process was killed could excuse the loss of a message that the next
/// process still had.
#[test]
fn a_message_that_was_received_after_a_lost_delete_had_ended_must_exist() {
    let lost = unknown(delete(4, 50, "a"));
    let before = [put(), get(2, 3, "a", 1), lost.clone(), get(45, 60, "b", 2)];
    assert!(must_exist(&before).is_empty(), "the delete may have come after the second get");
    let after = [put(), get(2, 3, "a", 1), lost, get(51, 60, "b", 2)];
    assert!(must_exist(&after).contains(&M));
    assert!(must_exist(&[unknown(put()), get(2, 3, "a", 1)]).contains(&M), "it was received, so it was put");
}

fn clear(start: u64, end: u64) -> QueueEvent {
    event(start, end, Act::Clear)
}

fn moving(start: u64, end: u64) -> QueueEvent {
    event(start, end, Act::Move)
}

/// A get from the queue to which messages are moved.
fn get_moved(start: u64, end: u64, receipt: &str, dequeue_count: u64) -> QueueEvent {
    let mut get = get(start, end, receipt, dequeue_count);
    if let Act::Get { received, .. } = &mut get.act {
        received[0].is_moved = true;
    }
    get
}

#[test]
fn cleared_messages_stay_gone() {
    breaks("after its queue was cleared", &[put(), clear(2, 3), get(4, 5, "a", 1)]);
    assert_eq!(check(&[put(), unknown(clear(2, 3)), get(4, 5, "a", 1)]), Ok(()));
    assert_eq!(check(&[put(), clear(0, 3), get(4, 5, "a", 1)]), Ok(()), "the put may come later");
    assert_eq!(check(&[put(), clear(2, 5), get(4, 6, "a", 1)]), Ok(()), "the get may come earlier");
    // The other queue was not cleared.
    assert_eq!(check(&[put(), moving(2, 3), clear(4, 5), get_moved(6, 7, "a", 1)]), Ok(()));
    breaks("after its queue was cleared", &[put(), clear(2, 3), moving(4, 5), get_moved(6, 7, "a", 1)]);
}

#[test]
fn a_message_that_may_be_cleared_need_not_exist() {
    for clear in [clear(2, 3), clear(0, 3), unknown(clear(2, 3))] {
        assert!(must_exist(&[put(), clear.clone()]).is_empty(), "{clear:?}");
    }
    let late = event(4, 5, Act::Put { message: M, ttl: None });
    assert!(must_exist(&[clear(2, 3), late]).contains(&M));
    assert!(must_exist(&[put(), unknown(clear(2, 3)), get(4, 5, "a", 1)]).contains(&M), "it was not cleared");
    // Rejecting a receipt of a cleared message is correct.
    assert_eq!(check(&[put(), get(2, 3, "a", 1), clear(4, 5), rejected(delete(6, 7, "a"))]), Ok(()));
    breaks("nothing can have", &[put(), clear(0, 1), get(2, 3, "a", 1), rejected(delete(6, 7, "a"))]);
}

#[test]
fn expired_messages_stay_gone() {
    let put = || event(0, 1, Act::Put { message: M, ttl: Some(2) });
    assert_eq!(check(&[put(), get(2900, 2901, "a", 1)]), Ok(()), "times are full seconds");
    breaks("after it had expired", &[put(), get(3100, 3101, "a", 1)]);
    assert!(must_exist(&[put()]).is_empty());
    // Rejecting a receipt of an expired message is correct, and so is rejecting an update beyond its lifetime.
    assert_eq!(check(&[put(), get(2, 3, "a", 1), rejected(delete(1900, 1901, "a"))]), Ok(()));
    assert_eq!(check(&[put(), get(2, 3, "a", 1), rejected(update(4, 5, "a", 3))]), Ok(()));
    breaks("nothing can have", &[put(), get(2, 3, "a", 1), rejected(delete(4, 5, "a"))]);
}

#[test]
fn moved_messages_are_in_one_queue() {
    let moved = [put(), moving(2, 3), get_moved(4, 5, "a", 1)];
    assert_eq!(check(&moved), Ok(()));
    breaks("nothing has moved it", &[put(), get_moved(4, 5, "a", 1)]);
    breaks("nothing has moved it", &[put(), rejected(moving(2, 3)), get_moved(4, 5, "a", 1)]);
    breaks("after it had been moved", &[&moved[..], &[get(9000, 9001, "b", 1)]].concat());
    breaks("two holders", &[put(), get(1, 2, "a", 1), moving(3, 4), get_moved(5, 6, "b", 1)]);
    // The dequeue count restarts in the other queue.
    let first = [put(), get(1, 2, "a", 1), moving(5000, 5001), get_moved(5002, 5003, "b", 1)];
    assert_eq!(check(&first), Ok(()));
    breaks("dequeue count", &[&first[..], &[get_moved(9000, 9001, "c", 1)]].concat());
    assert_eq!(check(&[put(), get(1, 2, "a", 1), moving(3, 4), rejected(delete(5, 6, "a"))]), Ok(()));
}
