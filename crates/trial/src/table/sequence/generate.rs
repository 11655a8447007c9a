//! Random steps on few tables and few keys, so that steps affect each other.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::Step;
use crate::subject::End;
use crate::table::model::{
    Datum, ModelFilter, ModelKey, ModelOperator, ModelProperties, ModelWrite, Precondition,
};

const TABLES: u8 = 2;
/// Empty, quoted and escaped keys, and keys from both sides of the point where UTF-16 and code points sort
/// differently.
const KEYS: [&str; 9] = ["", "a", "b", "B", "a b", "it's", "100%+", "\u{fb00}", "\u{10400}"];
const NAMES: [&str; 4] = ["P", "Q", "_r", "\u{e9}t\u{e9}"];
/// Maximum depth of a filter, and maximum number of comparisons in it.
const FILTER_DEPTH: u32 = 3;
const FILTER_PARTS: u32 = 8;

/// A list of at most `count` steps after the creation of a table; `restarts` says whether they include
/// restarts.
pub fn steps(count: usize, restarts: bool) -> impl Strategy<Value = Vec<Step>> {
    let restart_weight = u32::from(restarts);
    // Use one table for most steps, so that it contains data.
    let table = prop_oneof![4 => Just(0), 1 => 0..TABLES];
    let step = prop_oneof![
        8 => (table.clone(), any::<bool>()).prop_map(|(table, loud)| Step::CreateTable { table, loud }),
        1 => table.clone().prop_map(Step::DeleteTable),
        1 => Just(Step::ListTables),
        30 => (table.clone(), key(), prop_oneof![30 => write(), 1 => Just(ModelWrite::BareDelete)])
           .prop_map(|(table, key, write)| Step::Write { table, key, write }),
        12 => (table.clone(), batch()).prop_map(|(table, writes)| Step::Batch { table, writes }),
        12 => (table.clone(), key()).prop_map(|(table, key)| Step::Get { table, key }),
        12 => (table, proptest::option::of(condition()), proptest::option::of(1u8..5))
            .prop_map(|(table, wanted, top)| Step::Query { table, wanted, top }),
        restart_weight => prop_oneof![Just(End::Stop), Just(End::Kill)].prop_map(Step::Restart),
    ];
    vec(step, 1..=count).prop_map(|mut steps| {
        steps.insert(0, Step::CreateTable { table: 0, loud: false });
        steps
    })
}

/// Choose two of them more often than all others together: changes of existing rows are the most error-prone.
fn text() -> impl Strategy<Value = &'static str> {
    prop_oneof![4 => proptest::sample::select(&KEYS[1..3]), 1 => proptest::sample::select(&KEYS[..])]
}

fn key() -> impl Strategy<Value = ModelKey> {
    (text(), text()).prop_map(|(partition, row)| ModelKey::new(partition, row))
}

fn batch() -> impl Strategy<Value = Vec<(ModelKey, ModelWrite)>> {
    (text(), vec((text(), write()), 1..5)).prop_map(|(partition, writes)| {
        writes.into_iter().map(|(row, write)| (ModelKey::new(partition, row), write)).collect()
    })
}

fn write() -> impl Strategy<Value = ModelWrite> {
    prop_oneof![
        4 => (properties(), any::<bool>()).prop_map(|(properties, echo)| ModelWrite::Insert { properties, echo }),
        3 => (properties(), precondition()).prop_map(|(properties, wanted)| ModelWrite::Replace(properties, wanted)),
        3 => (properties(), precondition()).prop_map(|(properties, wanted)| ModelWrite::Merge(properties, wanted)),
        2 => properties().prop_map(ModelWrite::Upsert),
        2 => properties().prop_map(ModelWrite::UpsertMerge),
        2 => precondition().prop_map(ModelWrite::Delete),
    ]
}

fn precondition() -> impl Strategy<Value = Precondition> {
    use Precondition::{Current, Exists, Former, Stale};
    prop_oneof![1 => Just(Exists), 1 => Just(Current), 1 => Just(Stale), 2 => Just(Former)]
}

fn properties() -> impl Strategy<Value = ModelProperties> {
    let name = proptest::sample::select(&NAMES[..]).prop_map(str::to_owned);
    btree_map(name, datum(), 0..4).prop_map(ModelProperties)
}

fn datum() -> impl Strategy<Value = Datum> {
    prop_oneof![1 => Just(Datum::Null), 8 => constant()]
}

fn constant() -> impl Strategy<Value = Datum> {
    prop_oneof![
        any::<bool>().prop_map(Datum::Flag),
        (-2i32..3).prop_map(Datum::Int32),
        prop_oneof![-2i64..3, Just(i64::MAX), Just(i64::MIN)].prop_map(Datum::Int64),
        (-2i32..3).prop_map(Datum::Halves),
        text().prop_map(|text| Datum::Text(text.to_owned())),
        (0u8..3).prop_map(Datum::Moment),
        (0u8..3).prop_map(Datum::Guid),
        vec(proptest::sample::select(&[0u8, 0x7f, 0xff][..]), 0..3).prop_map(Datum::Bytes),
    ]
}

fn condition() -> impl Strategy<Value = ModelFilter> {
    let operators = [
        ModelOperator::Eq,
        ModelOperator::Ne,
        ModelOperator::Gt,
        ModelOperator::Ge,
        ModelOperator::Lt,
        ModelOperator::Le,
    ];
    let operator = proptest::sample::select(operators.to_vec());
    let keys = proptest::sample::select(vec!["PartitionKey", "RowKey"]);
    let on_key = (keys, operator.clone(), text()).prop_map(|(name, operator, text)| {
        ModelFilter::Compare(name.into(), operator, Datum::Text(text.into()))
    });
    let on_property = (proptest::sample::select(&NAMES[..]), operator, constant())
        .prop_map(|(name, operator, constant)| ModelFilter::Compare(name.into(), operator, constant));
    let leaf = prop_oneof![on_key, on_property];
    leaf.prop_recursive(FILTER_DEPTH, FILTER_PARTS, 2, |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            two.clone().prop_map(|(left, right)| ModelFilter::And(Box::new(left), Box::new(right))),
            two.prop_map(|(left, right)| ModelFilter::Or(Box::new(left), Box::new(right))),
            inner.prop_map(|inner| ModelFilter::Not(Box::new(inner))),
        ]
    })
}
