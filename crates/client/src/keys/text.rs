//! Types that can be keys.

use std::borrow::Cow;

use lazuli_model::{DateTime, Guid, Value};

use super::{compound, newest_first, split, time_of};
use crate::value::{Operand, WrongType, class};

/// A type that can be a key, as a string with the same order.
///
/// ```
/// use std::borrow::Cow;
/// use lazuli_client::{Entity, keys::KeyText, value::{WrongType, class}};
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// enum Level { Low, High }
///
/// impl KeyText for Level {
///     type Class = class::Coded<Self>;
///
///     fn to_key(&self) -> Cow<'_, str> {
///         Cow::Borrowed(match self { Level::Low => "1-low", Level::High => "2-high" })
///     }
///
///     fn from_key(text: &str) -> Result<Self, WrongType> {
///         let known = [Level::Low, Level::High].into_iter().find(|level| level.to_key() == text);
///         known.ok_or_else(|| WrongType::because(format!("'{text}' is not a level")))
///     }
/// }
///
/// #[derive(Entity)]
/// struct Alarm { #[table(partition_key)] level: Level, #[table(row_key)] number: u64 }
///
/// assert_eq!(Alarm::level().ge(Level::High).to_string(), "PartitionKey ge '2-high'");
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a key",
    note = "keys can be String, integers, Guid, DateTime, Inverted<…>, tuples of two or three of these, or types that implement KeyText"
)]
pub trait KeyText: Sized {
    /// The class of values that it is compared with in a filter.
    type Class: class::Class;

    /// The key as a string.
    ///
    /// ```
    /// use lazuli_client::keys::KeyText;
    ///
    /// assert_eq!(92_u32.to_key(), "0000000092");
    /// assert!(92_u32.to_key() < 10_000_u32.to_key());
    /// assert!((-1_i32).to_key() < 0_i32.to_key());
    /// ```
    fn to_key(&self) -> Cow<'_, str>;

    /// The value of a string made by [`KeyText::to_key`].
    ///
    /// ```
    /// use lazuli_client::keys::KeyText;
    ///
    /// assert_eq!(u32::from_key("0000000092"), Ok(92));
    /// assert!(u32::from_key("92").is_err()); // not padded
    /// ```
    fn from_key(text: &str) -> Result<Self, WrongType>;
}

/// A property that is an encoded key can be compared with the unencoded value.
impl<T: KeyText<Class = class::Coded<T>>> Operand<class::Coded<T>> for T {
    fn operand(&self) -> Value {
        Value::String(self.to_key().into_owned())
    }
}

impl KeyText for String {
    type Class = class::Text;

    fn to_key(&self) -> Cow<'_, str> {
        Cow::Borrowed(self)
    }

    fn from_key(text: &str) -> Result<Self, WrongType> {
        Ok(text.to_owned())
    }
}

impl KeyText for Guid {
    type Class = class::Coded<Self>;

    fn to_key(&self) -> Cow<'_, str> {
        Cow::Owned(self.to_string())
    }

    fn from_key(text: &str) -> Result<Self, WrongType> {
        text.parse().map_err(|_| not_a("GUID", text))
    }
}

/// As an ISO string with ticks: `2008-10-01T10:00:00.0000000Z`.
impl KeyText for DateTime {
    type Class = class::Coded<Self>;

    fn to_key(&self) -> Cow<'_, str> {
        Cow::Owned(self.iso_seven_digits().as_str().to_owned())
    }

    fn from_key(text: &str) -> Result<Self, WrongType> {
        DateTime::parse(text).ok_or_else(|| not_a("time", text))
    }
}

/// A value whose keys sort in reverse: newest or largest first.
///
/// ```
/// use lazuli_client::keys::{Inverted, KeyText};
///
/// assert!(Inverted(9_u32).to_key() < Inverted(8_u32).to_key());
/// assert_eq!(Inverted::<u32>::from_key(&Inverted(9_u32).to_key()), Ok(Inverted(9)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inverted<T>(pub T);

/// Ticks until the end of the year 9999, in 19 digits, as in the whitepaper (MB-03).
impl KeyText for Inverted<DateTime> {
    type Class = class::Coded<Self>;

    fn to_key(&self) -> Cow<'_, str> {
        Cow::Owned(newest_first(self.0))
    }

    fn from_key(text: &str) -> Result<Self, WrongType> {
        time_of(text).map(Inverted).ok_or_else(|| not_a("inverted time", text))
    }
}

/// Integers as decimal digits with the width of the largest value; signed ones are shifted to start at zero.
macro_rules! integers {
    ($($type:ty, $unsigned:ty, $width:literal, $zero:expr;)*) => {$(
        impl KeyText for $type {
            type Class = class::Coded<Self>;

            fn to_key(&self) -> Cow<'_, str> {
                Cow::Owned(format!("{:0width$}", (*self as $unsigned) ^ $zero, width = $width))
            }

            fn from_key(text: &str) -> Result<Self, WrongType> {
                digits(text, $width)
                    .and_then(|text| text.parse::<$unsigned>().ok())
                    .map(|number| (number ^ $zero) as $type)
                    .ok_or_else(|| not_a(stringify!($type), text))
            }
        }

        impl KeyText for Inverted<$type> {
            type Class = class::Coded<Self>;

            fn to_key(&self) -> Cow<'_, str> {
                Cow::Owned((!self.0).to_key().into_owned())
            }

            fn from_key(text: &str) -> Result<Self, WrongType> {
                <$type>::from_key(text).map(|number| Inverted(!number))
            }
        }
    )*};
}

integers! {
    u8, u8, 3, 0;
    u16, u16, 5, 0;
    u32, u32, 10, 0;
    u64, u64, 20, 0;
    i8, u8, 3, 1 << 7;
    i16, u16, 5, 1 << 15;
    i32, u32, 10, 1 << 31;
    i64, u64, 20, 1 << 63;
}

pub(super) fn digits(text: &str, width: usize) -> Option<&str> {
    (text.len() == width && text.bytes().all(|b| b.is_ascii_digit())).then_some(text)
}

fn not_a(what: &str, text: &str) -> WrongType {
    WrongType::because(format!("the key '{text}' is not a valid {what}"))
}

/// Several values in one key, the first one sorting first: see [`compound`].
macro_rules! tuples {
    ($($count:literal: $($name:ident $at:tt),+;)*) => {$(
        impl<$($name: KeyText + 'static),+> KeyText for ($($name,)+) {
            type Class = class::Coded<Self>;

            fn to_key(&self) -> Cow<'_, str> {
                Cow::Owned(compound([$(self.$at.to_key()),+]))
            }

            fn from_key(text: &str) -> Result<Self, WrongType> {
                let parts = split(text).map_err(|error| WrongType::because(error.to_string()))?;
                let parts: &[String; $count] =
                    parts.as_slice().try_into().map_err(|_| not_a("compound", text))?;
                Ok(($($name::from_key(&parts[$at])?,)+))
            }
        }
    )*};
}

tuples! {
    2: A 0, B 1;
    3: A 0, B 1, C 2;
}
