//! The order of keys and blob names: UTF-16 code units, as in Azure.
//!
//! It differs from the order of UTF-8 bytes only if one string has a character outside the basic plane and the
//! other one has one in U+E000..=U+FFFF.

use std::cmp::Ordering;

/// Compares as sequences of UTF-16 code units.
pub fn utf16_cmp(a: &str, b: &str) -> Ordering {
    let (left, right) = (a.as_bytes(), b.as_bytes());
    let same = left.iter().zip(right).take_while(|(x, y)| x == y).count();
    match (left.get(same), right.get(same)) {
        (Some(&x), Some(&y)) => unit_rank(x).cmp(&unit_rank(y)).then(x.cmp(&y)),
        (x, y) => x.is_some().cmp(&y.is_some()),
    }
}

/// Puts lead bytes into UTF-16 order: 0xF0.. starts a surrogate pair (0xD800..), which sorts below U+E000 (0xEE..).
///
/// At the first difference, either both bytes are lead bytes (or ASCII), or both are continuation bytes of
/// characters with the same lead byte; the two orders can differ only in the first case.
fn unit_rank(byte: u8) -> u8 {
    match byte {
        0xEE | 0xEF => 2,
        0xF0..=0xFF => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn order_is_that_of_utf16_units(a in "\\PC{0,6}", b in "\\PC{0,6}") {
            let expected = a.encode_utf16().cmp(b.encode_utf16());
            prop_assert_eq!(utf16_cmp(&a, &b), expected);
        }

        #[test]
        fn order_holds_around_the_surrogates(
            a in proptest::collection::vec(prop_oneof![Just('a'), Just('\u{d7ff}'), Just('\u{e000}'), Just('\u{ffff}'), Just('\u{10000}'), Just('\u{10ffff}')], 0..5),
            b in proptest::collection::vec(prop_oneof![Just('a'), Just('\u{d7ff}'), Just('\u{e000}'), Just('\u{ffff}'), Just('\u{10000}'), Just('\u{10ffff}')], 0..5),
        ) {
            let (a, b): (String, String) = (a.into_iter().collect(), b.into_iter().collect());
            prop_assert_eq!(utf16_cmp(&a, &b), a.encode_utf16().cmp(b.encode_utf16()));
        }
    }
}
