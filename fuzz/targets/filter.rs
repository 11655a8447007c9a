//! Filters and rows made of bytes, and a simple, slow evaluation of a filter.

use std::cmp::Ordering;

use lazuli_filter::EntityRow;
use lazuli_model::table::filter::{Comparison, Expr, Operator};
use lazuli_model::{DateTime, Guid, Properties, Value};

const DEPTH_MAX: usize = 6;
const TEXTS: [&str; 8] = ["", "a", "b", "ab", "it's", "\u{fb00}", "\u{10400}", "Z"];
const NAMES: [&str; 7] = ["PartitionKey", "RowKey", "Timestamp", "A", "B", "_c", "Dd"];

/// Input that is consumed; zeroes follow its end.
pub struct Bytes<'a>(pub &'a [u8]);

impl Bytes<'_> {
    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound
    }

    /// One of a few strings.
    pub fn text(&mut self) -> &'static str {
        TEXTS[self.below(TEXTS.len())]
    }

    fn value(&mut self) -> Value {
        let small = i32::from(self.byte()) - 128;
        match self.below(9) {
            0 => Value::Boolean(small > 0),
            1 => Value::Int32(small),
            2 => Value::Int64(i64::from(small)),
            3 => Value::Double(f64::from(small) / 2.0),
            4 => Value::Double([f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0][self.below(4)]),
            5 => Value::Guid(Guid([self.byte() % 4; 16])),
            6 => Value::Binary(vec![self.byte() % 4; self.below(3)]),
            7 => Value::DateTime(DateTime::STORABLE_MIN),
            _ => Value::String(self.text().into()),
        }
    }
}

/// A filter.
pub fn expression(bytes: &mut Bytes<'_>, depth: usize) -> Expr {
    let kinds = if depth < DEPTH_MAX { 8 } else { 5 };
    match bytes.below(kinds) {
        0 => Expr::Flag(NAMES[3 + bytes.below(NAMES.len() - 3)].into()),
        1 => Expr::Constant(bytes.byte() % 2 == 0),
        2..5 => {
            let property = NAMES[bytes.below(NAMES.len())];
            // Keys and Timestamp have a fixed type, which the parser enforces.
            let literal = match property {
                "PartitionKey" | "RowKey" => Value::String(bytes.text().into()),
                "Timestamp" => Value::DateTime(DateTime::STORABLE_MIN),
                _ => bytes.value(),
            };
            let operator = Operator::ALL[bytes.below(Operator::ALL.len())];
            Expr::Compare(Comparison { property: property.into(), operator, literal })
        }
        5 => Expr::Not(Box::new(expression(bytes, depth + 1))),
        kind => {
            let parts = (0..1 + bytes.below(3)).map(|_| expression(bytes, depth + 1)).collect();
            if kind == 6 { Expr::And(parts) } else { Expr::Or(parts) }
        }
    }
}

/// Properties of a row; `None` if two would have the same name.
pub fn properties(bytes: &mut Bytes<'_>) -> Option<Properties> {
    let count = bytes.below(4);
    let properties: Vec<(&str, Value)> =
        (0..count).map(|_| (NAMES[3 + bytes.below(4)], bytes.value())).collect();
    Properties::sorted(properties.iter().map(|(name, value)| (*name, value.as_ref())).collect()).ok()
}

/// The value of a filter for a row; `None` is unknown.
pub fn naive(filter: &Expr, row: &EntityRow<'_>) -> Option<bool> {
    match filter {
        Expr::Constant(value) => Some(*value),
        Expr::Not(inner) => naive(inner, row).map(|value| !value),
        Expr::And(parts) => {
            let values: Vec<_> = parts.iter().map(|part| naive(part, row)).collect();
            decided(&values, false)
        }
        Expr::Or(parts) => {
            let values: Vec<_> = parts.iter().map(|part| naive(part, row)).collect();
            decided(&values, true)
        }
        Expr::Flag(name) => match value(name, row)? {
            Value::Boolean(value) => Some(value),
            _ => None,
        },
        Expr::Compare(Comparison { property, operator, literal }) => {
            compare(&value(property, row)?, *operator, literal)
        }
    }
}

/// One decisive value decides; else one that is unknown makes the whole unknown.
fn decided(values: &[Option<bool>], decisive: bool) -> Option<bool> {
    match values {
        _ if values.contains(&Some(decisive)) => Some(decisive),
        _ if values.contains(&None) => None,
        _ => Some(!decisive),
    }
}

fn value(name: &str, row: &EntityRow<'_>) -> Option<Value> {
    match name {
        "PartitionKey" => Some(Value::String(row.partition.into())),
        "RowKey" => Some(Value::String(row.row.into())),
        "Timestamp" => Some(Value::DateTime(row.timestamp)),
        _ => row.properties.find(name).expect("whole").map(|value| value.to_value()),
    }
}

/// The constant is widened to the stored type; any other pair of types is a mismatch. Without an order only `ne` holds.
fn compare(stored: &Value, operator: Operator, literal: &Value) -> Option<bool> {
    let order: Option<Ordering> = match (stored, literal) {
        (Value::Boolean(a), Value::Boolean(b)) => Some(a.cmp(b)),
        (Value::Int32(a), Value::Int32(b)) => Some(a.cmp(b)),
        (Value::Int64(a), Value::Int64(b)) => Some(a.cmp(b)),
        (Value::Int64(a), Value::Int32(b)) => Some(a.cmp(&i64::from(*b))),
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b),
        (Value::Double(a), Value::Int32(b)) => a.partial_cmp(&f64::from(*b)),
        (Value::Guid(a), Value::Guid(b)) => Some(a.cmp(b)),
        (Value::Binary(a), Value::Binary(b)) => Some(a.cmp(b)),
        (Value::DateTime(a), Value::DateTime(b)) => Some(a.cmp(b)),
        (Value::String(a), Value::String(b)) => Some(a.encode_utf16().cmp(b.encode_utf16())),
        _ => return None,
    };
    Some(match operator {
        Operator::Eq => order == Some(Ordering::Equal),
        Operator::Ne => order != Some(Ordering::Equal),
        Operator::Gt => order == Some(Ordering::Greater),
        Operator::Ge => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        Operator::Lt => order == Some(Ordering::Less),
        Operator::Le => matches!(order, Some(Ordering::Less | Ordering::Equal)),
    })
}
