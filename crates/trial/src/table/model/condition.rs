//! Filters, evaluated the slow and obvious way: three-valued, one comparison at a time.

use std::cmp::Ordering;

use super::{Datum, Key, Row};

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are the words of the filter language")]
pub enum Operator {
    Eq,
    Ne,
    Gt,
    Ge,
    Lt,
    Le,
}

/// A filter.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// A property compared with a constant.
    Compare(String, Operator, Datum),
    /// Both.
    And(Box<Condition>, Box<Condition>),
    /// One of them, or both.
    Or(Box<Condition>, Box<Condition>),
    /// The opposite.
    Not(Box<Condition>),
}

impl Condition {
    /// Is this entity wanted?
    pub fn wants(&self, key: &Key, row: &Row) -> bool {
        self.value(key, row) == Some(true)
    }

    /// `None` is neither true nor false: the property is missing or of another type.
    fn value(&self, key: &Key, row: &Row) -> Option<bool> {
        match self {
            Condition::Compare(name, operator, constant) => {
                let stored = match name.as_str() {
                    "PartitionKey" => Some(Datum::Text(key.partition())),
                    "RowKey" => Some(Datum::Text(key.row())),
                    _ => row.properties.0.get(name).cloned(),
                };
                Some(operator.holds(order(&stored?, constant)?))
            }
            Condition::And(left, right) => match (left.value(key, row), right.value(key, row)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Condition::Or(left, right) => match (left.value(key, row), right.value(key, row)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
            Condition::Not(inner) => inner.value(key, row).map(|value| !value),
        }
    }

    /// As the filter language writes it.
    pub fn text(&self) -> String {
        match self {
            Condition::Compare(name, operator, constant) => {
                format!("{name} {} {}", operator.word(), constant.literal())
            }
            Condition::And(left, right) => format!("({}) and ({})", left.text(), right.text()),
            Condition::Or(left, right) => format!("({}) or ({})", left.text(), right.text()),
            Condition::Not(inner) => format!("not ({})", inner.text()),
        }
    }
}

impl Operator {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Operator::Eq => order.is_eq(),
            Operator::Ne => order.is_ne(),
            Operator::Gt => order.is_gt(),
            Operator::Ge => order.is_ge(),
            Operator::Lt => order.is_lt(),
            Operator::Le => order.is_le(),
        }
    }

    fn word(self) -> &'static str {
        match self {
            Operator::Eq => "eq",
            Operator::Ne => "ne",
            Operator::Gt => "gt",
            Operator::Ge => "ge",
            Operator::Lt => "lt",
            Operator::Le => "le",
        }
    }
}

/// The constant is widened to the stored type; nothing else is converted.
fn order(stored: &Datum, constant: &Datum) -> Option<Ordering> {
    match (stored, constant) {
        (Datum::Flag(left), Datum::Flag(right)) => Some(left.cmp(right)),
        (Datum::Int32(left), Datum::Int32(right)) => Some(left.cmp(right)),
        (Datum::Int64(left), Datum::Int64(right)) => Some(left.cmp(right)),
        (Datum::Int64(left), Datum::Int32(right)) => Some(left.cmp(&i64::from(*right))),
        (Datum::Halves(left), Datum::Halves(right)) => Some(left.cmp(right)),
        (Datum::Halves(left), Datum::Int32(right)) => {
            (f64::from(*left) + 0.5).partial_cmp(&f64::from(*right))
        }
        (Datum::Text(left), Datum::Text(right)) => Some(left.encode_utf16().cmp(right.encode_utf16())),
        (Datum::Moment(left), Datum::Moment(right)) | (Datum::Guid(left), Datum::Guid(right)) => {
            Some(left.cmp(right))
        }
        (Datum::Bytes(left), Datum::Bytes(right)) => Some(left.cmp(right)),
        _ => None,
    }
}
