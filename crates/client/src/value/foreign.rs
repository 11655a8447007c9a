//! Types of other crates as properties, each behind the feature with the name of its crate.
//!
//! Times are truncated to 100 ns. A decimal is stored as a string, since no property type is exact: it can be
//! compared for equality with the stored string, but does not sort as a number.

use lazuli_model::Value;

use super::{FromValue, Operand, Scalar, WireValue, WrongType, class};

/// Implements the traits of a property for a type.
macro_rules! property {
    ($feature:literal, $type:ty, $class:ident, |$value:ident| $write:expr, |$wire:ident| $read:expr) => {
        #[cfg(feature = $feature)]
        impl Scalar for $type {
            type Class = class::$class;

            fn scalar(&self) -> Value {
                let $value = self;
                $write
            }
        }

        #[cfg(feature = $feature)]
        impl Operand<class::$class> for $type {
            fn operand(&self) -> Value {
                self.scalar()
            }
        }

        #[cfg(feature = $feature)]
        impl FromValue for $type {
            fn from_value($wire: &WireValue<'_>) -> Result<Self, WrongType> {
                $read
            }
        }
    };
}

property!(
    "chrono",
    chrono::DateTime<chrono::Utc>,
    Moment,
    |time| std::time::SystemTime::from(*time).scalar(),
    |value| std::time::SystemTime::from_value(value).map(Into::into)
);
property!(
    "time",
    time::OffsetDateTime,
    Moment,
    |time| std::time::SystemTime::from(*time).scalar(),
    |value| std::time::SystemTime::from_value(value).map(Into::into)
);
property!("uuid", uuid::Uuid, Identifier, |id| Value::Guid(lazuli_model::Guid(*id.as_bytes())), |value| {
    lazuli_model::Guid::from_value(value).map(|id| uuid::Uuid::from_bytes(id.0))
});
property!("rust_decimal", rust_decimal::Decimal, Text, |number| Value::String(number.to_string()), |value| {
    let text = String::from_value(value)?;
    text.parse().map_err(|_| WrongType::because(format!("'{text}' is not a decimal number")))
});

// The crate is tested with all of its features.
#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use super::*;

    fn check<T: Scalar + FromValue + PartialEq + Debug>(value: T, stored: Value) {
        assert_eq!(value.scalar(), stored);
        let wire = match &stored {
            Value::DateTime(time) => WireValue::DateTime(*time),
            Value::Guid(id) => WireValue::Guid(*id),
            Value::String(text) => WireValue::String(text.into()),
            other => panic!("{other:?}"),
        };
        assert_eq!(T::from_value(&wire).unwrap(), value);
        assert!(T::from_value(&WireValue::Boolean(true)).is_err());
    }

    #[test]
    fn values_survive() {
        let moment = lazuli_model::DateTime::parse("2024-02-29T12:30:00.1234567Z").unwrap();
        let nanoseconds = 1_709_209_800_123_456_700;
        check(chrono::DateTime::<chrono::Utc>::from_timestamp_nanos(nanoseconds), Value::DateTime(moment));
        check(
            time::OffsetDateTime::from_unix_timestamp_nanos(nanoseconds.into()).unwrap(),
            Value::DateTime(moment),
        );
        let text = "12345678-1234-5678-9abc-def012345678";
        check(text.parse::<uuid::Uuid>().unwrap(), Value::Guid(text.parse().unwrap()));
        check(
            "1234567.890123".parse::<rust_decimal::Decimal>().unwrap(),
            Value::String("1234567.890123".into()),
        );
        assert!(rust_decimal::Decimal::from_value(&WireValue::String("much".into())).is_err());
    }

    #[test]
    fn filters_compare_with_them() {
        let id: uuid::Uuid = "12345678-1234-5678-9abc-def012345678".parse().unwrap();
        let filter = crate::Field::<class::Identifier>::new("Id").eq(id);
        assert_eq!(filter.to_string(), "Id eq guid'12345678-1234-5678-9abc-def012345678'");
        let start = chrono::DateTime::<chrono::Utc>::from_timestamp_nanos(0);
        assert_eq!(crate::prop("Seen").gt(start).to_string(), "Seen gt datetime'1970-01-01T00:00:00Z'");
    }
}
