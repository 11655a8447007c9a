//! Keys that sort like the values they represent.
//!
//! Keys sort as strings, so `92` comes after `10000`. The functions here return strings whose order is that of the
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

mod text;

use lazuli_model::DateTime;
use lazuli_model::table::limits::KEY_UNITS_MAX;

use crate::error::{Error, Result};
use text::digits;
pub use text::{Inverted, KeyText};

/// A number padded with zeros; an error if it has too many digits.
///
/// ```
/// use lazuli_client::keys;
///
/// assert_eq!(keys::padded(223, 6).unwrap(), "000223");
/// assert!(keys::padded(1_000_000, 6).is_err());
/// ```
pub fn padded(number: u64, width: usize) -> Result<String> {
    if width > KEY_UNITS_MAX {
        return Err(Error::input(format!("a key cannot have {width} characters")));
    }
    let text = format!("{number:0width$}");
    if text.len() > width {
        return Err(Error::input(format!("{number} has more than {width} digits")));
    }
    Ok(text)
}

/// The date: `2008-10-01`.
///
/// ```
/// use lazuli_client::{DateTime, keys};
///
/// assert_eq!(keys::date(DateTime::parse("2008-10-01T10:00:00Z").unwrap()), "2008-10-01");
/// ```
pub fn date(time: DateTime) -> String {
    time.iso_seconds().as_str().get(..10).unwrap_or_default().to_owned()
}

/// Ticks until the end of the year 9999, in 19 digits: the latest time sorts first (MB-03, PT-12).
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

/// The time of a key made by [`newest_first`].
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
/// Characters that sort at or below the separator, and the escape: each is written as the escape and its index.
const ESCAPED: [char; 3] = [' ', SEPARATOR, ESCAPE];

/// Joins parts into one key. Keys with the same number of parts sort by their parts, the first part first,
/// regardless of their contents; [`split`] returns the parts.
///
/// The characters space, `!` and `"` are written as `"0`, `"1` and `"2`.
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

/// The common prefix of the compound keys that start with these parts and have more.
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

    use lazuli_model::utf16_cmp;
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
        /// MB-05: the order of the keys is the order of the values.
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
    fn foreign_keys_are_rejected() {
        assert!(padded(1_000_000, 6).is_err());
        assert!(padded(1, usize::MAX).is_err(), "too long for a key");
        assert!(u32::from_key("5").is_err());
        assert!(u8::from_key("256").is_err());
        assert!(time_of("9999999999999999999").is_none());
        assert!(split("a\"9").is_err());
        assert!(split("a\"").is_err());
        assert!(<(u8, u8)>::from_key("001").is_err());
    }
}
