//! Keys that sort as what they stand for.
//!
//! Keys are texts and sort as texts, so `92` comes after `10000`. Everything here gives texts whose order is that of the
//! values: numbers of fixed width, dates, times with the newest first, and several values in one key.
//!
//! ```
//! use lazuli_client::{DateTime, keys};
//!
//! assert_eq!(keys::padded(223, 6)?, "000223");
//! let time = DateTime::parse("2008-10-01T10:00:00Z").unwrap();
//! assert_eq!(keys::newest_first(time), "2521794455999999999");
//! assert_eq!(keys::compound(["Gibson", "Gothic V"]), "Gibson!Gothic\"0V");
//! # Ok::<(), lazuli_client::Error>(())
//! ```

use std::borrow::Cow;

use lazuli_model::limits::KEY_UNITS_MAX;
use lazuli_model::{DateTime, Guid, Value};

use crate::error::{Error, Result};
use crate::value::{Operand, WrongType, class};

/// A type that can be a key, as a text with the same order.
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
///         known.ok_or_else(|| WrongType::because(format!("'{text}' is no level")))
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
    note = "keys are String, integers, Guid, DateTime, Inverted<…>, tuples of two or three of these, or what implements KeyText"
)]
pub trait KeyText: Sized {
    /// What it is compared with in a filter.
    type Class: class::Class;

    /// The text.
    ///
    /// ```
    /// use lazuli_client::keys::KeyText;
    ///
    /// assert_eq!(92_u32.to_key(), "0000000092");
    /// assert!(92_u32.to_key() < 10_000_u32.to_key());
    /// assert!((-1_i32).to_key() < 0_i32.to_key());
    /// ```
    fn to_key(&self) -> Cow<'_, str>;

    /// The value of a text that [`KeyText::to_key`] made.
    ///
    /// ```
    /// use lazuli_client::keys::KeyText;
    ///
    /// assert_eq!(u32::from_key("0000000092"), Ok(92));
    /// assert!(u32::from_key("92").is_err()); // would not sort
    /// ```
    fn from_key(text: &str) -> Result<Self, WrongType>;
}

/// A property that is a coded key can be compared with the value that is coded.
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

/// As ISO text to the tick: `2008-10-01T10:00:00.0000000Z`.
impl KeyText for DateTime {
    type Class = class::Coded<Self>;

    fn to_key(&self) -> Cow<'_, str> {
        Cow::Owned(self.iso_seven_digits().as_str().to_owned())
    }

    fn from_key(text: &str) -> Result<Self, WrongType> {
        DateTime::parse(text).ok_or_else(|| not_a("time", text))
    }
}

/// A value whose keys sort the other way around: newest or largest first.
///
/// ```
/// use lazuli_client::keys::{Inverted, KeyText};
///
/// assert!(Inverted(9_u32).to_key() < Inverted(8_u32).to_key());
/// assert_eq!(Inverted::<u32>::from_key(&Inverted(9_u32).to_key()), Ok(Inverted(9)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inverted<T>(pub T);

/// Ticks until the end of time, in 19 digits, as the whitepaper does it (MB-03).
impl KeyText for Inverted<DateTime> {
    type Class = class::Coded<Self>;

    fn to_key(&self) -> Cow<'_, str> {
        Cow::Owned(newest_first(self.0))
    }

    fn from_key(text: &str) -> Result<Self, WrongType> {
        time_of(text).map(Inverted).ok_or_else(|| not_a("time of an inverted key", text))
    }
}

/// Integers as decimal digits of the width that the largest needs; those with a sign are moved up to start at zero.
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

fn digits(text: &str, width: usize) -> Option<&str> {
    (text.len() == width && text.bytes().all(|b| b.is_ascii_digit())).then_some(text)
}

fn not_a(what: &str, text: &str) -> WrongType {
    WrongType::because(format!("the key '{text}' is not that of a {what}"))
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

/// A number with zeros in front; an error if it needs more digits.
///
/// ```
/// use lazuli_client::keys;
///
/// assert_eq!(keys::padded(223, 6).unwrap(), "000223");
/// assert!(keys::padded(1_000_000, 6).is_err());
/// ```
pub fn padded(number: u64, width: usize) -> Result<String> {
    if width > KEY_UNITS_MAX {
        return Err(Error::input(format!("no key has {width} characters")));
    }
    let text = format!("{number:0width$}");
    if text.len() > width {
        return Err(Error::input(format!("{number} has more than {width} digits")));
    }
    Ok(text)
}

/// The day: `2008-10-01`.
///
/// ```
/// use lazuli_client::{DateTime, keys};
///
/// assert_eq!(keys::date(DateTime::parse("2008-10-01T10:00:00Z").unwrap()), "2008-10-01");
/// ```
pub fn date(time: DateTime) -> String {
    time.iso_seconds().as_str().get(..10).unwrap_or_default().to_owned()
}

/// Ticks until the end of the year 9999, in 19 digits: what comes last sorts first (MB-03, PT-12).
///
/// ```
/// use lazuli_client::{DateTime, keys};
///
/// let (monday, tuesday) = (DateTime::parse("2024-01-01").unwrap(), DateTime::parse("2024-01-02").unwrap());
/// assert!(keys::newest_first(tuesday) < keys::newest_first(monday));
/// ```
pub fn newest_first(time: DateTime) -> String {
    format!("{:019}", DateTime::MAX.ticks() - time.ticks())
}

/// The time of a key that [`newest_first`] made.
///
/// ```
/// use lazuli_client::{DateTime, keys};
///
/// assert_eq!(keys::time_of("2521794455999999999"), DateTime::parse("2008-10-01T10:00:00Z"));
/// assert_eq!(keys::time_of("yesterday"), None);
/// ```
pub fn time_of(newest_first: &str) -> Option<DateTime> {
    let left: u64 = digits(newest_first, 19)?.parse().ok()?;
    DateTime::from_ticks(DateTime::MAX.ticks().checked_sub(left)?)
}

const SEPARATOR: char = '!';
const ESCAPE: char = '"';
/// What would sort before the separator, the separator, and the escape: each behind an escape with its place.
const ESCAPED: [char; 3] = [' ', SEPARATOR, ESCAPE];

/// Joins parts to one key. Keys of as many parts sort by their parts, the first one first, whatever is in them; the
/// parts come back with [`split`].
///
/// Blank, `!` and `"` are written `"0`, `"1` and `"2`.
///
/// ```
/// use lazuli_client::keys;
///
/// assert_eq!(keys::compound(["empid", "000123", "2024"]), "empid!000123!2024");
/// assert!(keys::compound(["a", "z"]) < keys::compound(["a b", "a"])); // "a" comes before "a b"
/// ```
pub fn compound<P: AsRef<str>>(parts: impl IntoIterator<Item = P>) -> String {
    let mut out = String::new();
    for (index, part) in parts.into_iter().enumerate() {
        if index > 0 {
            out.push(SEPARATOR);
        }
        for c in part.as_ref().chars() {
            match ESCAPED.iter().position(|&escaped| escaped == c) {
                Some(place) => {
                    out.push(ESCAPE);
                    out.push(char::from(b'0' + u8::try_from(place).unwrap_or_default()));
                }
                None => out.push(c),
            }
        }
    }
    out
}

/// What the compound keys that begin with these parts, and go on, start with.
///
/// ```
/// use lazuli_client::{keys, row_key};
///
/// let reviews = row_key().starts_with(keys::beginning_with(["empid", "000123"]));
/// assert_eq!(reviews.to_string(), "RowKey ge 'empid!000123!' and RowKey lt 'empid!000123\"'");
/// ```
pub fn beginning_with<P: AsRef<str>>(parts: impl IntoIterator<Item = P>) -> String {
    let mut out = compound(parts);
    out.push(SEPARATOR);
    out
}

/// The parts of a compound key.
///
/// ```
/// use lazuli_client::keys;
///
/// assert_eq!(keys::split(&keys::compound(["wow!", "\"Gothic\" V"]))?, ["wow!", "\"Gothic\" V"]);
/// assert!(keys::split("half an escape\"").is_err());
/// # Ok::<(), lazuli_client::Error>(())
/// ```
pub fn split(key: &str) -> Result<Vec<String>> {
    let mut parts = vec![String::new()];
    let mut chars = key.chars();
    while let Some(c) = chars.next() {
        let c = match c {
            SEPARATOR => {
                parts.push(String::new());
                continue;
            }
            ESCAPE => {
                let place =
                    chars.next().and_then(|digit| digit.to_digit(10)).and_then(|d| usize::try_from(d).ok());
                *place
                    .and_then(|place| ESCAPED.get(place))
                    .ok_or_else(|| Error::input(format!("'{key}' is not a compound key")))?
            }
            other => other,
        };
        if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use lazuli_model::key::utf16_cmp;
    use proptest::prelude::*;

    use super::*;

    fn keeps_order<T: KeyText + Ord + Debug>(a: &T, b: &T) {
        assert_eq!(utf16_cmp(&a.to_key(), &b.to_key()), a.cmp(b), "{a:?} {b:?}");
        assert_eq!(T::from_key(&a.to_key()).as_ref(), Ok(a));
    }

    fn turns_order<T: Ord + Copy + Debug>(a: T, b: T)
    where
        Inverted<T>: KeyText + PartialEq,
    {
        assert_eq!(utf16_cmp(&Inverted(a).to_key(), &Inverted(b).to_key()), b.cmp(&a), "{a:?} {b:?}");
        assert_eq!(Inverted::<T>::from_key(&Inverted(a).to_key()), Ok(Inverted(a)));
    }

    fn text() -> impl Strategy<Value = String> {
        const EDGE: [char; 11] =
            ['a', 'b', ' ', '!', '"', '$', '0', '\u{d7ff}', '\u{e000}', '\u{ffff}', '\u{10000}'];
        proptest::collection::vec(proptest::sample::select(&EDGE[..]), 0..4)
            .prop_map(|chars| chars.into_iter().collect())
    }

    fn text_cmp(a: &[String], b: &[String]) -> std::cmp::Ordering {
        let orders = a.iter().zip(b).map(|(x, y)| utf16_cmp(x, y));
        orders.into_iter().find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    }

    proptest! {
        /// MB-05: order of the keys is order of the values.
        #[test]
        fn numbers_keep_their_order(a in any::<i64>(), b in any::<i64>(), c in any::<u32>(), d in any::<u32>()) {
            keeps_order(&a, &b);
            turns_order(a, b);
            keeps_order(&(a as i32), &(b as i32));
            keeps_order(&(a as i8), &(b as i8));
            keeps_order(&c, &d);
            turns_order(c, d);
            keeps_order(&(c, a), &(d, b));
            keeps_order(&(c as u8 % 2, a as i16, d), &(d as u8 % 2, b as i16, c));
        }

        #[test]
        fn times_keep_their_order(a in 0..=DateTime::MAX.ticks(), b in 0..=DateTime::MAX.ticks()) {
            let (a, b) = (DateTime::from_ticks(a).unwrap(), DateTime::from_ticks(b).unwrap());
            keeps_order(&a, &b);
            turns_order(a, b);
            prop_assert!(date(a.min(b)) <= date(a.max(b)));
            prop_assert_eq!(time_of(&newest_first(a)), Some(a));
        }

        #[test]
        fn compound_keys_sort_by_their_parts(a in [text(), text()], b in [text(), text()]) {
            prop_assert_eq!(utf16_cmp(&compound(&a), &compound(&b)), text_cmp(&a, &b));
            prop_assert_eq!(split(&compound(&a)).unwrap(), a.to_vec());
            prop_assert!(compound(&a).starts_with(&beginning_with(&a[..1])));
            prop_assert_eq!(compound(&b).starts_with(&beginning_with(&a[..1])), a[0] == b[0]);
        }
    }

    /// MB-03, with the whitepaper's own numbers.
    #[test]
    fn whitepaper_ticks() {
        for (time, key) in
            [("2008-10-01T10:00:00Z", "2521794455999999999"), ("2008-10-02T10:00:00Z", "2521793591999999999")]
        {
            assert_eq!(newest_first(DateTime::parse(time).unwrap()), key);
        }
        assert_eq!(date(DateTime::parse("2008-10-01T10:00:00Z").unwrap()), "2008-10-01");
    }

    #[test]
    fn what_is_no_key_of_ours_is_refused() {
        assert!(padded(1_000_000, 6).is_err());
        assert!(padded(1, usize::MAX).is_err(), "no key is that long");
        assert!(u32::from_key("5").is_err());
        assert!(u8::from_key("256").is_err());
        assert!(time_of("9999999999999999999").is_none());
        assert!(split("a\"9").is_err());
        assert!(split("a\"").is_err());
        assert!(<(u8, u8)>::from_key("001").is_err());
    }
}
