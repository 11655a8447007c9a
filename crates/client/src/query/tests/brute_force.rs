//! Any chain of calls on a query, compared with the simplest possible implementation.

use lazuli_model::Value;
use proptest::prelude::*;

use super::fake::{Fake, now};
use crate::Props;
use crate::dynamic::Dynamic;
use crate::query::*;

/// A condition as plain data, with a straightforward evaluation.
#[derive(Clone, Debug)]
enum Condition {
    Compare(&'static str, u8, Value),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
    Not(Box<Condition>),
}

impl Condition {
    fn filter(&self) -> Filter {
        match self {
            Condition::Compare(name, operator, value) => {
                let operator = lazuli_model::table::filter::Operator::ALL[usize::from(*operator)];
                Filter::compare((*name).to_owned(), operator, value.clone())
            }
            Condition::And(a, b) => a.filter() & b.filter(),
            Condition::Or(a, b) => a.filter() | b.filter(),
            Condition::Not(a) => !a.filter(),
        }
    }

    fn holds(&self, row: &Dynamic) -> Option<bool> {
        match self {
            Condition::Compare(name, operator, value) => {
                let found = row.value_of(name)?;
                let order = match (&found, value) {
                    (Value::Int32(a), Value::Int32(b)) => a.cmp(b),
                    (Value::String(a), Value::String(b)) => a.encode_utf16().cmp(b.encode_utf16()),
                    (Value::Boolean(a), Value::Boolean(b)) => a.cmp(b),
                    _ => return None,
                };
                // In the order of Operator::ALL: eq ne gt ge lt le.
                let truths = [
                    order.is_eq(),
                    order.is_ne(),
                    order.is_gt(),
                    order.is_ge(),
                    order.is_lt(),
                    order.is_le(),
                ];
                Some(truths[usize::from(*operator)])
            }
            Condition::Not(a) => a.holds(row).map(|value| !value),
            Condition::And(a, b) => match (a.holds(row), b.holds(row)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Condition::Or(a, b) => match (a.holds(row), b.holds(row)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
        }
    }
}

/// One call on a query.
#[derive(Clone, Debug)]
enum Call {
    Filter(Condition),
    FilterLocal(Condition),
    Take(u64),
    Skip(u64),
    OrderBy(&'static str, bool),
    ThenBy(&'static str),
    DistinctBy(&'static str),
}

fn call(query: Query<Dynamic>, call: &Call) -> Query<Dynamic> {
    match call.clone() {
        Call::Filter(condition) => query.filter(condition.filter()),
        Call::FilterLocal(condition) => query.filter_local(move |row| condition.holds(row) == Some(true)),
        Call::Take(rows) => query.take(rows),
        Call::Skip(rows) => query.skip(rows),
        Call::OrderBy(name, false) => query.order_by(name),
        Call::OrderBy(name, true) => query.order_by_desc(name),
        Call::ThenBy(name) => query.then_by(name),
        Call::DistinctBy(name) => query.distinct_by(name),
    }
}

/// All rows, with each call applied to all of them, one after the other.
fn brute_force(mut rows: Vec<Dynamic>, calls: &[Call]) -> Vec<Dynamic> {
    // Sort keys since the last call that was not a sort: `then_by` refines them.
    let mut sorted: Vec<(&str, bool)> = Vec::new();
    for call in calls {
        match call {
            Call::Filter(condition) | Call::FilterLocal(condition) => {
                rows.retain(|row| condition.holds(row) == Some(true))
            }
            Call::Take(count) => rows.truncate(usize::try_from(*count).unwrap()),
            Call::Skip(count) => drop(rows.drain(..usize::try_from(*count).unwrap().min(rows.len()))),
            Call::OrderBy(name, descending) => sorted = vec![(name, *descending)],
            Call::ThenBy(name) => sorted.push((name, false)),
            Call::DistinctBy(name) => {
                let mut seen: Vec<Option<Value>> = Vec::new();
                rows.retain(|row| {
                    let value = row.value_of(name);
                    let new = !seen.contains(&value);
                    seen.push(value);
                    new
                });
            }
        }
        match call {
            Call::OrderBy(..) | Call::ThenBy(_) => rows.sort_by(|a, b| {
                let by = |(name, descending): &(&str, bool)| {
                    let order = order::compare(a.value_of(name).as_ref(), b.value_of(name).as_ref());
                    if *descending { order.reverse() } else { order }
                };
                sorted.iter().map(by).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
            }),
            // A condition after a sort does not affect it: `then_by` still refines that sort.
            Call::Filter(_) | Call::FilterLocal(_) => {}
            _ => sorted.clear(),
        }
    }
    rows
}

fn name() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("A"), Just("B"), Just("C"), Just("RowKey")]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-2..3).prop_map(Value::Int32),
        prop_oneof![Just("a"), Just("b"), Just("002"), Just("\u{10000}"), Just("\u{e000}")]
            .prop_map(|text| Value::String(text.into())),
        any::<bool>().prop_map(Value::Boolean),
    ]
}

fn condition() -> impl Strategy<Value = Condition> {
    let typed_key = |(name, operator, value): (&'static str, u8, Value)| match (name, value) {
        ("RowKey", Value::String(text)) => Condition::Compare(name, operator, Value::String(text)),
        // Comparing a key with a value that is not a string is an error of the service, not a condition.
        ("RowKey", _) => Condition::Compare(name, operator, Value::String("003".into())),
        (name, value) => Condition::Compare(name, operator, value),
    };
    (name(), 0..6_u8, value()).prop_map(typed_key).prop_recursive(3, 12, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Condition::And(Box::new(a), Box::new(b))),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Condition::Or(Box::new(a), Box::new(b))),
            inner.prop_map(|a| Condition::Not(Box::new(a))),
        ]
    })
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let one = prop_oneof![
        3 => condition().prop_map(Call::Filter),
        1 => condition().prop_map(Call::FilterLocal),
        1 => (0..12_u64).prop_map(Call::Take),
        1 => (0..4_u64).prop_map(Call::Skip),
        1 => (name(), any::<bool>()).prop_map(|(name, descending)| Call::OrderBy(name, descending)),
        1 => name().prop_map(Call::ThenBy),
        1 => name().prop_map(Call::DistinctBy),
    ];
    proptest::collection::vec(one, 0..6)
}

fn table() -> impl Strategy<Value = Vec<Dynamic>> {
    proptest::collection::vec(proptest::collection::vec((name(), value()), 0..3), 0..25).prop_map(|rows| {
        let row = |(index, properties): (usize, Vec<(&'static str, Value)>)| {
            let mut props = Props::new();
            for (name, value) in properties.into_iter().filter(|(name, _)| *name != "RowKey") {
                props.set(name, value).unwrap();
            }
            Dynamic { props, ..Dynamic::new("p", format!("{index:03}")) }
        };
        rows.into_iter().enumerate().map(row).collect()
    })
}

proptest! {
    /// Regardless of the division between server and client, the rows are the same as when everything runs in
    /// the client.
    #[test]
    fn divided_queries_return_the_same_rows(rows in table(), calls in calls(), page_size in 1..9_u32) {
        let fake = Fake::new(rows.clone());
        let query = calls.iter().fold(fake.query::<Dynamic>().page_size(page_size), call);
        let plan = query.explain();
        let found = now(query.collect()).unwrap();
        prop_assert_eq!(found, brute_force(rows, &calls), "{}", plan);
    }
}
