//! Property values on their way between Rust types and the service.
//!
//! Every Rust type that can be a property has one EDM type, fixed at compile time ([`Scalar::Class`]): that is what lets
//! a comparison with a constant of the wrong type, or an ordering of a type that has none, fail to compile.

use std::borrow::Cow;
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lazuli_model::{DateTime, EdmType, Guid, Value};

/// A value as it came from the service, borrowed from the answer where that is possible.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum WireValue<'a> {
    /// There is no value; a property that was selected and that the entity does not have.
    Null,
    Binary(Vec<u8>),
    Boolean(bool),
    DateTime(DateTime),
    Double(f64),
    Guid(Guid),
    Int32(i32),
    Int64(i64),
    String(Cow<'a, str>),
}

impl WireValue<'_> {
    /// An owned value; `None` for null.
    pub fn to_value(&self) -> Option<Value> {
        Some(match self {
            WireValue::Null => return None,
            WireValue::Binary(bytes) => Value::Binary(bytes.clone()),
            WireValue::Boolean(value) => Value::Boolean(*value),
            WireValue::DateTime(value) => Value::DateTime(*value),
            WireValue::Double(value) => Value::Double(*value),
            WireValue::Guid(value) => Value::Guid(*value),
            WireValue::Int32(value) => Value::Int32(*value),
            WireValue::Int64(value) => Value::Int64(*value),
            WireValue::String(text) => Value::String(text.to_string()),
        })
    }

    /// What it is called in messages.
    fn name(&self) -> &'static str {
        match self {
            WireValue::Null => "null",
            WireValue::Binary(_) => EdmType::Binary.name(),
            WireValue::Boolean(_) => EdmType::Boolean.name(),
            WireValue::DateTime(_) => EdmType::DateTime.name(),
            WireValue::Double(_) => EdmType::Double.name(),
            WireValue::Guid(_) => EdmType::Guid.name(),
            WireValue::Int32(_) => EdmType::Int32.name(),
            WireValue::Int64(_) => EdmType::Int64.name(),
            WireValue::String(_) => EdmType::String.name(),
        }
    }
}

/// The same value, borrowed.
impl<'a> From<&'a Value> for WireValue<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Binary(bytes) => WireValue::Binary(bytes.clone()),
            Value::Boolean(value) => WireValue::Boolean(*value),
            Value::DateTime(value) => WireValue::DateTime(*value),
            Value::Double(value) => WireValue::Double(*value),
            Value::Guid(value) => WireValue::Guid(*value),
            Value::Int32(value) => WireValue::Int32(*value),
            Value::Int64(value) => WireValue::Int64(*value),
            Value::String(text) => WireValue::String(Cow::Borrowed(text)),
        }
    }
}

/// A property has another type than the one it is read as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongType(pub(crate) String);

impl WrongType {
    /// The value cannot be read as `expected`.
    pub fn new(expected: &str, found: &WireValue<'_>) -> Self {
        Self(format!("expected {expected}, found {}", found.name()))
    }

    /// The value has the right type and still is none that can be read, for this reason.
    pub fn because(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl fmt::Display for WrongType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrongType {}

/// The EDM types, as types: what a constant may be compared with, and how.
pub mod class {
    /// One of the EDM types.
    pub trait Class: 'static {}

    /// A type whose values have an order: `lt`, `le`, `gt` and `ge` are there for it.
    #[diagnostic::on_unimplemented(
        message = "values of type {Self} can be compared with `eq` and `ne` only",
        note = "booleans, GUIDs and binary values have no order in a filter"
    )]
    pub trait Ordered: Class {}

    macro_rules! classes {
        ($($(#[$doc:meta])* $name:ident $($ordered:ident)?;)*) => {$(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub enum $name {}
            impl Class for $name {}
            $(impl $ordered for $name {})?
        )*};
    }

    classes! {
        /// Edm.String.
        Text Ordered;
        /// Edm.Int32.
        Int32 Ordered;
        /// Edm.Int64.
        Int64 Ordered;
        /// Edm.Double.
        Double Ordered;
        /// Edm.DateTime.
        Moment Ordered;
        /// Edm.Boolean.
        Flag;
        /// Edm.Guid.
        Identifier;
        /// Edm.Binary.
        Bytes;
    }

    /// A key that is the text of a `T` (see [`crate::keys::KeyText`]); it has the order of `T`.
    #[derive(Debug)]
    pub struct Coded<T>(std::marker::PhantomData<T>);

    impl<T: 'static> Class for Coded<T> {}
    impl<T: 'static> Ordered for Coded<T> {}
}

/// A Rust type that is one EDM type, never null.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the type of a property",
    note = "properties are bool, i32, i64, f64, String, Guid, DateTime, SystemTime or Vec<u8>; smaller numbers widen, and `Option` makes one that can be absent",
    note = "in a struct, say how it is stored: #[table(int64)], #[table(double)], #[table(string)], #[table(json)], …"
)]
pub trait Scalar {
    /// Its EDM type.
    type Class: class::Class;

    /// Its value.
    fn scalar(&self) -> Value;
}

/// A constant that a property of class `C` can be compared with.
#[diagnostic::on_unimplemented(
    message = "a property of class {C} cannot be compared with `{Self}`",
    note = "use a constant of the property's own type; a comparison of two types never holds"
)]
pub trait Operand<C> {
    /// The constant.
    fn operand(&self) -> Value;
}

/// What a property can be set to: a [`Scalar`], a [`Value`], or an `Option` of these, where `None` is "no such property".
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the value of a property",
    note = "properties are bool, i32, i64, f64, String, Guid, DateTime, SystemTime or Vec<u8>; smaller numbers widen, and `Option` makes one that can be absent",
    note = "in a struct, say how it is stored: #[table(int64)], #[table(double)], #[table(string)], #[table(json)], …"
)]
pub trait ToValue {
    /// The value, or `None` for no value.
    fn to_value(&self) -> Option<Value>;
}

/// What a property can be read as.
#[diagnostic::on_unimplemented(
    message = "a property cannot be read as `{Self}`",
    note = "properties are bool, i32, i64, f64, String, Guid, DateTime, SystemTime or Vec<u8>; smaller numbers widen, and `Option` makes one that can be absent",
    note = "in a struct, say how it is stored: #[table(int64)], #[table(double)], #[table(string)], #[table(json)], …"
)]
pub trait FromValue: Sized {
    /// Reads it. Numbers widen (Int32 to Int64 and Double), nothing else is converted.
    fn from_value(value: &WireValue<'_>) -> Result<Self, WrongType>;

    /// What a property that is not there is read as, if anything.
    fn absent() -> Option<Self> {
        None
    }
}

/// The type of a field that is a property: names the class that its comparisons take.
pub trait FieldType {
    /// Its EDM type.
    type Class: class::Class;
}

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

/// Constants by the class that they can be compared with. Integers have one type for each class, so that a bare
/// `5` gets the type of the property.
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
    f32, "Edm.Double", WireValue::Double(v) => Ok(*v as f32), WireValue::Int32(v) => Ok(*v as f32);
    String, "Edm.String", WireValue::String(v) => Ok(v.to_string());
    Guid, "Edm.Guid", WireValue::Guid(v) => Ok(*v);
    DateTime, "Edm.DateTime", WireValue::DateTime(v) => Ok(*v);
    SystemTime, "Edm.DateTime", WireValue::DateTime(v) => Ok(to_system_time(*v));
    Vec<u8>, "Edm.Binary", WireValue::Binary(v) => Ok(v.clone());
}

/// Integers that are stored in a wider type and must fit when they come back.
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
                .map_err(|_| WrongType::because(format!("{} bytes where {N} are expected", bytes.len()))),
            other => Err(WrongType::new("Edm.Binary", other)),
        }
    }
}

const TICKS_PER_SECOND: u64 = lazuli_model::time::TICKS_PER_SECOND;

/// The service's time for one of this machine's. What is outside the years 1 to 9999 is cut to them; the service
/// counts in 100 ns.
pub fn from_system_time(time: SystemTime) -> DateTime {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => DateTime::from_unix(since),
        Err(before) => {
            let ticks = before.duration().as_nanos().div_ceil(100);
            let epoch = DateTime::from_unix(Duration::ZERO).ticks();
            let ticks = u64::try_from(ticks).unwrap_or(u64::MAX);
            DateTime::from_ticks(epoch.saturating_sub(ticks)).unwrap_or(DateTime::MIN)
        }
    }
}

/// This machine's time for one of the service's.
pub fn to_system_time(time: DateTime) -> SystemTime {
    let epoch = DateTime::from_unix(Duration::ZERO).ticks();
    let span = |ticks: u64| {
        let nanos = u32::try_from(ticks % TICKS_PER_SECOND * 100).unwrap_or_default();
        Duration::new(ticks / TICKS_PER_SECOND, nanos)
    };
    let moved = match time.ticks().checked_sub(epoch) {
        Some(after) => UNIX_EPOCH.checked_add(span(after)),
        None => UNIX_EPOCH.checked_sub(span(epoch - time.ticks())),
    };
    moved.unwrap_or(UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check<T: ToValue + FromValue + PartialEq + fmt::Debug>(value: T, stored: Value) {
        assert_eq!(value.to_value(), Some(stored.clone()));
        assert_eq!(T::from_value(&WireValue::from(&stored)), Ok(value));
    }

    /// DM-13: each type goes out and comes back.
    #[test]
    fn types_and_back() {
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

    /// Numbers widen; anything else must be of its own type.
    #[test]
    fn only_widening_conversions() {
        assert_eq!(i64::from_value(&WireValue::Int32(3)), Ok(3));
        assert_eq!(f64::from_value(&WireValue::Int32(3)), Ok(3.0));
        assert!(i32::from_value(&WireValue::Int64(3)).is_err());
        assert!(i32::from_value(&WireValue::String("3".into())).is_err());
        assert!(u8::from_value(&WireValue::Int32(256)).is_err());
        assert!(<[u8; 2]>::from_value(&WireValue::Binary(vec![1])).is_err());
        assert!(String::from_value(&WireValue::Null).is_err());
    }

    #[test]
    fn system_time_and_back() {
        for text in
            ["1601-01-01", "1969-12-31T23:59:59.9999999Z", "1970-01-01", "2024-02-29T12:34:56.7890123Z"]
        {
            let time = DateTime::parse(text).unwrap();
            assert_eq!(from_system_time(to_system_time(time)), time, "{text}");
        }
    }
}
