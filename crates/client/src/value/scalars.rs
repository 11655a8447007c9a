//! Tables of the Rust types that are properties: for writing, comparing and reading.

use std::borrow::Cow;
use std::time::SystemTime;

use lazuli_model::{DateTime, Guid, Value};

use crate::value::{
    FieldType, FromValue, Operand, Scalar, ToValue, WireValue, WrongType, class, from_system_time,
    to_system_time,
};

impl<T: Scalar> FieldType for T {
    type Class = T::Class;
}

impl<T: Scalar> FieldType for Option<T> {
    type Class = T::Class;
}

impl<T: Scalar> ToValue for T {
    fn to_value(&self) -> Option<Value> {
        Some(self.scalar())
    }
}

impl<T: ToValue> ToValue for Option<T> {
    fn to_value(&self) -> Option<Value> {
        self.as_ref().and_then(ToValue::to_value)
    }
}

impl ToValue for Value {
    fn to_value(&self) -> Option<Value> {
        Some(self.clone())
    }
}

impl ToValue for &Value {
    fn to_value(&self) -> Option<Value> {
        Some((*self).clone())
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: &WireValue<'_>) -> Result<Self, WrongType> {
        match value {
            WireValue::Null => Ok(None),
            value => T::from_value(value).map(Some),
        }
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl FromValue for Value {
    fn from_value(value: &WireValue<'_>) -> Result<Self, WrongType> {
        value.to_value().ok_or_else(|| WrongType::new("a value", value))
    }
}

impl<T: Scalar + ?Sized> Scalar for &T {
    type Class = T::Class;

    fn scalar(&self) -> Value {
        (**self).scalar()
    }
}

/// Types that are written and compared: `type => class, how`.
macro_rules! scalars {
    ($([$($generic:tt)*] $type:ty => $class:ident, |$value:ident| $make:expr;)*) => {$(
        impl<$($generic)*> Scalar for $type {
            type Class = class::$class;

            fn scalar(&self) -> Value {
                let $value = self;
                $make
            }
        }
    )*};
}

scalars! {
    [] bool => Flag, |v| Value::Boolean(*v);
    [] i8 => Int32, |v| Value::Int32(i32::from(*v));
    [] u8 => Int32, |v| Value::Int32(i32::from(*v));
    [] i16 => Int32, |v| Value::Int32(i32::from(*v));
    [] u16 => Int32, |v| Value::Int32(i32::from(*v));
    [] i32 => Int32, |v| Value::Int32(*v);
    [] u32 => Int64, |v| Value::Int64(i64::from(*v));
    [] i64 => Int64, |v| Value::Int64(*v);
    [] f32 => Double, |v| Value::Double(f64::from(*v));
    [] f64 => Double, |v| Value::Double(*v);
    [] str => Text, |v| Value::String(v.to_owned());
    [] String => Text, |v| Value::String(v.clone());
    [] Cow<'_, str> => Text, |v| Value::String(v.to_string());
    [] Guid => Identifier, |v| Value::Guid(*v);
    [] DateTime => Moment, |v| Value::DateTime(*v);
    [] SystemTime => Moment, |v| Value::DateTime(from_system_time(*v));
    [] [u8] => Bytes, |v| Value::Binary(v.to_vec());
    [] Vec<u8> => Bytes, |v| Value::Binary(v.clone());
    [const N: usize] [u8; N] => Bytes, |v| Value::Binary(v.to_vec());
}

/// Constants by the class they can be compared with. Integers have one type per class, so that a bare `5` gets the
/// type of the property.
macro_rules! operands {
    ($($class:ident: $([$($generic:tt)*] $type:ty),+;)*) => {$($(
        impl<$($generic)*> Operand<class::$class> for $type {
            fn operand(&self) -> Value {
                self.scalar()
            }
        }
    )+)*};
}

operands! {
    Flag: [] bool;
    Int32: [] i32;
    Int64: [] i64;
    Double: [] f64;
    Text: [] &str, [] String, [] &String, [] Cow<'_, str>;
    Identifier: [] Guid;
    Moment: [] DateTime, [] SystemTime;
    Bytes: [] &[u8], [] Vec<u8>, [] &Vec<u8>, [const N: usize] [u8; N], [const N: usize] &[u8; N];
}

/// Types that are read: `type = expected name, patterns`.
macro_rules! readers {
    ($($type:ty, $expected:expr, $($pattern:pat => $make:expr),+;)*) => {$(
        impl FromValue for $type {
            fn from_value(value: &WireValue<'_>) -> Result<Self, WrongType> {
                match value {
                    $($pattern => $make,)+
                    other => Err(WrongType::new($expected, other)),
                }
            }
        }
    )*};
}

readers! {
    bool, "Edm.Boolean", WireValue::Boolean(v) => Ok(*v);
    i32, "Edm.Int32", WireValue::Int32(v) => Ok(*v);
    i64, "Edm.Int64", WireValue::Int64(v) => Ok(*v), WireValue::Int32(v) => Ok(i64::from(*v));
    f64, "Edm.Double", WireValue::Double(v) => Ok(*v), WireValue::Int32(v) => Ok(f64::from(*v));
    f32, "Edm.Double", WireValue::Double(v) => rounded(*v), WireValue::Int32(v) => Ok(*v as f32);
    String, "Edm.String", WireValue::String(v) => Ok(v.to_string());
    Guid, "Edm.Guid", WireValue::Guid(v) => Ok(*v);
    DateTime, "Edm.DateTime", WireValue::DateTime(v) => Ok(*v);
    SystemTime, "Edm.DateTime", WireValue::DateTime(v) => Ok(to_system_time(*v));
    Vec<u8>, "Edm.Binary", WireValue::Binary(v) => Ok(v.clone());
}

/// The nearest `f32`; a number that is too large is an error.
fn rounded(wide: f64) -> Result<f32, WrongType> {
    let own = wide as f32;
    match own.is_infinite() && wide.is_finite() {
        true => Err(WrongType::because(format!("{wide} does not fit into f32"))),
        false => Ok(own),
    }
}

/// Integers that are stored in a wider type and must fit when read.
macro_rules! narrow_readers {
    ($($type:ty, $expected:expr, $($wire:ident)|+;)*) => {$(
        impl FromValue for $type {
            fn from_value(value: &WireValue<'_>) -> Result<Self, WrongType> {
                match value {
                    $(WireValue::$wire(v) => <$type>::try_from(*v)
                        .map_err(|_| WrongType::because(format!("{v} does not fit into {}", stringify!($type)))),)+
                    other => Err(WrongType::new($expected, other)),
                }
            }
        }
    )*};
}

narrow_readers! {
    i8, "Edm.Int32", Int32;
    u8, "Edm.Int32", Int32;
    i16, "Edm.Int32", Int32;
    u16, "Edm.Int32", Int32;
    u32, "Edm.Int64", Int64 | Int32;
}

impl<const N: usize> FromValue for [u8; N] {
    fn from_value(value: &WireValue<'_>) -> Result<Self, WrongType> {
        match value {
            WireValue::Binary(bytes) => bytes
                .as_slice()
                .try_into()
                .map_err(|_| WrongType::because(format!("expected {N} bytes, found {}", bytes.len()))),
            other => Err(WrongType::new("Edm.Binary", other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;

    #[track_caller]
    fn check<T: ToValue + FromValue + PartialEq + fmt::Debug>(value: T, stored: Value) {
        assert_eq!(value.to_value(), Some(stored.clone()));
        assert_eq!(T::from_value(&WireValue::from(&stored)), Ok(value));
    }

    /// DM-13: each type round-trips.
    #[test]
    fn types_round_trip() {
        check(true, Value::Boolean(true));
        check(-5_i32, Value::Int32(-5));
        check(200_u8, Value::Int32(200));
        check(i64::MIN, Value::Int64(i64::MIN));
        check(u32::MAX, Value::Int64(i64::from(u32::MAX)));
        check(2.5_f64, Value::Double(2.5));
        check(f64::INFINITY, Value::Double(f64::INFINITY));
        check("text".to_owned(), Value::String("text".into()));
        check(Guid([7; 16]), Value::Guid(Guid([7; 16])));
        check(vec![1_u8, 2], Value::Binary(vec![1, 2]));
        check([1_u8, 2], Value::Binary(vec![1, 2]));
        check(Some(1_i32), Value::Int32(1));
        assert_eq!(None::<i32>.to_value(), None);
        assert_eq!(<Option<i32>>::from_value(&WireValue::Null), Ok(None));
        assert!(f64::from_value(&WireValue::Double(f64::NAN)).unwrap().is_nan());
    }

    /// Numbers are widened; any other value must have the expected type.
    #[test]
    fn only_widening_conversions() {
        assert_eq!(i64::from_value(&WireValue::Int32(3)), Ok(3));
        assert_eq!(f64::from_value(&WireValue::Int32(3)), Ok(3.0));
        assert!(i32::from_value(&WireValue::Int64(3)).is_err());
        assert!(i32::from_value(&WireValue::String("3".into())).is_err());
        assert!(u8::from_value(&WireValue::Int32(256)).is_err());
        assert_eq!(f32::from_value(&WireValue::Double(0.1)), Ok(0.1));
        assert_eq!(f32::from_value(&WireValue::Double(f64::NEG_INFINITY)), Ok(f32::NEG_INFINITY));
        assert!(f32::from_value(&WireValue::Double(1e300)).is_err());
        assert!(<[u8; 2]>::from_value(&WireValue::Binary(vec![1])).is_err());
        assert!(String::from_value(&WireValue::Null).is_err());
    }

    #[test]
    fn system_time_round_trips() {
        for text in
            ["1601-01-01", "1969-12-31T23:59:59.9999999Z", "1970-01-01", "2024-02-29T12:34:56.7890123Z"]
        {
            let time = DateTime::parse(text).unwrap();
            assert_eq!(from_system_time(to_system_time(time)), time, "{text}");
        }
    }
}
