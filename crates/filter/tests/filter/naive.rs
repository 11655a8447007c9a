//! A slow and obvious evaluator, independent of the real ones. A condition is a pair of results, "is it certainly
//! true?" and "is it certainly false?", and values are converted to something that Rust can compare.

use std::cmp::Ordering;

use lazuli_model::Value;
use lazuli_model::table::filter::{Expr, Operator};

use crate::entity::Entity;

pub fn wants(expr: &Expr, entity: &Entity) -> bool {
    verdict(expr, entity).0
}

fn verdict(expr: &Expr, entity: &Entity) -> (bool, bool) {
    match expr {
        Expr::And(parts) => {
            let parts: Vec<_> = parts.iter().map(|part| verdict(part, entity)).collect();
            (parts.iter().all(|part| part.0), parts.iter().any(|part| part.1))
        }
        Expr::Or(parts) => {
            let parts: Vec<_> = parts.iter().map(|part| verdict(part, entity)).collect();
            (parts.iter().any(|part| part.0), parts.iter().all(|part| part.1))
        }
        Expr::Not(inner) => {
            let (yes, no) = verdict(inner, entity);
            (no, yes)
        }
        Expr::Flag(name) => {
            let value = value_of(entity, name);
            (value == Some(Value::Boolean(true)), value == Some(Value::Boolean(false)))
        }
        Expr::Constant(value) => (*value, !value),
        Expr::Compare(comparison) => {
            let Some(stored) = value_of(entity, &comparison.property) else { return (false, false) };
            let Some(literal) = widened(&comparison.literal, &stored) else { return (false, false) };
            let holds = holds(&stored, comparison.operator, &literal);
            (holds, !holds)
        }
    }
}

fn value_of(entity: &Entity, name: &str) -> Option<Value> {
    match name {
        "PartitionKey" => Some(Value::String(entity.partition.clone())),
        "RowKey" => Some(Value::String(entity.row.clone())),
        "Timestamp" => Some(Value::DateTime(entity.timestamp)),
        _ => entity.properties.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()),
    }
}

/// The constant in the type of the stored value.
fn widened(literal: &Value, stored: &Value) -> Option<Value> {
    match (literal, stored) {
        (Value::Int32(number), Value::Int64(_)) => Some(Value::Int64((*number).into())),
        (Value::Int32(number), Value::Double(_)) => Some(Value::Double((*number).into())),
        _ => (literal.kind() == stored.kind()).then(|| literal.clone()),
    }
}

fn holds(stored: &Value, operator: Operator, literal: &Value) -> bool {
    if let (Value::Double(a), Value::Double(b)) = (stored, literal) {
        return match operator {
            Operator::Eq => a == b,
            Operator::Ne => a != b,
            Operator::Gt => a > b,
            Operator::Ge => a >= b,
            Operator::Lt => a < b,
            Operator::Le => a <= b,
        };
    }
    let order = sortable(stored).cmp(&sortable(literal));
    let wanted: &[Ordering] = match operator {
        Operator::Eq => &[Ordering::Equal],
        Operator::Ne => &[Ordering::Less, Ordering::Greater],
        Operator::Gt => &[Ordering::Greater],
        Operator::Ge => &[Ordering::Greater, Ordering::Equal],
        Operator::Lt => &[Ordering::Less],
        Operator::Le => &[Ordering::Less, Ordering::Equal],
    };
    wanted.contains(&order)
}

/// A sequence of numbers that sorts like the values of one type.
fn sortable(value: &Value) -> Vec<i128> {
    match value {
        Value::Binary(bytes) => bytes.iter().map(|&byte| byte.into()).collect(),
        Value::Boolean(value) => vec![(*value).into()],
        Value::DateTime(time) => vec![time.ticks().into()],
        Value::Double(_) => unreachable!("doubles are compared as such"),
        Value::Guid(guid) => vec![u128::from_be_bytes(guid.0).wrapping_sub(1 << 127).cast_signed()],
        Value::Int32(number) => vec![(*number).into()],
        Value::Int64(number) => vec![(*number).into()],
        Value::String(text) => text.encode_utf16().map(i128::from).collect(),
    }
}
