//! Comparison of a stored value with a constant.
//!
//! The constant is widened to the type of the stored value (Int32 to Int64 and Double), never narrowed, and the stored
//! value is never converted: any other pair of types is a mismatch, which is neither true nor false.

use std::cmp::Ordering;

use lazuli_model::table::filter::Operator;
use lazuli_model::utf16_cmp;
use lazuli_model::{Value, ValueRef};

/// The result of the comparison; `None` if the types are not comparable.
pub(crate) fn compare(stored: ValueRef<'_>, operator: Operator, literal: &Value) -> Option<bool> {
    let order = match (stored, literal) {
        (ValueRef::String(left), Value::String(right)) => return Some(compare_text(left, operator, right)),
        (ValueRef::Binary(left), Value::Binary(right)) => Some(left.cmp(right.as_slice())),
        (ValueRef::Boolean(left), Value::Boolean(right)) => Some(left.cmp(right)),
        (ValueRef::DateTime(left), Value::DateTime(right)) => Some(left.cmp(right)),
        (ValueRef::Guid(left), Value::Guid(right)) => Some(left.cmp(right)),
        (ValueRef::Int32(left), Value::Int32(right)) => Some(left.cmp(right)),
        (ValueRef::Int64(left), Value::Int64(right)) => Some(left.cmp(right)),
        (ValueRef::Int64(left), Value::Int32(right)) => Some(left.cmp(&i64::from(*right))),
        (ValueRef::Double(left), Value::Double(right)) => left.partial_cmp(right),
        (ValueRef::Double(left), Value::Int32(right)) => left.partial_cmp(&f64::from(*right)),
        _ => return None,
    };
    Some(holds(operator, order))
}

/// Compares two strings by their UTF-16 code units.
pub(crate) fn compare_text(left: &str, operator: Operator, right: &str) -> bool {
    match operator {
        Operator::Eq => left == right,
        Operator::Ne => left != right,
        _ => holds(operator, Some(utf16_cmp(left, right))),
    }
}

/// Compares two constants: numbers in the wider type, other values only if the types are equal.
pub(crate) fn compare_constants(left: &Value, operator: Operator, right: &Value) -> Option<bool> {
    match (left, right) {
        (Value::Int32(_), Value::Int64(_) | Value::Double(_)) => {
            compare(right.as_ref(), operator.flipped(), left)
        }
        (Value::Int64(left), Value::Double(_)) => compare(ValueRef::Double(*left as f64), operator, right),
        (Value::Double(_), Value::Int64(right)) => {
            compare(left.as_ref(), operator, &Value::Double(*right as f64))
        }
        _ => compare(left.as_ref(), operator, right),
    }
}

/// Without an order (NaN), only `ne` is true.
fn holds(operator: Operator, order: Option<Ordering>) -> bool {
    match operator {
        Operator::Eq => order == Some(Ordering::Equal),
        Operator::Ne => order != Some(Ordering::Equal),
        Operator::Gt => order == Some(Ordering::Greater),
        Operator::Ge => order.is_some_and(Ordering::is_ge),
        Operator::Lt => order == Some(Ordering::Less),
        Operator::Le => order.is_some_and(Ordering::is_le),
    }
}
