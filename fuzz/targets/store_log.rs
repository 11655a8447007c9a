//! The end of a log as crashes and damage leave it: no panic, and never cut where a complete batch follows. The first bytes of the
//! input select the damage. The rest is the log: first as it is, then as the store would have written it.

#![no_main]

use lazuli_fuzz::log::{Batch, END_BYTES, MAGIC, START_BYTES, batches, mended, with_lost_sectors};
use lazuli_store::fuzzing::{Summary, Tail, read_log};
use libfuzzer_sys::fuzz_target;

/// The damage to a log.
struct Fate {
    /// The offset of the damaged byte, modulo the length of what is damaged: the log, or its last batch.
    place: u16,
    /// The bits that change in the byte there.
    change: u8,
    /// Which sectors of the last batch are lost.
    lost: u8,
}

fuzz_target!(|input: &[u8]| {
    let Some((&[place, share, change, lost], log)) = input.split_first_chunk() else { return };
    let fate = Fate { place: u16::from_le_bytes([place, share]), change: change.max(1), lost };
    check(log);
    let log = mended(log);
    check(&log);
    let batches = batches(&log);
    let Some((last, before)) = batches.split_last() else { return };
    assert_eq!(read_log(&log), clean(&batches));
    damage_before(&log, before, &fate);
    damage_in_last(&log, last, &fate);
    // Rows that contain what looks like the end of a batch may be treated with more caution.
    let inner = &log[last.place.start..last.place.end - 1];
    if !inner.windows(MAGIC.len()).any(|bytes| bytes == MAGIC) {
        kill(&log, last, before, &fate);
        loss_of_power(&log, last, before, &fate);
    }
});

/// Checks that hold for every log.
fn check(log: &[u8]) {
    let found = read_log(log);
    let mut whole = batches(log);
    let follows = whole
        .windows(2)
        .take_while(|pair| pair[1].number > pair[0].number && pair[1].number - pair[0].number < 1 << 24);
    let following = follows.count() + 1;
    let is_in_order = following >= whole.len();
    whole.truncate(following);
    let wanted = clean(&whole);
    assert_eq!((found.end, found.sequence), (wanted.end, wanted.sequence));
    // The kept part is read again unchanged, with and without zeros after it.
    let end = found.end as usize;
    assert_eq!(read_log(&log[..end]), wanted);
    assert_eq!(found.tail == Tail::Clean, is_in_order && log[end..].iter().all(|&byte| byte == 0));
    assert_eq!(read_log(&[log, &[0; 700]].concat()), found);
}

fn clean(batches: &[Batch]) -> Summary {
    let sequence = batches.first().zip(batches.last()).map(|(first, last)| (first.number, last.number));
    let end = batches.last().map_or(0, |last| last.place.end as u64);
    Summary { end, sequence, tail: Tail::Clean }
}

/// A damaged byte before a complete batch never causes that batch to be cut off. Only a changed number goes unnoticed.
fn damage_before(log: &[u8], before: &[Batch], fate: &Fate) {
    let Some(end) = before.last().map(|batch| batch.place.end) else { return };
    let at = usize::from(fate.place) % end;
    let batch = before.iter().find(|batch| batch.place.contains(&at)).expect("it is in one of them");
    let tail = changed(log, at, fate.change).tail;
    assert!(tail == Tail::Damaged || (tail == Tail::Clean && is_number(batch, at)), "byte {at}: {tail:?}");
}

/// Damage in the last batch is not mistaken for the effect of a kill, except for zeros at the end.
fn damage_in_last(log: &[u8], last: &Batch, fate: &Fate) {
    let at = last.place.start + usize::from(fate.place) % last.place.len();
    let tail = changed(log, at, fate.change).tail;
    match tail {
        Tail::Clean => assert!(is_number(last, at), "byte {at}"),
        Tail::Torn => panic!("byte {at}"),
        Tail::Holed | Tail::Altered | Tail::Damaged => {}
    }
}

fn changed(log: &[u8], at: usize, change: u8) -> Summary {
    let mut log = log.to_vec();
    log[at] ^= change;
    read_log(&log)
}

fn is_number(batch: &Batch, at: usize) -> bool {
    (5..START_BYTES).contains(&(at - batch.place.start))
}

/// A store starts without an operator after a kill.
fn kill(log: &[u8], last: &Batch, before: &[Batch], fate: &Fate) {
    let written = usize::from(fate.place) % last.place.len();
    let found = read_log(&log[..last.place.start + written]);
    let is_all_but_end = written + END_BYTES > last.place.len();
    match found.tail {
        Tail::Clean => assert_eq!(written, 0),
        Tail::Holed => assert!(is_all_but_end, "{written} bytes"),
        Tail::Torn => {}
        Tail::Altered | Tail::Damaged => panic!("{written} bytes: {:?}", found.tail),
    }
    assert_eq!(Summary { tail: Tail::Clean, ..found }, clean(before));
}

/// A store starts without an operator after a loss of power.
fn loss_of_power(log: &[u8], last: &Batch, before: &[Batch], fate: &Fate) {
    let left = with_lost_sectors(log, last.place.start, fate.lost);
    if left == log {
        return;
    }
    let found = read_log(&left);
    assert!(matches!(found.tail, Tail::Clean | Tail::Torn | Tail::Holed), "{:?}", found.tail);
    assert_eq!(Summary { tail: Tail::Clean, ..found }, clean(before));
}
