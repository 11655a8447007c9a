//! A total order of all values, for sorting in the client: absent first, then by type, then as the service compares.

use std::cmp::Ordering;

use lazuli_model::Value;
use lazuli_model::utf16_cmp;

/// Compares two values, or their absence.
pub(crate) fn compare(a: Option<&Value>, b: Option<&Value>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => compare_values(a, b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}

fn compare_values(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::String(a), Value::String(b)) => utf16_cmp(a, b),
        (Value::Binary(a), Value::Binary(b)) => a.cmp(b),
        (Value::Boolean(a), Value::Boolean(b)) => a.cmp(b),
        (Value::DateTime(a), Value::DateTime(b)) => a.cmp(b),
        (Value::Guid(a), Value::Guid(b)) => a.cmp(b),
        (Value::Int32(a), Value::Int32(b)) => a.cmp(b),
        (Value::Int64(a), Value::Int64(b)) => a.cmp(b),
        (Value::Int32(a), Value::Int64(b)) => i64::from(*a).cmp(b),
        (Value::Int64(a), Value::Int32(b)) => a.cmp(&i64::from(*b)),
        (Value::Double(a), Value::Double(b)) => a.total_cmp(b),
        (a, b) => rank(a).cmp(&rank(b)),
    }
}

/// Rank of a type among the others. Integer types have the same rank, since they are comparable.
fn rank(value: &Value) -> u8 {
    match value {
        Value::Boolean(_) => 0,
        Value::Int32(_) | Value::Int64(_) => 1,
        Value::Double(_) => 2,
        Value::DateTime(_) => 3,
        Value::Guid(_) => 4,
        Value::Binary(_) => 5,
        Value::String(_) => 6,
    }
}

/// Bytes that are equal if and only if the values are equal, for use in a set.
pub(crate) fn identity(value: Option<&Value>) -> Vec<u8> {
    let Some(value) = value else { return Vec::new() };
    let mut out = vec![rank(value) + 1];
    match value {
        Value::Binary(bytes) => out.extend(bytes),
        Value::Boolean(value) => out.push(u8::from(*value)),
        Value::DateTime(value) => out.extend(value.ticks().to_le_bytes()),
        Value::Double(value) => out.extend(value.to_bits().to_le_bytes()),
        Value::Guid(value) => out.extend(value.0),
        Value::Int32(value) => out.extend(i64::from(*value).to_le_bytes()),
        Value::Int64(value) => out.extend(value.to_le_bytes()),
        Value::String(text) => out.extend(text.as_bytes()),
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_then_by_type_then_by_value() {
        let sorted = [
            None,
            Some(Value::Boolean(false)),
            Some(Value::Boolean(true)),
            Some(Value::Int32(-1)),
            Some(Value::Int64(0)),
            Some(Value::Int32(1)),
            Some(Value::Double(0.5)),
            Some(Value::Double(f64::NAN)),
            Some(Value::String("Z".into())),
            Some(Value::String("a".into())),
            Some(Value::String("\u{10000}".into())),
            Some(Value::String("\u{e000}".into())),
        ];
        for pair in sorted.windows(2) {
            assert_eq!(compare(pair[0].as_ref(), pair[1].as_ref()), Ordering::Less, "{pair:?}");
            assert_ne!(identity(pair[0].as_ref()), identity(pair[1].as_ref()));
        }
        assert_eq!(identity(Some(&Value::Int32(1))), identity(Some(&Value::Int64(1))));
    }
}
