//! Splits Rust source into names and path separators. Comments, strings and characters are skipped.
//!
//! It is not a parser: the rules only need the paths in a file, such as `lazuli_model::queue`.

/// A name or a separator, and its line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Token<'a> {
    /// A name, `::`, `{`, or another single character.
    pub text: &'a str,
    /// Counted from 1.
    pub line: usize,
}

/// The tokens of a file.
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    let (mut found, mut at, mut line) = (Vec::new(), 0, 1);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let length = skipped(rest).unwrap_or_else(|| {
            let length = token_length(rest);
            let token = &rest[..length];
            if !token.trim().is_empty() {
                found.push(Token { text: token, line });
            }
            length
        });
        line += rest[..length].matches('\n').count();
        at += length;
    }
    found
}

/// The length of a comment or literal at the start.
fn skipped(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(rest.find("*/").map_or(rest.len(), |end| end + 2));
    }
    raw_string(rest).or_else(|| quoted(rest)).or_else(|| character(rest))
}

/// `r"..."`, `r#"..."#`, and the same with a `b` prefix.
fn raw_string(rest: &str) -> Option<usize> {
    let start = rest.strip_prefix('b').unwrap_or(rest).strip_prefix('r')?;
    let hashes = start.len() - start.trim_start_matches('#').len();
    let content = start[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = content.find(&end).map_or(content.len(), |at| at + end.len());
    Some(rest.len() - content.len() + length)
}

fn quoted(rest: &str) -> Option<usize> {
    let content = rest.strip_prefix("b\"").or_else(|| rest.strip_prefix('"'))?;
    let mut escaped = false;
    for (at, byte) in content.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(rest.len() - content.len() + at + 1),
            _ => {}
        }
    }
    Some(rest.len())
}

/// `'x'` or `'\n'`, but not the lifetime `'x`.
fn character(rest: &str) -> Option<usize> {
    let content = rest.strip_prefix("b'").or_else(|| rest.strip_prefix('\''))?;
    let start = rest.len() - content.len();
    if let Some(escape) = content.strip_prefix('\\') {
        return escape.get(1..)?.find('\'').map(|at| start + 2 + at + 1);
    }
    let first = content.chars().next()?;
    content[first.len_utf8()..].starts_with('\'').then(|| start + first.len_utf8() + 1)
}

fn token_length(rest: &str) -> usize {
    let is_name = |char: char| char.is_alphanumeric() || char == '_';
    let name = rest.find(|char| !is_name(char)).unwrap_or(rest.len());
    match name {
        0 if rest.starts_with("::") => 2,
        0 => rest.chars().next().map_or(0, char::len_utf8),
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<&str> {
        tokens(text).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn comments_and_literals_are_skipped() {
        let cases: [(&str, &[&str]); 7] = [
            ("a::b // c::d\ne", &["a", "::", "b", "e"]),
            ("a /* b */ c", &["a", "c"]),
            (r#"f("a \" b") c"#, &["f", "(", ")", "c"]),
            ("r#\"a \" b\"# c", &["c"]),
            ("'a' b '\\'' c '\\u{1f}' d", &["b", "c", "d"]),
            ("&'a str", &["&", "'", "a", "str"]),
            ("b'x' b\"y\" br\"z\" é", &["é"]),
        ];
        for (text, expected) in cases {
            assert_eq!(names(text), expected, "{text}");
        }
    }

    #[test]
    fn tokens_know_their_line() {
        let lines: Vec<_> =
            tokens("a\n\"two\nlines\" b\n// c\nd").into_iter().map(|token| token.line).collect();
        assert_eq!(lines, [1, 3, 5]);
    }
}
