//! The order of names: by UTF-16 code units, as in the engine.

/// Compares names.
pub fn compare(a: &str, b: &str) -> std::cmp::Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

/// The smallest string that is greater than every string with this prefix; `None` if there is none.
pub fn after_prefix(prefix: &str) -> Option<String> {
    let mut text = prefix.to_owned();
    while let Some(last) = text.pop() {
        if let Some(next) = successor(last) {
            text.push(next);
            return Some(text);
        }
    }
    None
}

/// The next character in UTF-16 order: those beyond the basic plane sort before U+E000.
fn successor(c: char) -> Option<char> {
    match c {
        '\u{d7ff}' => Some('\u{10000}'),
        '\u{10ffff}' => Some('\u{e000}'),
        '\u{ffff}' => None,
        _ => char::from_u32(u32::from(c) + 1),
    }
}

/// The start of a scan that finds every string not less than `text` in byte order. Byte order and UTF-16 order
/// differ only for characters from U+E000 to U+FFFF: they sort before those beyond the basic plane by bytes,
/// and after them in UTF-16.
pub fn start_for_bytes(text: &str) -> &str {
    let at = text.char_indices().find(|(_, c)| ('\u{e000}'..='\u{ffff}').contains(c));
    at.map_or(text, |(at, _)| &text[..at])
}

/// Does every string compare with `text` in the same way by UTF-16 and by bytes?
pub fn agrees_with_bytes(text: &str) -> bool {
    text.chars().all(|c| c < '\u{e000}')
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHARS: [char; 9] =
        ['\0', 'a', 'b', '\u{d7ff}', '\u{e000}', '\u{fffe}', '\u{ffff}', '\u{10000}', '\u{10ffff}'];

    fn texts() -> Vec<String> {
        let mut texts = vec![String::new()];
        for a in CHARS {
            texts.push(a.to_string());
            texts.extend(CHARS.iter().map(|b| format!("{a}{b}")));
        }
        texts
    }

    #[test]
    fn nothing_lies_between_a_prefix_and_its_end() {
        for prefix in texts() {
            let end = after_prefix(&prefix);
            for text in texts() {
                let is_after = end.as_ref().is_some_and(|end| compare(&text, end).is_ge());
                let is_before = compare(&text, &prefix).is_lt();
                assert_eq!(!is_before && !is_after, text.starts_with(&prefix), "{prefix:?} {text:?}");
            }
        }
    }

    #[test]
    fn strings_on_which_both_orders_agree() {
        for text in texts().iter().filter(|text| agrees_with_bytes(text)) {
            texts().iter().for_each(|other| assert_eq!(compare(text, other), text.cmp(other)));
        }
    }

    #[test]
    fn no_string_is_missed() {
        for from in texts() {
            let start = start_for_bytes(&from);
            for text in texts().iter().filter(|text| **text >= from) {
                assert!(compare(text, start).is_ge(), "{from:?} {text:?}");
            }
        }
    }
}
