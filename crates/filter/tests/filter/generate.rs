//! Random filters and entities over few names, keys and values, so that they often match.

use lazuli_model::table::filter::{Comparison, Expr, Operator};
use lazuli_model::{DateTime, Guid, Value};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::entity::Entity;

const NAMES: [&str; 4] = ["A", "B", "Ab", "Größe"];

/// Keys at critical points of the order: empty, prefixes, surrogates and the end of the basic plane.
pub fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[abc]{0,2}",
        1 => select(vec!["\u{d7ff}", "\u{e000}", "\u{ffff}", "\u{10000}", "\u{10ffff}", "a\u{10000}", "a\u{e000}", "'"])
            .prop_map(str::to_owned),
    ]
}

pub fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        vec(select(vec![0_u8, 1, 255]), 0..3).prop_map(Value::Binary),
        any::<bool>().prop_map(Value::Boolean),
        time().prop_map(Value::DateTime),
        select(vec![-1.5, -0.0, 0.0, 1.0, 2.0, 1e300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY])
            .prop_map(Value::Double),
        select(vec![0_u8, 1, 128, 255]).prop_map(|byte| Value::Guid(Guid([byte; 16]))),
        select(vec![i32::MIN, -1, 0, 1, 2, i32::MAX]).prop_map(Value::Int32),
        select(vec![i64::MIN, -1, 0, 1, 2, i64::MAX]).prop_map(Value::Int64),
        key().prop_map(Value::String),
    ]
}

/// Every value that a type has.
pub fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        vec(any::<u8>(), 0..8).prop_map(Value::Binary),
        any::<bool>().prop_map(Value::Boolean),
        (0..=DateTime::MAX.ticks()).prop_map(|t| Value::DateTime(DateTime::from_ticks(t).unwrap())),
        any::<f64>().prop_map(Value::Double),
        any::<[u8; 16]>().prop_map(|bytes| Value::Guid(Guid(bytes))),
        any::<i32>().prop_map(Value::Int32),
        any::<i64>().prop_map(Value::Int64),
        "\\PC{0,8}".prop_map(Value::String),
    ]
}

pub fn entity() -> impl Strategy<Value = Entity> {
    let properties = NAMES.map(|name| proptest::option::of(value()).prop_map(move |value| (name, value)));
    (key(), key(), time(), properties, any::<bool>()).prop_map(
        |(partition, row, timestamp, properties, reversed)| {
            let mut properties: Vec<_> =
                properties.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
            if reversed {
                properties.reverse();
            }
            Entity { partition, row, timestamp, properties }
        },
    )
}

/// A filter that `parse` could return.
pub fn filter() -> impl Strategy<Value = Expr> {
    combined(prop_oneof![
        4 => comparison("PartitionKey", key().prop_map(Value::String)),
        4 => comparison("RowKey", key().prop_map(Value::String)),
        1 => comparison("Timestamp", time().prop_map(Value::DateTime)),
        4 => select(&NAMES[..]).prop_flat_map(|name| comparison(name, value())),
        1 => select(&NAMES[..]).prop_map(|name| Expr::Flag(name.to_owned())),
        1 => any::<bool>().prop_map(Expr::Constant),
    ])
}

/// Words that are not Boolean properties when they appear alone.
const KEYWORDS: [&str; 12] =
    ["not", "true", "false", "null", "and", "or", "eq", "ne", "gt", "ge", "lt", "le"];

/// Like `filter`, with any constants.
pub fn filter_of_anything() -> impl Strategy<Value = Expr> {
    combined(prop_oneof![
        4 => select(&NAMES[..]).prop_flat_map(|name| comparison(name, any_value())),
        1 => "[a-z_][a-zA-Z0-9_]{0,5}".prop_filter("a keyword", |name| {
            !KEYWORDS.contains(&name.as_str())
        }).prop_map(Expr::Flag),
    ])
}

/// A filter on one key property only.
pub fn filter_of_key(name: &'static str) -> impl Strategy<Value = Expr> {
    combined(comparison(name, key().prop_map(Value::String)))
}

fn time() -> impl Strategy<Value = DateTime> {
    (0..3_u64).prop_map(|ticks| DateTime::from_ticks(DateTime::STORABLE_MIN.ticks() + ticks).unwrap())
}

fn comparison(name: &'static str, literal: impl Strategy<Value = Value>) -> impl Strategy<Value = Expr> {
    (select(Operator::ALL.to_vec()), literal).prop_map(move |(operator, literal)| {
        Expr::Compare(Comparison { property: name.to_owned(), operator, literal })
    })
}

fn combined(leaf: impl Strategy<Value = Expr> + 'static) -> impl Strategy<Value = Expr> {
    leaf.prop_recursive(5, 24, 4, |inner| {
        prop_oneof![
            3 => vec(inner.clone(), 2..4).prop_map(and),
            3 => vec(inner.clone(), 2..4).prop_map(or),
            1 => inner.prop_map(|inner| Expr::Not(Box::new(inner))),
        ]
    })
}

/// Parsed chains are flat.
fn and(parts: Vec<Expr>) -> Expr {
    Expr::And(
        parts
            .into_iter()
            .flat_map(|part| if let Expr::And(inner) = part { inner } else { vec![part] })
            .collect(),
    )
}

fn or(parts: Vec<Expr>) -> Expr {
    Expr::Or(
        parts
            .into_iter()
            .flat_map(|part| if let Expr::Or(inner) = part { inner } else { vec![part] })
            .collect(),
    )
}
