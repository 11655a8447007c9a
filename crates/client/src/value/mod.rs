//! Conversion of property values between Rust types and the service.
//!
//! Every Rust type that can be a property has one EDM type, fixed at compile time ([`Scalar::Class`]). So comparing
//! with a constant of the wrong type, or ordering a type without an order, does not compile.
//!
//! ```
//! use lazuli_client::value::{FromValue, ToValue, WireValue};
//! use lazuli_client::Value;
//!
//! assert_eq!(7_i64.to_value(), Some(Value::Int64(7)));
//! assert_eq!(None::<i64>.to_value(), None);
//! // A number that fits is converted to the wider type; a string is not a number.
//! assert_eq!(i64::from_value(&WireValue::Int32(7)).ok(), Some(7));
//! assert!(i64::from_value(&WireValue::String("7".into())).is_err());
//! # Ok::<(), lazuli_client::Error>(())
//! ```
//!
//! Types of other crates are properties with the feature of that name: `chrono` (`DateTime<Utc>`), `time` (`OffsetDateTime`), `uuid`
//! (`Uuid`) and `rust_decimal` (`Decimal`, stored as a string).

pub mod class;
#[cfg(any(feature = "chrono", feature = "time", feature = "uuid", feature = "rust_decimal"))]
mod foreign;
mod scalars;

use std::borrow::Cow;
use std::fmt;
use std::time::SystemTime;

use lazuli_model::{DateTime, EdmType, Guid, Value};

/// A value as received from the service, borrowed from the response where possible.
///
/// ```
/// use lazuli_client::{Value, value::WireValue};
///
/// let stored = Value::String("Delft".into());
/// assert_eq!(WireValue::from(&stored), WireValue::String("Delft".into()));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum WireValue<'a> {
    /// No value: a selected property that the entity does not have.
    Null,
    /// Edm.Binary.
    Binary(Vec<u8>),
    /// Edm.Boolean.
    Boolean(bool),
    /// Edm.DateTime.
    DateTime(DateTime),
    /// Edm.Double.
    Double(f64),
    /// Edm.Guid.
    Guid(Guid),
    /// Edm.Int32.
    Int32(i32),
    /// Edm.Int64.
    Int64(i64),
    /// Edm.String.
    String(Cow<'a, str>),
}

impl WireValue<'_> {
    /// An owned value; `None` for null.
    ///
    /// ```
    /// use lazuli_client::{Value, value::WireValue};
    ///
    /// assert_eq!(WireValue::String("Delft".into()).to_value(), Some(Value::String("Delft".into())));
    /// assert_eq!(WireValue::Null.to_value(), None);
    /// ```
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

    /// Its name in messages.
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

/// A property has another type than requested.
///
/// ```
/// use lazuli_client::value::{FromValue, WireValue};
///
/// let wrong = i32::from_value(&WireValue::String("41".into())).unwrap_err();
/// assert_eq!(wrong.to_string(), "expected Edm.Int32, found Edm.String");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongType(pub(crate) String);

impl WrongType {
    /// The value cannot be converted to `expected`.
    ///
    /// ```
    /// use lazuli_client::value::{WireValue, WrongType};
    ///
    /// let wrong = WrongType::new("a percentage", &WireValue::Boolean(true));
    /// assert_eq!(wrong.to_string(), "expected a percentage, found Edm.Boolean");
    /// ```
    pub fn new(expected: &str, found: &WireValue<'_>) -> Self {
        Self(format!("expected {expected}, found {}", found.name()))
    }

    /// The value has the right type but is invalid, for this reason.
    ///
    /// ```
    /// use lazuli_client::value::WrongType;
    ///
    /// assert_eq!(WrongType::because("120 is more than 100 %").to_string(), "120 is more than 100 %");
    /// ```
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

/// A Rust type with one EDM type, never null.
///
/// ```
/// use lazuli_client::{Value, prop, value::{Scalar, class}};
///
/// struct Cents(i64);
///
/// impl Scalar for Cents {
///     type Class = class::Int64;
///
///     fn scalar(&self) -> Value {
///         Value::Int64(self.0)
///     }
/// }
///
/// assert_eq!(prop("Price").lt(Cents(999)).to_string(), "Price lt 999L");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the type of a property",
    note = "properties are bool, i32, i64, f64, String, Guid, DateTime, SystemTime or Vec<u8>; smaller numbers are widened, and an `Option` can be absent",
    note = "in a struct, choose how it is stored: #[table(int64)], #[table(double)], #[table(string)], #[table(json)], …; for all other properties, use `#[table(extra)] name: Props`"
)]
pub trait Scalar {
    /// Its EDM type.
    type Class: class::Class;

    /// Its value.
    ///
    /// ```
    /// use lazuli_client::{Value, value::Scalar};
    ///
    /// assert_eq!(7_u8.scalar(), Value::Int32(7)); // the service has no smaller type
    /// assert_eq!(7_u32.scalar(), Value::Int64(7)); // and no unsigned 32-bit type
    /// ```
    fn scalar(&self) -> Value;
}

/// A constant that a property of class `C` can be compared with.
///
/// ```
/// use lazuli_client::{Field, Value, value::{Operand, class}};
///
/// struct Cents(i64);
///
/// impl Operand<class::Int64> for Cents {
///     fn operand(&self) -> Value {
///         Value::Int64(self.0)
///     }
/// }
///
/// assert_eq!(Field::<class::Int64>::new("Price").ge(Cents(999)).to_string(), "Price ge 999L");
/// ```
#[diagnostic::on_unimplemented(
    message = "a property of class {C} cannot be compared with `{Self}`",
    note = "use a constant of the property's own type; a comparison of different types never holds",
    note = "a #[table(string)] property is compared as a string: `.eq(value.to_string())`",
    note = "the service cannot filter by absence; use `.filter_local(|row| row.field.is_none())`"
)]
pub trait Operand<C> {
    /// The constant.
    ///
    /// ```
    /// use lazuli_client::{Value, value::{Operand, class}};
    ///
    /// assert_eq!(Operand::<class::Int64>::operand(&5), Value::Int64(5));
    /// assert_eq!(Operand::<class::Double>::operand(&5.0), Value::Double(5.0));
    /// ```
    fn operand(&self) -> Value;
}

/// A value that a property can be set to: a [`Scalar`], a [`Value`], or an `Option` of these, where `None` removes the property.
///
/// ```
/// use lazuli_client::{Props, Value, value::ToValue};
///
/// /// Stored as a string, if it is known.
/// struct Color(Option<&'static str>);
///
/// impl ToValue for Color {
///     fn to_value(&self) -> Option<Value> {
///         self.0.to_value()
///     }
/// }
///
/// let mut guitar = Props::new();
/// guitar.set("Body", Color(Some("Red")))?.set("Neck", Color(None))?;
/// assert_eq!(guitar.len(), 1);
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the value of a property",
    note = "properties are bool, i32, i64, f64, String, Guid, DateTime, SystemTime or Vec<u8>; smaller numbers are widened, and an `Option` can be absent",
    note = "in a struct, choose how it is stored: #[table(int64)], #[table(double)], #[table(string)], #[table(json)], …; for all other properties, use `#[table(extra)] name: Props`"
)]
pub trait ToValue {
    /// The value, or `None` for no value.
    ///
    /// ```
    /// use lazuli_client::{Value, value::ToValue};
    ///
    /// assert_eq!("Red".to_value(), Some(Value::String("Red".into())));
    /// assert_eq!(None::<&str>.to_value(), None);
    /// ```
    fn to_value(&self) -> Option<Value>;
}

/// A type that a property can be converted to.
///
/// ```
/// use lazuli_client::{Dynamic, value::{FromValue, WireValue, WrongType}};
///
/// #[derive(Debug, PartialEq)]
/// struct Percent(u8);
///
/// impl FromValue for Percent {
///     fn from_value(value: &WireValue<'_>) -> Result<Self, WrongType> {
///         match u8::from_value(value)? {
///             more @ 101.. => Err(WrongType::because(format!("{more} is more than 100 %"))),
///             percent => Ok(Self(percent)),
///         }
///     }
/// }
///
/// let battery = Dynamic::new("phone", "1").with("Left", 40)?.with("Right", 140)?;
/// assert_eq!(battery.get("Left")?, Some(Percent(40)));
/// assert!(battery.get::<Percent>("Right").is_err());
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "a property cannot be converted to `{Self}`",
    note = "properties are bool, i32, i64, f64, String, Guid, DateTime, SystemTime or Vec<u8>; smaller numbers are widened, and an `Option` can be absent",
    note = "in a struct, choose how it is stored: #[table(int64)], #[table(double)], #[table(string)], #[table(json)], …; for all other properties, use `#[table(extra)] name: Props`"
)]
pub trait FromValue: Sized {
    /// Converts a value. Numbers are widened (Int32 to Int64 and Double); nothing else is converted.
    ///
    /// ```
    /// use lazuli_client::value::{FromValue, WireValue};
    ///
    /// assert_eq!(i64::from_value(&WireValue::Int32(41)), Ok(41));
    /// assert!(i32::from_value(&WireValue::Int64(41)).is_err());
    /// assert!(String::from_value(&WireValue::Int32(41)).is_err());
    /// ```
    fn from_value(value: &WireValue<'_>) -> Result<Self, WrongType>;

    /// The value for an absent property, if any.
    ///
    /// ```
    /// use lazuli_client::value::FromValue;
    ///
    /// assert_eq!(i32::absent(), None); // must be present
    /// assert_eq!(<Option<i32>>::absent(), Some(None));
    /// ```
    fn absent() -> Option<Self> {
        None
    }
}

/// The type of a field that is a property: determines the class of its comparisons.
///
/// ```
/// use lazuli_client::{Field, value::FieldType};
///
/// /// The field for an older name of a property.
/// fn old<T: FieldType>(name: &'static str) -> Field<T::Class> {
///     Field::new(name)
/// }
///
/// assert_eq!(old::<Option<i64>>("Cents").gt(5).to_string(), "Cents gt 5L");
/// ```
pub trait FieldType {
    /// Its EDM type.
    type Class: class::Class;
}

/// Converts a system time. Times outside of the years 1 to 9999 are clamped; the service counts in units of
/// 100 ns.
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
/// use lazuli_client::value::from_system_time;
///
/// let time = from_system_time(UNIX_EPOCH + Duration::from_millis(1500));
/// assert_eq!(time.to_string(), "1970-01-01T00:00:01.5Z");
/// ```
pub fn from_system_time(time: SystemTime) -> DateTime {
    time.into()
}

/// Converts a time of the service to a system time.
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
/// use lazuli_client::{DateTime, value::to_system_time};
///
/// let time = to_system_time(DateTime::parse("1970-01-02").unwrap());
/// assert_eq!(time.duration_since(UNIX_EPOCH).unwrap(), Duration::from_secs(86_400));
/// ```
pub fn to_system_time(time: DateTime) -> SystemTime {
    time.into()
}
