//! The eight EDM types and their values, owned and borrowed.

use std::fmt::Write as _;

use crate::text::Text;
use crate::{DateTime, Guid};

/// The types that a property can have. The numbers are those of the row format and are never reused.
///
/// ```
/// # use lazuli_model as lazuli_client;
/// use lazuli_client::{EdmType, Value};
///
/// assert_eq!(Value::Int64(1).kind(), EdmType::Int64);
/// assert_eq!(EdmType::Int64.name(), "Edm.Int64");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum EdmType {
    /// Bytes, up to 64 KiB.
    Binary = 1,
    /// True or false.
    Boolean = 2,
    /// A time between the years 1601 and 9999, with a resolution of 100 ns.
    DateTime = 3,
    /// A floating-point number of 64 bits.
    Double = 4,
    /// An identifier of 16 bytes.
    Guid = 5,
    /// A signed integer of 32 bits.
    Int32 = 6,
    /// A signed integer of 64 bits.
    Int64 = 7,
    /// A string of up to 32 Ki UTF-16 code units.
    String = 8,
}

impl EdmType {
    /// All types.
    pub const ALL: [EdmType; 8] = [
        EdmType::Binary,
        EdmType::Boolean,
        EdmType::DateTime,
        EdmType::Double,
        EdmType::Guid,
        EdmType::Int32,
        EdmType::Int64,
        EdmType::String,
    ];

    /// The name on the wire, such as `Edm.Int32`.
    ///
    /// ```
    /// # use lazuli_model as lazuli_client;
    /// use lazuli_client::EdmType;
    ///
    /// assert_eq!(EdmType::Guid.name(), "Edm.Guid");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            EdmType::Binary => "Edm.Binary",
            EdmType::Boolean => "Edm.Boolean",
            EdmType::DateTime => "Edm.DateTime",
            EdmType::Double => "Edm.Double",
            EdmType::Guid => "Edm.Guid",
            EdmType::Int32 => "Edm.Int32",
            EdmType::Int64 => "Edm.Int64",
            EdmType::String => "Edm.String",
        }
    }

    /// The type of that wire name, if it is one of the eight.
    ///
    /// ```
    /// # use lazuli_model as lazuli_client;
    /// use lazuli_client::EdmType;
    ///
    /// assert_eq!(EdmType::from_name("Edm.Double"), Some(EdmType::Double));
    /// assert_eq!(EdmType::from_name("Edm.Decimal"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The type with that number in the row format.
    ///
    /// ```
    /// # use lazuli_model as lazuli_client;
    /// use lazuli_client::EdmType;
    ///
    /// assert!(EdmType::ALL.into_iter().all(|kind| EdmType::from_number(kind as u8) == Some(kind)));
    /// assert_eq!(EdmType::from_number(0), None);
    /// ```
    pub fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(EdmType::Binary),
            2 => Some(EdmType::Boolean),
            3 => Some(EdmType::DateTime),
            4 => Some(EdmType::Double),
            5 => Some(EdmType::Guid),
            6 => Some(EdmType::Int32),
            7 => Some(EdmType::Int64),
            8 => Some(EdmType::String),
            _ => None,
        }
    }
}

/// A property value that owns its data.
///
/// ```
/// # use lazuli_model as lazuli_client;
/// use lazuli_client::{EdmType, Value};
///
/// let stock = [("Name", Value::String("Lute".into())), ("Strings", Value::Int32(13))];
/// for (name, value) in &stock {
///     match value {
///         Value::String(text) => assert_eq!((*name, text.as_str()), ("Name", "Lute")),
///         other => assert_eq!((*name, other.kind()), ("Strings", EdmType::Int32)),
///     }
/// }
/// // Types are never mixed: a number of 32 bits is not one of 64.
/// assert_ne!(Value::Int32(13), Value::Int64(13));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Bytes, up to 64 KiB.
    Binary(Vec<u8>),
    /// True or false.
    Boolean(bool),
    /// A moment from [`DateTime::STORABLE_MIN`] on.
    DateTime(DateTime),
    /// A floating-point number; not-a-number and the infinities can be stored.
    Double(f64),
    /// An identifier.
    Guid(Guid),
    /// A signed integer of 32 bits.
    Int32(i32),
    /// A signed integer of 64 bits.
    Int64(i64),
    /// A string of up to 32 Ki UTF-16 code units.
    String(String),
}

/// A property value that is borrowed.
///
/// ```
/// # use lazuli_model as lazuli_client;
/// use lazuli_client::{Value, ValueRef};
///
/// let value = Value::String("Lute".into());
/// assert!(matches!(value.as_ref(), ValueRef::String("Lute")));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRef<'a> {
    /// See [`Value::Binary`].
    Binary(&'a [u8]),
    /// See [`Value::Boolean`].
    Boolean(bool),
    /// See [`Value::DateTime`].
    DateTime(DateTime),
    /// See [`Value::Double`].
    Double(f64),
    /// See [`Value::Guid`].
    Guid(Guid),
    /// See [`Value::Int32`].
    Int32(i32),
    /// See [`Value::Int64`].
    Int64(i64),
    /// See [`Value::String`].
    String(&'a str),
}

impl Value {
    /// The same value, borrowed.
    ///
    /// ```
    /// # use lazuli_model as lazuli_client;
    /// use lazuli_client::{Value, ValueRef};
    ///
    /// assert_eq!(Value::Binary(vec![1, 2]).as_ref(), ValueRef::Binary(&[1, 2]));
    /// ```
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Value::Binary(bytes) => ValueRef::Binary(bytes),
            Value::Boolean(value) => ValueRef::Boolean(*value),
            Value::DateTime(value) => ValueRef::DateTime(*value),
            Value::Double(value) => ValueRef::Double(*value),
            Value::Guid(value) => ValueRef::Guid(*value),
            Value::Int32(value) => ValueRef::Int32(*value),
            Value::Int64(value) => ValueRef::Int64(*value),
            Value::String(text) => ValueRef::String(text),
        }
    }

    /// Its type.
    ///
    /// ```
    /// # use lazuli_model as lazuli_client;
    /// use lazuli_client::{EdmType, Value};
    ///
    /// assert_eq!(Value::Boolean(true).kind(), EdmType::Boolean);
    /// ```
    pub fn kind(&self) -> EdmType {
        self.as_ref().kind()
    }
}

impl ValueRef<'_> {
    /// Its type.
    ///
    /// ```
    /// # use lazuli_model as lazuli_client;
    /// use lazuli_client::{EdmType, ValueRef};
    ///
    /// assert_eq!(ValueRef::Double(0.5).kind(), EdmType::Double);
    /// ```
    pub fn kind(&self) -> EdmType {
        match self {
            ValueRef::Binary(_) => EdmType::Binary,
            ValueRef::Boolean(_) => EdmType::Boolean,
            ValueRef::DateTime(_) => EdmType::DateTime,
            ValueRef::Double(_) => EdmType::Double,
            ValueRef::Guid(_) => EdmType::Guid,
            ValueRef::Int32(_) => EdmType::Int32,
            ValueRef::Int64(_) => EdmType::Int64,
            ValueRef::String(_) => EdmType::String,
        }
    }

    /// A copy that owns its data.
    ///
    /// ```
    /// # use lazuli_model as lazuli_client;
    /// use lazuli_client::{Value, ValueRef};
    ///
    /// assert_eq!(ValueRef::String("Lute").to_value(), Value::String("Lute".into()));
    /// ```
    pub fn to_value(&self) -> Value {
        match *self {
            ValueRef::Binary(bytes) => Value::Binary(bytes.to_vec()),
            ValueRef::Boolean(value) => Value::Boolean(value),
            ValueRef::DateTime(value) => Value::DateTime(value),
            ValueRef::Double(value) => Value::Double(value),
            ValueRef::Guid(value) => Value::Guid(value),
            ValueRef::Int32(value) => Value::Int32(value),
            ValueRef::Int64(value) => Value::Int64(value),
            ValueRef::String(text) => Value::String(text.to_owned()),
        }
    }
}

/// A double in the service's format: the shortest digits that are parsed back to the same value, always with a
/// point or an exponent, exponents as in .NET (`1E+20`, `1E-05`). Not-a-number and the infinities have the
/// names of OData's JSON.
pub fn double_text(value: f64) -> Text {
    let mut out = Text::default();
    if !value.is_finite() {
        out.extend(if value.is_nan() {
            b"NaN"
        } else if value > 0.0 {
            b"Infinity"
        } else {
            b"-Infinity"
        });
        return out;
    }
    // Finding the shortest digits is expensive: do it once, in scientific notation, which shows the exponent.
    let mut scientific = Text::default();
    write!(scientific, "{:e}", value.abs()).expect("17 digits, a point and an exponent of three digits fit");
    let (mantissa, exponent) = scientific.as_str().split_once('e').unwrap_or((scientific.as_str(), "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (first, rest) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if value.is_sign_negative() {
        out.push(b'-');
    }
    // .NET's round-trip format uses 15 digits if they suffice, else 17, and switches to an exponent at that
    // limit.
    let precision = if first.len() + rest.len() <= 15 { 15 } else { 17 };
    if (-4..precision).contains(&exponent) {
        extend_plain(&mut out, first, rest, exponent);
    } else {
        out.extend(mantissa.as_bytes());
        out.extend(if exponent < 0 { b"E-" } else { b"E+" });
        let exponent = exponent.unsigned_abs();
        out.push_number(exponent.into(), if exponent < 100 { 2 } else { 3 });
    }
    out
}

/// `first.rest` times ten to the power of `exponent`, without an exponent.
fn extend_plain(out: &mut Text, first: &str, rest: &str, exponent: i32) {
    let shift = usize::try_from(exponent.unsigned_abs()).unwrap_or(0);
    if exponent < 0 {
        out.extend(b"0.");
        (1..shift).for_each(|_| out.push(b'0'));
        out.extend(first.as_bytes());
        out.extend(rest.as_bytes());
        return;
    }
    let (whole, fraction) = rest.split_at(shift.min(rest.len()));
    out.extend(first.as_bytes());
    out.extend(whole.as_bytes());
    (whole.len()..shift).for_each(|_| out.push(b'0'));
    out.push(b'.');
    out.extend(if fraction.is_empty() { b"0" } else { fraction.as_bytes() });
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn doubles_print_as_the_service_prints_them() {
        for (value, text) in [
            (5.0, "5.0"),
            (3.1, "3.1"),
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (f64::MIN_POSITIVE, "2.2250738585072014E-308"),
            (-0.00012345678901234567, "-0.00012345678901234567"),
            (12345678901234568.0, "12345678901234568.0"),
            (120.0, "120.0"),
            (12.5, "12.5"),
            (-1.5, "-1.5"),
            (1e20, "1E+20"),
            (f64::MIN, "-1.7976931348623157E+308"),
            (1.5e-7, "1.5E-07"),
            (123456789012345.0, "123456789012345.0"),
            (1e15, "1E+15"),
            (1234567890123456.0, "1234567890123456.0"),
            // The standard library uses an exponent from here on.
            (-10000037943380402.0, "-10000037943380402.0"),
            (0.0001, "0.0001"),
            (0.00001, "1E-05"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(double_text(value).as_str(), text);
        }
    }

    proptest! {
        /// The digits are those of the standard library; only the decimal point and the exponent are placed
        /// differently.
        #[test]
        fn doubles_have_the_digits_of_the_standard_library(bits in any::<u64>(), small in -1e6..1e6f64) {
            for value in [f64::from_bits(bits), small] {
                let text = double_text(value);
                if value.is_finite() && !text.as_str().contains('E') {
                    let digits = value.to_string();
                    let point = if digits.contains('.') { "" } else { ".0" };
                    prop_assert_eq!(text.as_str(), digits + point);
                }
            }
        }

        #[test]
        fn doubles_read_back(value in any::<f64>()) {
            let read: f64 = double_text(value).as_str().parse().unwrap();
            prop_assert!(read.to_bits() == value.to_bits() || (read.is_nan() && value.is_nan()));
        }
    }

    #[test]
    fn names_and_numbers_are_unique() {
        for kind in EdmType::ALL {
            assert_eq!(EdmType::from_name(kind.name()), Some(kind));
            assert_eq!(EdmType::from_number(kind as u8), Some(kind));
        }
        assert_eq!(EdmType::from_name("Edm.Decimal"), None);
        assert_eq!(EdmType::from_number(0), None);
    }
}
