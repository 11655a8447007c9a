//! Text and names in XML.
//!
//! Every value that can be stored can be written, and is read back unchanged: characters that XML cannot
//! contain become character references, as .NET writes them when it does not check characters. A strict parser
//! rejects such a reference, but a replacement character would be mistaken for the value and written back.

/// Appends the text of an element.
pub fn push_text(out: &mut Vec<u8>, text: &str) {
    push_escaped(out, text, |c| match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        _ => None,
    });
}

/// Appends the value of an attribute, whose delimiter is the double quote.
pub fn push_attribute(out: &mut Vec<u8>, text: &str) {
    push_escaped(out, text, |c| match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        '\n' => Some("&#xA;"),
        '\t' => Some("&#x9;"),
        _ => None,
    });
}

/// Appends the name of a property. A character that is not allowed in XML names is escaped as `_xHHHH_`: property
/// names follow the rules of C# identifiers, which allow a few more letters. If a name merely looks escaped, its
/// first character is escaped.
pub fn push_name(out: &mut Vec<u8>, name: &str) {
    for (at, c) in name.char_indices() {
        if fits(c, at) && spelt(&name[at..]).is_none() {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        } else {
            out.extend_from_slice(format!("_x{:04X}_", u32::from(c)).as_bytes());
        }
    }
}

/// Decodes a name that [`push_name`] wrote. Sequences that it would not have written stay unchanged.
pub fn read_name(text: String) -> String {
    let Some(first) = text.find("_x") else { return text };
    let mut name = text[..first].to_owned();
    let mut rest = &text[first..];
    while let Some(c) = rest.chars().next() {
        let (c, length) = match spelt(rest) {
            Some((meant, length))
                if !fits(meant, name.len()) || (meant == '_' && looks_spelt(&rest[length..])) =>
            {
                (meant, length)
            }
            _ => (c, c.len_utf8()),
        };
        name.push(c);
        rest = &rest[length..];
    }
    name
}

/// The character that `_xHHHH_` at the start of the string encodes, and the length of the escape.
fn spelt(text: &str) -> Option<(char, usize)> {
    let digits = text.strip_prefix("_x")?;
    let end = digits.find('_').filter(|end| (4..=6).contains(end))?;
    let is_upper_hex = |b: u8| matches!(b, b'0'..=b'9' | b'A'..=b'F');
    let value =
        digits[..end].bytes().all(is_upper_hex).then(|| u32::from_str_radix(&digits[..end], 16).ok())??;
    Some((char::from_u32(value)?, "_x".len() + end + "_".len()))
}

/// Would the string look like an escape with an underscore before it?
fn looks_spelt(rest: &str) -> bool {
    spelt(&format!("_{rest}")).is_some()
}

/// Is the character allowed at this position of an XML name?
fn fits(c: char, at: usize) -> bool {
    if at == 0 { is_name_start(c) } else { is_name_char(c) }
}

fn push_escaped(out: &mut Vec<u8>, text: &str, escape: impl Fn(char) -> Option<&'static str>) {
    let mut start = 0;
    let mut at = 0;
    while let Some(found) = find_suspect(&text.as_bytes()[at..]) {
        at += found;
        let Some(c) = text[at..].chars().next() else { break };
        let named = escape(c);
        if named.is_some() || !is_xml_char(c) || c == '\r' {
            out.extend_from_slice(&text.as_bytes()[start..at]);
            match named {
                Some(reference) => out.extend_from_slice(reference.as_bytes()),
                // A bare carriage return would be parsed as a line feed.
                None => out.extend_from_slice(format!("&#x{:X};", u32::from(c)).as_bytes()),
            }
            start = at + c.len_utf8();
        }
        at += c.len_utf8();
    }
    out.extend_from_slice(&text.as_bytes()[start..]);
}

/// The first byte of a character that may need an escape.
fn find_suspect(bytes: &[u8]) -> Option<usize> {
    find_byte(bytes, is_suspect)
}

/// The offset of the first character that XML 1.0 does not allow.
pub fn find_forbidden(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        at += find_byte(&text.as_bytes()[at..], |byte| (byte < 0x20) | (byte == 0xef))?;
        let c = text[at..].chars().next()?;
        if !is_xml_char(c) {
            return Some(at);
        }
        at += c.len_utf8();
    }
}

/// The first byte that is searched for. Most strings have none, so they are examined in blocks, each of which
/// takes a few vector instructions.
#[inline]
fn find_byte(bytes: &[u8], is_wanted: impl Fn(u8) -> bool) -> Option<usize> {
    let mut at = 0;
    while let Some(block) = bytes[at..].first_chunk::<16>()
        && !block.iter().fold(false, |any, &byte| any | is_wanted(byte))
    {
        at += block.len();
    }
    bytes[at..].iter().position(|&byte| is_wanted(byte)).map(|found| at + found)
}

/// Can the byte start a character that needs an escape? U+FFFE and U+FFFF start with 0xEF.
#[inline]
fn is_suspect(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'&') | (byte == b'<') | (byte == b'>') | (byte == b'"') | (byte == 0xef)
}

/// Is the character allowed in XML 1.0?
pub fn is_xml_char(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

fn is_name_start(c: char) -> bool {
    matches!(c,
        'A'..='Z' | '_' | 'a'..='z' | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}'
        | '\u{370}'..='\u{37d}' | '\u{37f}'..='\u{1fff}' | '\u{200c}' | '\u{200d}' | '\u{2070}'..='\u{218f}'
        | '\u{2c00}'..='\u{2fef}' | '\u{3001}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}'
        | '\u{10000}'..='\u{effff}')
}

fn is_name_char(c: char) -> bool {
    is_name_start(c)
        || matches!(c, '-' | '.' | '0'..='9' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}' | '\u{2040}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(push: impl Fn(&mut Vec<u8>, &str), text: &str) -> String {
        let mut out = Vec::new();
        push(&mut out, text);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn texts() {
        for (text, expected) in [
            ("", ""),
            ("a<b>&\"'c", "a&lt;b&gt;&amp;\"'c"),
            ("\ta\r\nb", "\ta&#xD;\nb"),
            ("\u{0}\u{1}\u{1f}\u{7f}", "&#x0;&#x1;&#x1F;\u{7f}"),
            ("\u{fffe}\u{ffff}\u{10ffff}", "&#xFFFE;&#xFFFF;\u{10ffff}"),
            ("ꀕ", "ꀕ"),
            ("\u{feff}\u{f000}", "\u{feff}\u{f000}"),
        ] {
            assert_eq!(written(push_text, text), expected);
            // At every position of a block.
            for more in 0..40 {
                let plain = "é".repeat(more);
                let [text, expected] = [text, expected].map(|part| format!("{plain}{part}{plain}"));
                assert_eq!(written(push_text, &text), expected);
            }
        }
    }

    /// Special characters are found at every position of a block; a check of one character at a time agrees.
    #[test]
    fn forbidden_characters_are_found() {
        for part in [
            "",
            "\u{0}",
            "\u{1f}",
            "\t\r\n",
            "\u{fffe}",
            "\u{ffff}b",
            "\u{feff}，\u{fffd}",
            "\n\u{b}",
            "\u{7f}",
        ] {
            for more in 0..40 {
                let text = format!("{}{part}{}", "é".repeat(more), "x".repeat(more));
                let expected = text.char_indices().find(|(_, c)| !is_xml_char(*c)).map(|(at, _)| at);
                assert_eq!(find_forbidden(&text), expected, "{text:?}");
            }
        }
    }

    #[test]
    fn attributes() {
        assert_eq!(written(push_attribute, "W/\"datetime'1'\""), "W/&quot;datetime'1'&quot;");
        assert_eq!(written(push_attribute, "a\t\r\n<"), "a&#x9;&#xD;&#xA;&lt;");
    }

    #[test]
    fn names() {
        assert_eq!(written(push_name, "啊齄丂狛狜"), "啊齄丂狛狜");
        assert_eq!(written(push_name, "_a1\u{301}"), "_a1\u{301}");
        assert_eq!(written(push_name, "µs\u{fe33}"), "_x00B5_s\u{fe33}");
    }

    #[test]
    fn names_are_read_as_they_were_written() {
        for name in [
            "a",
            "µs",
            "ª",
            "aª_x",
            "_x00AA_",
            "_x005F_",
            "_xª_",
            "_x_x00AA_",
            "__x00AA_",
            "_x",
            "𐀀ª𐀀",
            "_x00aa_",
        ] {
            assert_eq!(read_name(written(push_name, name)), name);
        }
        for (text, name) in
            [("_x0041_", "_x0041_"), ("_x005F_", "_x005F_"), ("_x00AA", "_x00AA"), ("_xD800_", "_xD800_")]
        {
            assert_eq!(read_name(text.to_owned()), name);
        }
    }
}
