//! Looks for an order that explains a history (Wing and Gong's search, with Lowe's memoisation).
//!
//! At every point, any operation that started before the first response of an unplaced one may come next; it
//! fits if the model returns the recorded response. Operations without a response may be placed anywhere
//! between their start and their end, or nowhere: they end when the next process is ready, since a dead process
//! changes nothing.

mod record;

use std::collections::{BTreeMap, HashSet};
use std::fmt::Debug;
use std::hash::Hash;

pub use record::{HistoryClient, HistoryEvent, HistorySize, LogicalClock, Recorder, print, run};

/// Maximum points of the search before it gives up.
const STEPS_MAX: usize = 5_000_000;

/// An operation, and its effect on the state of the model.
pub trait HistoryOperation: Clone + Debug {
    /// The state of the model.
    type State: Clone + Default + Eq + Hash;
    /// A response, as seen by a client.
    type Output: Clone + Debug + PartialEq;

    /// The next state, and the expected response.
    fn apply(&self, state: &Self::State) -> (Self::State, Self::Output);

    /// The only object that it reads or changes.
    fn object(&self) -> usize {
        0
    }
}

/// The result of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchVerdict {
    /// There is an order.
    Ordered,
    /// There is no such order: the server violated its guarantees.
    Impossible,
    /// The search reached its bound without a result.
    GaveUp,
}

/// The placed events, as bits.
type Placed = Vec<u64>;

/// Is there an order of these events in which the model returns all recorded responses?
///
/// There is one if there is one for each object (Herlihy and Wing call this locality), and searching them separately
/// avoids trying every combination of their orders.
pub fn check<O: HistoryOperation>(events: &[HistoryEvent<O>]) -> SearchVerdict {
    let mut objects: BTreeMap<usize, Vec<&HistoryEvent<O>>> = BTreeMap::new();
    for event in events {
        objects.entry(event.operation.object()).or_default().push(event);
    }
    let mut verdict = SearchVerdict::Ordered;
    for mut events in objects.into_values() {
        events.sort_by_key(|event| event.start);
        match (Search { events, seen: HashSet::new(), steps: 0 }).run() {
            SearchVerdict::Ordered => {}
            SearchVerdict::Impossible => return SearchVerdict::Impossible,
            SearchVerdict::GaveUp => verdict = SearchVerdict::GaveUp,
        }
    }
    verdict
}

struct Search<'a, O: HistoryOperation> {
    events: Vec<&'a HistoryEvent<O>>,
    seen: HashSet<(Placed, O::State)>,
    steps: usize,
}

/// A point of the search: the placed events, the state of the model, and the event to try next.
struct Point<S> {
    placed: Placed,
    state: S,
    next: usize,
}

impl<O: HistoryOperation> Search<'_, O> {
    fn run(&mut self) -> SearchVerdict {
        let placed = vec![0; self.events.len().div_ceil(64)];
        let mut path = vec![Point { placed, state: O::State::default(), next: 0 }];
        while let Some(point) = path.last_mut() {
            let (limit, done) = self.limit(&point.placed);
            if done {
                return SearchVerdict::Ordered;
            }
            self.steps += 1;
            if self.steps > STEPS_MAX {
                return SearchVerdict::GaveUp;
            }
            let at = point.next;
            if at >= self.events.len() || self.events[at].start > limit {
                path.pop();
                continue;
            }
            point.next += 1;
            if is_placed(&point.placed, at) || self.is_over(&point.placed, at) {
                continue;
            }
            let event = self.events[at];
            let (state, output) = event.operation.apply(&point.state);
            if event.output.as_ref().is_some_and(|recorded| *recorded != output) {
                continue;
            }
            let mut placed = point.placed.clone();
            placed[at / 64] |= 1 << (at % 64);
            if self.seen.insert((placed.clone(), state.clone())) {
                path.push(Point { placed, state, next: 0 });
            }
        }
        SearchVerdict::Impossible
    }

    /// Has an operation been placed that started after the end of this one? If so, this one can no longer take
    /// effect.
    fn is_over(&self, placed: &Placed, at: usize) -> bool {
        let last = (0..self.events.len()).rev().find(|other| is_placed(placed, *other));
        last.is_some_and(|last| self.events[last].start > self.events[at].end)
    }

    /// The first response among the unplaced: operations that started later cannot come before it. The search
    /// is complete if none is left.
    fn limit(&self, placed: &Placed) -> (u64, bool) {
        let waiting = self
            .events
            .iter()
            .enumerate()
            .filter(|(at, event)| event.output.is_some() && !is_placed(placed, *at));
        match waiting.map(|(_, event)| event.end).min() {
            Some(end) => (end, false),
            None => (u64::MAX, true),
        }
    }
}

fn is_placed(placed: &Placed, at: usize) -> bool {
    placed[at / 64] & (1 << (at % 64)) != 0
}
