//! Order, round trip, borrowing and rejection of the key encoding; bounds against a plain comparison of keys.

use std::cmp::Ordering;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::types::KeyPosition;

/// Characters around every boundary of the encoding.
const EDGES: [char; 16] = [
    '\0',
    '\u{1}',
    '\u{2}',
    'a',
    'b',
    '\u{7f}',
    '\u{80}',
    '\u{7ff}',
    '\u{800}',
    '\u{d7ff}',
    '\u{e000}',
    '\u{ffff}',
    '\u{10000}',
    '\u{103ff}',
    '\u{10400}',
    '\u{10ffff}',
];

fn edgy_text() -> impl Strategy<Value = String> {
    vec(proptest::sample::select(&EDGES[..]), 0..6).prop_map(|chars| chars.into_iter().collect())
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![edgy_text(), vec(any::<char>(), 0..8).prop_map(|chars| chars.into_iter().collect())]
}

fn order(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

#[track_caller]
fn check(text: &str, bytes: &[u8], is_borrowed: bool) {
    let encoded = encode(text);
    assert_eq!(*encoded, *bytes, "{text:?}");
    assert_eq!(matches!(encoded, Cow::Borrowed(_)), is_borrowed, "{text:?}");
    let decoded = decode(bytes).unwrap();
    assert_eq!(decoded, text);
    assert_eq!(matches!(decoded, Cow::Borrowed(_)), is_borrowed, "{text:?}");
}

#[test]
fn examples() {
    check("", b"", true);
    check("abc", b"abc", true);
    check("\u{2}~", &[2, 0x7e], true);
    check("ü€\u{d7ff}\u{ffff}", "ü€\u{d7ff}\u{ffff}".as_bytes(), true);
    check("a\0b", &[b'a', 1, 1, b'b'], false);
    check("\u{1}", &[1, 2], false);
    check("\u{10000}", &[0xED, 0xA0, 0x80, 0xED, 0xB0, 0x80], false);
    check("\u{10ffff}é", &[0xED, 0xAF, 0xBF, 0xED, 0xBF, 0xBF, 0xC3, 0xA9], false);
}

#[test]
fn rejected_bytes() {
    for bytes in [
        &[0][..],
        &[1],
        &[1, 0],
        &[1, 3],
        &[b'a', 0xFF],
        &[0x80],
        &[0xC0, 0x81],
        "\u{10000}".as_bytes(),
        &[0xED, 0xA0, 0x80],
        &[0xED, 0xB0, 0x80, 0xED, 0xA0, 0x80],
        &[0xED, 0xA0, 0x80, 0xED, 0xB0],
        &[0xED],
        &[1, 1, 0xE2, 0x82],
    ] {
        assert_eq!(decode(bytes), Err(MalformedKey), "{bytes:02x?}");
    }
    assert_eq!(split(b"no separator"), Err(MalformedKey));
    assert_eq!(decode_key(&[b'a', 0, 0]), Err(MalformedKey));
}

#[test]
fn every_character_alone() {
    let mut last = vec![];
    let mut units_last = vec![];
    let mut chars: Vec<char> = ('\0'..=char::MAX).collect();
    chars.sort_by(|a, b| order(&a.to_string(), &b.to_string()));
    for c in chars {
        let text = c.to_string();
        let bytes = encode(&text).into_owned();
        let units: Vec<u16> = text.encode_utf16().collect();
        assert!(units_last.is_empty() || last < bytes, "{c:?}");
        assert!(!bytes.contains(&SEPARATOR));
        assert_eq!(decode(&bytes).as_deref(), Ok(&*text));
        (last, units_last) = (bytes, units);
    }
}

proptest! {
    #[test]
    fn order_is_that_of_utf16_units(a in any_text(), b in any_text()) {
        prop_assert_eq!(encode(&a).cmp(&encode(&b)), order(&a, &b));
    }

    #[test]
    fn a_prefix_comes_first(a in any_text(), b in any_text()) {
        let longer = format!("{a}{b}");
        prop_assert_eq!(encode(&a).cmp(&encode(&longer)), order(&a, &longer));
    }

    #[test]
    fn keys_sort_by_partition_then_row(a in (edgy_text(), edgy_text()), b in (edgy_text(), edgy_text())) {
        let key = |k: &(String, String)| {
            let mut bytes = vec![];
            encode_key_into(&mut bytes, &k.0, &k.1);
            bytes
        };
        prop_assert_eq!(key(&a).cmp(&key(&b)), order(&a.0, &b.0).then(order(&a.1, &b.1)));
        let bytes = key(&a);
        let (partition, row) = decode_key(&bytes).unwrap();
        prop_assert_eq!((&*partition, &*row), (&*a.0, &*a.1));
    }

    #[test]
    fn reads_what_it_writes(text in any_text()) {
        let bytes = encode(&text);
        prop_assert!(!bytes.contains(&SEPARATOR));
        let decoded = decode(&bytes);
        prop_assert_eq!(decoded.as_deref(), Ok(&*text));
    }

    #[test]
    fn each_string_has_one_encoding(bytes in vec(prop_oneof![0_u8..4, Just(0xED), 0x80_u8..0xC4, 0xE0_u8..=0xFF, any::<u8>()], 0..8)) {
        if let Ok(text) = decode(&bytes) {
            prop_assert_eq!(&*encode(&text), &*bytes);
        }
    }

    #[test]
    fn spans_match_their_bounds(
        key in (edgy_text(), edgy_text()),
        start in bound(),
        end in bound(),
    ) {
        let mut bytes = b"prefix".to_vec();
        encode_key_into(&mut bytes, &key.0, &key.1);
        let range = KeyRange { start, end };
        let span = Span::new(b"prefix", &range);
        let inside = span.start <= bytes && span.end.as_ref().is_none_or(|end| bytes < *end);
        prop_assert_eq!(inside, is_from(&key, &range.start) && is_until(&key, &range.end), "{:?}", span);
        prop_assert!(!inside || !span.is_empty());
        prop_assert!(!inside || !span.is_point || span.start == bytes);
    }
}

fn bound() -> impl Strategy<Value = Bound> {
    let place = || (edgy_text(), edgy_text()).prop_map(|(partition, row)| KeyPosition { partition, row });
    prop_oneof![
        Just(Bound::Open),
        place().prop_map(Bound::Included),
        place().prop_map(Bound::Excluded),
        edgy_text().prop_map(Bound::AfterPartition),
    ]
}

fn order_to(key: &(String, String), place: &KeyPosition) -> Ordering {
    order(&key.0, &place.partition).then(order(&key.1, &place.row))
}

fn is_from(key: &(String, String), bound: &Bound) -> bool {
    match bound {
        Bound::Open => true,
        Bound::Included(place) => order_to(key, place).is_ge(),
        Bound::Excluded(place) => order_to(key, place).is_gt(),
        Bound::AfterPartition(partition) => order(&key.0, partition).is_gt(),
    }
}

fn is_until(key: &(String, String), bound: &Bound) -> bool {
    match bound {
        Bound::Open => true,
        Bound::Included(place) => order_to(key, place).is_le(),
        Bound::Excluded(place) => order_to(key, place).is_lt(),
        Bound::AfterPartition(partition) => order(&key.0, partition).is_le(),
    }
}
