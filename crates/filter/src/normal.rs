//! Converts a filter to the normal form that planning and matching use: `not` appears only before a test of a
//! property that is not a key, chains are flat, and there are no constants unless the whole filter is one.
//!
//! The result is true for the same entities. If the input is false, the result may be unknown, and the other
//! way round. No caller can observe the difference, since the whole result is never negated. So two-valued
//! evaluation suffices, with unknown treated as false.

use lazuli_model::Value;
use lazuli_model::table::entity::{PARTITION_KEY, ROW_KEY};
use lazuli_model::table::filter::{Comparison, Expr, Operator};

/// The normal form.
pub(crate) fn normal(expr: &Expr) -> Expr {
    push_down(expr, false)
}

/// Joins conditions that must all be true.
pub(crate) fn all(parts: impl IntoIterator<Item = Expr>) -> Expr {
    let mut kept = Vec::new();
    for part in parts {
        match part {
            Expr::Constant(true) => {}
            Expr::Constant(false) => return Expr::Constant(false),
            Expr::And(more) => kept.extend(more),
            part => kept.push(part),
        }
    }
    single_or(kept, true, Expr::And)
}

/// Joins conditions of which one must be true.
pub(crate) fn any(parts: impl IntoIterator<Item = Expr>) -> Expr {
    let mut kept = Vec::new();
    for part in parts {
        match part {
            Expr::Constant(false) => {}
            Expr::Constant(true) => return Expr::Constant(true),
            Expr::Or(more) => kept.extend(more),
            part => kept.push(part),
        }
    }
    single_or(kept, false, Expr::Or)
}

/// Is this PartitionKey or RowKey?
pub(crate) fn is_key(name: &str) -> bool {
    matches!(name, PARTITION_KEY | ROW_KEY)
}

fn single_or(mut parts: Vec<Expr>, empty: bool, join: fn(Vec<Expr>) -> Expr) -> Expr {
    match parts.len() {
        0 => Expr::Constant(empty),
        1 => parts.remove(0),
        _ => join(parts),
    }
}

fn push_down(expr: &Expr, negated: bool) -> Expr {
    match expr {
        Expr::And(parts) | Expr::Or(parts) => {
            let parts = parts.iter().map(|part| push_down(part, negated));
            if matches!(expr, Expr::And(_)) == negated { any(parts) } else { all(parts) }
        }
        Expr::Not(inner) => push_down(inner, !negated),
        Expr::Compare(comparison) if is_key(&comparison.property) => key_test(comparison, negated),
        // A key is not a Boolean.
        Expr::Flag(name) if is_key(name) => Expr::Constant(false),
        Expr::Compare(_) | Expr::Flag(_) if negated => Expr::Not(Box::new(expr.clone())),
        Expr::Compare(_) | Expr::Flag(_) => expr.clone(),
        Expr::Constant(value) => Expr::Constant(*value != negated),
    }
}

/// Keys are strings and always present, so their comparisons are never unknown and can be inverted.
fn key_test(comparison: &Comparison, negated: bool) -> Expr {
    if !matches!(comparison.literal, Value::String(_)) {
        return Expr::Constant(false);
    }
    let mut test = comparison.clone();
    if negated {
        test.operator = opposite(test.operator);
    }
    Expr::Compare(test)
}

fn opposite(operator: Operator) -> Operator {
    match operator {
        Operator::Eq => Operator::Ne,
        Operator::Ne => Operator::Eq,
        Operator::Gt => Operator::Le,
        Operator::Le => Operator::Gt,
        Operator::Ge => Operator::Lt,
        Operator::Lt => Operator::Ge,
    }
}
