//! Filters, evaluated in a slow and obvious way: three-valued, one comparison at a time.

use std::cmp::Ordering;

use super::{Datum, ModelKey, ModelRow};

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are the words of the filter language")]
pub enum ModelOperator {
    Eq,
    Ne,
    Gt,
    Ge,
    Lt,
    Le,
}

/// A filter.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelFilter {
    /// A property compared with a constant.
    Compare(String, ModelOperator, Datum),
    /// Both.
    And(Box<ModelFilter>, Box<ModelFilter>),
    /// One of them, or both.
    Or(Box<ModelFilter>, Box<ModelFilter>),
    /// The opposite.
    Not(Box<ModelFilter>),
}

impl ModelFilter {
    /// Is this entity wanted?
    pub fn wants(&self, key: &ModelKey, row: &ModelRow) -> bool {
        self.value(key, row) == Some(true)
    }

    /// `None` is neither true nor false: the property is missing or of another type.
    fn value(&self, key: &ModelKey, row: &ModelRow) -> Option<bool> {
        match self {
            ModelFilter::Compare(name, operator, constant) => {
                let stored = match name.as_str() {
                    "PartitionKey" => Some(Datum::Text(key.partition())),
                    "RowKey" => Some(Datum::Text(key.row())),
                    _ => row.properties.0.get(name).cloned(),
                };
                Some(operator.holds(order(&stored?, constant)?))
            }
            ModelFilter::And(left, right) => match (left.value(key, row), right.value(key, row)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            ModelFilter::Or(left, right) => match (left.value(key, row), right.value(key, row)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
            ModelFilter::Not(inner) => inner.value(key, row).map(|value| !value),
        }
    }

    /// As the filter language writes it.
    pub fn text(&self) -> String {
        match self {
            ModelFilter::Compare(name, operator, constant) => {
                format!("{name} {} {}", operator.word(), constant.literal())
            }
            ModelFilter::And(left, right) => format!("({}) and ({})", left.text(), right.text()),
            ModelFilter::Or(left, right) => format!("({}) or ({})", left.text(), right.text()),
            ModelFilter::Not(inner) => format!("not ({})", inner.text()),
        }
    }
}

impl ModelOperator {
    fn holds(self, order: Ordering) -> bool {
        match self {
            ModelOperator::Eq => order.is_eq(),
            ModelOperator::Ne => order.is_ne(),
            ModelOperator::Gt => order.is_gt(),
            ModelOperator::Ge => order.is_ge(),
            ModelOperator::Lt => order.is_lt(),
            ModelOperator::Le => order.is_le(),
        }
    }

    fn word(self) -> &'static str {
        match self {
            ModelOperator::Eq => "eq",
            ModelOperator::Ne => "ne",
            ModelOperator::Gt => "gt",
            ModelOperator::Ge => "ge",
            ModelOperator::Lt => "lt",
            ModelOperator::Le => "le",
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
