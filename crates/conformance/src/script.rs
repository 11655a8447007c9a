//! The lines of a transcript file: joined after a line that ends in a backslash, with the line numbers of the
//! file.

/// A line, possibly joined from several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// Its number in the file, from 1; of joined lines the first.
    pub(crate) number: usize,
    /// Its text.
    pub(crate) text: std::borrow::Cow<'a, str>,
}

/// Splits a file into lines. A backslash at the end of a line joins it with the next one, whose leading spaces are
/// dropped, so that long bodies can be wrapped.
pub(crate) fn lines(file: &str) -> Vec<Line<'_>> {
    let mut out = Vec::new();
    let mut lines = file.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let mut text = std::borrow::Cow::Borrowed(line);
        while let Some(open) = text.strip_suffix('\\') {
            let mut joined = open.to_owned();
            match lines.next() {
                Some((_, next)) => joined.push_str(next.trim_start()),
                None => joined.push('\\'),
            }
            let ended = !joined.ends_with('\\') || joined.len() == text.len();
            text = std::borrow::Cow::Owned(joined);
            if ended {
                break;
            }
        }
        out.push(Line { number: index + 1, text });
    }
    out
}

/// Headers, and the body after the empty line that ends them.
pub(crate) fn split_body<'l, 'a>(lines: &'l [Line<'a>]) -> (&'l [Line<'a>], &'l [Line<'a>]) {
    let is_blank = |line: &Line<'_>| line.text.trim().is_empty();
    match lines.iter().position(is_blank) {
        None => (lines, &[]),
        Some(at) => {
            let body = &lines[at + 1..];
            let end = body.iter().rposition(|line| !is_blank(line)).map_or(0, |last| last + 1);
            (&lines[..at], &body[..end])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(file: &str) -> Vec<String> {
        lines(file).iter().map(|line| format!("{}:{}", line.number, line.text)).collect()
    }

    #[test]
    fn lines_are_joined_and_numbered() {
        assert_eq!(show("a\nb\\\n  c\\\n  d\ne"), ["1:a", "2:bcd", "5:e"]);
        assert_eq!(show("a\\"), ["1:a\\"]);
        assert_eq!(show("a\r\nb"), ["1:a", "2:b"]);
    }

    #[test]
    fn bodies_lose_the_blank_lines_behind_them() {
        let file = lines("h\n\nx\n\ny\n\n\n");
        let (head, body) = split_body(&file);
        let texts = |lines: &[Line<'_>]| lines.iter().map(|line| line.text.to_string()).collect::<Vec<_>>();
        assert_eq!(
            (texts(head), texts(body)),
            (vec!["h".to_owned()], vec!["x".into(), "".into(), "y".into()])
        );
    }
}
