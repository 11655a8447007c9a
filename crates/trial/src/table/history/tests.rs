//! The search rejects histories that the Table service must never produce.

use super::record::{Output, ROWS, Single, TableCall};
use crate::linear::{self, SearchVerdict, check};

type Event = linear::HistoryEvent<TableCall>;

fn event(start: u64, end: u64, operation: TableCall, output: Option<Output>) -> Event {
    Event { client: 0, start, end, operation, output }
}

fn put(value: u32) -> TableCall {
    TableCall::Write(Single::Put { row: 0, value })
}

fn saw(value: Option<u32>) -> Option<Output> {
    Some(Output::Value(value))
}

#[track_caller]
fn expect(verdict: SearchVerdict, events: &[Event]) {
    assert_eq!(check(events), verdict, "{events:?}");
}

/// CS-02: changes are visible as soon as they are acknowledged.
#[test]
fn stale_reads_are_found() {
    let write = || event(0, 1, put(7), Some(Output::Applied));
    expect(SearchVerdict::Ordered, &[write(), event(2, 3, TableCall::Get(0), saw(Some(7)))]);
    expect(SearchVerdict::Impossible, &[write(), event(2, 3, TableCall::Get(0), saw(None))]);
    // While the write is in progress both values are correct, but not the new one followed by the old one.
    let slow = || event(0, 9, put(7), Some(Output::Applied));
    expect(SearchVerdict::Ordered, &[slow(), event(2, 3, TableCall::Get(0), saw(None))]);
    let back =
        [slow(), event(2, 3, TableCall::Get(0), saw(Some(7))), event(4, 5, TableCall::Get(0), saw(None))];
    expect(SearchVerdict::Impossible, &back);
}

/// ER-06: a write with an unknown outcome is visible or not, but this does not change back and forth.
#[test]
fn unknown_writes_may_be_there_or_not() {
    let unknown = || event(0, u64::MAX, put(7), None);
    for value in [None, Some(7)] {
        expect(SearchVerdict::Ordered, &[unknown(), event(2, 3, TableCall::Get(0), saw(value))]);
    }
    let reads = |first, second| {
        [unknown(), event(2, 3, TableCall::Get(0), saw(first)), event(4, 5, TableCall::Get(0), saw(second))]
    };
    expect(SearchVerdict::Ordered, &reads(None, Some(7)));
    expect(SearchVerdict::Impossible, &reads(Some(7), None));
}

/// ER-06: a write that was in progress when its process was killed is visible when the next one is ready, or
/// never.
#[test]
fn an_unknown_write_does_not_appear_after_its_process_has_ended() {
    let unknown = || event(0, 10, put(7), None);
    let read = |start, value| event(start, start + 1, TableCall::Get(0), saw(value));
    for value in [None, Some(7)] {
        expect(SearchVerdict::Ordered, &[unknown(), read(11, value), read(13, value)]);
    }
    expect(SearchVerdict::Ordered, &[unknown(), read(2, None), read(4, Some(7)), read(11, Some(7))]);
    expect(SearchVerdict::Impossible, &[unknown(), read(11, None), read(13, Some(7))]);
    // It must not undo a later write, either.
    let later = || event(11, 12, put(8), Some(Output::Applied));
    expect(SearchVerdict::Impossible, &[unknown(), later(), read(13, Some(7))]);
    // A read that overlaps the start of the next process does not determine the time.
    let slow = event(9, 12, TableCall::Get(0), saw(None));
    expect(SearchVerdict::Ordered, &[unknown(), slow, read(13, Some(7))]);
}

/// TX-09, TX-11.
#[test]
fn parts_of_transactions_are_found() {
    let both = vec![Single::Put { row: 0, value: 1 }, Single::Put { row: 1, value: 2 }];
    let transaction = || event(0, 9, TableCall::Transaction(both.clone()), Some(Output::Applied));
    let scan = |state| event(2, 3, TableCall::Scan, Some(Output::Values(state)));
    expect(SearchVerdict::Ordered, &[transaction(), scan([None; ROWS])]);
    expect(SearchVerdict::Ordered, &[transaction(), scan([Some(1), Some(2), None, None])]);
    expect(SearchVerdict::Impossible, &[transaction(), scan([Some(1), None, None, None])]);
}

/// CC-04: of two swaps from one value, one succeeds.
#[test]
fn lost_updates_are_found() {
    let swap = |value| TableCall::Write(Single::Swap { row: 0, expected: 7, value });
    let first = || event(0, 1, put(7), Some(Output::Applied));
    let one = || event(2, 9, swap(8), Some(Output::Applied));
    expect(SearchVerdict::Ordered, &[first(), one(), event(3, 8, swap(9), Some(Output::Mismatch))]);
    expect(SearchVerdict::Impossible, &[first(), one(), event(3, 8, swap(9), Some(Output::Applied))]);
}
