//! Looks for an order that explains a history (Wing and Gong's search, with the memory that Lowe added).
//!
//! At every point any operation may come next that started before the first unplaced answer; it fits if the map gives the
//! recorded answer. Operations without an answer may be placed anywhere after their start, or nowhere.

use std::collections::HashSet;

use super::record::{Event, ROWS, State};

/// Places that are tried before giving up.
const STEPS_MAX: usize = 5_000_000;

/// What the search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is an order.
    Ordered,
    /// There is none: the server was wrong.
    Impossible,
    /// Neither was found within the bound.
    GaveUp,
}

/// Which events are placed, as bits.
type Placed = Vec<u64>;

/// Is there an order of these events in which a plain map gives all of their answers?
pub fn check(events: &[Event]) -> Verdict {
    let mut events: Vec<&Event> = events.iter().collect();
    events.sort_by_key(|event| event.start);
    let mut search = Search { events, seen: HashSet::new(), steps: 0 };
    search.run()
}

struct Search<'a> {
    events: Vec<&'a Event>,
    seen: HashSet<(Placed, State)>,
    steps: usize,
}

/// A point of the search: what is placed, what the map holds, and which event to try next.
struct Point {
    placed: Placed,
    state: State,
    next: usize,
}

impl Search<'_> {
    fn run(&mut self) -> Verdict {
        let empty = vec![0; self.events.len().div_ceil(64)];
        let mut path = vec![Point { placed: empty, state: [None; ROWS], next: 0 }];
        while let Some(point) = path.last_mut() {
            let (limit, done) = self.limit(&point.placed);
            if done {
                return Verdict::Ordered;
            }
            self.steps += 1;
            if self.steps > STEPS_MAX {
                return Verdict::GaveUp;
            }
            let at = point.next;
            if at >= self.events.len() || self.events[at].start > limit {
                path.pop();
                continue;
            }
            point.next += 1;
            if is_placed(&point.placed, at) {
                continue;
            }
            let event = self.events[at];
            let (state, answer) = event.operation.apply(&point.state);
            if event.answer.as_ref().is_some_and(|recorded| *recorded != answer) {
                continue;
            }
            let mut placed = point.placed.clone();
            placed[at / 64] |= 1 << (at % 64);
            if self.seen.insert((placed.clone(), state)) {
                path.push(Point { placed, state, next: 0 });
            }
        }
        Verdict::Impossible
    }

    /// The first answer among the unplaced: what started later cannot come before it. Done if nobody waits for an answer.
    fn limit(&self, placed: &Placed) -> (u64, bool) {
        let waiting = self
            .events
            .iter()
            .enumerate()
            .filter(|(at, event)| event.answer.is_some() && !is_placed(placed, *at));
        match waiting.map(|(_, event)| event.end).min() {
            Some(end) => (end, false),
            None => (u64::MAX, true),
        }
    }
}

fn is_placed(placed: &Placed, at: usize) -> bool {
    placed[at / 64] & (1 << (at % 64)) != 0
}

#[cfg(test)]
mod tests {
    use super::super::record::{Answer, Operation, Single};
    use super::*;

    fn event(start: u64, end: u64, operation: Operation, answer: Option<Answer>) -> Event {
        Event { client: 0, start, end, operation, answer }
    }

    fn put(value: u32) -> Operation {
        Operation::Write(Single::Put { row: 0, value })
    }

    fn saw(value: Option<u32>) -> Option<Answer> {
        Some(Answer::Value(value))
    }

    #[track_caller]
    fn expect(verdict: Verdict, events: &[Event]) {
        assert_eq!(check(events), verdict, "{events:?}");
    }

    /// CS-02: what was acknowledged is seen from then on.
    #[test]
    fn stale_reads_are_found() {
        let write = || event(0, 1, put(7), Some(Answer::Applied));
        expect(Verdict::Ordered, &[write(), event(2, 3, Operation::Get(0), saw(Some(7)))]);
        expect(Verdict::Impossible, &[write(), event(2, 3, Operation::Get(0), saw(None))]);
        // While the write is on its way both are right, but not the new and then the old.
        let slow = || event(0, 9, put(7), Some(Answer::Applied));
        expect(Verdict::Ordered, &[slow(), event(2, 3, Operation::Get(0), saw(None))]);
        let back =
            [slow(), event(2, 3, Operation::Get(0), saw(Some(7))), event(4, 5, Operation::Get(0), saw(None))];
        expect(Verdict::Impossible, &back);
    }

    /// ER-06: an unknown write is there or not, but does not come and go.
    #[test]
    fn unknown_writes_may_be_there_or_not() {
        let unknown = || event(0, u64::MAX, put(7), None);
        for value in [None, Some(7)] {
            expect(Verdict::Ordered, &[unknown(), event(2, 3, Operation::Get(0), saw(value))]);
        }
        let reads = |first, second| {
            [
                unknown(),
                event(2, 3, Operation::Get(0), saw(first)),
                event(4, 5, Operation::Get(0), saw(second)),
            ]
        };
        expect(Verdict::Ordered, &reads(None, Some(7)));
        expect(Verdict::Impossible, &reads(Some(7), None));
    }

    /// TX-09, TX-11.
    #[test]
    fn parts_of_transactions_are_found() {
        let both = vec![Single::Put { row: 0, value: 1 }, Single::Put { row: 1, value: 2 }];
        let transaction = || event(0, 9, Operation::Transaction(both.clone()), Some(Answer::Applied));
        let scan = |state| event(2, 3, Operation::Scan, Some(Answer::Values(state)));
        expect(Verdict::Ordered, &[transaction(), scan([None; ROWS])]);
        expect(Verdict::Ordered, &[transaction(), scan([Some(1), Some(2), None, None])]);
        expect(Verdict::Impossible, &[transaction(), scan([Some(1), None, None, None])]);
    }

    /// CC-04: of two swaps from one value, one succeeds.
    #[test]
    fn lost_updates_are_found() {
        let swap = |value| Operation::Write(Single::Swap { row: 0, expected: 7, value });
        let first = || event(0, 1, put(7), Some(Answer::Applied));
        let one = || event(2, 9, swap(8), Some(Answer::Applied));
        expect(Verdict::Ordered, &[first(), one(), event(3, 8, swap(9), Some(Answer::Mismatch))]);
        expect(Verdict::Impossible, &[first(), one(), event(3, 8, swap(9), Some(Answer::Applied))]);
    }
}
