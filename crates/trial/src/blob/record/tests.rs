//! The search detects violations by append blobs, page blobs and tags.

use super::append::{length, piece, pieces};
use super::page::{PAGES, SequenceChange, SequenceCondition, page, pages};
use super::{AppendCall, AppendView, BlobCall, BlobCondition, Output, PageCall, PagesView, TagCall};
use crate::linear::{HistoryEvent, SearchVerdict, check};

type Event = HistoryEvent<BlobCall>;

fn event(start: u64, end: u64, operation: BlobCall, output: Output) -> Event {
    Event { client: 0, start, end, operation, output: Some(output) }
}

/// A change whose response was lost because of a kill at the time `end`.
fn lost(start: u64, end: u64, operation: BlobCall) -> Event {
    Event { client: 0, start, end, operation, output: None }
}

fn in_order(steps: &[(BlobCall, Output)]) -> Vec<Event> {
    let event = |(at, (operation, output)): (usize, &(BlobCall, Output))| {
        event(2 * at as u64, 2 * at as u64 + 1, operation.clone(), output.clone())
    };
    steps.iter().enumerate().map(event).collect()
}

#[track_caller]
fn expect(verdict: SearchVerdict, events: &[Event]) {
    assert_eq!(check(events), verdict, "{events:?}");
}

fn created() -> Event {
    let call = AppendCall::Create { number: 1, condition: BlobCondition::None };
    event(0, 1, BlobCall::Append(call), Output::Applied)
}

fn append(number: u32, position: Option<u64>) -> BlobCall {
    let condition = BlobCondition::None;
    BlobCall::Append(AppendCall::Append { number, condition, position, size_max: None })
}

fn appended(offset: u64, count: u32) -> Output {
    Output::Appended { offset, count }
}

fn read(start: u64, pieces: &[u32]) -> Event {
    let view = AppendView { created: 1, pieces: pieces.to_vec(), is_sealed: false };
    event(start, start + 1, BlobCall::Append(AppendCall::Get), Output::Appends(Some(view)))
}

#[test]
fn appends_at_the_same_offset_are_found() {
    let first = || event(2, 9, append(2, None), appended(0, 1));
    let second = |offset, count| event(3, 8, append(3, None), appended(offset, count));
    expect(SearchVerdict::Ordered, &[created(), first(), second(length(2), 2)]);
    expect(SearchVerdict::Impossible, &[created(), first(), second(0, 1)]);
    expect(SearchVerdict::Impossible, &[created(), first(), second(length(2), 1)]);
    let swapped = event(2, 9, append(2, None), appended(length(3), 2));
    expect(SearchVerdict::Ordered, &[created(), swapped.clone(), second(0, 1), read(10, &[3, 2])]);
    expect(SearchVerdict::Impossible, &[created(), swapped, second(0, 1), read(10, &[2, 3])]);
}

#[test]
fn a_lost_append_is_applied_once_or_never() {
    let interrupted = || lost(2, 10, append(2, None));
    expect(SearchVerdict::Ordered, &[created(), interrupted(), read(11, &[])]);
    expect(SearchVerdict::Ordered, &[created(), interrupted(), read(11, &[2])]);
    expect(SearchVerdict::Impossible, &[created(), interrupted(), read(11, &[2, 2])]);
    expect(SearchVerdict::Impossible, &[created(), interrupted(), read(11, &[]), read(13, &[2])]);
    // The offset of a later append shows that the lost one was applied.
    let next = |offset, count| event(12, 13, append(3, None), appended(offset, count));
    expect(SearchVerdict::Ordered, &[created(), interrupted(), next(length(2), 2), read(14, &[2, 3])]);
    expect(SearchVerdict::Impossible, &[created(), interrupted(), next(length(2), 2), read(14, &[3])]);
    expect(SearchVerdict::Impossible, &[created(), interrupted(), next(0, 1), read(14, &[2, 3])]);
}

#[test]
fn appends_that_are_gone_are_found() {
    let first = || event(2, 3, append(2, None), appended(0, 1));
    expect(SearchVerdict::Impossible, &[created(), first(), read(4, &[])]);
    expect(SearchVerdict::Impossible, &[created(), first(), event(4, 5, append(3, None), appended(0, 1))]);
}

#[test]
fn appends_at_a_position_that_was_taken_are_found() {
    let first = || event(2, 3, append(2, Some(0)), appended(0, 1));
    let late = |output| event(4, 5, append(3, Some(0)), output);
    expect(SearchVerdict::Ordered, &[created(), first(), late(Output::Rejected)]);
    expect(SearchVerdict::Impossible, &[created(), first(), late(appended(length(2), 2))]);
    let condition = BlobCondition::None;
    let bounded = |size_max| {
        BlobCall::Append(AppendCall::Append {
            number: 3,
            condition,
            position: None,
            size_max: Some(size_max),
        })
    };
    let (fits, small) = (length(2) + length(3), length(2) + length(3) - 1);
    let second = |size_max, output| event(4, 5, bounded(size_max), output);
    expect(SearchVerdict::Ordered, &[created(), first(), second(fits, appended(length(2), 2))]);
    expect(SearchVerdict::Impossible, &[created(), first(), second(small, appended(length(2), 2))]);
}

#[test]
fn appends_to_a_sealed_blob_are_found() {
    let call = AppendCall::Seal { number: 2, condition: BlobCondition::None, position: Some(0) };
    let sealed = || event(2, 3, BlobCall::Append(call.clone()), Output::Applied);
    let late = |output| event(4, 5, append(3, None), output);
    expect(SearchVerdict::Ordered, &[created(), sealed(), late(Output::Rejected)]);
    expect(SearchVerdict::Impossible, &[created(), sealed(), late(appended(0, 1))]);
    expect(SearchVerdict::Impossible, &[created(), sealed(), read(4, &[])]);
}

fn write(number: u32, first: usize, end: usize, sequence: SequenceCondition) -> BlobCall {
    let condition = BlobCondition::None;
    BlobCall::Page(PageCall::Write { number, first, end, clears: false, condition, sequence })
}

fn clear(number: u32, first: usize, end: usize) -> BlobCall {
    let (condition, sequence) = (BlobCondition::None, SequenceCondition::None);
    BlobCall::Page(PageCall::Write { number, first, end, clears: true, condition, sequence })
}

fn page_blob() -> (BlobCall, Output) {
    let call = PageCall::Create { number: 1, condition: BlobCondition::Absent, sequence: 3 };
    (BlobCall::Page(call), Output::Applied)
}

fn sequence(number: u64) -> Output {
    Output::Sequence(Some(number))
}

fn shown(changes: &[(usize, u32)]) -> (BlobCall, Output) {
    let mut view = PagesView { created: 1, pages: vec![None; PAGES] };
    changes.iter().for_each(|(page, number)| view.pages[*page] = Some(*number));
    (BlobCall::Page(PageCall::Get), Output::Pages(Some(view)))
}

#[test]
fn torn_and_lost_page_writes_are_found() {
    let steps = |last: (BlobCall, Output)| {
        let none = SequenceCondition::None;
        let changes = [
            page_blob(),
            (write(2, 30, 33, none), sequence(3)),
            (write(3, 31, 32, none), sequence(3)),
            (clear(4, 32, 40), sequence(3)),
        ];
        in_order(&[&changes[..], &[last]].concat())
    };
    expect(SearchVerdict::Ordered, &steps(shown(&[(30, 2), (31, 3)])));
    expect(SearchVerdict::Impossible, &steps(shown(&[(30, 2), (31, 2)])));
    expect(SearchVerdict::Impossible, &steps(shown(&[(30, 2), (31, 3), (32, 2)])));
    expect(SearchVerdict::Impossible, &steps(shown(&[(31, 3)])));
    let ranges = |pages: &[usize]| (BlobCall::Page(PageCall::Ranges), Output::Ranges(Some(pages.to_vec())));
    expect(SearchVerdict::Ordered, &steps(ranges(&[30, 31])));
    expect(SearchVerdict::Impossible, &steps(ranges(&[30, 31, 32])));
}

#[test]
fn page_writes_in_spite_of_the_sequence_number_are_found() {
    let change =
        PageCall::SetSequence { number: 2, change: SequenceChange::Max(5), condition: BlobCondition::None };
    let raised = (BlobCall::Page(change), sequence(5));
    for (condition, before, after) in [
        (SequenceCondition::AtMost(4), true, false),
        (SequenceCondition::Below(4), true, false),
        (SequenceCondition::Is(5), false, true),
    ] {
        let written = |number| (write(3, 0, 1, condition), sequence(number));
        let verdict = |holds| if holds { SearchVerdict::Ordered } else { SearchVerdict::Impossible };
        expect(verdict(before), &in_order(&[page_blob(), written(3), raised.clone()]));
        expect(verdict(after), &in_order(&[page_blob(), raised.clone(), written(5)]));
    }
}

fn tagged(tag: Option<u32>) -> (BlobCall, Output) {
    let (number, condition) = (1, BlobCondition::None);
    (BlobCall::Tag(TagCall::Put { number, new: tag, condition, tag: None }), Output::Applied)
}

#[test]
fn searches_that_miss_a_tag_are_found() {
    let find = |tag, found| (BlobCall::Tag(TagCall::Find { tag }), Output::Found(found));
    let set = |new, tag, output| (BlobCall::Tag(TagCall::SetTag { new, tag }), output);
    let changed = || [tagged(Some(1)), set(2, Some(1), Output::Applied)];
    let then = |last: (BlobCall, Output)| in_order(&[&changed()[..], &[last]].concat());
    expect(SearchVerdict::Ordered, &then(find(2, true)));
    expect(SearchVerdict::Impossible, &then(find(2, false)));
    expect(SearchVerdict::Impossible, &then(find(1, true)));
    // While the tag changes, a search may find either value.
    let during = |found| event(2, 3, BlobCall::Tag(TagCall::Find { tag: 1 }), Output::Found(found));
    let slow = |found| {
        let mut events = in_order(&changed());
        events[1].end = 9;
        events.push(during(found));
        events
    };
    expect(SearchVerdict::Ordered, &slow(true));
    expect(SearchVerdict::Ordered, &slow(false));
}

/// Of two changes that require the same tag and replace it, one is rejected.
#[test]
fn lost_updates_of_a_tag_are_found() {
    let set = |new, output| (BlobCall::Tag(TagCall::SetTag { new, tag: Some(1) }), output);
    let both = |output| in_order(&[tagged(Some(1)), set(2, Output::Applied), set(3, output)]);
    expect(SearchVerdict::Ordered, &both(Output::Rejected));
    expect(SearchVerdict::Impossible, &both(Output::Applied));
    // Tags are not part of the state that an ETag identifies.
    let put = TagCall::Put { number: 9, new: None, condition: BlobCondition::Is(1), tag: Some(2) };
    let replaced =
        |output| in_order(&[tagged(Some(1)), set(2, Output::Applied), (BlobCall::Tag(put.clone()), output)]);
    expect(SearchVerdict::Ordered, &replaced(Output::Applied));
    expect(SearchVerdict::Impossible, &replaced(Output::Rejected));
}

#[test]
fn contents_show_who_wrote_them() {
    let numbers = [7, 16, 3_000_001];
    let content: Vec<u8> = numbers.iter().flat_map(|number| piece(*number)).collect();
    assert_eq!(content.len() as u64, numbers.iter().map(|number| length(*number)).sum::<u64>());
    assert_eq!(pieces(&content), Ok(numbers.to_vec()));
    for damaged in [&content[..content.len() - 1], &content[1..]] {
        assert!(pieces(damaged).is_err());
    }
    let mut blob: Vec<u8> = (0..PAGES).flat_map(|at| page(5, at)).collect();
    assert_eq!(pages(&blob), Ok(vec![Some(5); PAGES]));
    blob[512..1024].fill(0);
    assert_eq!(pages(&blob).expect("they are pages")[..3], [Some(5), None, Some(5)]);
    blob.swap(0, 2048);
    blob[700] = 1;
    assert!(pages(&blob).is_err());
}
